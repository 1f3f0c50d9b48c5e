#include "import/ops/Families.h"

#include "graph/ShapeRule.h"
#include "import/ConstantData.h"

#include <cmath>
#include <limits>
#include <string_view>

using namespace tlm;

namespace {

/// Our operator of the same name.
Op opNamed(std::string_view opType) {
#define TLM_OP(id, name, text, pointwise)                                      \
  if (opType == #name)                                                         \
    return Op::name;
#include "base/Ops.def"
  TLM_CHECK(false) << opType << " has no operator of ours";
  return Op::Add;
}

/// Integers wrap, as ONNX leaves overflow open; division truncates.
std::optional<int64_t> computeInts(Op op, int64_t a, int64_t b) {
  auto wrap = [](uint64_t bits) { return int64_t(bits); };
  switch (op) {
  case Op::Add:
    return wrap(uint64_t(a) + uint64_t(b));
  case Op::Sub:
    return wrap(uint64_t(a) - uint64_t(b));
  case Op::Mul:
    return wrap(uint64_t(a) * uint64_t(b));
  case Op::Div:
    if (b == 0)
      return std::nullopt;
    return b == -1 ? wrap(0 - uint64_t(a)) : a / b;
  case Op::Max:
    return std::max(a, b);
  case Op::Min:
    return std::min(a, b);
  default:
    return std::nullopt;
  }
}

/// Shape arithmetic: both operands are constant integers of one type.
Result<ValueId> intBinary(NodeImporter &node, Op op, ValueId a, ValueId b) {
  const Value &left = node.value(a), &right = node.value(b);
  if (left.dtype != right.dtype)
    return makeError("operands are " + typeText(left.dtype, left.dims) +
                     " and " + typeText(right.dtype, right.dims) +
                     "; they must have one type");
  TLM_TRY(Dims dims, broadcastDims(left.dims, right.dims));
  if (!checkedCountOf(dims) ||
      countOf(dims) * int64_t(sizeof(int64_t)) > kMaxFoldedBytes)
    return makeError("the constant result " + dimsText(dims) +
                     " is larger than 1 GiB");
  auto x = readInts(left), y = readInts(right);
  auto fromX = broadcastIndices(left.dims, dims);
  auto fromY = broadcastIndices(right.dims, dims);
  std::vector<int64_t> result(fromX.size());
  for (size_t i = 0; i < result.size(); ++i) {
    auto number = computeInts(op, x[size_t(fromX[i])], y[size_t(fromY[i])]);
    if (!number)
      return makeError("division of a constant by zero");
    result[i] = *number;
  }
  return node.constant(left.dtype, std::move(dims),
                       writeInts(left.dtype, result));
}

Result<ValueId> binary(NodeImporter &node, Op op, ValueId a, ValueId b) {
  const Value &left = node.value(a), &right = node.value(b);
  if (left.isConstant() && right.isConstant() && holdsInts(left.dtype) &&
      holdsInts(right.dtype))
    return intBinary(node, op, a, b);
  return node.emit(op, {a, b});
}

ValueId scalar(NodeImporter &node, float number) {
  return node.constant({}, {number});
}

} // namespace

Status tlm::importUnary(NodeImporter &node) {
  const Value &x = node.value(node.input(0));
  Op op = opNamed(node.opType());
  if (x.isConstant() && holdsInts(x.dtype) &&
      (op == Op::Neg || op == Op::Abs)) {
    auto numbers = readInts(x);
    for (int64_t &number : numbers)
      if (op == Op::Neg || number < 0)
        number = int64_t(0 - uint64_t(number));
    return node.bind(
        node.constant(x.dtype, x.dims, writeInts(x.dtype, numbers)));
  }
  return node.bind(node.emit(op, {node.input(0)}));
}

Status tlm::importScalarUnary(NodeImporter &node) {
  Op op = opNamed(node.opType());
  ScalarAttributes attributes;
  switch (op) {
  case Op::HardSigmoid:
    attributes.a = node.floatAttribute("alpha", 0.2f);
    attributes.b = node.floatAttribute("beta", 0.5f);
    break;
  case Op::LeakyRelu:
    attributes.a = node.floatAttribute("alpha", 0.01f);
    break;
  default:
    attributes.a = node.floatAttribute("alpha", 1.0f);
  }
  return node.bind(node.emit(op, {node.input(0)}, attributes));
}

Status tlm::importBinary(NodeImporter &node) {
  return node.bind(
      binary(node, opNamed(node.opType()), node.input(0), node.input(1)));
}

Status tlm::importVariadic(NodeImporter &node) {
  Op op = node.opType() == "Sum" ? Op::Add : opNamed(node.opType());
  ValueId result = node.input(0);
  for (size_t i = 1; i < node.inputCount(); ++i) {
    TLM_TRY(result, binary(node, op, result, node.input(i)));
  }
  return node.bind(result);
}

Status tlm::importClip(NodeImporter &node) {
  // An absent bound leaves infinities alone.
  constexpr float infinity = std::numeric_limits<float>::infinity();
  ScalarAttributes bounds{-infinity, infinity};
  if (node.opset() < 11) {
    bounds.a = node.floatAttribute("min", bounds.a);
    bounds.b = node.floatAttribute("max", bounds.b);
  }
  if (node.hasInput(1)) {
    TLM_TRY(bounds.a, node.constantScalar(1));
  }
  if (node.hasInput(2)) {
    TLM_TRY(bounds.b, node.constantScalar(2));
  }
  if (std::isnan(bounds.a) || std::isnan(bounds.b))
    return node.unsupported("a bound that is NaN");
  return node.bind(node.emit(Op::Clip, {node.input(0)}, bounds));
}

/// relu(x) + slope * min(x, 0)
Status tlm::importPRelu(NodeImporter &node) {
  ValueId x = node.input(0), slope = node.input(1);
  const Value &factor = node.value(slope);
  if (factor.isConstant() && factor.dtype == DType::F32 &&
      countOf(factor.dims) == 1 && factor.dims.size() <= node.dims(x).size())
    return node.bind(
        node.emit(Op::LeakyRelu, {x},
                  ScalarAttributes{factor.constant.as<float>()[0], 0}));
  TLM_TRY(Dims dims, broadcastDims(node.dims(x), node.dims(slope)));
  if (dims != node.dims(x))
    return makeError("slope " + dimsText(node.dims(slope)) +
                     " does not broadcast to " + dimsText(node.dims(x)));
  TLM_TRY(ValueId positive, node.emit(Op::Relu, {x}));
  TLM_TRY(ValueId negative, node.emit(Op::Min, {x, scalar(node, 0)}));
  TLM_TRY(ValueId scaled, node.emit(Op::Mul, {negative, slope}));
  return node.bind(node.emit(Op::Add, {positive, scaled}));
}

Status tlm::importPow(NodeImporter &node) {
  ValueId x = node.input(0);
  TLM_TRY(auto exponent, [&]() -> Result<double> {
    const Value &value = node.value(node.input(1));
    if (!value.isConstant() || countOf(value.dims) != 1)
      return node.unsupported("an exponent that is no constant scalar");
    auto numbers = readNumbers(value);
    if (!numbers)
      return node.unsupported("an exponent of type " +
                              std::string(nameOf(value.dtype)));
    return (*numbers)[0];
  }());
  TLM_TRY(Dims dims, broadcastDims(node.dims(x), node.dims(node.input(1))));
  if (dims != node.dims(x))
    return node.unsupported("an exponent of higher rank than its base");
  if (exponent == 1)
    return node.bind(x);
  if (exponent == 0.5)
    return node.bind(node.emit(Op::Sqrt, {x}));
  if (exponent == 2)
    return node.bind(node.emit(Op::Mul, {x, x}));
  if (exponent == 3) {
    TLM_TRY(ValueId square, node.emit(Op::Mul, {x, x}));
    return node.bind(node.emit(Op::Mul, {square, x}));
  }
  return node.unsupported("exponents other than 0.5, 1, 2 and 3");
}

Status tlm::importReciprocal(NodeImporter &node) {
  return node.bind(node.emit(Op::Div, {scalar(node, 1), node.input(0)}));
}

/// x * sigmoid(alpha * x)
Status tlm::importSwish(NodeImporter &node) {
  ValueId x = node.input(0), scaled = x;
  float alpha = node.floatAttribute("alpha", 1.0f);
  if (alpha == 1)
    return node.bind(node.emit(Op::Swish, {x}));
  TLM_TRY(scaled, node.emit(Op::Mul, {x, scalar(node, alpha)}));
  TLM_TRY(ValueId gate, node.emit(Op::Sigmoid, {scaled}));
  return node.bind(node.emit(Op::Mul, {x, gate}));
}

namespace {

/// sqrt(2 / pi) * (x + 0.044715 * x^3)
Result<ValueId> tanhArgument(NodeImporter &node, ValueId x) {
  constexpr double factor = 0.7978845608028654;
  TLM_TRY(ValueId square, node.emit(Op::Mul, {x, x}));
  TLM_TRY(ValueId cubic, node.emit(Op::Mul, {square, scalar(node, 0.044715f)}));
  TLM_TRY(ValueId sum, node.emit(Op::Add, {cubic, scalar(node, 1)}));
  TLM_TRY(ValueId inner, node.emit(Op::Mul, {x, sum}));
  return node.emit(Op::Mul, {inner, scalar(node, float(factor))});
}

} // namespace

/// x / 2 * (1 + erf(x / sqrt(2))), or with tanh in place of erf
Status tlm::importGelu(NodeImporter &node) {
  std::string mode = node.stringAttribute("approximate", "none");
  if (mode != "none" && mode != "tanh")
    return makeError("approximate '" + mode + "'; none and tanh are allowed");
  ValueId x = node.input(0), curve = x;
  if (mode == "tanh") {
    TLM_TRY(ValueId argument, tanhArgument(node, x));
    TLM_TRY(curve, node.emit(Op::Tanh, {argument}));
  } else {
    TLM_TRY(ValueId argument,
            node.emit(Op::Mul, {x, scalar(node, float(std::sqrt(0.5)))}));
    TLM_TRY(curve, node.emit(Op::Erf, {argument}));
  }
  TLM_TRY(ValueId gate, node.emit(Op::Add, {curve, scalar(node, 1)}));
  TLM_TRY(ValueId half, node.emit(Op::Mul, {x, scalar(node, 0.5f)}));
  return node.bind(node.emit(Op::Mul, {half, gate}));
}
