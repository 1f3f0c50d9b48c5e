// x/2 (1 + erf(x/sqrt 2)) and its tanh form, however the product is written.

#include "graph/Match.h"
#include "graph/Passes.h"

#include <algorithm>
#include <cmath>

using namespace tlm;

namespace {

bool near(float value, float expected) {
  return std::fabs(value - expected) <= 1e-4f * std::fabs(expected);
}

/// id = 1 + inner: inner.
ValueId plusOne(const Match &match, ValueId id) {
  if (const Node *add = match.maker(id, Op::Add))
    for (size_t side : {size_t(0), size_t(1)})
      if (match.isScalar(add->inputs[side], 1.0f))
        return add->inputs[1 - side];
  return kNoValue;
}

bool isErfGate(const Match &match, ValueId gate, ValueId x) {
  ValueId inner = plusOne(match, gate);
  const Node *erf = match.maker(inner, Op::Erf);
  if (!erf)
    return false;
  Match::Product p = match.product(erf->inputs[0]);
  return p.factors == std::vector<ValueId>{x} && near(p.scale, 0.70710678f);
}

/// c * x^3
bool isCube(const Match &match, ValueId id, ValueId x, float c) {
  Match::Product p = match.product(id);
  return p.factors == std::vector<ValueId>{x, x, x} && near(p.scale, c);
}

/// 1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))
bool isTanhGate(const Match &match, ValueId gate, ValueId x) {
  const Node *tanh = match.maker(plusOne(match, gate), Op::Tanh);
  if (!tanh)
    return false;
  Match::Product p = match.product(tanh->inputs[0]);
  if (!near(p.scale, 0.79788456f))
    return false;
  if (p.factors.size() == 1)
    if (const Node *add = match.maker(p.factors[0], Op::Add))
      for (size_t side : {size_t(0), size_t(1)})
        if (add->inputs[side] == x &&
            isCube(match, add->inputs[1 - side], x, 0.044715f))
          return true;
  // x * (1 + 0.044715 x^2)
  if (p.factors.size() == 2)
    for (size_t side : {size_t(0), size_t(1)}) {
      if (p.factors[side] != x)
        continue;
      ValueId square = plusOne(match, p.factors[1 - side]);
      if (square == kNoValue)
        continue;
      Match::Product s = match.product(square);
      if (s.factors == std::vector<ValueId>{x, x} && near(s.scale, 0.044715f))
        return true;
    }
  return false;
}

} // namespace

void tlm::recogniseGelu(Graph &graph) {
  Match match(graph);
  for (Node &node : graph.nodes) {
    if (node.op != Op::Mul)
      continue;
    Match::Product p = match.product(node.outputs[0]);
    if (p.factors.size() != 2 || !near(p.scale, 0.5f))
      continue;
    for (size_t side : {size_t(0), size_t(1)}) {
      ValueId x = p.factors[side], gate = p.factors[1 - side];
      Op op = isErfGate(match, gate, x)    ? Op::Gelu
              : isTanhGate(match, gate, x) ? Op::GeluTanh
                                           : Op::Mul;
      if (op == Op::Mul || match.dims(x) != match.dims(node.outputs[0]))
        continue;
      node.op = op;
      node.inputs = {x};
      node.attributes = {};
      break;
    }
  }
}
