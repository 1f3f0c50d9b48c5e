//===- CostModel.h - learns which schedules are fast ------------*- C++ -*-===//
//
// Gradient-boosted trees (XGBoost) from features (Features.h) to throughput
// relative to the fastest schedule of the same task, so that one model serves
// all tasks of a network, as in Ansor and MetaSchedule. A squared error counts
// by the throughput: the model shall order the fast ones. It is trained anew on
// all observations; one thread, no sampling: the same observations give the
// same predictions.
//
// Training takes about 20 ms at 40 observations, under 100 ms at 300; what it
// sees is bounded, old observations are passed over first.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_SEARCH_COSTMODEL_H
#define TLM_SEARCH_COSTMODEL_H

#include "search/BoostedTrees.h"
#include "search/Features.h"

#include <map>
#include <string>
#include <vector>

namespace tlm {

class CostModel {
public:
  /// `microseconds` of a schedule of that task; 0 where it failed, which counts
  /// as no throughput.
  void add(const std::string &taskKey, FeatureVector features,
           double microseconds);
  /// Observations of a task that have a time.
  size_t observations(const std::string &taskKey) const;

  /// Fits all observations; nothing to do where none is new.
  void train();
  /// Whether predictions say anything: it has been trained on a few.
  bool isTrained() const;

  /// Relative throughputs, larger is faster; all equal before it is trained.
  std::vector<float> predict(const std::vector<FeatureVector> &rows) const;

private:
  struct Row {
    std::string task;
    FeatureVector features;
    double microseconds = 0;
  };
  std::vector<Row> rows;
  std::map<std::string, size_t> counts;
  std::map<std::string, double> fastest;
  BoostedTrees trees;
  size_t trainedRows = 0;
};

} // namespace tlm

#endif // TLM_SEARCH_COSTMODEL_H
