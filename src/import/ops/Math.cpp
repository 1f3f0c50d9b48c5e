// Functions of one or two elements as expressions.

#include "import/ops/Families.h"

#include "graph/ShapeRule.h"
#include "import/ops/Expression.h"

#include <limits>
#include <string_view>

using namespace tlm;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// log(1 + exp(x)) without overflow
Term softplus(Term x) { return most(x, 0) + log(exp(-abs(x)) + 1); }

Term elu(Term x, double alpha) {
  return select(x < 0, (exp(x) - 1) * alpha, x);
}

Term isInfinite(NodeImporter &node, Term x) {
  Term none = x.in->number(0, DType::Bool);
  bool negative = node.intAttribute("detect_negative", 1) != 0;
  bool positive = node.intAttribute("detect_positive", 1) != 0;
  return (negative ? equal(x, -kInfinity) : none) |
         (positive ? equal(x, kInfinity) : none);
}

Term shrink(NodeImporter &node, Term x) {
  double bias = double(node.floatAttribute("bias", 0.0f));
  double limit = double(node.floatAttribute("lambd", 0.5f));
  Term zero = x.in->number(0, x.dtype());
  if (!isFloat(x.dtype())) // compared and shifted as numbers, then cut
    return shrink(node, x.cast(DType::F64)).cast(x.dtype());
  return select(x < -limit, x + bias, select(limit < x, x - bias, zero));
}

struct Unary {
  std::string_view opType;
  Term (*function)(NodeImporter &node, Term x);
  bool floatsOnly = true;
};

constexpr Unary kUnary[] = {
    {"Abs", [](NodeImporter &, Term x) { return abs(x); }, false},
    {"Acos", [](NodeImporter &, Term x) { return apply(Scalar::Acos, x); }},
    {"Acosh", [](NodeImporter &, Term x) { return apply(Scalar::Acosh, x); }},
    {"Asin", [](NodeImporter &, Term x) { return apply(Scalar::Asin, x); }},
    {"Asinh", [](NodeImporter &, Term x) { return apply(Scalar::Asinh, x); }},
    {"Atan", [](NodeImporter &, Term x) { return apply(Scalar::Atan, x); }},
    {"Atanh", [](NodeImporter &, Term x) { return apply(Scalar::Atanh, x); }},
    {"BitwiseNot", [](NodeImporter &, Term x) { return !x; }, false},
    {"Ceil", [](NodeImporter &, Term x) { return apply(Scalar::Ceil, x); }},
    {"Celu",
     [](NodeImporter &node, Term x) {
       double alpha = double(node.floatAttribute("alpha", 1.0f));
       return most(x, 0) + least((exp(x / alpha) - 1) * alpha, 0);
     }},
    {"Cos", [](NodeImporter &, Term x) { return apply(Scalar::Cos, x); }},
    {"Cosh", [](NodeImporter &, Term x) { return apply(Scalar::Cosh, x); }},
    {"Elu",
     [](NodeImporter &node, Term x) {
       return elu(x, double(node.floatAttribute("alpha", 1.0f)));
     }},
    {"Erf", [](NodeImporter &, Term x) { return apply(Scalar::Erf, x); }},
    {"Exp", [](NodeImporter &, Term x) { return exp(x); }},
    {"Floor", [](NodeImporter &, Term x) { return floor(x); }},
    {"HardSigmoid",
     [](NodeImporter &node, Term x) {
       double a = double(node.floatAttribute("alpha", 0.2f));
       double b = double(node.floatAttribute("beta", 0.5f));
       return least(most(x * a + b, 0), 1);
     }},
    {"HardSwish",
     [](NodeImporter &, Term x) { return x * least(most(x / 6 + 0.5, 0), 1); }},
    {"IsInf", isInfinite},
    {"IsNaN", [](NodeImporter &, Term x) { return isNan(x); }},
    {"LeakyRelu",
     [](NodeImporter &node, Term x) {
       return select(x < 0, x * double(node.floatAttribute("alpha", 0.01f)), x);
     }},
    {"Log", [](NodeImporter &, Term x) { return log(x); }},
    {"Mish", [](NodeImporter &, Term x) { return x * tanh(softplus(x)); }},
    {"Neg", [](NodeImporter &, Term x) { return -x; }, false},
    {"Not", [](NodeImporter &, Term x) { return !x; }, false},
    {"Relu", [](NodeImporter &, Term x) { return most(x, 0); }, false},
    {"Round", [](NodeImporter &, Term x) { return round(x); }},
    {"Selu",
     [](NodeImporter &node, Term x) {
       return elu(x, double(node.floatAttribute("alpha", 1.6732632f))) *
              double(node.floatAttribute("gamma", 1.0507010f));
     }},
    {"Shrink", shrink, false},
    {"Sigmoid", [](NodeImporter &, Term x) { return sigmoid(x); }},
    {"Sign",
     [](NodeImporter &, Term x) { // the last x is 0 or NaN
       return select(0 < x, 1, select(x < 0, -1, x));
     },
     false},
    {"Sin", [](NodeImporter &, Term x) { return apply(Scalar::Sin, x); }},
    {"Sinh", [](NodeImporter &, Term x) { return apply(Scalar::Sinh, x); }},
    {"Softplus", [](NodeImporter &, Term x) { return softplus(x); }},
    {"Softsign", [](NodeImporter &, Term x) { return x / (abs(x) + 1); }},
    {"Sqrt", [](NodeImporter &, Term x) { return sqrt(x); }},
    {"Swish",
     [](NodeImporter &node, Term x) {
       return x * sigmoid(x * double(node.floatAttribute("alpha", 1.0f)));
     }},
    {"Tan", [](NodeImporter &, Term x) { return apply(Scalar::Tan, x); }},
    {"Tanh", [](NodeImporter &, Term x) { return tanh(x); }},
    {"ThresholdedRelu",
     [](NodeImporter &node, Term x) {
       double alpha = double(node.floatAttribute("alpha", 1.0f));
       return select(alpha < x, x, 0);
     }},
};

Term shift(NodeImporter &node, Term a, Term b) {
  bool left = node.stringAttribute("direction", "") == "LEFT";
  return apply(left ? Scalar::ShiftLeft : Scalar::ShiftRight, a, b);
}

Term modulo(NodeImporter &node, Term a, Term b) {
  bool c = node.intAttribute("fmod", 0) != 0;
  return apply(c ? Scalar::Remainder : Scalar::FloorMod, a, b);
}

struct Binary {
  std::string_view opType;
  Term (*function)(NodeImporter &node, Term a, Term b);
  enum { Any, Bools, Integers, Numbers } types = Any;
};

constexpr Binary kBinary[] = {
    {"And", [](NodeImporter &, Term a, Term b) { return a & b; },
     Binary::Bools},
    {"BitShift", shift, Binary::Integers},
    {"BitwiseAnd", [](NodeImporter &, Term a, Term b) { return a & b; },
     Binary::Integers},
    {"BitwiseOr", [](NodeImporter &, Term a, Term b) { return a | b; },
     Binary::Integers},
    {"BitwiseXor", [](NodeImporter &, Term a, Term b) { return a ^ b; },
     Binary::Integers},
    {"Equal", [](NodeImporter &, Term a, Term b) { return equal(a, b); }},
    {"Greater", [](NodeImporter &, Term a, Term b) { return b < a; }},
    {"GreaterOrEqual", [](NodeImporter &, Term a, Term b) { return b <= a; }},
    {"Less", [](NodeImporter &, Term a, Term b) { return a < b; }},
    {"LessOrEqual", [](NodeImporter &, Term a, Term b) { return a <= b; }},
    {"Mod", modulo, Binary::Numbers},
    {"Or", [](NodeImporter &, Term a, Term b) { return a | b; }, Binary::Bools},
    {"Xor", [](NodeImporter &, Term a, Term b) { return a ^ b; },
     Binary::Bools},
};

template <typename Table>
const auto &rowOf(const Table &table, const std::string &opType) {
  for (const auto &row : table)
    if (row.opType == opType)
      return row;
  TLM_CHECK(false) << opType << " is missing in Math.cpp";
  return table[0];
}

} // namespace

Status tlm::importMath(NodeImporter &node) {
  ValueId x = node.input(0);
  DType dtype = node.dtype(x);
  const Unary &unary = rowOf(kUnary, node.opType());
  bool logical = unary.opType == "Not";
  bool fits = logical
                  ? dtype == DType::Bool
                  : isFloat(dtype) || (!unary.floatsOnly && isInteger(dtype));
  if (!fits || (unary.opType == "BitwiseNot" && !isInteger(dtype)))
    return node.unsupported("type " + std::string(nameOf(dtype)));
  Expression e(node, node.dims(x));
  return node.bind(e.emit(unary.function(node, e.element(x))));
}

Status tlm::importBinaryMath(NodeImporter &node) {
  ValueId a = node.input(0), b = node.input(1);
  DType dtype = node.dtype(a);
  if (dtype != node.dtype(b))
    return makeError("operands are " + typeText(dtype, node.dims(a)) + " and " +
                     typeText(node.dtype(b), node.dims(b)) +
                     "; they must have one type");
  const Binary &binary = rowOf(kBinary, node.opType());
  bool fits = binary.types == Binary::Any ||
              (binary.types == Binary::Bools && dtype == DType::Bool) ||
              (binary.types != Binary::Bools && isInteger(dtype)) ||
              (binary.types == Binary::Numbers && isFloat(dtype));
  if (!fits)
    return node.unsupported("type " + std::string(nameOf(dtype)));
  TLM_TRY(Dims dims, broadcastDims(node.dims(a), node.dims(b)));
  Expression e(node, dims);
  return node.bind(
      e.emit(binary.function(node, e.broadcast(a), e.broadcast(b))));
}
