//===- Payload.h - the IR of one task, before its schedule ------*- C++ -*-===//
//
// A template (one file per task kind) turns (Task, Schedule) into a Payload:
// the functions that compute one chunk of each stage, as MLIR text over whole
// buffers, and the transform script that schedules them. Script and payload
// are one module that plain mlir-opt also accepts:
//
//   mlir-opt kernel.mlir --transform-interpreter
//
// Every stage function has the same arguments: one flat memref per operand of
// the task, then %scratch (shared), %worker (the worker's own), %chunk.
// Elements have the operand's type: integers are signless, bool is i8. A view
// of an operand is a reinterpret_cast with strides of our choosing: overlapping
// windows make a convolution a plain contraction without any copy.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_LOWER_PAYLOAD_H
#define TLM_LOWER_PAYLOAD_H

#include "base/Result.h"
#include "lower/PointEmitter.h"
#include "space/Packing.h"
#include "space/Schedule.h"
#include "target/Target.h"
#include "task/Task.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tlm {

struct Stage {
  std::string name;   ///< MLIR function, "s0", "s1", ...
  std::string body;   ///< its operations, without the return
  std::string script; ///< transform ops over %fn, the function's handle
  int64_t chunks = 1;
  int64_t rowBlocks = 1, channelBlocks = 1; ///< Kernel.h
  /// Argument whose panels are prefetched (PrefetchPanels.h), or -1.
  int streamed = -1;
};

struct Payload {
  std::vector<Stage> stages;
  std::vector<std::optional<Packing>> packings; ///< per operand
  int64_t scratchFloats = 0;
  int64_t workerFloats = 0;
  /// Element type of %worker; its size stays workerFloats * 4 bytes.
  DType workerType = DType::F32;
  int64_t maxParallelism = 1;
  /// Loops as written: let LLVM vectorise them.
  bool autoVectorize = false;

  /// `@s0`, ... with the script of every stage and the common tail.
  std::string payloadText(const Task &task) const;
  std::string scriptText() const;
  /// Both, in a module that plain mlir-opt accepts.
  std::string moduleText(const Task &task) const;
  /// Elements behind argument i (operands, scratch, worker).
  std::vector<int64_t> argumentFloats(const Task &task) const;
  /// The MLIR types of the same elements.
  std::vector<std::string> argumentTypes(const Task &task) const;
};

/// What a template works with.
struct TemplateInput {
  const Task &task;
  const Schedule &schedule;
  const Target &target;
};

/// A template: a payload, or an Error whose message says why not.
using TemplateFunction = Result<Payload> (*)(const TemplateInput &);

Result<Payload> convTemplate(const TemplateInput &input);
Result<Payload> winogradTemplate(const TemplateInput &input);
Result<Payload> windowTemplate(const TemplateInput &input);
Result<Payload> globalPoolTemplate(const TemplateInput &input);
Result<Payload> pointwiseTemplate(const TemplateInput &input);
Result<Payload> copyTemplate(const TemplateInput &input);
/// A Copy between layouts.
Result<Payload> layoutTemplate(const TemplateInput &input);
Result<Payload> softmaxTemplate(const TemplateInput &input);
Result<Payload> normalizeTemplate(const TemplateInput &input);
Result<Payload> attentionTemplate(const TemplateInput &input);
Result<Payload> plainTemplate(const TemplateInput &input);
/// The plain form of a Normalize or Attention task.
Result<Payload> plainRowsTemplate(const TemplateInput &input);
Result<Payload> computeTemplate(const TemplateInput &input);

/// Emits a strided view `name` (memref) and `name`_t (tensor) of argument
/// `argument` of `floats` elements. `offset` is an affine expression of d0 =
/// %chunk, and of d1 = `step` where one is given. `writable` marks a
/// destination.
struct ViewText {
  std::string name, ops;
  std::string memrefType, tensorType;
};
ViewText view(const std::string &name, const std::string &argument,
              int64_t floats, const std::string &offset,
              const std::vector<int64_t> &sizes,
              const std::vector<int64_t> &strides, bool writable,
              const std::string &step = "");

/// "%a3".
std::string argumentName(int operand);

/// The MLIR type of an element in memory.
std::string memoryType(DType dtype);

/// Splits `extent` into parts of at most `most`, sizes differing by at most
/// one: `count1` tiles of `size1`, then tiles of `size2` (0 when it divides).
struct BalancedTiles {
  int64_t size1 = 1, count1 = 1, size2 = 0;
};
BalancedTiles balancedTiles(int64_t extent, int64_t most);

} // namespace tlm

#endif // TLM_LOWER_PAYLOAD_H
