#include "lower/ScalarEmitter.h"

#include "base/Check.h"
#include "base/IntegerArithmetic.h"
#include "lower/Payload.h"
#include "lower/Text.h"

#include <bit>
#include <cstdio>

using namespace tlm;

std::string ScalarEmitter::typeOf(DType dtype) {
  return dtype == DType::Bool ? "i1" : memoryType(dtype);
}

static bool isUnsignedOrder(DType dtype) {
  return isUnsigned(dtype) || dtype == DType::Bool;
}

std::string ScalarEmitter::operation(const std::string &op,
                                     const std::vector<std::string> &arguments,
                                     const std::string &type) {
  std::string name = nest.fresh();
  nest.raw(cat("    ", name, " = ", op, " ", join(arguments, ", "), " : ", type,
               "\n"));
  return name;
}

std::string ScalarEmitter::real(DType dtype, double value) {
  char bits[24];
  if (dtype == DType::F64)
    std::snprintf(
        bits, sizeof bits, "0x%016llX",
        static_cast<unsigned long long>(std::bit_cast<uint64_t>(value)));
  std::string literal =
      dtype == DType::F64 ? std::string(bits) : floatLiteral(float(value));
  return operation("arith.constant", {literal}, typeOf(dtype));
}

std::string ScalarEmitter::integer(DType dtype, int64_t value) {
  std::string name = nest.fresh();
  if (dtype == DType::Bool) {
    nest.raw(cat("    ", name, " = arith.constant ", value ? "true" : "false",
                 "\n"));
    return name;
  }
  // As signed bits: the parser refuses unsigned literals above the middle.
  int shift = 64 - 8 * int(sizeOf(dtype));
  int64_t bits = int64_t(uint64_t(value) << shift) >> shift;
  nest.raw(cat("    ", name, " = arith.constant ", bits, " : ", typeOf(dtype),
               "\n"));
  return name;
}

std::string ScalarEmitter::load(const LoopNest::Array &array,
                                const std::string &at, DType dtype) {
  std::string value = nest.load(array, at);
  if (dtype != DType::Bool)
    return value;
  return operation("arith.cmpi ne,", {value, integer(DType::I8, 0)}, "i8");
}

void ScalarEmitter::store(const ScalarValue &value,
                          const LoopNest::Array &array, const std::string &at) {
  nest.store(value.dtype == DType::Bool
                 ? operation("arith.extui", {value.name}, "i1 to i8")
                 : value.name,
             array, at);
}

std::string ScalarEmitter::select(const std::string &condition,
                                  const std::string &a, const std::string &b,
                                  DType dtype) {
  return operation("arith.select", {condition, a, b}, typeOf(dtype));
}

/// `predicate` of an ordered comparison: "lt", "le", "eq", "ne".
std::string ScalarEmitter::compare(const char *predicate, DType dtype,
                                   const std::string &a, const std::string &b) {
  std::string word = predicate;
  if (isFloat(dtype))
    return operation(cat("arith.cmpf ", word == "ne" ? "une" : "o" + word, ","),
                     {a, b}, typeOf(dtype));
  if (word != "eq" && word != "ne")
    word = (isUnsignedOrder(dtype) ? "u" : "s") + word;
  return operation(cat("arith.cmpi ", word, ","), {a, b}, typeOf(dtype));
}

std::string ScalarEmitter::emit(const ScalarNode &node,
                                const std::vector<ScalarValue> &arguments) {
  DType from = arguments.empty() ? node.dtype : arguments[0].dtype;
  switch (node.op) {
  case Scalar::Constant:
    return isFloat(node.dtype) ? real(node.dtype, node.real)
                               : integer(node.dtype, node.integer);
  case Scalar::Cast:
    return cast(arguments[0], node.dtype);
  case Scalar::Select:
    return select(arguments[0].name, arguments[1].name, arguments[2].name,
                  node.dtype);
  case Scalar::Equal:
    return compare("eq", from, arguments[0].name, arguments[1].name);
  case Scalar::Less:
    return compare("lt", from, arguments[0].name, arguments[1].name);
  case Scalar::LessEqual:
    return compare("le", from, arguments[0].name, arguments[1].name);
  case Scalar::IsNan:
    return operation("arith.cmpf uno,", {arguments[0].name, arguments[0].name},
                     typeOf(from));
  default:
    return isFloat(node.dtype) ? floatOp(node, arguments)
                               : integerOp(node, arguments);
  }
}

std::string ScalarEmitter::cast(const ScalarValue &value, DType to) {
  DType from = value.dtype;
  std::string types = cat(typeOf(from), " to ", typeOf(to));
  if (from == to)
    return value.name;
  if (to == DType::Bool)
    return compare("ne", from, value.name,
                   isFloat(from) ? real(from, 0) : integer(from, 0));
  if (isFloat(from) && isFloat(to))
    return operation(sizeOf(to) > sizeOf(from) ? "arith.extf" : "arith.truncf",
                     {value.name}, types);
  if (isFloat(to))
    return operation(isUnsignedOrder(from) ? "arith.uitofp" : "arith.sitofp",
                     {value.name}, types);
  if (isFloat(from)) {
    // Saturates; NaN becomes 0.
    std::string name = nest.fresh();
    nest.raw(cat("    ", name, " = llvm.call_intrinsic \"llvm.fpto",
                 isUnsigned(to) ? "ui" : "si", ".sat.", typeOf(to), ".",
                 typeOf(from), "\"(", value.name, ") : (", typeOf(from),
                 ") -> ", typeOf(to), "\n"));
    return name;
  }
  size_t narrow = from == DType::Bool ? 0 : sizeOf(from);
  if (narrow == sizeOf(to))
    return value.name;
  if (narrow > sizeOf(to))
    return operation("arith.trunci", {value.name}, types);
  return operation(isUnsignedOrder(from) ? "arith.extui" : "arith.extsi",
                   {value.name}, types);
}

std::string ScalarEmitter::math(Scalar op, const ScalarValue &x) {
  std::string type = typeOf(x.dtype);
  // Through the PointEmitter where it has vectorisable code of its own.
  if (x.dtype == DType::F32 &&
      (op == Scalar::Exp || op == Scalar::Erf || op == Scalar::Tanh)) {
    Op point = op == Scalar::Exp   ? Op::Exp
               : op == Scalar::Erf ? Op::Erf
                                   : Op::Tanh;
    std::string result = points.emit(point, {x.name}, 0, 0);
    nest.raw(points.body());
    points.clearBody();
    return result;
  }
  // libm is exact where polynomials lose large arguments or the ends.
  auto libm = [&](const char *name) {
    std::string result = nest.fresh();
    nest.raw(cat("    ", result, " = llvm.intr.", name, "(", x.name, ") : (",
                 type, ") -> ", type, "\n"));
    return result;
  };
  auto dialect = [&](const char *name) {
    return operation(cat("math.", name), {x.name}, type);
  };
  switch (op) {
  case Scalar::Sqrt:
    return dialect("sqrt");
  case Scalar::Exp:
    return dialect("exp");
  case Scalar::Log:
    return dialect("log");
  case Scalar::Erf:
    return dialect("erf");
  case Scalar::Floor:
    return dialect("floor");
  case Scalar::Ceil:
    return dialect("ceil");
  case Scalar::Round:
    return dialect("roundeven");
  case Scalar::Sin:
    return libm("sin");
  case Scalar::Cos:
    return libm("cos");
  case Scalar::Tan:
    return libm("tan");
  case Scalar::Asin:
    return libm("asin");
  case Scalar::Acos:
    return libm("acos");
  case Scalar::Atan:
    return libm("atan");
  case Scalar::Sinh:
    return libm("sinh");
  case Scalar::Cosh:
    return libm("cosh");
  case Scalar::Tanh:
    return libm("tanh");
  case Scalar::Asinh:
    return dialect("asinh");
  case Scalar::Acosh:
    return dialect("acosh");
  case Scalar::Atanh:
    return dialect("atanh");
  default:
    TLM_CHECK(false) << nameOf(op) << " has no scalar form";
    return x.name;
  }
}

std::string ScalarEmitter::floatOp(const ScalarNode &node,
                                   const std::vector<ScalarValue> &arguments) {
  std::string type = typeOf(node.dtype);
  const ScalarValue &a = arguments[0];
  const std::string &x = a.name;
  const std::string &y = arguments.back().name;
  switch (node.op) {
  case Scalar::Add:
    return operation("arith.addf", {x, y + " fastmath<contract>"}, type);
  case Scalar::Sub:
    return operation("arith.subf", {x, y + " fastmath<contract>"}, type);
  case Scalar::Mul:
    return operation("arith.mulf", {x, y + " fastmath<contract>"}, type);
  case Scalar::Div:
    return operation("arith.divf", {x, y}, type);
  case Scalar::Remainder:
    return operation("arith.remf", {x, y}, type);
  case Scalar::FloorMod: {
    std::string rest = operation("arith.remf", {x, y}, type);
    std::string zero = real(node.dtype, 0);
    std::string moved = operation("arith.xori",
                                  {compare("lt", node.dtype, rest, zero),
                                   compare("lt", node.dtype, y, zero)},
                                  "i1");
    std::string wanted = operation(
        "arith.andi", {moved, compare("ne", node.dtype, rest, zero)}, "i1");
    return select(wanted, operation("arith.addf", {rest, y}, type), rest,
                  node.dtype);
  }
  case Scalar::Min:
    return operation("arith.minimumf", {x, y}, type);
  case Scalar::Max:
    return operation("arith.maximumf", {x, y}, type);
  case Scalar::Pow:
    return operation("math.powf", {x, y}, type);
  case Scalar::Neg:
    return operation("arith.negf", {x}, type);
  case Scalar::Abs:
    return operation("math.absf", {x}, type);
  default:
    return math(node.op, a);
  }
}

std::string ScalarEmitter::divide(Scalar op, const ScalarValue &a,
                                  const ScalarValue &b) {
  DType dtype = a.dtype;
  std::string type = typeOf(dtype);
  bool isUnsignedType = isUnsignedOrder(dtype) || dtype == DType::U64;
  bool isPositive = b.range.low > 0 && dtype != DType::U64;
  // Both known not to be negative: unsigned division is the cheaper one.
  if (isPositive && a.range.low >= 0)
    isUnsignedType = true;
  std::string prefix = isUnsignedType ? "ui" : "si";
  std::string zero = integer(dtype, 0), one = integer(dtype, 1);
  std::string divisor = b.name, isZero, isMinusOne;
  if (!isPositive) {
    isZero = compare("eq", dtype, b.name, zero);
    divisor = select(isZero, one, b.name, dtype);
    if (!isUnsignedType) {
      isMinusOne = compare("eq", dtype, b.name, integer(dtype, -1));
      divisor = select(isMinusOne, one, divisor, dtype);
    }
  }
  if (op == Scalar::Div) {
    std::string result =
        operation("arith.div" + prefix, {a.name, divisor}, type);
    if (!isMinusOne.empty())
      result = select(isMinusOne, operation("arith.subi", {zero, a.name}, type),
                      result, dtype);
    return isZero.empty() ? result : select(isZero, zero, result, dtype);
  }
  // By 1 instead of 0 or -1 the rest is 0, as it should be.
  std::string rest = operation("arith.rem" + prefix, {a.name, divisor}, type);
  if (op == Scalar::Remainder || isUnsignedType)
    return rest;
  std::string differs =
      compare("lt", dtype, operation("arith.xori", {rest, b.name}, type), zero);
  std::string wanted = operation(
      "arith.andi", {differs, compare("ne", dtype, rest, zero)}, "i1");
  return select(wanted, operation("arith.addi", {rest, b.name}, type), rest,
                dtype);
}

std::string ScalarEmitter::shift(Scalar op, const ScalarValue &a,
                                 const ScalarValue &b) {
  DType dtype = a.dtype;
  std::string type = typeOf(dtype);
  int64_t width = 8 * int64_t(sizeOf(dtype));
  std::string inside =
      operation("arith.cmpi ult,", {b.name, integer(dtype, width)}, type);
  std::string zero = integer(dtype, 0);
  if (op == Scalar::ShiftRight && !isUnsigned(dtype)) {
    std::string amount =
        select(inside, b.name, integer(dtype, width - 1), dtype);
    return operation("arith.shrsi", {a.name, amount}, type);
  }
  std::string amount = select(inside, b.name, zero, dtype);
  std::string shifted =
      operation(op == Scalar::ShiftLeft ? "arith.shli" : "arith.shrui",
                {a.name, amount}, type);
  return select(inside, shifted, zero, dtype);
}

/// By squaring over the exponent's bits; 1 / base^n is 0 but for bases of one.
std::string ScalarEmitter::power(const ScalarValue &a, const ScalarValue &b) {
  DType dtype = a.dtype;
  std::string type = typeOf(dtype);
  std::string zero = integer(dtype, 0), one = integer(dtype, 1);
  if (b.range.isConstant() && b.range.isWithin(1, 4)) {
    std::string result = a.name;
    for (int64_t i = 1; i < b.range.low; ++i)
      result = operation("arith.muli", {result, a.name}, type);
    return result;
  }
  std::string from = nest.index(0, {}), step = nest.index(1, {}),
              to = nest.index(8 * int64_t(sizeOf(dtype)), {});
  std::string loop = nest.fresh("pow"), bit = nest.fresh("bit"),
              so = nest.fresh("so"), square = nest.fresh("sq"),
              rest = nest.fresh("rest");
  nest.raw(cat("    ", loop, ":3 = scf.for ", bit, " = ", from, " to ", to,
               " step ", step, " iter_args(", so, " = ", one, ", ", square,
               " = ", a.name, ", ", rest, " = ", b.name, ") -> (", type, ", ",
               type, ", ", type, ") {\n"));
  std::string isOdd =
      compare("ne", dtype, operation("arith.andi", {rest, one}, type), zero);
  std::string next =
      select(isOdd, operation("arith.muli", {so, square}, type), so, dtype);
  std::string squared = operation("arith.muli", {square, square}, type);
  std::string shifted = operation("arith.shrui", {rest, one}, type);
  nest.raw(cat("    scf.yield ", next, ", ", squared, ", ", shifted, " : ",
               type, ", ", type, ", ", type, "\n  }\n"));
  std::string result = loop + "#0";
  if (isUnsigned(dtype) || b.range.low >= 0)
    return result;
  std::string minus = integer(dtype, -1);
  std::string odd =
      compare("ne", dtype, operation("arith.andi", {b.name, one}, type), zero);
  std::string inverse = select(compare("eq", dtype, a.name, minus),
                               select(odd, minus, one, dtype), zero, dtype);
  inverse = select(compare("eq", dtype, a.name, one), one, inverse, dtype);
  return select(compare("lt", dtype, b.name, zero), inverse, result, dtype);
}

std::string
ScalarEmitter::integerOp(const ScalarNode &node,
                         const std::vector<ScalarValue> &arguments) {
  DType dtype = node.dtype;
  std::string type = typeOf(dtype);
  const ScalarValue &a = arguments[0], &b = arguments.back();
  auto simple = [&](const char *op) {
    return operation(op, {a.name, b.name}, type);
  };
  switch (node.op) {
  case Scalar::Add:
    return simple("arith.addi");
  case Scalar::Sub:
    return simple("arith.subi");
  case Scalar::Mul:
    return simple("arith.muli");
  case Scalar::Div:
  case Scalar::Remainder:
  case Scalar::FloorMod:
    return divide(node.op, a, b);
  case Scalar::Min:
    return simple(isUnsignedOrder(dtype) ? "arith.minui" : "arith.minsi");
  case Scalar::Max:
    return simple(isUnsignedOrder(dtype) ? "arith.maxui" : "arith.maxsi");
  case Scalar::And:
    return simple("arith.andi");
  case Scalar::Or:
    return simple("arith.ori");
  case Scalar::Xor:
    return simple("arith.xori");
  case Scalar::Not:
    return operation("arith.xori",
                     {a.name, integer(dtype, dtype == DType::Bool ? 1 : -1)},
                     type);
  case Scalar::ShiftLeft:
  case Scalar::ShiftRight:
    return shift(node.op, a, b);
  case Scalar::Pow:
    return power(a, b);
  case Scalar::Neg:
    return operation("arith.subi", {integer(dtype, 0), a.name}, type);
  case Scalar::Abs: {
    if (isUnsignedOrder(dtype))
      return a.name;
    std::string zero = integer(dtype, 0);
    return select(compare("lt", dtype, a.name, zero),
                  operation("arith.subi", {zero, a.name}, type), a.name, dtype);
  }
  default:
    TLM_CHECK(false) << nameOf(node.op) << " is not for integers";
    return a.name;
  }
}

std::string ScalarEmitter::identity(Combine combine, DType dtype) {
  bool isReal = isFloat(dtype);
  switch (combine) {
  case Combine::Sum:
    return isReal ? real(dtype, 0) : integer(dtype, 0);
  case Combine::Product:
    return isReal ? real(dtype, 1) : integer(dtype, 1);
  case Combine::Min:
  case Combine::ArgMinFirst:
  case Combine::ArgMinLast:
    return isReal ? real(dtype, __builtin_inf())
                  : integer(dtype, highestInteger(dtype));
  case Combine::Max:
  case Combine::ArgMaxFirst:
  case Combine::ArgMaxLast:
    return isReal ? real(dtype, -__builtin_inf())
                  : integer(dtype, lowestInteger(dtype));
  case Combine::And:
    return integer(dtype, dtype == DType::Bool ? 1 : -1);
  case Combine::Or:
    return integer(dtype, 0);
  }
  return {};
}

std::string ScalarEmitter::combine(Combine combine, DType dtype,
                                   const std::string &a, const std::string &b) {
  bool isReal = isFloat(dtype), isUnsignedType = isUnsignedOrder(dtype);
  std::string type = typeOf(dtype);
  switch (combine) {
  case Combine::Sum:
    return isReal ? operation("arith.addf",
                              {a, b + " fastmath<contract,reassoc>"}, type)
                  : operation("arith.addi", {a, b}, type);
  case Combine::Product:
    return isReal ? operation("arith.mulf", {a, b + " fastmath<reassoc>"}, type)
                  : operation("arith.muli", {a, b}, type);
  case Combine::Min:
    return operation(isReal           ? "arith.minimumf"
                     : isUnsignedType ? "arith.minui"
                                      : "arith.minsi",
                     {a, b}, type);
  case Combine::Max:
    return operation(isReal           ? "arith.maximumf"
                     : isUnsignedType ? "arith.maxui"
                                      : "arith.maxsi",
                     {a, b}, type);
  case Combine::And:
    return operation("arith.andi", {a, b}, type);
  default:
    return operation("arith.ori", {a, b}, type);
  }
}

std::string ScalarEmitter::isBetter(Combine combine, DType dtype,
                                    const std::string &candidate,
                                    const std::string &best) {
  switch (combine) {
  case Combine::ArgMinFirst:
    return compare("lt", dtype, candidate, best);
  case Combine::ArgMinLast:
    return compare("le", dtype, candidate, best);
  case Combine::ArgMaxFirst:
    return compare("lt", dtype, best, candidate);
  default:
    return compare("le", dtype, best, candidate);
  }
}
