#include "search/CostModel.h"

#include <algorithm>

using namespace tlm;

static constexpr size_t kLeastRows = 6, kMostRows = 2000;

static const BoostedTrees::Options &options() {
  static const BoostedTrees::Options kOptions = {
      .rounds = 40,
      .parameters = {{"objective", "reg:squarederror"},
                     {"max_bin", "64"},
                     {"max_depth", "6"},
                     {"eta", "0.2"},
                     {"gamma", "0.001"},
                     {"min_child_weight", "0"},
                     {"base_score", "0.5"}},
  };
  return kOptions;
}

void CostModel::add(const std::string &taskKey, FeatureVector features,
                    double microseconds) {
  if (microseconds > 0) {
    ++counts[taskKey];
    auto [place, isNew] = fastest.emplace(taskKey, microseconds);
    if (!isNew)
      place->second = std::min(place->second, microseconds);
  }
  rows.push_back({taskKey, std::move(features), microseconds});
}

size_t CostModel::observations(const std::string &taskKey) const {
  auto found = counts.find(taskKey);
  return found == counts.end() ? 0 : found->second;
}

bool CostModel::isTrained() const { return bool(trees); }

void CostModel::train() {
  if (rows.size() == trainedRows || rows.size() < kLeastRows)
    return;
  trainedRows = rows.size();
  size_t first = rows.size() > kMostRows ? rows.size() - kMostRows : 0;
  BoostedTrees::Rows features;
  std::vector<float> labels, weights;
  for (size_t i = first; i < rows.size(); ++i) {
    const Row &row = rows[i];
    features.push_back(&row.features);
    labels.push_back(row.microseconds > 0
                         ? float(fastest.at(row.task) / row.microseconds)
                         : 0.0F);
    weights.push_back(std::max(labels.back(), 0.1F));
  }
  if (BoostedTrees next =
          BoostedTrees::fit(features, labels, weights, options()))
    trees = std::move(next);
}

std::vector<float>
CostModel::predict(const std::vector<FeatureVector> &candidates) const {
  if (!trees || candidates.empty())
    return std::vector<float>(candidates.size(), 0.5F);
  BoostedTrees::Rows features;
  features.reserve(candidates.size());
  for (const FeatureVector &candidate : candidates)
    features.push_back(&candidate);
  return trees.predict(features);
}
