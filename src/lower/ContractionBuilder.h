//===- ContractionBuilder.h - the stages of a contraction -------*- C++ -*-===//
//
// What ConvTemplate.cpp describes, a stage a file:
//   ConvTemplate      sizes, packed constants, the order of the stages
//   ContractionScale  scales the input or the weights by a vector
//   ContractionPass   products, and the passes before the last one
//   ContractionStage  the last pass, its bias and its epilogue
//   ContractionFinish the epilogue of a ragged panel
//   ContractionPairs  all of it for filters that leave half a vector free
//
// Filters are cut into panels of `row` vectors, group by group. Where a group
// ends inside a panel, that last panel is computed into the worker's scratch,
// and only the columns that exist go through the epilogue to the output.
//
// Pairs: lanes hold two neighbouring steps of the reduction for half as many
// filters, so 24 filters are three whole vectors of a pair of steps where two
// vectors a step would leave eight lanes of 32 idle. A pair of inputs is one
// broadcast load of 64 bits, and neighbouring lanes are added at the end:
//
//   S[h, w, f, p] += A[h, w, 2 k + p] * W[k, f, p]
//   O[h, w, f] = S[h, w, f, 0] + S[h, w, f, 1]
//
// One load serves two steps, which is why a panel of a single vector, whose
// products would each need one, is computed so, too.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_LOWER_CONTRACTIONBUILDER_H
#define TLM_LOWER_CONTRACTIONBUILDER_H

#include "lower/LoopNest.h"
#include "lower/Payload.h"
#include "lower/Script.h"
#include "space/ContractionShape.h"

#include <string>

namespace tlm {

class ContractionBuilder {
public:
  ContractionBuilder(const TemplateInput &input, ContractionShape shape)
      : task(input.task), schedule(input.schedule), target(input.target),
        shape(std::move(shape)), lanes(target.vectorFloats()) {}

  Result<Payload> build();

private:
  /// Panels of every group that one stage computes.
  struct Panels {
    int64_t first = 0, count = 1; ///< within a group
    int64_t tile = 1;             ///< of a chunk
    bool ragged = false;          ///< the one panel that a group ends in
    int64_t chunks() const { return count / tile; }
  };
  /// How an epilogue reads an Extra.
  enum class Access { Scalar, PerFilter, Activation };

  int64_t panelLanes() const { return row * lanes; }
  Access accessOf(const Operand &operand) const;
  void packConstants();
  void packRightOperand(bool whole);
  void scaleStage(Prologue prologue);
  /// One pass over the panels of a chunk: `depthTile` iterations of the first
  /// reduction from `begin` on, an affine expression of d1 = `step` where one
  /// is given.
  struct Pass {
    std::string name, begin, step;
  };
  struct PassViews {
    ViewText in, weight;
    std::vector<int64_t> depthSizes;
  };

  void contractionStage(const Panels &run);
  PassViews passViews(const Panels &run, const Pass &pass) const;
  ViewText weightView(const Panels &run, const Pass &pass,
                      const std::vector<int64_t> &depthSizes) const;
  /// The output, or its ragged columns in the worker's scratch.
  ViewText outView(const Panels &run, const std::string &name) const;
  /// All passes but the last: the output holds their sums.
  std::string earlierPasses(const Panels &run, const std::string &stage) const;
  std::string stageScript(const std::string &stage, size_t depths) const;

  /// The parallel loops, as in an affine map, and the map of the output.
  static constexpr const char *kParallel = "h, w, f1, f2, f0";
  static std::string identityMap();
  static std::string iteratorTypes(size_t reductions);
  /// linalg.generic: zeros; products of a pass on top of `start`.
  static std::string zeros(const std::string &result, const std::string &target,
                           const std::string &type,
                           const std::string &attributes);
  static std::string products(const std::string &result, const PassViews &views,
                              const std::string &start, const std::string &type,
                              const std::string &attributes);
  static std::string store(const std::string &value, const ViewText &out);
  std::string finishColumns(const Panels &run) const;
  /// `lanes` values of Extra `index` (0: a scalar) for the pixel i behind (y,
  /// x), from column `column` of the panel on.
  std::string loadExtra(LoopNest &nest, size_t index, LoopNest::Index start,
                        const std::string &y, const std::string &x, int64_t i,
                        int64_t column, int64_t width) const;
  /// Vectors of pairs where pairedStage computes the panels, else 0.
  int64_t pairsOf(const Panels &whole) const;
  void pairedStage(const Panels &run);
  std::vector<std::string> pairSums(LoopNest &nest, PointEmitter &emitter,
                                    const std::string &input,
                                    int64_t pixels) const;
  std::string broadcastPair(LoopNest &nest, const LoopNest::Array &array,
                            const std::string &at) const;
  /// Affine expression of d0 = %chunk: the steps of what a chunk starts at.
  std::string chunkOffset(const Panels &run, int64_t image, int64_t rowStep,
                          int64_t group, int64_t panel) const;
  /// The same in a buffer that holds whole panels, `panelFloats` each, for
  /// every image or once.
  std::string panelOffset(const Panels &run, int64_t panelFloats,
                          bool perImage) const;
  /// Where a chunk starts in an Extra, and floats behind that argument.
  std::string extraOffset(const Panels &run, size_t index) const;
  int64_t floatsOf(size_t index) const;
  bool byHeight() const { return shape.height > 1; }
  int64_t lineWidth() const { return byHeight() ? shape.width : chunkRows; }

  const Task &task;
  const Schedule &schedule;
  const Target &target;
  ContractionShape shape;
  int64_t lanes;
  Payload payload;

  int64_t row = 2;         // vectors of a panel
  int64_t groupPanels = 1; // of a group, the ragged one included
  int64_t tileW = 7;
  /// Vectors of pairs of a panel, or 0 (ContractionPairs).
  int64_t pairVectors = 0;
  int64_t chunkRows = 1, rowChunks = 1; // of h, or of w when there is one row
  int64_t depthTile = 1, passes = 1;    // of the first reduction
  // Where the contraction reads.
  std::string inputArgument, weightArgument;
  int64_t inputFloats = 0, weightFloats = 0;
  std::string inputBase;
  /// Whole panels of a right operand computed at run time are read in place.
  bool inPlace = false;
};

} // namespace tlm

#endif // TLM_LOWER_CONTRACTIONBUILDER_H
