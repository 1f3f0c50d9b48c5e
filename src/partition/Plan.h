//===- Plan.h - call order and buffers --------------------------*- C++ -*-===//
//
// What partition/ makes of a Graph: unique Tasks, the steps that call them in
// order, and every buffer with its place. The arena is one block; planMemory
// assigns offsets in it. The naive sum is what separate buffers would take.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_PARTITION_PLAN_H
#define TLM_PARTITION_PLAN_H

#include "base/Result.h"
#include "graph/Graph.h"
#include "task/Task.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tlm {

enum class BufferKind : int32_t {
  Input = 0,    ///< user memory, Plain
  Output = 1,   ///< user memory, Plain
  Arena = 2,    ///< activation between kernels
  Constant = 3, ///< value of the graph; packed as the schedule of its task asks
};

struct PlanBuffer {
  BufferKind kind = BufferKind::Arena;
  BufferType type;
  ValueId value =
      kNoValue;        ///< the graph value it holds, or one it is a view of
  int32_t index = 0;   ///< Input/Output: position in the signature
  int64_t offset = -1; ///< Arena: bytes from the arena's start, 64-aligned
  /// >= 0: a view of that buffer, which is none itself: it starts where the
  /// buffer starts and is not larger. Kind, index and offset are the buffer's.
  int32_t aliasOf = -1;
  /// Arena: others use the memory of its border, which every run writes again.
  bool borderEveryRun = false;
};

struct PlanStep {
  int32_t task = 0;              ///< index into Plan::tasks
  std::vector<int32_t> operands; ///< buffers, in the order of Task::operands
  /// Of the anchor's ONNX node; of a Copy between forms, the value's.
  std::string name;
};

/// Steps in a row whose chunks may run interleaved, or by workers that do not
/// wait for each other; all their buffers live together.
struct PlanChain {
  int32_t first = 0, count = 0;
  bool operator==(const PlanChain &) const = default;
};

struct Plan {
  std::vector<Task> tasks; ///< unique by text
  std::vector<PlanStep> steps;
  std::vector<PlanChain> chains; ///< disjoint, in order
  std::vector<PlanBuffer> buffers;
  /// Signature, by position: buffers of kind Input and Output.
  std::vector<int32_t> inputs, outputs;
  int64_t arenaBytes = 0;
  int64_t naiveBytes = 0;
};

struct PartitionOptions {
  int64_t vectorFloats = 16; ///< lanes that channelStride is rounded up to
  int64_t workers = 1;       ///< that run a step
};

/// Fuses, fixes layouts and borders, deduplicates tasks. Fails only for graphs
/// with an operator no task kind covers (the message names node and op). The
/// parts, in order: Fusion, Layouts, Borders, BuildPlan, planMemory.
Result<Plan> partition(const Graph &graph, const PartitionOptions &options);

/// A convolution or pool of one image: its output's rows need those of its
/// input that lie in the window, and of operands like the output their own.
bool keepsRows(const Task &task);

/// Steps of which each reads an image of at least `bytes` that the one before
/// wrote, and whose constants have half of that: every stripe reads them again.
std::vector<PlanChain> findChains(const Plan &plan, int64_t bytes);

/// Assigns arena offsets from the lifetimes of the steps. Bordered buffers get
/// slots that only buffers of the same type share (see BufferType.h), but for
/// large ones: their memory is worth more than writing their border again.
/// Images of a step with equally many channels start a line apart modulo two
/// where their panels would else fight for half of L1.
void planMemory(Plan &plan, int64_t workers);

/// Checks the contracts: operand types equal the tasks', borders wide enough,
/// no two live buffers overlap, outputs written. Empty, or what is broken.
std::string verifyPlan(const Plan &plan, const Graph &graph);

/// For people and tests: one line a step with its buffers, then the sums.
std::string planText(const Plan &plan, const Graph &graph);

} // namespace tlm

#endif // TLM_PARTITION_PLAN_H
