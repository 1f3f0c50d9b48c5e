#include "train/LearnedEstimate.h"

#include "search/Features.h"
#include "space/DefaultSchedule.h"
#include "train/MeasuredTasks.h"

#include <algorithm>
#include <cmath>

using namespace tlm;

namespace {

// What is slower than that is as bad; and it counts less.
constexpr double kWorst = -1, kDriftedWeight = 0.3;

const BoostedTrees::Options &options() {
  static const BoostedTrees::Options kOptions = {
      .rounds = 500,
      .parameters = {{"objective", "reg:squarederror"},
                     {"max_depth", "7"},
                     {"eta", "0.05"},
                     {"subsample", "0.7"},
                     {"colsample_bytree", "0.5"},
                     {"min_child_weight", "8"},
                     {"base_score", "0"}},
  };
  return kOptions;
}

FeatureVector against(const FeatureVector &own, const FeatureVector &other) {
  FeatureVector row = own;
  row.insert(row.end(), other.begin(), other.end());
  for (size_t i = 0; i < own.size(); ++i)
    row.push_back(own[i] - other[i]);
  return row;
}

} // namespace

Result<LearnedEstimate>
LearnedEstimate::fit(const Store &store,
                     const std::function<bool(const Task &)> &wanted) {
  LearnedEstimate result;
  std::vector<FeatureVector> features;
  std::vector<float> labels, weights;
  auto visit = [&](const MeasuredTask &measured) {
    const auto &[task, target, space, candidates] = measured;
    Schedule center = defaultSchedule(task, target);
    auto same = [&](const MeasuredCandidate &c) {
      return c.schedule == center;
    };
    auto found = std::ranges::find_if(candidates, same);
    if (found == candidates.end() || candidates.size() < 2)
      return;
    FeatureVector ofCenter = featuresOf(task, target, center);
    for (const MeasuredCandidate &candidate : candidates) {
      if (!space.check(candidate.schedule))
        continue;
      features.push_back(
          against(featuresOf(task, target, candidate.schedule), ofCenter));
      double gain = std::log(found->microseconds / candidate.microseconds);
      labels.push_back(float(std::max(kWorst, gain)));
      weights.push_back(candidate.drifted ? kDriftedWeight : 1);
    }
    ++result.taskCount;
  };
  TLM_TRY_STATUS(forEachMeasuredTask(store, wanted, visit));
  BoostedTrees::Rows rows;
  for (const FeatureVector &row : features)
    rows.push_back(&row);
  result.candidateCount = int64_t(rows.size());
  result.trees = BoostedTrees::fit(rows, labels, weights, options());
  if (!result.trees)
    return makeError(store.path() +
                         ": no task has its default schedule and others "
                         "measured by this version of the compiler",
                     "tlm collect measures some");
  return result;
}

TimeEstimate LearnedEstimate::of(const Task &task, const Target &target) const {
  FeatureVector ofCenter =
      featuresOf(task, target, defaultSchedule(task, target));
  return [this, target, ofCenter](const Task &task, const Schedule &schedule) {
    FeatureVector row = against(featuresOf(task, target, schedule), ofCenter);
    return std::exp(-double(trees.predict({&row}).front()));
  };
}
