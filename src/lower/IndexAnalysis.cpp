#include "lower/IndexAnalysis.h"

#include "base/IntegerArithmetic.h"

#include <algorithm>
#include <set>

using namespace tlm;

namespace {

using Wide = __int128;

/// Far from overflow, so that sums of a few are too.
constexpr int64_t kLimit = int64_t(1) << 60;

bool isSmall(Wide value) { return value >= -kLimit && value <= kLimit; }
bool isSmall(const Interval &interval) {
  return interval.isWithin(-kLimit, kLimit);
}

Interval bounded(Wide low, Wide high) {
  return isSmall(low) && isSmall(high) ? Interval{int64_t(low), int64_t(high)}
                                       : Interval{};
}

Interval product(const Interval &a, const Interval &b) {
  Wide corners[] = {Wide(a.low) * b.low, Wide(a.low) * b.high,
                    Wide(a.high) * b.low, Wide(a.high) * b.high};
  return bounded(*std::min_element(corners, corners + 4),
                 *std::max_element(corners, corners + 4));
}

/// By a positive constant, toward zero.
Interval quotient(const Interval &a, int64_t by) {
  return {a.low / by, a.high / by};
}

Interval comparison(bool always, bool never) {
  return {always ? 1 : 0, never ? 0 : 1};
}

int64_t floorDivide(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

} // namespace

IndexAnalysis::IndexAnalysis(const Computation &computation,
                             const std::vector<Interval> &ranges)
    : computation(computation), ranges(ranges),
      intervals(computation.nodes.size()), forms(computation.nodes.size()),
      same(computation.nodes.size()) {
  for (size_t i = 0; i < computation.nodes.size(); ++i)
    analyse(int32_t(i));
}

Interval IndexAnalysis::argument(const ScalarNode &node, size_t i) const {
  return intervals[size_t(node.arguments[i])];
}

void IndexAnalysis::analyse(int32_t index) {
  const ScalarNode &node = computation.nodes[size_t(index)];
  same[size_t(index)] = index;
  decide(index);
  if (int32_t other = same[size_t(index)]; other != index) {
    intervals[size_t(index)] = intervals[size_t(other)];
    forms[size_t(index)] = forms[size_t(other)];
    return;
  }
  if (isFloat(node.dtype))
    return;
  Interval &interval = intervals[size_t(index)];
  interval = intervalOf(node);
  if (node.dtype != DType::U64 && node.dtype != DType::I64) {
    Interval type{lowestInteger(node.dtype), highestInteger(node.dtype)};
    if (!interval.isWithin(type.low, type.high))
      interval = type; // it may have wrapped
  }
  if (node.dtype == DType::U64)
    interval = {};
  if (node.dtype != DType::I64)
    return;
  forms[size_t(index)] = formOf(node);
  if (forms[size_t(index)])
    interval = rangeOf(*forms[size_t(index)]);
}

/// Selects with a known condition, min and max of ordered values.
void IndexAnalysis::decide(int32_t index) {
  const ScalarNode &node = computation.nodes[size_t(index)];
  int32_t &result = same[size_t(index)];
  if (node.op == Scalar::Select && argument(node, 0).isConstant()) {
    result = same[size_t(node.arguments[argument(node, 0).low ? 1 : 2])];
    return;
  }
  if ((node.op != Scalar::Min && node.op != Scalar::Max) ||
      node.dtype != DType::I64)
    return;
  Interval a = argument(node, 0), b = argument(node, 1);
  bool isMin = node.op == Scalar::Min;
  if (a.high <= b.low)
    result = same[size_t(node.arguments[isMin ? 0 : 1])];
  else if (b.high <= a.low)
    result = same[size_t(node.arguments[isMin ? 1 : 0])];
}

Interval IndexAnalysis::intervalOf(const ScalarNode &node) const {
  auto at = [&](size_t i) { return argument(node, i); };
  switch (node.op) {
  case Scalar::Constant:
    return {node.integer, node.integer};
  case Scalar::Loop:
    return ranges[size_t(node.index)];
  case Scalar::Cast: {
    DType from = computation.nodes[size_t(node.arguments[0])].dtype;
    if (isFloat(from) || from == DType::U64)
      return {};
    if (node.dtype != DType::Bool)
      return at(0);
    return at(0).isConstant() ? comparison(at(0).low != 0, at(0).low == 0)
                              : Interval{0, 1};
  }
  case Scalar::Select:
    return {std::min(at(1).low, at(2).low), std::max(at(1).high, at(2).high)};
  case Scalar::Add:
    return bounded(Wide(at(0).low) + at(1).low, Wide(at(0).high) + at(1).high);
  case Scalar::Sub:
    return bounded(Wide(at(0).low) - at(1).high, Wide(at(0).high) - at(1).low);
  case Scalar::Mul:
    return product(at(0), at(1));
  case Scalar::Neg:
    return bounded(-Wide(at(0).high), -Wide(at(0).low));
  case Scalar::Div:
    return at(1).isConstant() && at(1).low > 0 ? quotient(at(0), at(1).low)
                                               : Interval{};
  case Scalar::Remainder:
  case Scalar::FloorMod:
    if (!at(1).isConstant() || at(1).low <= 0)
      return {};
    if (at(0).isWithin(0, at(1).low - 1))
      return at(0);
    return {node.op == Scalar::FloorMod || at(0).low >= 0 ? 0 : 1 - at(1).low,
            at(1).low - 1};
  case Scalar::Min:
    return {std::min(at(0).low, at(1).low), std::min(at(0).high, at(1).high)};
  case Scalar::Max:
    return {std::max(at(0).low, at(1).low), std::max(at(0).high, at(1).high)};
  case Scalar::Abs:
    return at(0).low >= 0 ? at(0) : Interval{};
  case Scalar::And:
    if (node.dtype == DType::Bool)
      return {at(0).low & at(1).low, at(0).high & at(1).high};
    return {};
  case Scalar::Or:
    if (node.dtype == DType::Bool)
      return {at(0).low | at(1).low, at(0).high | at(1).high};
    return {};
  case Scalar::Not:
    if (node.dtype == DType::Bool)
      return {1 - at(0).high, 1 - at(0).low};
    return {};
  case Scalar::Equal:
  case Scalar::Less:
  case Scalar::LessEqual: {
    DType type = computation.nodes[size_t(node.arguments[0])].dtype;
    if (isFloat(type) || type == DType::U64)
      return {0, 1};
    if (node.op == Scalar::Less)
      return comparison(at(0).high < at(1).low, at(0).low >= at(1).high);
    if (node.op == Scalar::LessEqual)
      return comparison(at(0).high <= at(1).low, at(0).low > at(1).high);
    return comparison(at(0).isConstant() && at(1).isConstant() &&
                          at(0).low == at(1).low,
                      at(0).high < at(1).low || at(1).high < at(0).low);
  }
  default:
    return node.dtype == DType::Bool ? Interval{0, 1} : Interval{};
  }
}

std::optional<LinearForm> IndexAnalysis::formOf(const ScalarNode &node) const {
  size_t loops = ranges.size();
  LinearForm form{0, std::vector<int64_t>(loops, 0)};
  auto add = [&](int32_t argument, int64_t factor) {
    const std::optional<LinearForm> &other = forms[size_t(argument)];
    if (!other)
      return false;
    auto accumulate = [&](int64_t &to, int64_t value) {
      Wide sum = Wide(value) * factor + to;
      to = isSmall(sum) ? int64_t(sum) : 0;
      return isSmall(sum);
    };
    if (!accumulate(form.base, other->base))
      return false;
    for (size_t i = 0; i < loops; ++i)
      if (!accumulate(form.coefficients[i], other->coefficients[i]))
        return false;
    return true;
  };
  auto constantAt = [&](size_t i) {
    return argument(node, i).isConstant() && isSmall(argument(node, i));
  };
  bool known = false;
  switch (node.op) {
  case Scalar::Constant:
    form.base = node.integer;
    known = isSmall(node.integer);
    break;
  case Scalar::Loop:
    form.coefficients[size_t(node.index)] = 1;
    known = true;
    break;
  case Scalar::Add:
    known = add(node.arguments[0], 1) && add(node.arguments[1], 1);
    break;
  case Scalar::Sub:
    known = add(node.arguments[0], 1) && add(node.arguments[1], -1);
    break;
  case Scalar::Neg:
    known = add(node.arguments[0], -1);
    break;
  case Scalar::Mul:
    if (constantAt(1))
      known = add(node.arguments[0], argument(node, 1).low);
    else if (constantAt(0))
      known = add(node.arguments[1], argument(node, 0).low);
    break;
  case Scalar::Div:
  case Scalar::Remainder:
  case Scalar::FloorMod:
    // Wholly inside one period: i / 4 * 4 with i in [4, 8).
    if (constantAt(1) && argument(node, 1).low > 0 &&
        isSmall(argument(node, 0)) && argument(node, 0).low >= 0) {
      int64_t by = argument(node, 1).low;
      int64_t period = argument(node, 0).low / by;
      if (argument(node, 0).high / by != period)
        break;
      if (node.op == Scalar::Div) {
        form.base = period;
        known = true;
      } else {
        known = add(node.arguments[0], 1);
        form.base -= period * by;
      }
    }
    break;
  default:
    break;
  }
  if (!known || !isSmall(rangeOf(form)))
    return std::nullopt;
  return form;
}

Interval IndexAnalysis::rangeOf(const LinearForm &form) const {
  Wide low = form.base, high = form.base;
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (!form.coefficients[i])
      continue;
    Wide a = Wide(form.coefficients[i]) * ranges[i].low;
    Wide b = Wide(form.coefficients[i]) * ranges[i].high;
    low += std::min(a, b);
    high += std::max(a, b);
  }
  return bounded(low, high);
}

/// Adds the values of a loop at which `base + coefficient * loop` passes zero.
static void addCuts(Scalar op, int64_t base, int64_t coefficient,
                    std::set<int64_t> &cuts) {
  // The first loop value with a sum of 0 or more, and with more than 0, or
  // where the coefficient is negative the first that is no longer so.
  int64_t low = coefficient > 0 ? floorDivide(-base - 1, coefficient) + 1
                                : floorDivide(base, -coefficient) + 1;
  int64_t high = coefficient > 0 ? floorDivide(-base, coefficient) + 1
                                 : floorDivide(base - 1, -coefficient) + 1;
  if (op != Scalar::LessEqual)
    cuts.insert(low);
  if (op != Scalar::Less)
    cuts.insert(high);
}

std::vector<std::vector<Interval>>
tlm::cutLoops(const Computation &computation, const std::vector<size_t> &order,
              int64_t mostParts) {
  std::vector<Interval> ranges;
  for (const auto *extents : {&computation.loops, &computation.reductions})
    for (int64_t extent : *extents)
      ranges.push_back({0, std::max<int64_t>(extent - 1, 0)});
  size_t loops = computation.loops.size();
  std::vector<std::set<int64_t>> cuts(loops);
  IndexAnalysis analysis(computation, ranges);
  for (const ScalarNode &node : computation.nodes) {
    bool isOrder = node.op == Scalar::Min || node.op == Scalar::Max;
    if (!isOrder && node.op != Scalar::Equal && node.op != Scalar::Less &&
        node.op != Scalar::LessEqual)
      continue;
    const auto &a = analysis.linear(node.arguments[0]);
    const auto &b = analysis.linear(node.arguments[1]);
    if (!a || !b)
      continue;
    size_t only = ranges.size();
    int64_t coefficient = 0;
    bool isSingle = true;
    for (size_t i = 0; i < ranges.size(); ++i) {
      int64_t difference = a->coefficients[i] - b->coefficients[i];
      if (!difference || ranges[i].isConstant())
        continue;
      isSingle = isSingle && only == ranges.size();
      only = i;
      coefficient = difference;
    }
    if (isSingle && only < loops)
      addCuts(isOrder ? Scalar::Less : node.op, a->base - b->base, coefficient,
              cuts[only]);
  }

  std::vector<std::vector<Interval>> parts(loops);
  for (size_t i = 0; i < loops; ++i)
    parts[i] = {ranges[i]};
  int64_t combinations = 1;
  for (size_t i = order.size(); i-- > 0;) {
    size_t loop = order[i];
    std::vector<Interval> pieces;
    int64_t begin = 0, end = ranges[loop].high + 1;
    for (int64_t cut : cuts[loop])
      if (cut > begin && cut < end) {
        pieces.push_back({begin, cut - 1});
        begin = cut;
      }
    pieces.push_back({begin, end - 1});
    if (combinations * int64_t(pieces.size()) > mostParts)
      continue;
    combinations *= int64_t(pieces.size());
    parts[loop] = std::move(pieces);
  }
  return parts;
}
