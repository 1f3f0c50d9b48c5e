#include "base/Check.h"
#include "base/IntegerArithmetic.h"

#include <algorithm>
#include <cstring>

using namespace tlm;

ComputationBuilder::ComputationBuilder(std::vector<int64_t> loops,
                                       std::vector<int64_t> reductions) {
  computation.loops = std::move(loops);
  computation.reductions = std::move(reductions);
}

namespace {

/// As the bits say: 0 and -0 differ, a NaN is itself.
bool isSame(const ScalarNode &a, const ScalarNode &b) {
  return a.op == b.op && a.dtype == b.dtype && a.index == b.index &&
         a.integer == b.integer && a.arguments == b.arguments &&
         std::memcmp(&a.real, &b.real, sizeof(double)) == 0;
}

size_t hashOf(const ScalarNode &node) {
  uint64_t hash = 0, real = 0;
  std::memcpy(&real, &node.real, sizeof(real));
  auto mix = [&](uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  };
  mix(uint64_t(node.op));
  mix(uint64_t(node.dtype));
  mix(uint64_t(node.index));
  mix(uint64_t(node.integer));
  mix(real);
  for (int32_t argument : node.arguments)
    mix(uint64_t(argument));
  return size_t(hash);
}

bool isComparison(Scalar op) {
  return op == Scalar::Equal || op == Scalar::Less || op == Scalar::LessEqual ||
         op == Scalar::IsNan;
}

bool isCommutative(Scalar op) {
  switch (op) {
  case Scalar::Add:
  case Scalar::Mul:
  case Scalar::And:
  case Scalar::Or:
  case Scalar::Xor:
  case Scalar::Equal:
    return true;
  default:
    return false;
  }
}

} // namespace

ComputationBuilder::Node ComputationBuilder::append(ScalarNode node) {
  size_t hash = hashOf(node);
  for (auto [it, last] = known.equal_range(hash); it != last; ++it)
    if (isSame(computation.nodes[size_t(it->second)], node))
      return it->second;
  known.emplace(hash, Node(computation.nodes.size()));
  ranges.push_back(rangeOf(node));
  computation.nodes.push_back(std::move(node));
  return Node(computation.nodes.size() - 1);
}

/// Bounds of an i64 index expression; the whole type when nothing is known.
ComputationBuilder::Range
ComputationBuilder::rangeOf(const ScalarNode &node) const {
  constexpr int64_t limit = int64_t(1) << 61;
  if (node.dtype != DType::I64)
    return {};
  auto range = [&](size_t i) { return ranges[size_t(node.arguments[i])]; };
  auto bounded = [&](__int128 low, __int128 high) {
    return low < -limit || high > limit ? Range{}
                                        : Range{int64_t(low), int64_t(high)};
  };
  switch (node.op) {
  case Scalar::Constant:
    return bounded(node.integer, node.integer);
  case Scalar::Loop: {
    size_t i = size_t(node.index), parallel = computation.loops.size();
    int64_t extent = i < parallel ? computation.loops[i]
                                  : computation.reductions[i - parallel];
    return bounded(0, std::max<int64_t>(extent - 1, 0));
  }
  case Scalar::Add:
    return bounded(__int128(range(0).low) + range(1).low,
                   __int128(range(0).high) + range(1).high);
  case Scalar::Sub:
    return bounded(__int128(range(0).low) - range(1).high,
                   __int128(range(0).high) - range(1).low);
  case Scalar::Mul: {
    __int128 corners[] = {__int128(range(0).low) * range(1).low,
                          __int128(range(0).low) * range(1).high,
                          __int128(range(0).high) * range(1).low,
                          __int128(range(0).high) * range(1).high};
    __int128 low = corners[0], high = corners[0];
    for (__int128 corner : corners) {
      low = std::min(low, corner);
      high = std::max(high, corner);
    }
    return bounded(low, high);
  }
  case Scalar::Div:
    if (range(0).low >= 0 && range(1).low >= 1)
      return {range(0).low / range(1).high, range(0).high / range(1).low};
    return {};
  case Scalar::Remainder:
  case Scalar::FloorMod:
    if (range(0).low >= 0 && range(1).low >= 1)
      return {0, std::min(range(0).high, range(1).high - 1)};
    return {};
  case Scalar::Min:
    return {std::min(range(0).low, range(1).low),
            std::min(range(0).high, range(1).high)};
  case Scalar::Max:
    return {std::max(range(0).low, range(1).low),
            std::max(range(0).high, range(1).high)};
  case Scalar::Select:
    return {std::min(range(1).low, range(2).low),
            std::max(range(1).high, range(2).high)};
  default:
    return {};
  }
}

ComputationBuilder::Node ComputationBuilder::loop(size_t i) {
  TLM_CHECK(i < computation.loops.size());
  if (computation.loops[i] == 1)
    return integer(0);
  return append({Scalar::Loop, DType::I64, {}, int32_t(i)});
}

ComputationBuilder::Node ComputationBuilder::reduction(size_t i) {
  TLM_CHECK(i < computation.reductions.size());
  if (computation.reductions[i] == 1)
    return integer(0);
  return append(
      {Scalar::Loop, DType::I64, {}, int32_t(computation.loops.size() + i)});
}

ComputationBuilder::Node ComputationBuilder::integer(int64_t value,
                                                     DType dtype) {
  ScalarNode node{Scalar::Constant, dtype, {}};
  node.integer = wrapInteger(dtype, value);
  return append(std::move(node));
}

ComputationBuilder::Node ComputationBuilder::real(double value, DType dtype) {
  ScalarNode node{Scalar::Constant, dtype, {}};
  node.real = dtype == DType::F32 ? double(float(value)) : value;
  return append(std::move(node));
}

ComputationBuilder::Node ComputationBuilder::number(double value, DType dtype) {
  return isFloat(dtype) ? real(value, dtype)
                        : integer(integerFromReal(dtype, value), dtype);
}

ComputationBuilder::Node ComputationBuilder::load(int32_t operand, DType dtype,
                                                  std::vector<Node> indices) {
  return append({Scalar::Load, dtype, std::move(indices), operand});
}

DType ComputationBuilder::dtypeOf(Node node) const {
  return computation.nodes[size_t(node)].dtype;
}

const int64_t *ComputationBuilder::constantOf(Node node) const {
  const ScalarNode &found = computation.nodes[size_t(node)];
  return found.op == Scalar::Constant && !isFloat(found.dtype) ? &found.integer
                                                               : nullptr;
}

/// A node that already has the value of op(arguments); -1 when there is none.
ComputationBuilder::Node
ComputationBuilder::simplify(Scalar op, const std::vector<Node> &arguments) {
  DType dtype = dtypeOf(arguments[0]);
  if (isFloat(dtype) || op == Scalar::Reduce || op == Scalar::IsNan)
    return -1;
  Node a = arguments[0], b = arguments.size() == 2 ? arguments[1] : -1;
  const int64_t *left = constantOf(a);
  const int64_t *right = b >= 0 ? constantOf(b) : nullptr;
  DType yields = isComparison(op) ? DType::Bool : dtype;
  if (left && (b < 0 || right))
    return integer(integerOp(op, dtype, *left, right ? *right : 0), yields);
  if (b < 0)
    return -1;
  auto isRight = [&](int64_t value) { return right && *right == value; };
  Range x = ranges[size_t(a)], y = ranges[size_t(b)];
  int64_t ones = dtype == DType::Bool ? 1 : wrapInteger(dtype, -1);
  switch (op) {
  case Scalar::Add:
  case Scalar::Sub:
    if (op == Scalar::Sub && a == b)
      return integer(0, dtype);
    return isRight(0) ? a : -1;
  case Scalar::Mul:
    return isRight(1) ? a : isRight(0) ? b : -1;
  case Scalar::Div:
    if (x.low >= 0 && y.low > x.high)
      return integer(0, dtype);
    return isRight(1) ? a : -1;
  case Scalar::Remainder:
  case Scalar::FloorMod:
    if (x.low >= 0 && y.low > x.high)
      return a;
    return isRight(1) ? integer(0, dtype) : -1;
  case Scalar::Min:
    return a == b || x.high <= y.low ? a : y.high <= x.low ? b : -1;
  case Scalar::Max:
    return a == b || x.low >= y.high ? a : y.low >= x.high ? b : -1;
  case Scalar::And:
    return a == b || isRight(ones) ? a : isRight(0) ? b : -1;
  case Scalar::Or:
    return a == b || isRight(0) ? a : isRight(ones) ? b : -1;
  case Scalar::Xor:
    return isRight(0) ? a : -1;
  case Scalar::ShiftLeft:
  case Scalar::ShiftRight:
    return isRight(0) ? a : -1;
  case Scalar::Equal:
    if (a == b)
      return integer(1, DType::Bool);
    return x.high < y.low || y.high < x.low ? integer(0, DType::Bool) : -1;
  case Scalar::Less:
    if (x.high < y.low)
      return integer(1, DType::Bool);
    return a == b || x.low >= y.high ? integer(0, DType::Bool) : -1;
  case Scalar::LessEqual:
    if (a == b || x.high <= y.low)
      return integer(1, DType::Bool);
    return x.low > y.high ? integer(0, DType::Bool) : -1;
  default:
    return -1;
  }
}

ComputationBuilder::Node ComputationBuilder::op(Scalar op,
                                                std::vector<Node> arguments) {
  TLM_CHECK(!arguments.empty()) << nameOf(op);
  if (op == Scalar::Select) {
    TLM_CHECK(arguments.size() == 3);
    if (const int64_t *condition = constantOf(arguments[0]))
      return *condition ? arguments[1] : arguments[2];
    if (arguments[1] == arguments[2])
      return arguments[1];
    DType dtype = dtypeOf(arguments[1]);
    return append({op, dtype, std::move(arguments)});
  }
  // Constants on the right, so that equal expressions look equal.
  if (isCommutative(op) && constantOf(arguments[0]) &&
      !constantOf(arguments[1]))
    std::swap(arguments[0], arguments[1]);
  if (Node known = simplify(op, arguments); known >= 0)
    return known;
  DType dtype = isComparison(op) ? DType::Bool : dtypeOf(arguments[0]);
  return append({op, dtype, std::move(arguments)});
}

ComputationBuilder::Node ComputationBuilder::cast(Node value, DType dtype) {
  if (dtypeOf(value) == dtype)
    return value;
  const ScalarNode &node = computation.nodes[size_t(value)];
  if (node.op == Scalar::Constant) {
    bool wasFloat = isFloat(node.dtype);
    if (isFloat(dtype))
      return real(wasFloat ? node.real
                           : realFromInteger(node.dtype, node.integer),
                  dtype);
    return integer(wasFloat ? integerFromReal(dtype, node.real) : node.integer,
                   dtype);
  }
  return append({Scalar::Cast, dtype, {value}});
}

ComputationBuilder::Node ComputationBuilder::select(Node condition, Node a,
                                                    Node b) {
  return op(Scalar::Select, {condition, a, b});
}

ComputationBuilder::Node ComputationBuilder::reduce(Node value,
                                                    Combine combine) {
  computation.combine = combine;
  bool position = combine >= Combine::ArgMinFirst;
  return append(
      {Scalar::Reduce, position ? DType::I64 : dtypeOf(value), {value}});
}

/// Drops what the result does not need.
Computation ComputationBuilder::finish(Node result) {
  std::vector<ScalarNode> &nodes = computation.nodes;
  std::vector<bool> needed(nodes.size(), false);
  needed[size_t(result)] = true;
  for (size_t i = nodes.size(); i-- > 0;)
    if (needed[i])
      for (Node argument : nodes[i].arguments)
        needed[size_t(argument)] = true;
  std::vector<Node> renumbered(nodes.size(), -1);
  Computation finished = computation;
  finished.nodes.clear();
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!needed[i])
      continue;
    renumbered[i] = Node(finished.nodes.size());
    finished.nodes.push_back(nodes[i]);
    for (Node &argument : finished.nodes.back().arguments)
      argument = renumbered[size_t(argument)];
  }
  finished.result = renumbered[size_t(result)];
  return finished;
}
