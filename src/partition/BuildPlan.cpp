//===- BuildPlan.cpp ------------------------------------------------------===//

#include "partition/BuildPlan.h"

#include "partition/Deduplicate.h"

#include <limits>
#include <map>

namespace tlm {

namespace {

class PlanBuilder {
public:
  PlanBuilder(const Graph &graph, const Layouts &layouts,
              const Borders &borders)
      : graph(graph), layouts(layouts), borders(borders), table(plan.tasks),
        formBuffers(graph.values.size()) {}

  Result<Plan> run(const std::vector<Group> &groups) {
    declareSignature();
    for (const Group &group : groups) {
      if (group.isView) {
        int32_t input = bufferFor(group.inputs[0], {.dense = true});
        addForm(group.result, 0,
                viewOf(input, borders.formsOf(group.result)[0]));
        continue;
      }
      TLM_TRY_STATUS(addStep(group));
    }
    TLM_TRY_STATUS(copyOutputs());
    TLM_TRY_STATUS(std::move(failure));
    return std::move(plan);
  }

private:
  int32_t addBuffer(PlanBuffer buffer) {
    plan.buffers.push_back(std::move(buffer));
    return int32_t(plan.buffers.size() - 1);
  }
  PlanBuffer &buffer(int32_t index) { return plan.buffers[size_t(index)]; }

  void declareSignature() {
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      ValueId id = graph.inputs[i];
      plan.inputs.push_back(addBuffer({.kind = BufferKind::Input,
                                       .type = borders.formsOf(id)[0],
                                       .value = id,
                                       .index = int32_t(i)}));
      addForm(id, 0, plan.inputs.back());
    }
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
      const Value &value = graph.value(graph.outputs[i]);
      plan.outputs.push_back(
          addBuffer({.kind = BufferKind::Output,
                     .type = {.dtype = value.dtype, .dims = value.dims},
                     .value = graph.outputs[i],
                     .index = int32_t(i)}));
    }
  }

  void addForm(ValueId value, size_t form, int32_t index) {
    std::vector<int32_t> &buffers = formBuffers[size_t(value)];
    buffers.resize(borders.formsOf(value).size(), -1);
    buffers[form] = index;
  }

  /// The same memory under another type.
  int32_t viewOf(int32_t index, const BufferType &type) {
    if (buffer(index).type == type)
      return index;
    int32_t root = buffer(index).aliasOf < 0 ? index : buffer(index).aliasOf;
    if (buffer(root).type == type)
      return root;
    auto [entry, isNew] = views.emplace(std::pair(root, type.text()), -1);
    if (!isNew)
      return entry->second;
    PlanBuffer view = buffer(index);
    view.type = type;
    view.aliasOf = root;
    entry->second = addBuffer(std::move(view));
    return entry->second;
  }

  /// The home of a value about to be computed, or of a constant.
  int32_t createHome(ValueId value) {
    const BufferType &type = borders.formsOf(value)[0];
    int32_t output = layouts.homeOutput[size_t(value)];
    int32_t home;
    if (graph.value(value).isConstant()) {
      home = constantBuffer(value, type.dims);
    } else if (output >= 0) {
      home = viewOf(plan.outputs[size_t(output)], type);
      buffer(home).value = value;
    } else {
      home = addBuffer({.type = type, .value = value});
    }
    addForm(value, 0, home);
    return home;
  }

  /// A constant under the dims its consumer wants.
  int32_t constantBuffer(ValueId value, const Dims &dims) {
    auto [entry, isNew] = constants.emplace(std::pair(value, dims), -1);
    if (isNew)
      entry->second =
          addBuffer({.kind = BufferKind::Constant,
                     .type = {.dtype = graph.value(value).dtype, .dims = dims},
                     .value = value});
    return entry->second;
  }

  /// [N,C,1,1] lies alike in both layouts when no lanes are padded, and for
  /// N = 1 its channels are a prefix of the padded lanes.
  static bool isPrefix(const BufferType &type, const BufferType &of) {
    if (!type.border.empty() || !of.border.empty() || type.dims.size() != 4 ||
        type.dims[2] != 1 || type.dims[3] != 1 || of.layout != Layout::Nhwc)
      return false;
    return type.dims[0] == 1 || of.channelStride == type.dims[1];
  }

  int32_t bufferFor(ValueId value, const Need &need) {
    const std::vector<BufferType> &forms = borders.formsOf(value);
    size_t form = 0;
    while (form + 1 < forms.size() && !serves(forms[form], need))
      ++form;
    if (formBuffers[size_t(value)].empty())
      createHome(value);
    int32_t &known = formBuffers[size_t(value)][form];
    if (known >= 0)
      return known;
    int32_t home = formBuffers[size_t(value)][0];
    if (isPrefix(forms[form], forms[0]))
      return known = viewOf(home, forms[form]);
    known = addBuffer({.type = forms[form], .value = value});
    addCopy(home, known);
    return known;
  }

  void addCopy(int32_t from, int32_t to) {
    Task task;
    task.kind = TaskKind::Copy;
    PlanStep step;
    step.name = graph.value(buffer(to).value).name;
    addOperand(task, step, Role::Input, from);
    addOperand(task, step, Role::Output, to);
    Status status = addTask(std::move(task), std::move(step));
    if (!status.ok() && failure.ok())
      failure = status;
  }

  int32_t addOperand(Task &task, PlanStep &step, Role role, int32_t index) {
    task.operands.push_back(
        {role, buffer(index).type, buffer(index).kind == BufferKind::Constant});
    step.operands.push_back(index);
    return int32_t(task.operands.size() - 1);
  }

  Status addTask(Task task, PlanStep step) {
    if (std::string broken = task.verify(); !broken.empty())
      return makeError("node '" + step.name +
                       "': " + std::string(nameOf(task.kind)) +
                       " is out of bounds: " + broken);
    step.task = table.add(std::move(task));
    plan.steps.push_back(std::move(step));
    return success();
  }

  int32_t matrixView(int32_t index, size_t columnDim) {
    const BufferType &type = buffer(index).type;
    return viewOf(
        index, {.dtype = type.dtype, .dims = matrixDims(type.dims, columnDim)});
  }

  /// How the group's task sees one of its inputs or its result.
  int32_t anchorView(const Group &group, int32_t index, bool isInput) {
    const Dims &dims = buffer(index).type.dims;
    if (group.kind == TaskKind::Softmax)
      return viewOf(
          index, {.dtype = buffer(index).type.dtype,
                  .dims = Dims(dims.begin(),
                               dims.begin() + int64_t(group.columnDim) + 1)});
    if (group.kind == TaskKind::BatchMatMul)
      return viewOf(
          index, {.dtype = buffer(index).type.dtype, .dims = batchDims(dims)});
    if (!group.isMatrix())
      return index;
    bool lastColumn = isInput && !group.transposedWeight;
    return matrixView(index, lastColumn ? dims.size() - 1 : group.columnDim);
  }

  void addWeights(const Group &group, Task &task, PlanStep &step) {
    if (group.weight == kNoValue)
      return;
    Dims dims = graph.value(group.weight).dims;
    if (group.isMatrix())
      dims = matrixDims(dims, group.transposedWeight ? 1 : dims.size() - 1);
    addOperand(task, step, Role::Weight, constantBuffer(group.weight, dims));
    if (group.bias == kNoValue)
      return;
    int64_t count = countOf(graph.value(group.bias).dims);
    addOperand(task, step, Role::Bias, constantBuffer(group.bias, {count}));
  }

  /// max(x, c) and min(x, c) with one constant are clips.
  bool foldToClip(const Node &node, PointOp &point, ValueId &operand) const {
    if ((node.op != Op::Max && node.op != Op::Min) || node.inputs.size() != 2)
      return false;
    for (size_t i = 0; i < 2; ++i) {
      const Value &bound = graph.value(node.inputs[i]);
      if (!bound.isConstant() || countOf(bound.dims) != 1)
        continue;
      constexpr float kInfinity = std::numeric_limits<float>::infinity();
      float value = *bound.constant.as<float>();
      point.op = Op::Clip;
      point.a = node.op == Op::Max ? value : -kInfinity;
      point.b = node.op == Op::Max ? kInfinity : value;
      operand = node.inputs[1 - i];
      return value == value;
    }
    return false;
  }

  void addPoints(const Group &group, Task &task, PlanStep &step) {
    std::map<ValueId, PointRef> refs{{group.accumulator, PointRef{}}};
    auto refOf = [&](ValueId id) {
      if (auto found = refs.find(id); found != refs.end())
        return found->second;
      int32_t operand =
          addOperand(task, step, Role::Extra, extraBuffer(group, id));
      return refs[id] = {PointRef::Kind::Operand, operand};
    };
    for (int32_t index : group.points) {
      const Node &node = graph.nodes[size_t(index)];
      PointOp point{node.op, {}, 0, 0};
      ValueId only = kNoValue;
      if (foldToClip(node, point, only)) {
        point.inputs = {refOf(only)};
      } else {
        point = {node.op, {}, 0, 0};
        for (ValueId id : node.inputs)
          point.inputs.push_back(refOf(id));
        if (const auto *scalars =
                std::get_if<ScalarAttributes>(&node.attributes)) {
          point.a = scalars->a;
          point.b = scalars->b;
        }
      }
      refs[node.outputs[0]] = {PointRef::Kind::Point,
                               int32_t(task.points.size())};
      task.points.push_back(std::move(point));
    }
  }

  int32_t extraBuffer(const Group &group, ValueId id) {
    Dims dims = *extraDims(graph, group, id);
    if (graph.value(id).isConstant())
      return constantBuffer(id, dims);
    int32_t index = bufferFor(id, borders.extraNeed(group, id));
    if (buffer(index).type.dims == dims)
      return index;
    return viewOf(index, {.dtype = buffer(index).type.dtype, .dims = dims});
  }

  Status addStep(const Group &group) {
    Task task;
    task.kind = group.kind;
    task.windows = group.windows;
    task.groups = group.groups;
    task.transposedWeight = group.transposedWeight;
    task.countIncludePad = group.countIncludePad;
    task.computation = group.computation;
    task.norm = group.norm;
    task.epsilon = group.epsilon;
    task.attention = group.attention;
    PlanStep step;
    step.name = group.name;
    for (size_t i = 0; i < group.inputs.size(); ++i) {
      int32_t input = bufferFor(group.inputs[i], borders.inputNeed(group, i));
      if (group.kind == TaskKind::Pointwise)
        input = broadcastView(group, input);
      bool isMask = group.kind == TaskKind::Attention && i == 3;
      addOperand(task, step, isMask ? Role::Extra : Role::Input,
                 anchorView(group, input, true));
    }
    addWeights(group, task, step);
    if (group.scale != kNoValue)
      addOperand(task, step, Role::InputScale,
                 bufferFor(group.scale, borders.scaleNeed()));
    addPoints(group, task, step);
    int32_t output = createHome(group.result);
    addOperand(task, step, Role::Output, anchorView(group, output, false));
    return addTask(std::move(task), std::move(step));
  }

  /// A Pointwise input of lower rank gets leading ones.
  int32_t broadcastView(const Group &group, int32_t index) {
    Dims dims = *extraDims(graph, group, group.inputs[0]);
    if (buffer(index).type.dims == dims)
      return index;
    return viewOf(index, {.dtype = buffer(index).type.dtype, .dims = dims});
  }

  Status copyOutputs() {
    for (size_t i = 0; i < graph.outputs.size(); ++i)
      if (!layouts.isHome[i] && countOf(graph.value(graph.outputs[i]).dims))
        addCopy(bufferFor(graph.outputs[i], {.anyLayout = true}),
                plan.outputs[i]);
    return success();
  }

  const Graph &graph;
  const Layouts &layouts;
  const Borders &borders;
  Plan plan;
  TaskTable table;
  /// The first error of a Copy.
  Status failure = success();
  /// Per value and form, once it exists.
  std::vector<std::vector<int32_t>> formBuffers;
  std::map<std::pair<int32_t, std::string>, int32_t> views;
  std::map<std::pair<ValueId, Dims>, int32_t> constants;
};

} // namespace

Result<Plan> buildPlan(const Graph &graph, const std::vector<Group> &groups,
                       const Layouts &layouts, const Borders &borders) {
  return PlanBuilder(graph, layouts, borders).run(groups);
}

} // namespace tlm
