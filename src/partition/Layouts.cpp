//===- Layouts.cpp --------------------------------------------------------===//

#include "partition/Layouts.h"

#include <algorithm>

namespace tlm {

/// Fewer channels than this are mostly padding in Nhwc.
static constexpr int64_t kFewChannels = 8;

static bool isConvLike(TaskKind kind) {
  return kind == TaskKind::Conv || kind == TaskKind::Depthwise ||
         kind == TaskKind::MaxPool || kind == TaskKind::AveragePool ||
         kind == TaskKind::GlobalPool;
}

/// Kinds that work in either layout.
static bool isIndifferent(TaskKind kind) {
  return kind == TaskKind::Pointwise || kind == TaskKind::Concat ||
         kind == TaskKind::Compute;
}

/// Values that a convolution or pooling reads, at once or through groups that
/// work in either layout.
static std::vector<bool> readAsImages(const Graph &graph,
                                      const std::vector<Group> &groups) {
  std::vector<bool> wanted(graph.values.size(), false);
  for (size_t i = groups.size(); i-- > 0;) {
    const Group &group = groups[i];
    bool passes = isIndifferent(group.kind) && !group.isView &&
                  wanted[size_t(group.result)];
    auto want = [&](ValueId id) {
      const Value &value = graph.value(id);
      if (value.dims.size() == 4 && value.dtype == DType::F32)
        wanted[size_t(id)] = true;
    };
    if (isConvLike(group.kind) || passes)
      for (ValueId id : group.inputs)
        want(id);
    if (isConvLike(group.kind) || passes)
      for (int32_t point : group.points)
        for (ValueId id : graph.nodes[size_t(point)].inputs)
          if (graph.value(id).dims == graph.value(group.result).dims)
            want(id);
  }
  return wanted;
}

static Layout resultLayout(const Graph &graph, const Group &group,
                           const std::vector<Layout> &home, bool isImage) {
  const Dims &dims = graph.value(group.result).dims;
  if (dims.size() != 4 || group.isView)
    return Layout::Plain;
  auto isNhwc = [&home](ValueId id) {
    return home[size_t(id)] == Layout::Nhwc;
  };
  switch (group.kind) {
  case TaskKind::Conv:
  case TaskKind::Depthwise:
  case TaskKind::MaxPool:
  case TaskKind::AveragePool:
    return Layout::Nhwc;
  case TaskKind::Compute:
    return isImage && graph.value(group.result).dtype == DType::F32 &&
                   dims[1] >= kFewChannels
               ? Layout::Nhwc
               : Layout::Plain;
  case TaskKind::Concat:
    if (isImage && (dims[2] != 1 || dims[3] != 1))
      return Layout::Nhwc;
    [[fallthrough]];
  case TaskKind::Pointwise: {
    bool nhwc = std::any_of(group.inputs.begin(), group.inputs.end(), isNhwc);
    for (int32_t point : group.points)
      for (ValueId id : graph.nodes[size_t(point)].inputs)
        nhwc |= isNhwc(id) && graph.value(id).dims == dims;
    return nhwc ? Layout::Nhwc : Layout::Plain;
  }
  default:
    return Layout::Plain;
  }
}

Layouts chooseLayouts(const Graph &graph, const std::vector<Group> &groups) {
  size_t count = graph.values.size();
  Layouts layouts{std::vector<Layout>(count, Layout::Plain),
                  std::vector<int32_t>(count, -1),
                  std::vector<bool>(graph.outputs.size(), false)};
  std::vector<const Group *> producer(count, nullptr);
  std::vector<bool> isImage = readAsImages(graph, groups);
  for (const Group &group : groups) {
    layouts.home[size_t(group.result)] =
        resultLayout(graph, group, layouts.home, isImage[size_t(group.result)]);
    producer[size_t(group.result)] = &group;
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    ValueId id = graph.outputs[i];
    while (producer[size_t(id)] && producer[size_t(id)]->isView)
      id = producer[size_t(id)]->inputs[0];
    if (!producer[size_t(id)] || layouts.home[size_t(id)] != Layout::Plain ||
        layouts.homeOutput[size_t(id)] >= 0)
      continue;
    layouts.homeOutput[size_t(id)] = int32_t(i);
    layouts.isHome[i] = true;
  }
  return layouts;
}

} // namespace tlm
