//===- Features.h - a schedule as numbers -----------------------*- C++ -*-===//
//
// What the cost models see of a (task, schedule): extents and work of the task,
// the parts of KernelEstimate (tile, footprint against each level, traffic,
// reuse, registers, balance of chunks), and every choice. Ansor's features are
// of the same nature, taken per innermost statement; here a kernel is one.
// Magnitudes are base-2 logarithms. What does not apply is NaN.
//
// A choice has a column of its own, by its decision and subject. The columns
// follow from Decisions.def, so a new decision is a feature at once.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_SEARCH_FEATURES_H
#define TLM_SEARCH_FEATURES_H

#include "space/KernelEstimate.h"

#include <string>
#include <vector>

namespace tlm {

using FeatureVector = std::vector<float>;

/// Names of the columns, in order.
const std::vector<std::string> &featureNames();

/// One value a column.
FeatureVector featuresOf(const Task &task, const Target &target,
                         const Schedule &schedule);

} // namespace tlm

#endif // TLM_SEARCH_FEATURES_H
