#include "train/EstimateRanks.h"

#include "records/Ranking.h"
#include "space/KernelEstimate.h"
#include "space/Space.h"
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

static RankSums ranksOnTarget(const Task &task, const Target &target,
                              const std::vector<Record> &records) {
  std::vector<Record> current;
  for (const Record &record : records)
    if (record.maker.compiler == compilerVersion())
      current.push_back(record);
  Space space(task, target);
  std::vector<double> measured, estimated;
  for (const RankedCandidate &candidate : rankCandidates(current)) {
    Result<Schedule> schedule = parseSchedule(candidate.schedule);
    if (!schedule || !space.check(*schedule))
      continue;
    measured.push_back(candidate.microseconds);
    estimated.push_back(estimateKernel(task, target, *schedule).microseconds);
  }
  if (int64_t(measured.size()) < kCandidatesForQuality)
    return {};
  return rankSums(measured, estimated);
}

Result<std::map<TaskKind, RankSums>> tlm::estimateRanks(const Store &store) {
  std::map<TaskKind, RankSums> ranks;
  TLM_TRY(auto taskTexts, store.taskTexts());
  TLM_TRY(auto targetTexts, store.targetTexts());
  for (const auto &[key, text] : taskTexts) {
    Result<Task> task = storedTask(key, text);
    if (!task)
      continue;
    TLM_TRY(auto targetKeys, store.targetsOf(key));
    for (const std::string &targetKey : targetKeys) {
      Result<Target> target = targetOfText(targetTexts.at(targetKey));
      if (!target)
        continue;
      TLM_TRY(auto records, store.find(key, targetKey));
      RankSums sums = ranksOnTarget(*task, *target, records);
      if (sums.tasks)
        ranks[task->kind] += sums;
    }
  }
  return ranks;
}
