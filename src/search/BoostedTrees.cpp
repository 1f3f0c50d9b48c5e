#include "search/BoostedTrees.h"

#include "base/Check.h"

#include <xgboost/c_api.h>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace tlm;

namespace {

void check(int status) { TLM_CHECK(status == 0) << XGBGetLastError(); }

class Matrix {
public:
  /// `columns` of every row.
  Matrix(const BoostedTrees::Rows &rows, const std::vector<size_t> &columns) {
    std::vector<float> values;
    values.reserve(rows.size() * columns.size());
    for (const std::vector<float> *row : rows)
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

bool same(float a, float b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

} // namespace

struct BoostedTrees::Booster {
  BoosterHandle handle = nullptr;

  Booster() = default;
  Booster(const Booster &) = delete;
  Booster &operator=(const Booster &) = delete;
  ~Booster() {
    if (handle)
      XGBoosterFree(handle);
  }
};

BoostedTrees::BoostedTrees() = default;
BoostedTrees::~BoostedTrees() = default;
BoostedTrees::BoostedTrees(BoostedTrees &&) noexcept = default;
BoostedTrees &BoostedTrees::operator=(BoostedTrees &&) noexcept = default;

BoostedTrees BoostedTrees::fit(const Rows &rows,
                               const std::vector<float> &labels,
                               const std::vector<float> &weights,
                               const Options &options) {
  BoostedTrees trees;
  for (size_t column = 0; !rows.empty() && column < rows[0]->size(); ++column)
    if (std::any_of(rows.begin(), rows.end(), [&](auto *row) {
          return !same((*row)[column], (*rows[0])[column]);
        }))
      trees.columns.push_back(column);
  if (trees.columns.empty())
    return trees;
  Matrix matrix(rows, trees.columns);
  matrix.set("label", labels);
  matrix.set("weight", weights);
  DMatrixHandle handle = matrix.get();
  trees.booster = std::make_unique<Booster>();
  BoosterHandle &booster = trees.booster->handle;
  check(XGBoosterCreate(&handle, 1, &booster));
  for (const auto &[name, value] :
       {std::pair{"nthread", "1"}, std::pair{"seed", "0"},
        std::pair{"verbosity", "0"}, std::pair{"tree_method", "hist"}})
    check(XGBoosterSetParam(booster, name, value));
  for (const auto &[name, value] : options.parameters)
    check(XGBoosterSetParam(booster, name.c_str(), value.c_str()));
  for (int round = 0; round < options.rounds; ++round)
    check(XGBoosterUpdateOneIter(booster, round, handle));
  return trees;
}

std::vector<float> BoostedTrees::predict(const Rows &rows) const {
  TLM_CHECK(booster) << "nothing was fitted";
  Matrix matrix(rows, columns);
  bst_ulong count = 0;
  const float *values = nullptr;
  check(XGBoosterPredict(booster->handle, matrix.get(), /*option_mask=*/0,
                         /*ntree_limit=*/0, /*training=*/0, &count, &values));
  return {values, values + count};
}
