#include "lower/PointEmitter.h"

#include "base/Check.h"
#include "lower/Text.h"

#include <bit>
#include <cstdio>

using namespace tlm;

std::string tlm::floatLiteral(float value) {
  char buffer[16];
  std::snprintf(buffer, sizeof buffer, "0x%08X",
                std::bit_cast<uint32_t>(value));
  return buffer;
}

PointEmitter::PointEmitter(int64_t lanes, std::string prefix)
    : lanes(lanes), prefix(std::move(prefix)) {
  type = lanes ? cat("vector<", lanes, "xf32>") : "f32";
  integerType = lanes ? cat("vector<", lanes, "xi32>") : "i32";
}

std::string PointEmitter::fresh() { return cat("%", prefix, counter++); }

std::string PointEmitter::constant(float value) {
  std::string literal = floatLiteral(value);
  auto [it, added] = constantNames.try_emplace(literal);
  if (added) {
    it->second = cat("%", prefix, "c", constantNames.size());
    constantOps.push_back(cat("  ", it->second, " = arith.constant ",
                              lanes ? cat("dense<", literal, ">") : literal,
                              " : ", type, "\n"));
  }
  return it->second;
}

std::string PointEmitter::constants() const { return join(constantOps, ""); }

std::string PointEmitter::binary(const char *op, const std::string &x,
                                 const std::string &y, const char *flags) {
  std::string name = fresh();
  text += cat("      ", name, " = arith.", op, " ", x, ", ", y, flags, " : ",
              type, "\n");
  return name;
}

std::string PointEmitter::add(const std::string &x, const std::string &y) {
  return binary("addf", x, y, " fastmath<contract>");
}
std::string PointEmitter::sub(const std::string &x, const std::string &y) {
  return binary("subf", x, y, " fastmath<contract>");
}
std::string PointEmitter::mul(const std::string &x, const std::string &y) {
  return binary("mulf", x, y, " fastmath<contract>");
}

std::string PointEmitter::fma(const std::string &x, const std::string &y,
                              const std::string &z) {
  std::string name = fresh();
  text += cat("      ", name, " = math.fma ", x, ", ", y, ", ", z, " : ", type,
              "\n");
  return name;
}

// One vmaxps or vminps: x when `x predicate y`, else y (so NaN in y passes).
std::string PointEmitter::select(const char *predicate, const std::string &x,
                                 const std::string &y) {
  std::string compare = fresh(), name = fresh();
  text += cat("      ", compare, " = arith.cmpf ", predicate, ", ", x, ", ", y,
              " : ", type, "\n");
  text += cat("      ", name, " = arith.select ", compare, ", ", x, ", ", y,
              " : ", lanes ? cat("vector<", lanes, "xi1>, ") : "", type, "\n");
  return name;
}

// 2^(t factor) for factor log2 e or its negative, where it is a normal number.
// `low` is what factor lost in rounding, or 0 to leave it lost (1.9e-8 |t|).
PointEmitter::Power PointEmitter::power(const std::string &t, float factor,
                                        float low) {
  // magic + t factor holds 127 + round(t factor) in its low mantissa bits.
  std::string by = constant(factor);
  std::string magic = constant(12582912.0f + 127.0f);
  std::string shifted = fma(t, by, magic);
  std::string rounded = binary("subf", magic, shifted, "");
  std::string f = fma(t, by, rounded); // the product is not rounded
  if (low != 0)
    f = fma(t, constant(low), f);
  // Chebyshev interpolation of 2^f on [-0.5, 0.5], relative error 2.1e-7.
  std::string p = constant(1.339086336e-3f);
  p = fma(p, f, constant(9.676031918e-3f));
  p = fma(p, f, constant(5.550357114e-2f));
  p = fma(p, f, constant(2.402210749e-1f));
  p = fma(p, f, constant(6.931471880e-1f));
  p = fma(p, f, constant(1.0f));
  std::string bits = fresh(), twentyThree = fresh(), exponent = fresh(),
              scale = fresh();
  text += cat("      ", bits, " = arith.bitcast ", shifted, " : ", type, " to ",
              integerType, "\n");
  text += cat("      ", twentyThree, " = arith.constant ",
              lanes ? "dense<23>" : "23", " : ", integerType, "\n");
  text += cat("      ", exponent, " = arith.shli ", bits, ", ", twentyThree,
              " : ", integerType, "\n");
  text += cat("      ", scale, " = arith.bitcast ", exponent, " : ",
              integerType, " to ", type, "\n");
  return {p, scale};
}

std::string PointEmitter::exp(const std::string &x) {
  // Clamped so that the exponent stays in range; 2^-127 is built as 0 and
  // 2^128 as infinity, which are the right limits.
  std::string t = select("ogt", constant(-88.029692f), x);
  t = select("olt", constant(88.722839f), t);
  Power power = this->power(t, 1.44269504f, 1.925963033e-8f);
  return binary("mulf", power.mantissa, power.scale, "");
}

// 1 / (1 + exp(-x)), and 0 below -40, where it is 4e-18: products of such
// values (a gate times a swish) would be denormals, which many cores multiply a
// hundred times slower. EfficientNet-B0 with strong activations lost 25 % to
// that.
std::string PointEmitter::sigmoid(const std::string &x) {
  std::string one = constant(1.0f);
  Power power =
      this->power(select("olt", constant(88.029692f), x), -1.44269504f, 0);
  std::string quotient =
      binary("divf", one, fma(power.mantissa, power.scale, one), "");
  std::string compare = fresh(), name = fresh();
  text += cat("      ", compare, " = arith.cmpf olt, ", x, ", ",
              constant(-40.0f), " : ", type, "\n");
  text += cat("      ", name, " = arith.select ", compare, ", ", constant(0.0f),
              ", ", quotient, " : ",
              lanes ? cat("vector<", lanes, "xi1>, ") : "", type, "\n");
  return name;
}

std::string PointEmitter::math(const char *op, const std::string &x) {
  std::string name = fresh();
  text += cat("      ", name, " = math.", op, " ", x, " : ", type, "\n");
  return name;
}

std::string PointEmitter::emit(Op op, const std::vector<std::string> &args,
                               float a, float b) {
  const std::string &x = args[0];
  switch (op) {
  case Op::Add:
    return add(x, args[1]);
  case Op::Sub:
    return sub(x, args[1]);
  case Op::Mul:
    return mul(x, args[1]);
  case Op::Div:
    return binary("divf", x, args[1], "");
  case Op::Relu:
    return select("ogt", constant(0.0f), x);
  case Op::Clip:
    // min > max gives max, as ONNX says: the upper bound is applied last.
    return select("olt", constant(b), select("ogt", constant(a), x));
  case Op::Sigmoid:
    return sigmoid(x);
  case Op::Swish:
    return mul(x, sigmoid(x));
  case Op::HardSigmoid: {
    std::string t = fma(x, constant(a), constant(b));
    return select("olt", constant(1.0f), select("ogt", constant(0.0f), t));
  }
  case Op::HardSwish: {
    std::string t = fma(x, constant(1.0f / 6.0f), constant(0.5f));
    t = select("olt", constant(1.0f), select("ogt", constant(0.0f), t));
    return mul(x, t);
  }
  case Op::LeakyRelu: {
    std::string compare = fresh(), name = fresh();
    std::string scaled = mul(x, constant(a));
    text += cat("      ", compare, " = arith.cmpf olt, ", x, ", ",
                constant(0.0f), " : ", type, "\n");
    text +=
        cat("      ", name, " = arith.select ", compare, ", ", scaled, ", ", x,
            " : ", lanes ? cat("vector<", lanes, "xi1>, ") : "", type, "\n");
    return name;
  }
  case Op::Elu: {
    std::string low =
        mul(constant(a), binary("subf", exp(x), constant(1.0f), ""));
    std::string compare = fresh(), name = fresh();
    text += cat("      ", compare, " = arith.cmpf olt, ", x, ", ",
                constant(0.0f), " : ", type, "\n");
    text +=
        cat("      ", name, " = arith.select ", compare, ", ", low, ", ", x,
            " : ", lanes ? cat("vector<", lanes, "xi1>, ") : "", type, "\n");
    return name;
  }
  case Op::Exp:
    return exp(x);
  case Op::Neg:
    return binary("subf", constant(-0.0f), x, "");
  case Op::Tanh:
    return math("tanh", x);
  case Op::Erf:
    return math("erf", x);
  case Op::Gelu: {
    std::string gate = math("erf", mul(x, constant(0.70710678f)));
    return mul(mul(x, constant(0.5f)), add(gate, constant(1.0f)));
  }
  case Op::GeluTanh: {
    std::string cube = mul(mul(x, x), mul(x, constant(0.044715f)));
    std::string gate = math("tanh", mul(add(x, cube), constant(0.79788456f)));
    return mul(mul(x, constant(0.5f)), add(gate, constant(1.0f)));
  }
  case Op::Sqrt:
    return math("sqrt", x);
  case Op::Abs:
    return math("absf", x);
  case Op::Max:
  case Op::Min: {
    std::string result = x;
    for (size_t i = 1; i < args.size(); ++i)
      result = binary(op == Op::Max ? "maximumf" : "minimumf", result, args[i],
                      " fastmath<nsz>");
    return result;
  }
  default:
    TLM_CHECK(false) << "not pointwise: " << nameOf(op);
    return x;
  }
}

std::string PointEmitter::emitEpilogue(const Task &task,
                                       const std::string &accumulator,
                                       const std::vector<std::string> &extras) {
  std::vector<std::string> results;
  for (const PointOp &point : task.points) {
    std::vector<std::string> args;
    for (const PointRef &ref : point.inputs)
      switch (ref.kind) {
      case PointRef::Kind::Accumulator:
        args.push_back(accumulator);
        break;
      case PointRef::Kind::Point:
        args.push_back(results[size_t(ref.index)]);
        break;
      case PointRef::Kind::Operand:
        args.push_back(extras[size_t(ref.index)]);
        break;
      }
    results.push_back(emit(point.op, args, point.a, point.b));
  }
  return results.empty() ? accumulator : results.back();
}
