//===- Borders.cpp --------------------------------------------------------===//

#include "partition/Borders.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace tlm {

/// A convolution of fewer channels reads Plain images as they are: Nhwc would
/// be padding for the most part.
static constexpr int64_t kFewChannels = 8;

bool serves(const BufferType &form, const Need &need) {
  if (!need.anyLayout && form.layout != need.layout)
    return false;
  const Border &have = form.border, &want = need.border;
  if (need.dense)
    return have.empty();
  return want.empty() || (have.value == want.value && have.top >= want.top &&
                          have.bottom >= want.bottom &&
                          have.left >= want.left && have.right >= want.right);
}

Borders::Borders(const Graph &graph, const std::vector<Group> &groups,
                 const Layouts &layouts, const PartitionOptions &options)
    : graph(graph), layouts(layouts), vectorFloats(options.vectorFloats),
      producer(graph.values.size(), -1), forms(graph.values.size()) {
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    for (ValueId id : graph.nodes[i].outputs)
      producer[size_t(id)] = int32_t(i);

  std::vector<std::vector<Need>> needs(graph.values.size());
  std::vector<bool> mayBorder(graph.values.size(), false);
  for (const Group &group : groups) {
    for (size_t i = 0; i < group.inputs.size(); ++i)
      needs[size_t(group.inputs[i])].push_back(inputNeed(group, i));
    if (group.scale != kNoValue)
      needs[size_t(group.scale)].push_back(scaleNeed());
    for (int32_t point : group.points)
      for (ValueId id : graph.nodes[size_t(point)].inputs)
        if (!graph.value(id).isConstant())
          needs[size_t(id)].push_back(extraNeed(group, id));
    mayBorder[size_t(group.result)] =
        !group.isView && group.kind != TaskKind::MatMul &&
        group.kind != TaskKind::GlobalPool && group.kind != TaskKind::Softmax &&
        group.kind != TaskKind::BatchMatMul &&
        group.kind != TaskKind::Normalize && group.kind != TaskKind::Attention;
  }
  for (size_t i = 0; i < graph.values.size(); ++i)
    place(ValueId(i), needs[i], mayBorder[i] && layouts.homeOutput[i] < 0);
}

Need Borders::inputNeed(const Group &group, size_t index) const {
  ValueId value = group.inputs[index];
  const Dims &dims = graph.value(value).dims;
  switch (group.kind) {
  case TaskKind::Conv:
  case TaskKind::Depthwise:
  case TaskKind::MaxPool:
  case TaskKind::AveragePool: {
    bool plain = group.kind == TaskKind::Conv && group.groups == 1 &&
                 group.scale == kNoValue && dims[1] < kFewChannels &&
                 layouts.home[size_t(value)] == Layout::Plain;
    Border border = windowBorder(group.windows, dims[2], dims[3]);
    if (!border.empty() && group.kind == TaskKind::MaxPool &&
        !neverNegative(value))
      border.value = -std::numeric_limits<float>::infinity();
    return {.layout = plain ? Layout::Plain : Layout::Nhwc, .border = border};
  }
  case TaskKind::GlobalPool:
    return {.layout = Layout::Nhwc};
  case TaskKind::Concat:
    if (layouts.home[size_t(group.result)] == Layout::Nhwc)
      return {.layout = Layout::Nhwc};
    return {.dense = true};
  case TaskKind::Compute:
    return {.anyLayout = true};
  case TaskKind::Pointwise:
    return group.isView ? Need{.dense = true} : extraNeed(group, value);
  case TaskKind::MatMul:
  case TaskKind::Copy:
  case TaskKind::Softmax:
  default: // reads rows of plain memory
    break;
  }
  return {.dense = true};
}

Need Borders::extraNeed(const Group &group, ValueId value) const {
  // Of another rank it is read through a view with leading ones.
  bool asItIs =
      !group.isMatrix() && group.kind != TaskKind::BatchMatMul &&
      graph.value(value).dims.size() == graph.value(group.result).dims.size();
  if (!asItIs)
    return {.dense = true};
  // A residual in another layout would be read element by element.
  bool isWindow =
      group.kind == TaskKind::Conv || group.kind == TaskKind::Depthwise ||
      group.kind == TaskKind::MaxPool || group.kind == TaskKind::AveragePool;
  if (isWindow && !graph.value(value).isConstant() &&
      graph.value(value).dims == graph.value(group.result).dims)
    return {.layout = Layout::Nhwc};
  return {.anyLayout = true};
}

/// Proved from the operators alone.
bool Borders::neverNegative(ValueId value) const {
  int32_t index = producer[size_t(value)];
  if (index < 0)
    return false;
  const Node &node = graph.nodes[size_t(index)];
  switch (node.op) {
  case Op::Relu:
  case Op::Sigmoid:
  case Op::HardSigmoid:
  case Op::Exp:
  case Op::Abs:
  case Op::Softmax:
    return true;
  case Op::Clip: {
    const auto &bounds = std::get<ScalarAttributes>(node.attributes);
    return bounds.a >= 0 && bounds.b >= 0;
  }
  case Op::MaxPool:
  case Op::AveragePool:
  case Op::Reshape:
    return neverNegative(node.inputs[0]);
  case Op::Concat:
    return std::all_of(node.inputs.begin(), node.inputs.end(),
                       [this](ValueId id) { return neverNegative(id); });
  default:
    return false;
  }
}

BufferType Borders::typeOf(ValueId value, Layout layout,
                           const Border &border) const {
  BufferType type{.dtype = graph.value(value).dtype,
                  .layout = layout,
                  .dims = graph.value(value).dims,
                  .border = border};
  if (layout == Layout::Nhwc)
    type.channelStride =
        (type.dims[1] + vectorFloats - 1) / vectorFloats * vectorFloats;
  if (border.empty())
    type.border = {};
  return type;
}

namespace {
/// The needs of one layout that agree on the border's value.
struct Demand {
  Layout layout;
  Border border;
  int consumers;
};
} // namespace

static std::vector<Demand> mergeDemands(const std::vector<Need> &needs) {
  std::vector<Demand> demands;
  for (const Need &need : needs) {
    if (need.border.empty())
      continue;
    auto found = std::find_if(demands.begin(), demands.end(),
                              [&need](const Demand &demand) {
                                return demand.layout == need.layout &&
                                       demand.border.value == need.border.value;
                              });
    if (found == demands.end()) {
      demands.push_back({need.layout, need.border, 1});
      continue;
    }
    Border &border = found->border;
    border.top = std::max(border.top, need.border.top);
    border.bottom = std::max(border.bottom, need.border.bottom);
    border.left = std::max(border.left, need.border.left);
    border.right = std::max(border.right, need.border.right);
    ++found->consumers;
  }
  // Most asked for first, so the home serves them; 0 before -inf.
  std::sort(demands.begin(), demands.end(),
            [](const Demand &a, const Demand &b) {
              return std::tuple(-a.consumers, a.layout, -a.border.value) <
                     std::tuple(-b.consumers, b.layout, -b.border.value);
            });
  return demands;
}

void Borders::place(ValueId value, const std::vector<Need> &needs,
                    bool mayBorder) {
  std::vector<BufferType> &out = forms[size_t(value)];
  Layout home = layouts.home[size_t(value)];
  std::vector<Demand> demands = mergeDemands(needs);
  for (const Need &need : needs)
    mayBorder &= !(need.dense && home == Layout::Plain);
  out.push_back(typeOf(value, home, {}));
  for (const Demand &demand : demands) {
    BufferType type = typeOf(value, demand.layout, demand.border);
    if (demand.layout == home && mayBorder) {
      out.front() = type;
      mayBorder = false;
    } else {
      out.push_back(type);
    }
  }
  for (const Need &need : needs)
    if (std::none_of(out.begin(), out.end(), [&need](const BufferType &form) {
          return serves(form, need);
        }))
      out.push_back(typeOf(value, need.layout, {}));
}

} // namespace tlm
