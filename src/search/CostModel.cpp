#include "search/CostModel.h"

#include "base/Check.h"

#include <xgboost/c_api.h>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace tlm;

namespace {

constexpr size_t kLeastRows = 6, kMostRows = 2000;
constexpr int kRounds = 40;
constexpr std::pair<const char *, const char *> kParameters[] = {
    {"objective", "reg:squarederror"},
    {"nthread", "1"},
    {"seed", "0"},
    {"verbosity", "0"},
    {"tree_method", "hist"},
    {"max_bin", "64"},
    {"max_depth", "6"},
    {"eta", "0.2"},
    {"gamma", "0.001"},
    {"min_child_weight", "0"},
    {"base_score", "0.5"},
};

void check(int status) { TLM_CHECK(status == 0) << XGBGetLastError(); }

class Matrix {
public:
  /// `columns` of every row.
  Matrix(const std::vector<const FeatureVector *> &rows,
         const std::vector<size_t> &columns) {
    std::vector<float> values;
    values.reserve(rows.size() * columns.size());
    for (const FeatureVector *row : rows)
      for (size_t column : columns)
        values.push_back((*row)[column]);
    check(XGDMatrixCreateFromMat_omp(values.data(), rows.size(), columns.size(),
                                     std::numeric_limits<float>::quiet_NaN(),
                                     &handle, /*nthread=*/1));
  }
  ~Matrix() { XGDMatrixFree(handle); }
  Matrix(const Matrix &) = delete;
  Matrix &operator=(const Matrix &) = delete;

  void set(const char *field, const std::vector<float> &values) {
    check(XGDMatrixSetFloatInfo(handle, field, values.data(), values.size()));
  }
  DMatrixHandle get() const { return handle; }

private:
  DMatrixHandle handle = nullptr;
};

} // namespace

struct CostModel::Trees {
  BoosterHandle handle = nullptr;
  /// Of the feature vectors: those that differ among the observations.
  std::vector<size_t> columns;

  Trees() = default;
  Trees(const Trees &) = delete;
  Trees &operator=(const Trees &) = delete;
  ~Trees() {
    if (handle)
      XGBoosterFree(handle);
  }
};

CostModel::CostModel() = default;
CostModel::~CostModel() = default;
CostModel::CostModel(CostModel &&) noexcept = default;
CostModel &CostModel::operator=(CostModel &&) noexcept = default;

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

bool CostModel::isTrained() const { return trees != nullptr; }

static bool same(float a, float b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

void CostModel::train() {
  if (rows.size() == trainedRows || rows.size() < kLeastRows)
    return;
  trainedRows = rows.size();
  size_t first = rows.size() > kMostRows ? rows.size() - kMostRows : 0;
  std::vector<const FeatureVector *> features;
  std::vector<float> labels, weights;
  for (size_t i = first; i < rows.size(); ++i) {
    const Row &row = rows[i];
    features.push_back(&row.features);
    labels.push_back(row.microseconds > 0
                         ? float(fastest.at(row.task) / row.microseconds)
                         : 0.0F);
    weights.push_back(std::max(labels.back(), 0.1F));
  }
  auto next = std::make_unique<Trees>();
  for (size_t column = 0; column < features[0]->size(); ++column)
    if (std::any_of(features.begin(), features.end(), [&](auto *row) {
          return !same((*row)[column], (*features[0])[column]);
        }))
      next->columns.push_back(column);
  if (next->columns.empty())
    return;
  Matrix matrix(features, next->columns);
  matrix.set("label", labels);
  matrix.set("weight", weights);
  DMatrixHandle handle = matrix.get();
  check(XGBoosterCreate(&handle, 1, &next->handle));
  for (const auto &[name, value] : kParameters)
    check(XGBoosterSetParam(next->handle, name, value));
  for (int round = 0; round < kRounds; ++round)
    check(XGBoosterUpdateOneIter(next->handle, round, handle));
  trees = std::move(next);
}

std::vector<float>
CostModel::predict(const std::vector<FeatureVector> &candidates) const {
  if (!trees || candidates.empty())
    return std::vector<float>(candidates.size(), 0.5F);
  std::vector<const FeatureVector *> features;
  features.reserve(candidates.size());
  for (const FeatureVector &candidate : candidates)
    features.push_back(&candidate);
  Matrix matrix(features, trees->columns);
  bst_ulong count = 0;
  const float *values = nullptr;
  check(XGBoosterPredict(trees->handle, matrix.get(), /*option_mask=*/0,
                         /*ntree_limit=*/0, /*training=*/0, &count, &values));
  return {values, values + count};
}
