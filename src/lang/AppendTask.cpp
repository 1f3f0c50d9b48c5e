//===- AppendTask.cpp - Task to words -------------------------------------===//

#include "lang/NumberWords.h"
#include "lang/TaskLoops.h"
#include "lang/TaskSentence.h"

namespace tlm {
namespace {

class TaskWriter {
public:
  TaskWriter(std::vector<Token> &tokens, const Task &task)
      : tokens(tokens), task(task), loops(TaskLoops::of(task)),
        extents(loops.parallel) {
    extents.insert(extents.end(), loops.reductions.begin(),
                   loops.reductions.end());
  }

  void write() {
    tokens.push_back(kTask);
    word(taskWord(task.kind));
    word("par");
    for (int64_t extent : loops.parallel)
      integer(extent);
    if (!loops.reductions.empty())
      word("red");
    for (int64_t extent : loops.reductions)
      integer(extent);
    for (size_t i = 0; i < task.windows.size(); ++i)
      if (i && task.windows[i] == task.windows[i - 1])
        word("same");
      else
        window(i);
    attributes();
    for (size_t i = 0; i < task.operands.size(); ++i)
      operand(i);
    for (const PointOp &point : task.points)
      pointOp(point);
    if (task.kind == TaskKind::Compute)
      computation();
  }

private:
  void word(std::string_view text) {
    tokens.push_back(Vocabulary::get().at(text));
  }
  void integer(int64_t value) { appendInteger(tokens, value); }
  /// The canonical text does not tell the zeros apart.
  void real(float value) { appendReal(tokens, value == 0 ? 0.0f : value); }

  void dim(int64_t extent, int loop) {
    if (loop != TaskLoops::kNone && loop < kLoopWords &&
        extents[size_t(loop)] == extent)
      word(loopWord(loop));
    else
      integer(extent);
  }

  void window(size_t i) {
    const Window &window = task.windows[i];
    word("window");
    // Kernels are the last reductions.
    dim(window.kernel, int(extents.size() - task.windows.size() + i));
    if (window.stride != 1) {
      word("stride");
      integer(window.stride);
    }
    if (window.dilation != 1) {
      word("dilation");
      integer(window.dilation);
    }
    if (window.padBegin || window.padEnd) {
      word("pad");
      integer(window.padBegin);
      integer(window.padEnd);
    }
  }

  void attributes() {
    if (task.groups != 1) {
      word("groups");
      integer(task.groups);
    }
    if (task.transposedWeight)
      word("transposed_weight");
    if (task.countIncludePad)
      word("count_include_pad");
    if (task.kind == TaskKind::Normalize) {
      word(taskWord(task.norm));
      word("epsilon");
      real(task.epsilon);
    }
    if (task.kind == TaskKind::Attention) {
      word("heads");
      integer(task.attention.heads);
      word("key_heads");
      integer(task.attention.keyHeads);
      word("scale");
      real(task.attention.scale);
    }
  }

  void operand(size_t i) {
    const Operand &operand = task.operands[i];
    const BufferType &type = operand.type;
    word(taskWord(operand.role));
    if (operand.isConstant)
      word("const");
    word(taskWord(type.dtype));
    word(taskWord(type.layout));
    if (operand.role != Role::Output)
      for (size_t d = 0; d < type.dims.size(); ++d)
        dim(type.dims[d], loops.accesses[i][d]);
    if (type.layout == Layout::Nhwc &&
        type.channelStride != usualLanes(type.dims[1])) {
      word("lanes");
      integer(type.channelStride);
    }
    border(type.border);
  }

  void border(const Border &border) {
    if (border.empty())
      return;
    if (border.top == border.bottom && border.top == border.left &&
        border.top == border.right) {
      word("ring");
      integer(border.top);
    } else {
      word("border");
      for (int64_t side :
           {border.top, border.bottom, border.left, border.right})
        integer(side);
    }
    if (border.value != 0) {
      word("fill");
      real(border.value);
    }
  }

  void pointOp(const PointOp &point) {
    word(taskWord(point.op));
    for (PointRef ref : point.inputs) {
      if (ref.kind == PointRef::Kind::Accumulator) {
        word("acc");
        continue;
      }
      word(ref.kind == PointRef::Kind::Point ? "point" : "operand");
      integer(ref.index);
    }
    if (point.a != 0) {
      word("a");
      real(point.a);
    }
    if (point.b != 0) {
      word("b");
      real(point.b);
    }
  }

  void computation() {
    const std::vector<ScalarNode> &nodes = task.computation.nodes;
    for (size_t i = 0; i < nodes.size(); ++i)
      scalar(nodes[i], int64_t(i));
    word("result");
    integer(int64_t(nodes.size()) - task.computation.result);
  }

  void scalar(const ScalarNode &node, int64_t i) {
    word(taskWord(node.op));
    if (node.op == Scalar::Reduce)
      word(taskWord(task.computation.combine));
    if (node.op == Scalar::Constant || node.op == Scalar::Load ||
        node.op == Scalar::Cast)
      word(taskWord(node.dtype));
    if (node.op == Scalar::Loop || node.op == Scalar::Load)
      integer(node.index);
    if (node.op == Scalar::Constant) {
      if (node.dtype == DType::F32)
        appendReal(tokens, float(node.real));
      else if (isFloat(node.dtype))
        appendReal(tokens, node.real);
      else
        integer(node.integer);
    }
    for (int32_t argument : node.arguments)
      integer(i - argument);
  }

  std::vector<Token> &tokens;
  const Task &task;
  TaskLoops loops;
  std::vector<int64_t> extents; ///< of all loops
};

} // namespace

void appendTask(std::vector<Token> &tokens, const Task &task) {
  TaskWriter(tokens, task).write();
}

} // namespace tlm
