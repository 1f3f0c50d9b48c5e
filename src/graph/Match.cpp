#include "graph/Match.h"

#include <cmath>

using namespace tlm;

const Node *Match::maker(ValueId id, Op op) const {
  // A value that a pass has added since is made by a node it knows.
  bool known = id >= 0 && size_t(id) < uses.producer.size();
  int32_t index = known ? uses.producer[size_t(id)] : -1;
  if (index < 0 || graph.nodes[size_t(index)].op != op)
    return nullptr;
  return &graph.nodes[size_t(index)];
}

const Node *Match::innerMaker(ValueId id, Op op) const {
  const Node *node = maker(id, op);
  return node && uses.isInner(id) ? node : nullptr;
}

std::optional<float> Match::scalar(ValueId id) const {
  const Value &value = graph.value(id);
  if (!value.isConstant() || value.dtype != DType::F32 ||
      countOf(value.dims) != 1)
    return std::nullopt;
  return value.constant.as<float>()[0];
}

bool Match::isScalar(ValueId id, float expected) const {
  auto number = scalar(id);
  return number && std::fabs(*number - expected) <= 1e-6f * std::fabs(expected);
}

void Match::multiply(ValueId id, Product &product, int depth) const {
  if (auto number = scalar(id)) {
    product.scale *= *number;
    return;
  }
  if (depth < 8) {
    if (const Node *mul = maker(id, Op::Mul)) {
      multiply(mul->inputs[0], product, depth + 1);
      multiply(mul->inputs[1], product, depth + 1);
      return;
    }
    const Node *div = maker(id, Op::Div);
    auto by = div ? scalar(div->inputs[1]) : std::nullopt;
    if (by && *by != 0) {
      product.scale /= *by;
      multiply(div->inputs[0], product, depth + 1);
      return;
    }
  }
  product.factors.push_back(id);
}

Match::Product Match::product(ValueId id) const {
  Product result;
  multiply(id, result, 0);
  return result;
}
