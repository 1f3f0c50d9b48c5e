//===- ParseTask.cpp - canonical text to Task -----------------------------===//

#include "task/ParseComputation.h"
#include "task/Task.h"

#include <array>

namespace tlm {

template <typename E>
static bool takeName(Line &line, int count, E &value) {
  std::string_view word = line.word();
  for (int i = 0; i < count; ++i)
    if (nameOf(E(i)) == word) {
      value = E(i);
      return true;
    }
  return false;
}

static bool takeOp(Line &line, Op &op) {
  constexpr std::array kOps = {
#define TLM_OP(id, name, text, pointwise) Op::name,
#include "base/Ops.def"
  };
  std::string_view word = line.word();
  for (Op candidate : kOps)
    if (nameOf(candidate) == word) {
      op = candidate;
      return true;
    }
  return false;
}

static bool parseType(Line &line, BufferType &type) {
  if (!takeDType(line, type.dtype))
    return false;
  if (line.take(" nhwc["))
    type.layout = Layout::Nhwc;
  else if (!line.take(" plain["))
    return false;
  while (!line.take("]")) {
    if (!type.dims.empty() && !line.take(","))
      return false;
    if (!line.integer(type.dims.emplace_back(), ",]"))
      return false;
  }
  if (type.layout == Layout::Nhwc &&
      (!line.take("c") || !line.integer(type.channelStride)))
    return false;
  if (!line.take(" border("))
    return true;
  Border &border = type.border;
  return line.integer(border.top, ",") && line.take(",") &&
         line.integer(border.bottom, ",") && line.take(",") &&
         line.integer(border.left, ",") && line.take(",") &&
         line.integer(border.right, ")") && line.take(")=") &&
         line.number(border.value);
}

static bool parseOperand(Line &line, Operand &operand) {
  if (!takeName(line, 6, operand.role))
    return false;
  operand.isConstant = line.take(" const");
  return line.take(" ") && parseType(line, operand.type);
}

static bool parseWindow(Line &line, Window &window) {
  return line.integer(window.kernel) && line.take(" stride ") &&
         line.integer(window.stride) && line.take(" dilation ") &&
         line.integer(window.dilation) && line.take(" pad ") &&
         line.integer(window.padBegin) && line.take(" ") &&
         line.integer(window.padEnd);
}

static bool parsePoint(Line &line, PointOp &point) {
  if (!takeOp(line, point.op))
    return false;
  while (line.take(" ")) {
    if (line.take("a=")) {
      if (!line.number(point.a))
        return false;
    } else if (line.take("b=")) {
      if (!line.number(point.b))
        return false;
    } else {
      PointRef ref;
      if (line.take("operand"))
        ref.kind = PointRef::Kind::Operand;
      else if (line.take("point"))
        ref.kind = PointRef::Kind::Point;
      else if (!line.take("acc"))
        return false;
      if (ref.kind != PointRef::Kind::Accumulator && !line.integer(ref.index))
        return false;
      point.inputs.push_back(ref);
    }
  }
  return true;
}

static bool parseClause(Line &line, Task &task) {
  if (line.take("kind "))
    return takeName(line, 14, task.kind);
  if (line.take("operand "))
    return parseOperand(line, task.operands.emplace_back());
  if (line.take("window "))
    return parseWindow(line, task.windows.emplace_back());
  if (line.take("groups "))
    return line.integer(task.groups);
  if (line.take("transposed_weight"))
    return task.transposedWeight = true;
  if (line.take("count_include_pad"))
    return task.countIncludePad = true;
  if (line.take("norm "))
    return takeName(line, 2, task.norm) && line.take(" epsilon ") &&
           line.number(task.epsilon);
  if (line.take("heads "))
    return line.integer(task.attention.heads) && line.take(" key_heads ") &&
           line.integer(task.attention.keyHeads) && line.take(" scale ") &&
           line.number(task.attention.scale);
  if (line.take("point "))
    return parsePoint(line, task.points.emplace_back());
  return parseComputationClause(line, task.computation);
}

static Error lineError(size_t number, std::string_view found,
                       const std::string &what) {
  return makeError("task text, line " + std::to_string(number) + ": " + what +
                   ": '" + std::string(found.substr(0, 80)) + "'");
}

Result<Task> parseTask(const std::string &text) {
  std::string version = "tlm-task " + std::to_string(kTaskVersion);
  std::vector<std::string_view> lines;
  Task task;
  for (std::string_view rest = text; !rest.empty();) {
    size_t end = rest.find('\n');
    std::string_view found = rest.substr(0, end);
    lines.push_back(found);
    if (lines.size() == 1) {
      if (found != version)
        return lineError(1, found, "expected '" + version + "'");
    } else if (Line line(found); !parseClause(line, task) || !line.atEnd()) {
      return lineError(lines.size(), found, "malformed clause");
    }
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  if (lines.empty())
    return lineError(1, "", "expected '" + version + "'");
  if (std::string broken = task.verify(); !broken.empty())
    return makeError("task text: " + broken);

  // Text is a key: another spelling of the same task is refused.
  std::string canonical = task.text();
  if (canonical == text)
    return task;
  std::string_view rest = canonical;
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string_view wanted = rest.substr(0, rest.find('\n'));
    if (lines[i] != wanted)
      return lineError(i + 1, lines[i],
                       "expected '" + std::string(wanted) + "'");
    rest.remove_prefix(std::min(rest.size(), wanted.size() + 1));
  }
  return makeError("task text: does not end after its last clause");
}

} // namespace tlm
