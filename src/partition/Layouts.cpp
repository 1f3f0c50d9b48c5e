//===- Layouts.cpp --------------------------------------------------------===//

#include "partition/Layouts.h"

#include <algorithm>

namespace tlm {

static Layout resultLayout(const Graph &graph, const Group &group,
                           const std::vector<Layout> &home) {
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
  case TaskKind::Concat:
    if (dims[2] != 1 || dims[3] != 1)
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
  for (const Group &group : groups) {
    layouts.home[size_t(group.result)] =
        resultLayout(graph, group, layouts.home);
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
