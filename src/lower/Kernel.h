//===- Kernel.h - the compiled form of one task -----------------*- C++ -*-===//
//
// What lower/ hands to the artifact. A kernel is a list of stages, run in
// order with a barrier between; a stage is a number of independent chunks.
// Every stage is a function
//
//   void stage(void *const *args, void *workerScratch,
//              int64_t begin, int64_t end);
//
// that runs chunks [begin, end). args[i] is the memory of Task::operands[i]
// (start of the buffer, border included; packed form for constants);
// args[operands.size()] is scratch shared by the workers, `scratchBytes` long.
// workerScratch is `workerScratchBytes` of the calling worker's own. All are
// 64-byte aligned except user tensors. Chunks decide the result, workers do
// not: any assignment gives the same bits.
//
// MLIR-free header: driver/ and measure/ see kernels only through it.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_LOWER_KERNEL_H
#define TLM_LOWER_KERNEL_H

#include "base/Result.h"
#include "space/Packing.h"
#include "space/Schedule.h"
#include "target/Target.h"
#include "task/Task.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tlm {

struct KernelStage {
  std::string symbol;
  int64_t chunks = 1;
  /// Chunks in order fill so many equal parts of the output's pixels one after
  /// the other; 1 where they do not.
  int64_t rowBlocks = 1;
  /// The chunks of such a part fill so many equal parts of its channels.
  int64_t channelBlocks = 1;
};

struct Kernel {
  std::vector<KernelStage> stages;
  /// Per operand of the task: how a constant one is stored.
  std::vector<std::optional<Packing>> packings;
  int64_t scratchBytes = 0;
  int64_t workerScratchBytes = 0;
  int64_t maxParallelism = 1;
  /// ELF relocatable object, position independent.
  std::vector<char> object;
  /// Filled on request (LowerOptions).
  std::string payloadText;
  /// Payload and transform script as one module, as mlir-opt
  /// --transform-interpreter takes it.
  std::string scheduleText;
  std::string llvmIrText, assemblyText;
};

struct LowerOptions {
  bool keepTexts = false;
};

/// Why a task with this schedule has no kernel: a rejection, not an error.
enum class RejectReason : int32_t {
  UnsupportedTask = 0,    ///< no template covers the task
  TransformFailed = 1,    ///< the transform script did not apply
  LeftoverAllocation = 2, ///< memref.alloc or copy left in a kernel
  CodegenFailed = 3,      ///< LLVM refused the module
};
std::string_view nameOf(RejectReason reason);

/// A kernel, or a Rejected in the form of an Error whose message starts with
/// the reason's name. Symbols start with `symbolPrefix`. Thread-safe.
Result<Kernel> lowerTask(const Task &task, const Schedule &schedule,
                         const Target &target, const std::string &symbolPrefix,
                         const LowerOptions &options = {});

} // namespace tlm

#endif // TLM_LOWER_KERNEL_H
