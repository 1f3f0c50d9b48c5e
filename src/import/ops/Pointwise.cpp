// Element by element. f32 becomes our own pointwise operators where there is
// one, since those run in the epilogue of others; everything else is an
// expression, of any type.

#include "import/ops/Families.h"

#include "graph/ShapeRule.h"
#include "import/ConstantData.h"
#include "import/ops/Expression.h"

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

bool isF32(NodeImporter &node, ValueId x) {
  return node.dtype(x) == DType::F32;
}

} // namespace

Status tlm::importUnary(NodeImporter &node) {
  if (!isF32(node, node.input(0)))
    return importMath(node);
  return node.bind(node.emit(opNamed(node.opType()), {node.input(0)}));
}

Status tlm::importScalarUnary(NodeImporter &node) {
  if (!isF32(node, node.input(0)))
    return importMath(node);
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

/// gamma * elu(x, alpha)
Status tlm::importSelu(NodeImporter &node) {
  if (!isF32(node, node.input(0)))
    return importMath(node);
  float alpha = node.floatAttribute("alpha", 1.6732632f);
  float gamma = node.floatAttribute("gamma", 1.0507010f);
  TLM_TRY(ValueId result,
          node.emit(Op::Elu, {node.input(0)}, ScalarAttributes{alpha, 0}));
  return node.bind(
      node.emit(Op::Mul, {result, emitScalar(node, double(gamma))}));
}

Status tlm::importBinary(NodeImporter &node) {
  return node.bind(
      emitBinary(node, opNamed(node.opType()), node.input(0), node.input(1)));
}

Status tlm::importVariadic(NodeImporter &node) {
  bool mean = node.opType() == "Mean";
  Op op = mean || node.opType() == "Sum" ? Op::Add : opNamed(node.opType());
  ValueId result = node.input(0);
  for (size_t i = 1; i < node.inputCount(); ++i) {
    if (!node.hasInput(i))
      return makeError("input " + std::to_string(i) + " is missing");
    TLM_TRY(result, emitBinary(node, op, result, node.input(i)));
  }
  if (mean)
    return node.bind(emitBinary(
        node, Op::Div, result,
        emitScalar(node, double(node.inputCount()), node.dtype(result))));
  return node.bind(result);
}

namespace {

/// Bounds that are computed, or of another type than f32.
Result<ValueId> clipByExpression(NodeImporter &node) {
  ValueId x = node.input(0);
  Expression e(node, node.dims(x));
  Term value = e.element(x);
  for (size_t i : {size_t(1), size_t(2)}) {
    if (!node.hasInput(i))
      continue;
    const Value &bound = node.value(node.input(i));
    if (countOf(bound.dims) != 1 || bound.dims.size() > 1 ||
        bound.dtype != node.dtype(x))
      return makeError("a bound is " + typeText(bound.dtype, bound.dims) +
                       "; a scalar of the operand's type is needed");
    std::vector<Term> at(bound.dims.size(), e.integer(0));
    Term limit = e.load(node.input(i), at);
    value = i == 1 ? most(value, limit) : least(value, limit);
  }
  return e.emit(value);
}

} // namespace

Status tlm::importClip(NodeImporter &node) {
  // An absent bound leaves infinities alone.
  constexpr float infinity = std::numeric_limits<float>::infinity();
  float bounds[2] = {-infinity, infinity};
  if (node.opset() < 11) {
    bounds[0] = node.floatAttribute("min", bounds[0]);
    bounds[1] = node.floatAttribute("max", bounds[1]);
  }
  bool plain = isF32(node, node.input(0));
  for (size_t i : {size_t(1), size_t(2)}) {
    if (!plain || !node.hasInput(i))
      continue;
    auto number = node.constantNumber(i);
    plain = number.ok() && !std::isnan(*number) && isF32(node, node.input(i));
    if (plain)
      bounds[i - 1] = float(*number);
  }
  if (!plain)
    return node.bind(clipByExpression(node));
  if (std::isnan(bounds[0]) || std::isnan(bounds[1]))
    return node.unsupported("a bound that is NaN");
  return node.bind(node.emit(Op::Clip, {node.input(0)},
                             ScalarAttributes{bounds[0], bounds[1]}));
}

/// relu(x) + slope * min(x, 0)
Status tlm::importPRelu(NodeImporter &node) {
  ValueId x = node.input(0), slope = node.input(1);
  const Value &factor = node.value(slope);
  TLM_TRY(Dims dims, broadcastDims(node.dims(x), factor.dims));
  if (dims != node.dims(x))
    return makeError("slope " + dimsText(factor.dims) +
                     " does not broadcast to " + dimsText(node.dims(x)));
  if (node.dtype(x) != factor.dtype)
    return makeError("a slope of another type than the operand");
  if (!isF32(node, x)) {
    Expression e(node, dims);
    Term value = e.element(x);
    return node.bind(
        e.emit(select(value < 0, e.broadcast(slope) * value, value)));
  }
  if (factor.isConstant() && countOf(factor.dims) == 1)
    return node.bind(
        node.emit(Op::LeakyRelu, {x},
                  ScalarAttributes{factor.constant.as<float>()[0], 0}));
  TLM_TRY(ValueId positive, node.emit(Op::Relu, {x}));
  TLM_TRY(ValueId negative, node.emit(Op::Min, {x, emitScalar(node, 0)}));
  TLM_TRY(ValueId scaled, node.emit(Op::Mul, {negative, slope}));
  return node.bind(node.emit(Op::Add, {positive, scaled}));
}

namespace {

/// Powers that a few multiplications and roots make; nothing for others.
std::optional<Result<ValueId>> simplePower(NodeImporter &node, ValueId x,
                                           double exponent) {
  if (exponent == 1)
    return x;
  if (exponent == 0.5)
    return node.emit(Op::Sqrt, {x});
  if (exponent == -1)
    return node.emit(Op::Div, {emitScalar(node, 1), x});
  if (exponent != 2 && exponent != 3 && exponent != 4)
    return std::nullopt;
  Result<ValueId> power = node.emit(Op::Mul, {x, x});
  if (power && exponent == 3)
    return node.emit(Op::Mul, {*power, x});
  if (power && exponent == 4)
    return node.emit(Op::Mul, {*power, *power});
  return power;
}

} // namespace

/// The result has the base's type; the exponent may have any.
Status tlm::importPow(NodeImporter &node) {
  ValueId x = node.input(0), y = node.input(1);
  TLM_TRY(Dims dims, broadcastDims(node.dims(x), node.dims(y)));
  auto exponent = node.constantNumber(1);
  if (isF32(node, x) && exponent && dims == node.dims(x))
    if (auto power = simplePower(node, x, *exponent))
      return node.bind(*power);
  DType dtype = node.dtype(x);
  bool viaF64 = !isFloat(dtype) && isFloat(node.dtype(y));
  DType works = viaF64 ? DType::F64 : dtype;
  Expression e(node, dims);
  Term base = e.broadcast(x).cast(works), power = e.broadcast(y).cast(works);
  return node.bind(e.emit(apply(Scalar::Pow, base, power).cast(dtype)));
}

Status tlm::importReciprocal(NodeImporter &node) {
  return node.bind(emitBinary(node, Op::Div,
                              emitScalar(node, 1, node.dtype(node.input(0))),
                              node.input(0)));
}

/// x * sigmoid(alpha * x)
Status tlm::importSwish(NodeImporter &node) {
  ValueId x = node.input(0), scaled = x;
  float alpha = node.floatAttribute("alpha", 1.0f);
  if (!isF32(node, x))
    return importMath(node);
  if (alpha == 1)
    return node.bind(node.emit(Op::Swish, {x}));
  TLM_TRY(scaled, node.emit(Op::Mul, {x, emitScalar(node, double(alpha))}));
  TLM_TRY(ValueId gate, node.emit(Op::Sigmoid, {scaled}));
  return node.bind(node.emit(Op::Mul, {x, gate}));
}

namespace {

/// sqrt(2 / pi) * (x + 0.044715 * x^3)
Result<ValueId> tanhArgument(NodeImporter &node, ValueId x) {
  constexpr double factor = 0.7978845608028654;
  TLM_TRY(ValueId square, node.emit(Op::Mul, {x, x}));
  TLM_TRY(ValueId cubic,
          node.emit(Op::Mul, {square, emitScalar(node, 0.044715)}));
  TLM_TRY(ValueId sum, node.emit(Op::Add, {cubic, emitScalar(node, 1)}));
  TLM_TRY(ValueId inner, node.emit(Op::Mul, {x, sum}));
  return node.emit(Op::Mul, {inner, emitScalar(node, factor)});
}

} // namespace

/// x / 2 * (1 + erf(x / sqrt(2))), or with tanh in place of erf
Status tlm::importGelu(NodeImporter &node) {
  std::string mode = node.stringAttribute("approximate", "none");
  if (mode != "none" && mode != "tanh")
    return makeError("approximate '" + mode + "'; none and tanh are allowed");
  ValueId x = node.input(0), curve = x;
  if (!isF32(node, x))
    return node.unsupported("type " + std::string(nameOf(node.dtype(x))));
  if (mode == "tanh") {
    TLM_TRY(ValueId argument, tanhArgument(node, x));
    TLM_TRY(curve, node.emit(Op::Tanh, {argument}));
  } else {
    TLM_TRY(ValueId argument,
            node.emit(Op::Mul, {x, emitScalar(node, std::sqrt(0.5))}));
    TLM_TRY(curve, node.emit(Op::Erf, {argument}));
  }
  TLM_TRY(ValueId gate, node.emit(Op::Add, {curve, emitScalar(node, 1)}));
  TLM_TRY(ValueId half, node.emit(Op::Mul, {x, emitScalar(node, 0.5)}));
  return node.bind(node.emit(Op::Mul, {half, gate}));
}

Status tlm::importWhere(NodeImporter &node) {
  ValueId condition = node.input(0), a = node.input(1), b = node.input(2);
  if (node.dtype(a) != node.dtype(b) || node.dtype(condition) != DType::Bool)
    return makeError("a condition of bool and two operands of one type are "
                     "needed");
  TLM_TRY(Dims both, broadcastDims(node.dims(a), node.dims(b)));
  TLM_TRY(Dims dims, broadcastDims(both, node.dims(condition)));
  Expression e(node, dims);
  return node.bind(
      e.emit(select(e.broadcast(condition), e.broadcast(a), e.broadcast(b))));
}
