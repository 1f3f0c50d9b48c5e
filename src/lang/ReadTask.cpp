//===- ReadTask.cpp - words to Task ---------------------------------------===//

#include "lang/NumberWords.h"
#include "lang/TaskSentence.h"
#include "task/ParseComputation.h"

#include <algorithm>

namespace tlm {
namespace {

class TaskReader {
public:
  explicit TaskReader(TokenReader &reader) : reader(reader) {}

  Result<Task> read() {
    if (!reader.take(kTask))
      return reader.error("expected [TASK]");
    if (!takeTaskWord(reader, task.kind))
      return reader.error("expected a kind of task");
    TLM_TRY_STATUS(readLoops());
    while (reader.word() == "window" || reader.word() == "same")
      TLM_TRY_STATUS(readWindow());
    TLM_TRY_STATUS(readAttributes());
    for (Role role; takeTaskWord(reader, role);)
      TLM_TRY_STATUS(readOperand(role));
    for (Op op; takeTaskWord(reader, op);)
      TLM_TRY_STATUS(readPoint(op));
    if (task.kind == TaskKind::Compute)
      TLM_TRY_STATUS(readComputation());
    return std::move(task);
  }

private:
  template <typename T>
  Status readInto(T &value) {
    size_t begin = reader.position();
    TLM_TRY(int64_t number, readInteger(reader));
    value = T(number);
    return int64_t(value) == number
               ? success()
               : Status(reader.errorAt(begin, "a number too large"));
  }
  Status readReal(float &value) {
    TLM_TRY(value, readFloat(reader));
    return success();
  }
  Status expect(std::string_view word) {
    return reader.take(word)
               ? success()
               : Status(reader.error("expected '" + std::string(word) + "'"));
  }

  Status readLoops() {
    TLM_TRY_STATUS(expect("par"));
    while (beginsInteger(reader)) {
      TLM_TRY_STATUS(readInto(extents.emplace_back()));
      ++parallel;
    }
    if (!reader.take("red"))
      return success();
    while (beginsInteger(reader))
      TLM_TRY_STATUS(readInto(extents.emplace_back()));
    return success();
  }

  bool beginsDim() const {
    return beginsInteger(reader) || reader.word().starts_with('@');
  }

  Status readDim(int64_t &extent) {
    for (int loop = 0; loop < kLoopWords; ++loop) {
      if (reader.word() != loopWord(loop))
        continue;
      if (size_t(loop) >= extents.size())
        return reader.error("one of " + std::to_string(extents.size()) +
                            " loops was expected");
      extent = extents[size_t(loop)];
      reader.skip();
      return success();
    }
    return readInto(extent);
  }

  Status readWindow() {
    if (reader.word() == "same" && task.windows.empty())
      return reader.error("there is no window before it");
    if (reader.take("same")) {
      task.windows.push_back(task.windows.back());
      return success();
    }
    TLM_TRY_STATUS(expect("window"));
    Window &window = task.windows.emplace_back();
    TLM_TRY_STATUS(readDim(window.kernel));
    if (reader.take("stride"))
      TLM_TRY_STATUS(readInto(window.stride));
    if (reader.take("dilation"))
      TLM_TRY_STATUS(readInto(window.dilation));
    if (reader.take("pad")) {
      TLM_TRY_STATUS(readInto(window.padBegin));
      TLM_TRY_STATUS(readInto(window.padEnd));
    }
    return success();
  }

  Status readAttributes() {
    if (reader.take("groups"))
      TLM_TRY_STATUS(readInto(task.groups));
    task.transposedWeight = reader.take("transposed_weight");
    task.countIncludePad = reader.take("count_include_pad");
    if (task.kind == TaskKind::Normalize) {
      if (!takeTaskWord(reader, task.norm))
        return reader.error("expected a norm");
      TLM_TRY_STATUS(expect("epsilon"));
      TLM_TRY_STATUS(readReal(task.epsilon));
    }
    if (task.kind == TaskKind::Attention) {
      TLM_TRY_STATUS(expect("heads"));
      TLM_TRY_STATUS(readInto(task.attention.heads));
      TLM_TRY_STATUS(expect("key_heads"));
      TLM_TRY_STATUS(readInto(task.attention.keyHeads));
      TLM_TRY_STATUS(expect("scale"));
      TLM_TRY_STATUS(readReal(task.attention.scale));
    }
    return success();
  }

  Status readOperand(Role role) {
    Operand &operand = task.operands.emplace_back();
    BufferType &type = operand.type;
    operand.role = role;
    operand.isConstant = reader.take("const");
    if (!takeTaskWord(reader, type.dtype))
      return reader.error("expected an element type");
    if (!takeTaskWord(reader, type.layout))
      return reader.error("expected a layout");
    if (role == Role::Output)
      type.dims.assign(extents.begin(), extents.begin() + parallel);
    while (beginsDim())
      TLM_TRY_STATUS(readDim(type.dims.emplace_back()));
    if (type.layout == Layout::Nhwc) {
      if (type.dims.size() < 2)
        return reader.error("nhwc without channels");
      // An absurd extent is for verify to refuse.
      type.channelStride =
          usualLanes(std::clamp<int64_t>(type.dims[1], 0, int64_t(1) << 60));
      if (reader.take("lanes"))
        TLM_TRY_STATUS(readInto(type.channelStride));
    }
    return readBorder(type.border);
  }

  Status readBorder(Border &border) {
    if (reader.take("ring")) {
      TLM_TRY_STATUS(readInto(border.top));
      border.bottom = border.left = border.right = border.top;
    } else if (reader.take("border")) {
      for (int64_t *side :
           {&border.top, &border.bottom, &border.left, &border.right})
        TLM_TRY_STATUS(readInto(*side));
    }
    return reader.take("fill") ? readReal(border.value) : success();
  }

  Status readPoint(Op op) {
    PointOp &point = task.points.emplace_back();
    point.op = op;
    for (;;) {
      PointRef ref;
      if (reader.take("point"))
        ref.kind = PointRef::Kind::Point;
      else if (reader.take("operand"))
        ref.kind = PointRef::Kind::Operand;
      else if (!reader.take("acc"))
        break;
      if (ref.kind != PointRef::Kind::Accumulator)
        TLM_TRY_STATUS(readInto(ref.index));
      point.inputs.push_back(ref);
    }
    if (reader.take("a"))
      TLM_TRY_STATUS(readReal(point.a));
    if (reader.take("b"))
      TLM_TRY_STATUS(readReal(point.b));
    return success();
  }

  Status readComputation() {
    Computation &computation = task.computation;
    computation.loops.assign(extents.begin(), extents.begin() + parallel);
    computation.reductions.assign(extents.begin() + parallel, extents.end());
    for (Scalar op; takeTaskWord(reader, op);)
      TLM_TRY_STATUS(readScalar(op));
    TLM_TRY_STATUS(expect("result"));
    return readDistance(computation.result);
  }

  /// The node so far back from the end of those read.
  Status readDistance(int32_t &node) {
    size_t begin = reader.position();
    TLM_TRY(int64_t distance, readInteger(reader));
    auto count = int64_t(task.computation.nodes.size());
    if (distance < 1 || distance > count)
      return reader.errorAt(begin, "one of the " + std::to_string(count) +
                                       " operations before was expected");
    node = int32_t(count - distance);
    return success();
  }

  Status readScalar(Scalar op) {
    ScalarNode node;
    node.op = op;
    if (op == Scalar::Reduce && !takeTaskWord(reader, task.computation.combine))
      return reader.error("expected a way to reduce");
    bool typed =
        op == Scalar::Constant || op == Scalar::Load || op == Scalar::Cast;
    if (typed && !takeTaskWord(reader, node.dtype))
      return reader.error("expected an element type");
    if (op == Scalar::Loop || op == Scalar::Load)
      TLM_TRY_STATUS(readInto(node.index));
    if (op == Scalar::Constant)
      TLM_TRY_STATUS(readConstant(node));
    while (beginsInteger(reader))
      TLM_TRY_STATUS(readDistance(node.arguments.emplace_back()));
    if (op == Scalar::Loop)
      node.dtype = DType::I64;
    else if (!typed)
      node.dtype = yieldedType(task.computation, node);
    task.computation.nodes.push_back(std::move(node));
    return success();
  }

  Status readConstant(ScalarNode &node) {
    if (!isFloat(node.dtype))
      return readInto(node.integer);
    if (node.dtype == DType::F32) {
      TLM_TRY(node.real, readFloat(reader));
    } else {
      TLM_TRY(node.real, readDouble(reader));
    }
    return success();
  }

  TokenReader &reader;
  Task task;
  std::vector<int64_t> extents; ///< of all loops
  std::ptrdiff_t parallel = 0;  ///< of them
};

} // namespace

Result<Task> readTask(TokenReader &reader) {
  size_t begin = reader.position();
  TLM_TRY(Task task, TaskReader(reader).read());
  if (std::string broken = task.verify(); !broken.empty())
    return reader.errorAt(begin, "no task: " + broken);
  std::vector<Token> canonical;
  appendTask(canonical, task);
  std::span<const Token> found = reader.since(begin);
  auto [differs, wanted] = std::ranges::mismatch(found, canonical);
  if (differs == found.end() && wanted == canonical.end())
    return task;
  return reader.errorAt(begin + size_t(differs - found.begin()),
                        wanted == canonical.end()
                            ? "the task ended before"
                            : "a task that is written with '" +
                                  wordsText({*wanted}) + "' here");
}

} // namespace tlm
