//===- LoadedKernel.h - runs one kernel in this process ---------*- C++ -*-===//
//
// Links kernels' objects into this process' memory: how a kernel is checked and
// timed apart from a model. No linker program and no file is involved.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_LOWER_LOADEDKERNEL_H
#define TLM_LOWER_LOADEDKERNEL_H

#include "lower/AlignedFloats.h"
#include "lower/Kernel.h"

#include <memory>
#include <vector>

namespace tlm {

class LoadedKernel {
public:
  static Result<LoadedKernel> load(const Kernel &kernel);
  /// All with one link; their symbols must differ. They stay loaded until the
  /// last one is gone.
  static Result<std::vector<LoadedKernel>>
  loadAll(const std::vector<const Kernel *> &kernels);

  LoadedKernel(LoadedKernel &&) noexcept;
  LoadedKernel &operator=(LoadedKernel &&) noexcept;
  ~LoadedKernel();

  /// Runs every stage on the calling thread. `operands` in the order of the
  /// task's, packed where the kernel says so.
  void run(const std::vector<float *> &operands);
  /// The same with one call a chunk, the last chunk first: what any assignment
  /// to workers must be equal to.
  void runBackwards(const std::vector<float *> &operands);

  /// Kernel.h, "stage".
  using Entry = void (*)(void *const *, void *, int64_t, int64_t);
  struct StageEntry {
    Entry entry = nullptr;
    int64_t chunks = 0;
  };
  const std::vector<StageEntry> &stageEntries() const { return stages; }

private:
  LoadedKernel() = default;
  class Library;
  std::vector<void *> argumentsFor(const std::vector<float *> &operands);

  std::shared_ptr<Library> library;
  std::vector<StageEntry> stages;
  int64_t scratchFloats = 0, workerFloats = 0;
  /// Made by the first run, full of NaN: no kernel may read what it did not
  /// write.
  AlignedFloats scratch, worker;
};

} // namespace tlm

#endif // TLM_LOWER_LOADEDKERNEL_H
