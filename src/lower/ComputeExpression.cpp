#include "lower/ComputeExpression.h"

#include "lower/Payload.h"
#include "lower/Text.h"

#include <algorithm>

using namespace tlm;

ComputeExpression::ComputeExpression(const Task &task, LoopNest &nest,
                                     ScalarEmitter &emitter)
    : variables(task.computation.loops.size() +
                task.computation.reductions.size()),
      task(task), computation(task.computation), nest(nest), emitter(emitter) {
  for (const ScalarNode &item : computation.nodes) {
    bool inside = item.op == Scalar::Loop && size_t(item.index) >= loopCount();
    for (int32_t argument : item.arguments)
      inside = inside || insideReduction[size_t(argument)];
    if (item.op == Scalar::Reduce) {
      reduce = int32_t(insideReduction.size());
      inside = false;
    }
    insideReduction.push_back(inside);
  }
}

void ComputeExpression::begin(const std::vector<Interval> &loopRanges) {
  ranges = loopRanges;
  analysis.emplace(computation, ranges);
  values.clear();
  prepared.clear();
}

LoopNest::Array ComputeExpression::arrayOf(size_t operand) const {
  const BufferType &type = task.operands[operand].type;
  return {argumentName(int(operand)), type.elementCount(),
          memoryType(type.dtype)};
}

void ComputeExpression::prepare(int32_t id) {
  id = analysis->resolve(id);
  if (!prepared.insert(id).second)
    return;
  const ScalarNode &item = node(id);
  for (int32_t argument : item.arguments)
    prepare(argument);
  if (item.op == Scalar::Reduce)
    values[id] = computation.combine >= Combine::ArgMinFirst
                     ? reducePosition(id)
                     : reduceScalar(id);
  else if (!insideReduction[size_t(id)])
    value(id);
}

std::string ComputeExpression::value(int32_t id) {
  id = analysis->resolve(id);
  if (auto found = values.find(id); found != values.end())
    return found->second;
  std::string name = makeValue(id);
  values[id] = name;
  return name;
}

std::string ComputeExpression::makeValue(int32_t id) {
  const ScalarNode &item = node(id);
  if (!isFloat(item.dtype) && analysis->range(id).isConstant())
    return emitter.integer(item.dtype, analysis->range(id).low);
  switch (item.op) {
  case Scalar::Loop: {
    std::string name = nest.fresh("l");
    nest.raw(cat("    ", name, " = arith.index_cast ",
                 variables[size_t(item.index)], " : index to i64\n"));
    return name;
  }
  case Scalar::Load: {
    const BufferType &type = task.operands[size_t(item.index)].type;
    if (type.elementCount() == 0)
      return isFloat(item.dtype) ? emitter.real(item.dtype, 0)
                                 : emitter.integer(item.dtype, 0);
    std::string at = address(id);
    return emitter.load(arrayOf(size_t(item.index)), at, item.dtype);
  }
  default: {
    std::vector<ScalarValue> arguments;
    for (int32_t argument : item.arguments)
      arguments.push_back(
          {value(argument), node(argument).dtype, analysis->range(argument)});
    return emitter.emit(item, arguments);
  }
  }
}

std::string ComputeExpression::loadIndex(int32_t id) {
  std::string whole = value(id), name = nest.fresh("x");
  nest.raw(
      cat("    ", name, " = arith.index_cast ", whole, " : i64 to index\n"));
  return name;
}

std::string ComputeExpression::address(int32_t id) {
  const ScalarNode &load = node(id);
  const BufferType &type = task.operands[size_t(load.index)].type;
  std::vector<int64_t> strides = type.strides();
  int64_t base = type.origin();
  std::map<size_t, int64_t> coefficients; // per loop
  LoopNest::Index terms;
  for (size_t d = 0; d < load.arguments.size(); ++d) {
    int32_t index = load.arguments[d];
    int64_t last = type.dims[d] - 1;
    if (last == 0)
      continue; // clamped to 0
    const Interval &range = analysis->range(index);
    bool isInside = range.isWithin(0, last);
    if (const auto &form = analysis->linear(index); form && isInside) {
      base += form->base * strides[d];
      for (size_t loop = 0; loop < ranges.size(); ++loop)
        if (form->coefficients[loop] && !ranges[loop].isConstant())
          coefficients[loop] += form->coefficients[loop] * strides[d];
        else if (form->coefficients[loop])
          base += form->coefficients[loop] * ranges[loop].low * strides[d];
      continue;
    }
    std::string at = loadIndex(index);
    auto limit = [&](const char *op, int64_t bound) {
      std::string limited = nest.fresh("x");
      nest.raw(cat("    ", limited, " = arith.", op, " ", at, ", ",
                   nest.index(bound, {}), " : index\n"));
      at = limited;
    };
    if (range.high > last)
      limit("minsi", last);
    if (range.low < 0)
      limit("maxsi", 0);
    terms.emplace_back(at, strides[d]);
  }
  for (auto [loop, coefficient] : coefficients)
    terms.emplace_back(variables[loop], coefficient);
  return nest.index(base, terms);
}

// for r0.. { acc = combine(acc, f) }, the accumulator carried by the loops.
std::string ComputeExpression::reduceScalar(int32_t id) {
  const ScalarNode &item = node(id);
  std::string type = ScalarEmitter::typeOf(item.dtype);
  std::string carried = emitter.identity(computation.combine, item.dtype);
  std::vector<std::string> results;
  for (size_t r = 0; r < computation.reductions.size(); ++r) {
    std::string low = nest.index(0, {}),
                high = nest.index(computation.reductions[r], {}),
                step = nest.index(1, {});
    std::string result = nest.fresh("sum"), next = nest.fresh("acc");
    std::string variable = nest.fresh("r");
    nest.raw(cat("  ", result, " = scf.for ", variable, " = ", low, " to ",
                 high, " step ", step, " iter_args(", next, " = ", carried,
                 ") -> (", type, ") {\n"));
    variables[loopCount() + r] = variable;
    results.push_back(result);
    carried = next;
  }
  std::map<int32_t, std::string> outside = values;
  std::string step = emitter.combine(computation.combine, item.dtype, carried,
                                     value(item.arguments[0]));
  values = std::move(outside);
  for (size_t r = results.size(); r-- > 0;) {
    nest.raw(cat("    scf.yield ", step, " : ", type, "\n  }\n"));
    step = results[r];
  }
  return step;
}

// The same with the extreme value and its position.
std::string ComputeExpression::reducePosition(int32_t id) {
  int32_t argument = node(id).arguments[0];
  DType dtype = node(argument).dtype;
  std::string types = cat(ScalarEmitter::typeOf(dtype), ", i64");
  std::string best = emitter.identity(computation.combine, dtype);
  std::string position = emitter.integer(DType::I64, 0);
  std::vector<std::string> results;
  LoopNest::Index terms;
  int64_t stride = 1;
  for (size_t r = computation.reductions.size(); r-- > 0;) {
    terms.emplace_back("", stride);
    stride *= computation.reductions[r];
  }
  std::reverse(terms.begin(), terms.end());
  for (size_t r = 0; r < computation.reductions.size(); ++r) {
    std::string low = nest.index(0, {}),
                high = nest.index(computation.reductions[r], {}),
                step = nest.index(1, {});
    std::string result = nest.fresh("best"), nextBest = nest.fresh("b"),
                nextPosition = nest.fresh("at"), variable = nest.fresh("r");
    nest.raw(cat("  ", result, ":2 = scf.for ", variable, " = ", low, " to ",
                 high, " step ", step, " iter_args(", nextBest, " = ", best,
                 ", ", nextPosition, " = ", position, ") -> (", types,
                 ") {\n"));
    variables[loopCount() + r] = terms[r].first = variable;
    results.push_back(result);
    best = nextBest;
    position = nextPosition;
  }
  std::map<int32_t, std::string> outside = values;
  std::string candidate = value(argument);
  std::string better =
      emitter.isBetter(computation.combine, dtype, candidate, best);
  std::string at = nest.index(0, terms), at64 = nest.fresh("at");
  nest.raw(cat("    ", at64, " = arith.index_cast ", at, " : index to i64\n"));
  std::string newBest = emitter.select(better, candidate, best, dtype);
  std::string newPosition = emitter.select(better, at64, position, DType::I64);
  values = std::move(outside);
  for (size_t r = results.size(); r-- > 0;) {
    nest.raw(cat("    scf.yield ", newBest, ", ", newPosition, " : ", types,
                 "\n  }\n"));
    newBest = results[r] + "#0";
    newPosition = results[r] + "#1";
  }
  return newPosition;
}
