// slice(x W + b) along the columns = x slice(W) + slice(b): where every reader
// of a projection takes columns of it (query, key and value of one matrix),
// each gets a projection of its own and no slice is left.

#include "graph/GraphBuilder.h"
#include "graph/Match.h"
#include "graph/Passes.h"

#include <cstring>

using namespace tlm;

namespace {

/// Columns [begin, begin + count) of a constant whose last dim is `columns`.
ValueId sliceColumns(Graph &graph, ValueId id, int64_t begin, int64_t count) {
  Value value = graph.value(id);
  int64_t columns = value.dims.back();
  int64_t rows = countOf(value.dims) / columns;
  std::vector<float> part(size_t(rows * count));
  const float *source = value.constant.as<float>();
  for (int64_t r = 0; r < rows; ++r)
    std::memcpy(part.data() + r * count, source + r * columns + begin,
                size_t(count) * sizeof(float));
  Dims dims = value.dims;
  dims.back() = count;
  GraphBuilder builder(graph);
  return builder.addConstant(value.name + "#" + std::to_string(begin), dims,
                             std::move(part));
}

/// A Pad that only cuts columns of the last dim.
bool cutsColumns(const Node &node, int64_t &begin) {
  if (node.op != Op::Pad)
    return false;
  const auto &pads = std::get<PadAttributes>(node.attributes);
  size_t last = pads.begin.size() - 1;
  for (size_t i = 0; i < last; ++i)
    if (pads.begin[i] || pads.end[i])
      return false;
  if (pads.begin[last] > 0 || pads.end[last] > 0)
    return false;
  begin = -pads.begin[last];
  return true;
}

} // namespace

void tlm::splitWeights(Graph &graph) {
  Match match(graph);
  size_t count = graph.nodes.size();
  std::vector<std::vector<size_t>> readers(graph.values.size());
  for (size_t i = 0; i < count; ++i)
    for (ValueId id : graph.nodes[i].inputs)
      if (id >= 0)
        readers[size_t(id)].push_back(i);
  std::vector<bool> isCut(count);
  for (size_t i = 0; i < count; ++i) {
    int64_t ignored;
    isCut[i] = cutsColumns(graph.nodes[i], ignored);
  }
  std::vector<std::vector<Node>> before(count);
  for (size_t i = 0; i < count; ++i) {
    // From a cut up to the projection: reshapes that keep the last dim, one
    // addition of a bias.
    int64_t begin = 0;
    if (!cutsColumns(graph.nodes[i], begin))
      continue;
    ValueId source = graph.nodes[i].inputs[0];
    bool onlyCuts = !match.uses.isOutput[size_t(source)];
    for (size_t reader : readers[size_t(source)])
      onlyCuts &= isCut[reader];
    int64_t columns = match.dims(source).back();
    std::vector<const Node *> path;
    ValueId at = source;
    bool biased = false;
    const Node *product = nullptr;
    while (onlyCuts && !product) {
      int32_t maker = match.uses.producer[size_t(at)];
      if (maker < 0 || match.dims(at).empty() ||
          match.dims(at).back() != columns)
        break;
      if (at != source && !match.uses.isInner(at))
        break;
      const Node &node = graph.nodes[size_t(maker)];
      if (node.op == Op::MatMul) {
        product = &node;
      } else if (node.op == Op::Reshape) {
        path.push_back(&node);
        at = node.inputs[0];
      } else if (node.op == Op::Add && !biased) {
        size_t side = graph.value(node.inputs[0]).isConstant() ? 0 : 1;
        const Value &bias = graph.value(node.inputs[side]);
        if (!bias.isConstant() || bias.dtype != DType::F32 ||
            bias.dims.empty() || bias.dims.back() != columns ||
            match.dims(node.inputs[1 - side]) != match.dims(at))
          break;
        biased = true;
        path.push_back(&node);
        at = node.inputs[1 - side];
      } else {
        break;
      }
    }
    if (!product)
      continue;
    const Value &weight = graph.value(product->inputs[1]);
    if (!weight.isConstant() || weight.dtype != DType::F32 ||
        weight.dims.size() != 2)
      continue;

    int64_t part = match.dims(graph.nodes[i].outputs[0]).back();
    auto fresh = [&](ValueId like) {
      Value value;
      value.name = graph.value(like).name + "#" + std::to_string(begin);
      value.dtype = DType::F32;
      value.dims = graph.value(like).dims;
      value.dims.back() = part;
      graph.values.push_back(std::move(value));
      return ValueId(graph.values.size()) - 1;
    };
    ValueId x = product->inputs[0], wide = product->outputs[0];
    std::string name = product->name;
    ValueId w = sliceColumns(graph, product->inputs[1], begin, part);
    ValueId result = fresh(wide);
    before[i].push_back({Op::MatMul, name, {x, w}, {result}, {}});
    for (size_t p = path.size(); p-- > 0;) {
      Node step = *path[p];
      if (step.op == Op::Add) {
        size_t side = graph.value(step.inputs[0]).isConstant() ? 0 : 1;
        step.inputs[side] = sliceColumns(graph, step.inputs[side], begin, part);
        step.inputs[1 - side] = result;
      } else {
        step.inputs[0] = result;
      }
      result = fresh(step.outputs[0]);
      step.outputs = {result};
      before[i].push_back(std::move(step));
    }
    // The cut becomes a reshape to the same dims, which the next pass removes.
    Node &cut = graph.nodes[i];
    cut.op = Op::Reshape;
    cut.inputs = {result};
    cut.attributes = {};
  }
  std::vector<Node> nodes;
  for (size_t i = 0; i < count; ++i) {
    for (Node &node : before[i])
      nodes.push_back(std::move(node));
    nodes.push_back(std::move(graph.nodes[i]));
  }
  graph.nodes = std::move(nodes);
}
