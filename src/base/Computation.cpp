#include "base/Computation.h"

#include "base/NumberText.h"

#include <charconv>
#include <cmath>

using namespace tlm;

std::string_view tlm::nameOf(Scalar op) {
  switch (op) {
#define TLM_SCALAR(id, name, text, arguments)                                  \
  case Scalar::name:                                                           \
    return text;
#include "base/ScalarOps.def"
  }
  return "?";
}

std::string_view tlm::nameOf(Combine combine) {
  switch (combine) {
  case Combine::Sum:
    return "sum";
  case Combine::Product:
    return "product";
  case Combine::Min:
    return "min";
  case Combine::Max:
    return "max";
  case Combine::And:
    return "and";
  case Combine::Or:
    return "or";
  case Combine::ArgMinFirst:
    return "arg_min_first";
  case Combine::ArgMinLast:
    return "arg_min_last";
  case Combine::ArgMaxFirst:
    return "arg_max_first";
  case Combine::ArgMaxLast:
    return "arg_max_last";
  }
  return "?";
}

namespace {

int argumentCount(Scalar op) {
  switch (op) {
#define TLM_SCALAR(id, name, text, arguments)                                  \
  case Scalar::name:                                                           \
    return arguments;
#include "base/ScalarOps.def"
  }
  return -2;
}

bool isValueType(DType dtype) {
  return dtype == DType::F32 || dtype == DType::F64 || dtype == DType::Bool ||
         isInteger(dtype);
}

/// One spelling a number; unlike floatText it tells the zeros apart.
std::string realText(DType dtype, double value) {
  if (value == 0)
    return std::signbit(value) ? "-0" : "0";
  if (dtype == DType::F32 || !std::isfinite(value))
    return floatText(float(value));
  char buffer[32];
  return std::string(buffer,
                     std::to_chars(buffer, buffer + sizeof(buffer), value).ptr);
}

std::string listText(const char *prefix, const auto &numbers) {
  std::string text;
  for (auto number : numbers)
    text += (text.empty() ? "" : ", ") + (prefix + std::to_string(number));
  return text;
}

std::string nodeText(const ScalarNode &node, Combine combine) {
  std::string op(nameOf(node.op)), type(nameOf(node.dtype));
  switch (node.op) {
  case Scalar::Constant:
    return op + " " + type + " " +
           (isFloat(node.dtype) ? realText(node.dtype, node.real)
                                : std::to_string(node.integer));
  case Scalar::Loop:
    return op + " " + std::to_string(node.index);
  case Scalar::Load:
    return op + " " + type + " " + std::to_string(node.index) + " [" +
           listText("%", node.arguments) + "]";
  case Scalar::Cast:
    op += " " + type;
    break;
  case Scalar::Reduce:
    op += " " + std::string(nameOf(combine));
    break;
  default:
    break;
  }
  for (int32_t argument : node.arguments)
    op += " %" + std::to_string(argument);
  return op;
}

/// Checks one node after the other; `inReduction` says which depend on a
/// reduction loop.
class Verifier {
public:
  Verifier(const Computation &computation, const std::vector<DType> &types,
           const std::vector<size_t> &ranks)
      : computation(computation), types(types), ranks(ranks) {}

  std::string run() {
    if (types.size() != ranks.size())
      return "operand types and ranks differ in number";
    for (const auto *extents : {&computation.loops, &computation.reductions})
      for (int64_t extent : *extents)
        if (extent < 0)
          return "a loop of " + std::to_string(extent);
    for (size_t i = 0; i < computation.nodes.size(); ++i)
      if (std::string broken = check(computation.nodes[i]); !broken.empty())
        return "%" + std::to_string(i) + ": " + broken;
    int32_t result = computation.result;
    if (result < 0 || size_t(result) >= computation.nodes.size())
      return "the result is no node";
    if (inReduction[size_t(result)])
      return "the result depends on a reduction loop outside the reduce";
    if (!computation.reductions.empty() && !hasReduce)
      return "reduction loops without a reduce";
    return {};
  }

private:
  const ScalarNode &argument(const ScalarNode &node, size_t i) const {
    return computation.nodes[size_t(node.arguments[i])];
  }

  std::string check(const ScalarNode &node) {
    int count = argumentCount(node.op);
    if (count < -1)
      return "no operation has this id";
    if (!isValueType(node.dtype))
      return "a value of type " + std::string(nameOf(node.dtype));
    if (count >= 0 && node.arguments.size() != size_t(count))
      return std::to_string(node.arguments.size()) + " arguments; " +
             std::to_string(count) + " are needed";
    bool reducing = false, reduced = node.op == Scalar::Reduce;
    for (int32_t id : node.arguments) {
      if (id < 0 || size_t(id) >= inReduction.size())
        return "argument %" + std::to_string(id) + " is not defined before";
      reducing = reducing || inReduction[size_t(id)];
      reduced = reduced || afterReduce[size_t(id)];
    }
    std::string broken = checkTypes(node);
    if (!broken.empty())
      return broken;
    if (node.op == Scalar::Loop)
      reducing = size_t(node.index) >= computation.loops.size();
    if (node.op == Scalar::Reduce) {
      if (hasReduce)
        return "a second reduce";
      hasReduce = true;
      reducing = false;
    }
    if (reducing && reduced)
      return "the result of the reduce is used inside a reduction loop";
    inReduction.push_back(reducing);
    afterReduce.push_back(reduced);
    return {};
  }

  std::string wants(const ScalarNode &node, bool holds, const char *what) {
    return holds ? std::string()
                 : std::string(nameOf(node.op)) + " wants " + what;
  }

  std::string checkTypes(const ScalarNode &node) {
    auto is = [&](size_t i, DType dtype) {
      return argument(node, i).dtype == dtype;
    };
    DType first = node.arguments.empty() ? node.dtype : argument(node, 0).dtype;
    bool same = node.arguments.size() < 2 || is(1, first);
    switch (node.op) {
    case Scalar::Constant:
    case Scalar::Cast:
      return {};
    case Scalar::Loop: {
      size_t loops = computation.loops.size() + computation.reductions.size();
      return wants(node,
                   node.dtype == DType::I64 && node.index >= 0 &&
                       size_t(node.index) < loops,
                   "an i64 and the number of a loop");
    }
    case Scalar::Load:
      return checkLoad(node);
    case Scalar::Select:
      return wants(node,
                   is(0, DType::Bool) && is(1, node.dtype) && is(2, node.dtype),
                   "a bool and two values of its type");
    case Scalar::Equal:
    case Scalar::Less:
    case Scalar::LessEqual:
      return wants(node, same && node.dtype == DType::Bool,
                   "operands of one type and yields bool");
    case Scalar::IsNan:
      return wants(node, isFloat(first) && node.dtype == DType::Bool,
                   "a float and yields bool");
    case Scalar::And:
    case Scalar::Or:
    case Scalar::Xor:
    case Scalar::Not:
      return wants(node, same && first == node.dtype && !isFloat(first),
                   "integers or bool of its type");
    case Scalar::ShiftLeft:
    case Scalar::ShiftRight:
      return wants(node, same && first == node.dtype && isInteger(first),
                   "integers of its type");
    case Scalar::Add:
    case Scalar::Sub:
    case Scalar::Mul:
    case Scalar::Div:
    case Scalar::Remainder:
    case Scalar::FloorMod:
    case Scalar::Pow:
    case Scalar::Neg:
    case Scalar::Abs:
      return wants(node, same && first == node.dtype && first != DType::Bool,
                   "numbers of its type");
    case Scalar::Min:
    case Scalar::Max:
      return wants(node, same && first == node.dtype, "operands of its type");
    case Scalar::Reduce:
      return checkReduce(node, first);
    default:
      return wants(node, first == node.dtype && isFloat(first),
                   "a float of its type");
    }
  }

  std::string checkLoad(const ScalarNode &node) {
    if (node.index < 0 || size_t(node.index) >= types.size())
      return "load of operand " + std::to_string(node.index) + " of " +
             std::to_string(types.size());
    if (types[size_t(node.index)] != node.dtype)
      return "load of a " + std::string(nameOf(node.dtype)) + " from a " +
             std::string(nameOf(types[size_t(node.index)]));
    if (ranks[size_t(node.index)] != node.arguments.size())
      return "load with " + std::to_string(node.arguments.size()) +
             " indices from rank " + std::to_string(ranks[size_t(node.index)]);
    for (size_t i = 0; i < node.arguments.size(); ++i)
      if (argument(node, i).dtype != DType::I64)
        return "a load index that is no i64";
    return {};
  }

  std::string checkReduce(const ScalarNode &node, DType first) {
    switch (computation.combine) {
    case Combine::Sum:
    case Combine::Product:
      return wants(node, first == node.dtype && first != DType::Bool,
                   "numbers of its type");
    case Combine::Min:
    case Combine::Max:
      return wants(node, first == node.dtype, "values of its type");
    case Combine::And:
    case Combine::Or:
      return wants(node, first == node.dtype && !isFloat(first),
                   "integers or bool of its type");
    case Combine::ArgMinFirst:
    case Combine::ArgMinLast:
    case Combine::ArgMaxFirst:
    case Combine::ArgMaxLast:
      return wants(node, node.dtype == DType::I64, "to yield i64");
    }
    return "no way to combine has this id";
  }

  const Computation &computation;
  const std::vector<DType> &types;
  const std::vector<size_t> &ranks;
  std::vector<bool> inReduction, afterReduce;
  bool hasReduce = false;
};

} // namespace

std::string Computation::text() const {
  std::string text = "loops [" + listText("", loops) + "]";
  if (!reductions.empty())
    text += " reductions [" + listText("", reductions) + "]";
  text += "\n";
  for (size_t i = 0; i < nodes.size(); ++i)
    text +=
        "%" + std::to_string(i) + " = " + nodeText(nodes[i], combine) + "\n";
  return text + "result %" + std::to_string(result) + "\n";
}

std::string Computation::verify(const std::vector<DType> &operandTypes,
                                const std::vector<size_t> &operandRanks) const {
  return Verifier(*this, operandTypes, operandRanks).run();
}
