//===- Fusion.cpp ---------------------------------------------------------===//

#include "partition/Fusion.h"

#include "graph/Uses.h"
#include "partition/Anchors.h"
#include "partition/Computations.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tlm {

/// More points make a kernel no faster, only longer to compile.
static constexpr size_t kMaxPoints = 32;

Dims matrixDims(const Dims &dims, size_t columnDim) {
  return {countOf(dims) / dims[columnDim], dims[columnDim]};
}

Dims batchDims(const Dims &dims) {
  size_t rank = dims.size();
  Dims leading(dims.begin(), dims.end() - 2);
  return {countOf(leading), dims[rank - 2], dims[rank - 1]};
}

/// An operand of a batch of matrices is one matrix, or has one a batch.
static std::optional<Dims> batchExtraDims(const Dims &dims, const Dims &out) {
  Dims leading(dims.begin(), dims.end() - 2);
  if (countOf(leading) != 1 &&
      !std::equal(leading.begin(), leading.end(), out.begin()))
    return std::nullopt;
  return batchDims(dims);
}

std::optional<Dims> extraDims(const Graph &graph, const Group &group,
                              ValueId value) {
  const Dims &out = graph.value(group.result).dims;
  Dims dims = graph.value(value).dims;
  if (dims.size() > out.size())
    return std::nullopt;
  dims.insert(dims.begin(), out.size() - dims.size(), 1);
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] != out[i] && dims[i] != 1)
      return std::nullopt;
  if (group.kind == TaskKind::BatchMatMul)
    return batchExtraDims(dims, out);
  if (!group.isMatrix())
    return dims;
  Dims matrix = matrixDims(dims, group.columnDim);
  if (matrix[0] != 1 && matrix[0] != countOf(out) / out[group.columnDim])
    return std::nullopt;
  return matrix;
}

namespace {

class Fusion {
public:
  explicit Fusion(const Graph &graph)
      : graph(graph), uses(graph), users(graph.values.size()),
        taken(graph.nodes.size(), false) {
    for (size_t i = 0; i < graph.nodes.size(); ++i)
      for (ValueId id : graph.nodes[i].inputs)
        if (id != kNoValue)
          users[size_t(id)].push_back(int32_t(i));
  }

  Result<std::vector<Group>> run() {
    TLM_TRY_STATUS(checkTypes());
    TLM_TRY_STATUS(makeAnchors());
    for (Group &group : groups) {
      takeScale(group);
      takeBias(group);
    }
    for (size_t i : deepestFirst())
      takePoints(groups[i]);
    makePointwiseGroups();
    dropUnused();
    return std::move(groups);
  }

private:
  Status checkTypes() const {
    for (const Node &node : graph.nodes)
      for (const std::vector<ValueId> *ids : {&node.inputs, &node.outputs})
        for (ValueId id : *ids) {
          if (id == kNoValue)
            continue;
          const Value &value = graph.value(id);
          bool isHalf = value.dtype == DType::F16 || value.dtype == DType::BF16;
          if (isHalf && node.op != Op::Reshape)
            return makeError("node '" + node.name +
                             "': " + std::string(nameOf(node.op)) + " of " +
                             typeText(value.dtype, value.dims) +
                             " is not supported");
        }
    return success();
  }

  bool isEmpty(ValueId id) const {
    return id != kNoValue && countOf(dimsOf(id)) == 0;
  }

  Status makeAnchors() {
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node &node = graph.nodes[i];
      if (isEmpty(node.outputs[0])) {
        taken[i] = true;
        continue;
      }
      bool readsEmpty = std::any_of(node.inputs.begin(), node.inputs.end(),
                                    [this](ValueId id) { return isEmpty(id); });
      if (isPointwise(node.op))
        continue;
      TLM_TRY(Group group, readsEmpty ? computeGroup(graph, node)
                                      : anchorGroup(graph, uses, node));
      group.lastNode = int32_t(i);
      taken[i] = true;
      groups.push_back(std::move(group));
    }
    return success();
  }

  const Dims &dimsOf(ValueId id) const { return graph.value(id).dims; }

  void takeScale(Group &group) {
    if (group.kind != TaskKind::Conv || group.groups != 1)
      return;
    for (const Window &window : group.windows)
      if (window.kernel != 1 || window.stride != 1 || window.padBegin ||
          window.padEnd)
        return;
    ValueId product = group.inputs[0];
    int32_t producer = uses.producer[size_t(product)];
    if (producer < 0 || taken[size_t(producer)] || !uses.isInner(product))
      return;
    const Node &node = graph.nodes[size_t(producer)];
    if (node.op != Op::Mul)
      return;
    const Dims &dims = dimsOf(product);
    const Dims perChannel{dims[0], dims[1], 1, 1};
    for (size_t i = 0; i < 2; ++i) {
      ValueId image = node.inputs[i], scale = node.inputs[1 - i];
      if (dimsOf(image) != dims || dimsOf(scale) != perChannel ||
          graph.value(scale).isConstant())
        continue;
      group.inputs[0] = image;
      group.scale = scale;
      taken[size_t(producer)] = true;
      return;
    }
  }

  /// The one pointwise node that reads `id`, when nothing else does.
  int32_t soleUser(ValueId id) const {
    if (!uses.isInner(id))
      return -1;
    int32_t user = users[size_t(id)].front();
    return taken[size_t(user)] ? -1 : user;
  }

  void takeBias(Group &group) {
    if (group.weight == kNoValue || group.bias != kNoValue)
      return;
    int32_t user = soleUser(group.result);
    if (user < 0 || graph.nodes[size_t(user)].op != Op::Add)
      return;
    const Node &node = graph.nodes[size_t(user)];
    ValueId bias =
        node.inputs[0] == group.result ? node.inputs[1] : node.inputs[0];
    std::optional<Dims> dims = extraDims(graph, group, bias);
    const Dims &out = dimsOf(group.result);
    size_t column = group.isMatrix() ? group.columnDim : 1;
    if (!graph.value(bias).isConstant() || !dims ||
        dims->at(1) != out[column] || countOf(*dims) != out[column] ||
        dimsOf(node.outputs[0]) != out)
      return;
    group.bias = bias;
    group.accumulator = group.result = node.outputs[0];
    group.lastNode = user;
    taken[size_t(user)] = true;
  }

  static bool takesPoints(const Group &group) {
    return !group.isView && group.kind != TaskKind::Concat &&
           group.kind != TaskKind::Softmax && group.kind != TaskKind::Compute &&
           group.kind != TaskKind::Normalize &&
           group.kind != TaskKind::Attention;
  }

  bool mayJoin(const Group &group, int32_t index,
               const std::vector<ValueId> &inside) const {
    const Node &node = graph.nodes[size_t(index)];
    if (taken[size_t(index)] || !isPointwise(node.op) ||
        dimsOf(node.outputs[0]) != dimsOf(group.result))
      return false;
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
      return std::find(inside.begin(), inside.end(), id) != inside.end() ||
             extraDims(graph, group, id);
    });
  }

  /// Adds the nodes behind the group in graph order, and keeps those up to the
  /// last moment at which one value left the group. The order also means that
  /// no value from outside can depend on one inside: the first node of such a
  /// path would have been added, or would have ended the search.
  void takePoints(Group &group) {
    if (!takesPoints(group))
      return;
    std::vector<ValueId> inside{group.result};
    std::vector<int32_t> points = group.points;
    auto leaves = [&](ValueId id) {
      return uses.isOutput[size_t(id)] ||
             std::any_of(users[size_t(id)].begin(), users[size_t(id)].end(),
                         [&](int32_t user) {
                           return std::find(points.begin(), points.end(),
                                            user) == points.end();
                         });
    };
    while (points.size() < kMaxPoints) {
      int32_t next = -1;
      for (ValueId id : inside)
        for (int32_t user : users[size_t(id)])
          if (std::find(points.begin(), points.end(), user) == points.end() &&
              (next < 0 || user < next))
            next = user;
      if (next < 0 || !mayJoin(group, next, inside))
        break;
      points.push_back(next);
      ValueId value = graph.nodes[size_t(next)].outputs[0];
      bool single = std::none_of(inside.begin(), inside.end(), leaves);
      inside.push_back(value);
      if (!single)
        continue;
      for (size_t i = group.points.size(); i < points.size(); ++i)
        taken[size_t(points[i])] = true;
      group.points = points;
      group.result = value;
      group.lastNode = next;
    }
  }

  /// Folding transposes into products leaves some without a reader.
  void dropUnused() {
    std::vector<bool> isRead = uses.isOutput;
    std::sort(groups.begin(), groups.end(), [](const Group &a, const Group &b) {
      return a.lastNode < b.lastNode;
    });
    for (size_t i = groups.size(); i-- > 0;) {
      const Group &group = groups[i];
      if (!isRead[size_t(group.result)]) {
        groups.erase(groups.begin() + int64_t(i));
        continue;
      }
      auto read = [&](ValueId id) { isRead[size_t(id)] = true; };
      group.forEachOperand(read);
      for (int32_t point : group.points)
        for (ValueId id : graph.nodes[size_t(point)].inputs)
          read(id);
    }
  }

  /// Indices of groups by their anchor's distance from the inputs, then by
  /// their place in the graph.
  std::vector<size_t> deepestFirst() const {
    std::vector<int32_t> depth(graph.values.size(), 0);
    for (const Node &node : graph.nodes)
      for (ValueId output : node.outputs)
        for (ValueId id : node.inputs)
          if (id != kNoValue)
            depth[size_t(output)] =
                std::max(depth[size_t(output)], depth[size_t(id)] + 1);
    std::vector<size_t> order(groups.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::pair(depth[size_t(groups[a].result)], a) >
             std::pair(depth[size_t(groups[b].result)], b);
    });
    return order;
  }

  void makePointwiseGroups() {
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node &node = graph.nodes[i];
      if (taken[i])
        continue;
      Group group;
      group.name = node.name;
      group.result = node.outputs[0];
      group.inputs = {pointwiseInput(node)};
      group.accumulator = group.inputs[0];
      group.points = {int32_t(i)};
      group.lastNode = int32_t(i);
      taken[i] = true;
      takePoints(group);
      groups.push_back(std::move(group));
    }
  }

  /// The operand that has the result's dims and is computed; else the first
  /// with the dims; else the first.
  ValueId pointwiseInput(const Node &node) const {
    ValueId best = kNoValue;
    for (ValueId id : node.inputs) {
      if (dimsOf(id) != dimsOf(node.outputs[0]))
        continue;
      if (!graph.value(id).isConstant())
        return id;
      if (best == kNoValue)
        best = id;
    }
    return best == kNoValue ? node.inputs[0] : best;
  }

  const Graph &graph;
  Uses uses;
  std::vector<std::vector<int32_t>> users; ///< nodes that read each value
  std::vector<bool> taken;                 ///< nodes that are in a group
  std::vector<Group> groups;
};

} // namespace

Result<std::vector<Group>> fuse(const Graph &graph) {
  return Fusion(graph).run();
}

} // namespace tlm
