//===- ParseComputation.cpp -----------------------------------------------===//

#include "task/ParseComputation.h"

#include <array>

namespace tlm {

bool takeDType(Line &line, DType &dtype) {
  std::string_view word = line.word();
  for (DType candidate :
       {DType::F32, DType::U8, DType::I8, DType::U16, DType::I16, DType::I32,
        DType::I64, DType::Bool, DType::F16, DType::F64, DType::U32, DType::U64,
        DType::BF16})
    if (nameOf(candidate) == word) {
      dtype = candidate;
      return true;
    }
  return false;
}

static bool takeScalar(std::string_view word, Scalar &op) {
  constexpr std::array kScalars = {
#define TLM_SCALAR(id, name, text, arguments) Scalar::name,
#include "base/ScalarOps.def"
  };
  for (Scalar candidate : kScalars)
    if (nameOf(candidate) == word) {
      op = candidate;
      return true;
    }
  return false;
}

static bool takeCombine(std::string_view word, Combine &combine) {
  for (int i = 0; i <= int(Combine::ArgMaxLast); ++i)
    if (nameOf(Combine(i)) == word) {
      combine = Combine(i);
      return true;
    }
  return false;
}

/// The rest of "[2, 3]"; `prefix` stands before every number.
template <typename T>
static bool takeList(Line &line, std::string_view prefix,
                     std::vector<T> &numbers) {
  if (line.take("]"))
    return true;
  do {
    if (!line.take(prefix) || !line.integer(numbers.emplace_back(), ",]"))
      return false;
  } while (line.take(", "));
  return line.take("]");
}

static bool parseConstant(Line &line, ScalarNode &node) {
  if (!line.take(" ") || !takeDType(line, node.dtype) || !line.take(" "))
    return false;
  if (!isFloat(node.dtype))
    return line.integer(node.integer);
  if (node.dtype != DType::F32)
    return line.number(node.real);
  float value = 0;
  if (!line.number(value))
    return false;
  node.real = double(value);
  return true;
}

DType yieldedType(const Computation &computation, const ScalarNode &node) {
  auto typeOf = [&](size_t i) {
    return computation.nodes[size_t(node.arguments[i])].dtype;
  };
  switch (node.op) {
  case Scalar::Equal:
  case Scalar::Less:
  case Scalar::LessEqual:
  case Scalar::IsNan:
    return DType::Bool;
  case Scalar::Select:
    return node.arguments.size() > 1 ? typeOf(1) : DType::Invalid;
  case Scalar::Reduce:
    if (computation.combine >= Combine::ArgMinFirst)
      return DType::I64;
    [[fallthrough]];
  default:
    return node.arguments.empty() ? DType::Invalid : typeOf(0);
  }
}

/// Behind "%3 = ".
static bool parseNode(Line &line, Computation &computation) {
  ScalarNode node;
  if (!takeScalar(line.word(), node.op))
    return false;
  switch (node.op) {
  case Scalar::Constant:
    if (!parseConstant(line, node))
      return false;
    break;
  case Scalar::Loop:
    node.dtype = DType::I64;
    if (!line.take(" ") || !line.integer(node.index))
      return false;
    break;
  case Scalar::Load:
    if (!line.take(" ") || !takeDType(line, node.dtype) || !line.take(" ") ||
        !line.integer(node.index) || !line.take(" [") ||
        !takeList(line, "%", node.arguments))
      return false;
    break;
  case Scalar::Cast:
    if (!line.take(" ") || !takeDType(line, node.dtype))
      return false;
    break;
  case Scalar::Reduce:
    if (!line.take(" ") || !takeCombine(line.word(), computation.combine))
      return false;
    break;
  default:
    break;
  }
  while (line.take(" %"))
    if (!line.integer(node.arguments.emplace_back()))
      return false;
  for (int32_t argument : node.arguments)
    if (argument < 0 || size_t(argument) >= computation.nodes.size())
      return false;
  if (node.op > Scalar::Cast || node.op == Scalar::Reduce)
    node.dtype = yieldedType(computation, node);
  computation.nodes.push_back(std::move(node));
  return true;
}

bool parseComputationClause(Line &line, Computation &computation) {
  if (line.take("loops ["))
    return computation.nodes.empty() && computation.loops.empty() &&
           takeList(line, "", computation.loops) &&
           (!line.take(" reductions [") ||
            takeList(line, "", computation.reductions));
  if (line.take("result %"))
    return line.integer(computation.result);
  size_t number = 0;
  return line.take("%") && line.integer(number) &&
         number == computation.nodes.size() && line.take(" = ") &&
         parseNode(line, computation);
}

} // namespace tlm
