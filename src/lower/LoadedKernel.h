//===- LoadedKernel.h - runs one kernel in this process ---------*- C++ -*-===//
//
// Links a kernel's object into a temporary shared object and loads it: how a
// kernel is checked and timed apart from a model.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_LOWER_LOADEDKERNEL_H
#define TLM_LOWER_LOADEDKERNEL_H

#include "lower/Kernel.h"

#include <memory>
#include <vector>

namespace tlm {

/// 64-byte aligned floats.
class AlignedFloats {
public:
  explicit AlignedFloats(int64_t count = 0, float fill = 0);
  float *data() { return memory.get(); }
  const float *data() const { return memory.get(); }
  int64_t size() const { return count; }
  float &operator[](int64_t i) { return memory.get()[i]; }
  float operator[](int64_t i) const { return memory.get()[i]; }

private:
  struct Free {
    void operator()(float *p) const;
  };
  std::unique_ptr<float, Free> memory;
  int64_t count = 0;
};

class LoadedKernel {
public:
  static Result<LoadedKernel> load(const Kernel &kernel);
  LoadedKernel(LoadedKernel &&) noexcept;
  ~LoadedKernel();

  /// Runs every stage on the calling thread. `operands` in the order of the
  /// task's, packed where the kernel says so.
  void run(const std::vector<float *> &operands);

private:
  LoadedKernel() = default;
  using Entry = void (*)(void *const *, void *, int64_t, int64_t);
  struct StageEntry {
    Entry entry = nullptr;
    int64_t chunks = 0;
  };
  void *library = nullptr;
  std::vector<StageEntry> stages;
  AlignedFloats scratch, worker;
};

} // namespace tlm

#endif // TLM_LOWER_LOADEDKERNEL_H
