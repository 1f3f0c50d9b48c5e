#include "space/rules/Rule.h"

#include <algorithm>

namespace tlm {

static constexpr Rule kRules[] = {
    {Algorithm::Direct, contractionExists, decideContraction},
    {Algorithm::Direct, windowExists, decideWindow},
    {Algorithm::Direct, rowsExist, decideRows},
    {Algorithm::Direct, attentionExists, decideAttention},
    {Algorithm::Direct, globalPoolExists, decideGlobalPool},
    {Algorithm::Direct, pointwiseExists, decidePointwise},
    {Algorithm::Direct, copyExists, decideCopy},
    {Algorithm::WinogradBlocked, winogradBlockedExists, decideWinogradBlocked},
    {Algorithm::WinogradStaged, winogradStagedExists, decideWinogradStaged},
    {Algorithm::Plain, plainExists, decidePlain},
};

std::span<const Rule> rules() { return kRules; }

Status checkConstants(const Task &task) {
  for (const Operand &operand : task.operands)
    if ((operand.role == Role::Weight || operand.role == Role::Bias) &&
        !operand.isConstant)
      return makeError("weights or bias are not constant");
  return success();
}

int64_t Asker::operator()(Decision decision, std::string_view subject,
                          std::vector<int64_t> choices) {
  TLM_CHECK(!choices.empty()) << nameOf(decision) << ' ' << subject;
  if (stopped)
    return choices.front();
  DecisionPoint point{decision, std::string(subject), std::move(choices)};
  std::optional<int64_t> value = answer(point);
  if (!value) {
    stopped = true;
    return point.choices.front();
  }
  TLM_CHECK(std::find(point.choices.begin(), point.choices.end(), *value) !=
            point.choices.end())
      << nameOf(decision) << ' ' << subject << " = " << *value;
  schedule.choices.push_back({decision, std::move(point.subject), *value});
  return *value;
}

LoopOrder Asker::loopOrder(int64_t panels, int64_t rows, int64_t tiles) {
  std::vector<int64_t> orders = {int64_t(LoopOrder::PanelsOuter)};
  if (panels > 1 && rows > 1)
    orders.push_back(int64_t(LoopOrder::RowsOuter));
  if (panels > 1 && tiles > 1)
    orders.push_back(int64_t(LoopOrder::PixelsOuter));
  return LoopOrder((*this)(Decision::LoopOrder, "", std::move(orders)));
}

void Asker::prefetch(bool severalPasses) {
  std::vector<int64_t> forms = {int64_t(Prefetch::None)};
  if (severalPasses)
    forms.push_back(int64_t(Prefetch::NextPanel));
  (*this)(Decision::Prefetch, "", std::move(forms));
}

void Asker::maxParallelism(const RuleInput &input, int64_t mostChunks) {
  int64_t most = std::min(input.target.threads, mostChunks);
  std::vector<int64_t> counts;
  for (int64_t count = 1; count < most;
       count += count < input.limits.everyWorkerCount ? 1 : count)
    counts.push_back(count);
  counts.push_back(most);
  (*this)(Decision::MaxParallelism, "", std::move(counts));
}

} // namespace tlm
