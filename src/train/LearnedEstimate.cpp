#include "train/LearnedEstimate.h"

#include "search/Features.h"
#include "space/DefaultSchedule.h"
#include "train/MeasuredTasks.h"

#include <algorithm>
#include <cmath>

using namespace tlm;

namespace {

// What is slower than that is as bad; and it counts less.
constexpr double kWorst = -1;
constexpr float kNoisyWeight = 0.3F;

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

bool isSubset(const std::set<std::string> &part,
              const std::set<std::string> &all) {
  return std::ranges::includes(all, part);
}

} // namespace

Result<LearnedEstimate>
LearnedEstimate::fit(const Store &store,
                     const std::function<bool(const Task &)> &wanted,
                     const std::set<std::string> &distrusted) {
  LearnedEstimate result;
  std::vector<FeatureVector> features;
  std::vector<float> labels, weights;
  auto visit = [&](const MeasuredTask &measured) {
    const auto &[task, target, space, candidates] = measured;
    if (candidates.size() < 2)
      return;
    Schedule byRules = defaultSchedule(task, target);
    auto anchor =
        std::ranges::find(candidates, byRules, &MeasuredCandidate::schedule);
    if (anchor == candidates.end())
      anchor = candidates.begin();
    FeatureVector ofAnchor = featuresOf(task, target, anchor->schedule);
    for (const MeasuredCandidate &candidate : candidates) {
      if (!space.check(candidate.schedule))
        continue;
      features.push_back(
          against(featuresOf(task, target, candidate.schedule), ofAnchor));
      double gain = std::log(anchor->microseconds / candidate.microseconds);
      bool noisy = candidate.drifted || isSubset(candidate.builds, distrusted);
      labels.push_back(float(std::max(kWorst, gain)));
      weights.push_back(noisy ? kNoisyWeight : 1);
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
                         ": no task has candidates that differ, measured by "
                         "this version of the compiler",
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
