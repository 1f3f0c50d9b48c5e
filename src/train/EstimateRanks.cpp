#include "train/EstimateRanks.h"

#include "space/KernelEstimate.h"
#include "train/ContractionKey.h"
#include "train/LearnedEstimate.h"
#include "train/RecordSentences.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace tlm;

RankSums &RankSums::operator+=(const RankSums &other) {
  tasks += other.tasks;
  candidates += other.candidates;
  pairs += other.pairs;
  rightPairs += other.rightPairs;
  spearman += other.spearman;
  logLoss += other.logLoss;
  return *this;
}

static std::vector<double> ranksOf(const std::vector<double> &values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order,
                    [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t begin = 0, end; begin < order.size(); begin = end) {
    for (end = begin;
         end < order.size() && values[order[end]] == values[order[begin]];)
      ++end;
    for (size_t i = begin; i < end; ++i)
      ranks[order[i]] = double(begin + end - 1) / 2;
  }
  return ranks;
}

double tlm::spearman(const std::vector<double> &a,
                     const std::vector<double> &b) {
  TLM_CHECK(a.size() == b.size()) << a.size() << ' ' << b.size();
  std::vector<double> x = ranksOf(a), y = ranksOf(b);
  double mean = (double(x.size()) - 1) / 2, xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

RankSums tlm::rankSums(const std::vector<double> &measured,
                       const std::vector<double> &estimated) {
  RankSums sums;
  if (measured.empty())
    return sums;
  sums.tasks = 1;
  sums.candidates = int64_t(measured.size());
  sums.spearman = spearman(measured, estimated);
  for (size_t i = 0; i < measured.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      bool less = measured[i] < measured[j];
      size_t fast = less ? i : j, slow = less ? j : i;
      if (measured[slow] <= measured[fast] * (1 + kSameTime))
        continue;
      ++sums.pairs;
      sums.rightPairs += estimated[fast] < estimated[slow];
    }
  auto first = std::ranges::min_element(estimated) - estimated.begin();
  sums.logLoss =
      std::log(measured[size_t(first)] / *std::ranges::min_element(measured));
  return sums;
}

static RankSums ranksOf(const MeasuredTask &measured,
                        const TimeEstimate &estimate) {
  std::vector<double> times, estimates;
  for (const MeasuredCandidate &candidate : measured.candidates) {
    if (candidate.cutOff || !measured.space.check(candidate.schedule))
      continue;
    times.push_back(candidate.microseconds);
    estimates.push_back(estimate(measured.task, candidate.schedule));
  }
  if (int64_t(times.size()) < kCandidatesForQuality)
    return {};
  return rankSums(times, estimates);
}

TimeEstimate tlm::arithmeticEstimate(const Task &, const Target &target) {
  return [target](const Task &task, const Schedule &schedule) {
    return estimateKernel(task, target, schedule).microseconds;
  };
}

Result<RanksByKind>
tlm::estimateRanks(const Store &store, const EstimateOfTask &estimateOf,
                   const std::function<bool(const Task &)> &wanted) {
  RanksByKind ranks;
  auto visit = [&](const MeasuredTask &measured) {
    RankSums sums =
        ranksOf(measured, estimateOf(measured.task, measured.target));
    if (sums.tasks)
      ranks[measured.task.kind] += sums;
  };
  TLM_TRY_STATUS(forEachMeasuredTask(store, wanted, visit));
  return ranks;
}

/// Tasks of one key are in one fold.
static std::string foldKey(const Task &task) {
  std::vector<std::string> keys = contractionKeys(task);
  return keys.empty() ? task.key() : keys.front();
}

Result<RanksByKind>
tlm::learnedRanks(const Store &store, int64_t folds,
                  const std::function<bool(const Task &)> &wanted) {
  std::map<std::string, int64_t> foldOf;
  TLM_TRY_STATUS(
      forEachMeasuredTask(store, wanted, [&](const MeasuredTask &measured) {
        foldOf[foldKey(measured.task)] = 0;
      }));
  int64_t next = 0;
  for (auto &[key, fold] : foldOf)
    fold = next++ % folds;
  RanksByKind ranks;
  for (int64_t fold = 0; fold < folds; ++fold) {
    auto isIn = [&](const Task &task) {
      auto found = foldOf.find(foldKey(task));
      return found != foldOf.end() && found->second == fold;
    };
    TLM_TRY(auto estimate, LearnedEstimate::fit(store, [&](const Task &task) {
              return wanted(task) && !isIn(task);
            }));
    TLM_TRY(auto part,
            estimateRanks(
                store,
                [&](const Task &task, const Target &target) {
                  return estimate.of(task, target);
                },
                [&](const Task &task) { return wanted(task) && isIn(task); }));
    for (const auto &[kind, sums] : part)
      ranks[kind] += sums;
  }
  return ranks;
}
