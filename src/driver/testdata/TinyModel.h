//===- TinyModel.h - a small artifact with hand-written kernels -*- C++ -*-===//

#ifndef TLM_DRIVER_TESTDATA_TINYMODEL_H
#define TLM_DRIVER_TESTDATA_TINYMODEL_H

#include "driver/Artifact.h"
#include "tlm/tlm.h"

#include <string>
#include <vector>

namespace tlm {

/// x f32[1,2,6,5] -> y = weight[c] * exp(max3x3(x)), rows from last to first;
/// outside of x the maximum sees `border`. Owns all that an ArtifactInput
/// points to.
class TinyModel {
public:
  static constexpr int64_t C = 2, H = 6, W = 5, size = C * H * W;

  explicit TinyModel(std::vector<float> weight = {2, 3}, float border = 0.5f);

  /// The input of writeArtifact, for `name`.
  ArtifactInput input(const std::string &name = "tiny") const;
  /// Also returns y under a second name, x as it is, and the weight.
  void addHandedThroughOutputs();
  /// `bytes` more weights, which the first kernel gets as an operand.
  void addBallast(size_t bytes);

  static std::vector<float> randomInput(uint32_t seed);
  std::vector<float> expected(const std::vector<float> &x) const;

  Target target;

private:
  ValueId addValue(const std::string &name, Dims dims);
  ValueId addConstant(const std::string &name, Dims dims,
                      const std::vector<float> &data);
  int32_t addBuffer(BufferKind kind, BufferType type, ValueId value,
                    int64_t offset = -1, int32_t index = 0);

  std::vector<float> weight;
  float border;
  Graph graph;
  Plan plan;
  std::vector<Kernel> kernels;
  std::vector<Schedule> schedules;
};

/// An artifact in a directory of its own, loaded and closed again.
class LoadedArtifact {
public:
  /// Loads `path` with dlopen; api is nullptr and `error` set when that fails.
  explicit LoadedArtifact(const std::string &path);
  ~LoadedArtifact();
  LoadedArtifact(const LoadedArtifact &) = delete;
  LoadedArtifact &operator=(const LoadedArtifact &) = delete;

  const tlm_api *api = nullptr;
  std::string error;
  void *handle = nullptr;
};

/// A directory that goes with the object.
class TestDirectory {
public:
  TestDirectory();
  ~TestDirectory();
  std::string file(const std::string &name) const { return path + "/" + name; }
  std::string path;
};

} // namespace tlm

#endif // TLM_DRIVER_TESTDATA_TINYMODEL_H
