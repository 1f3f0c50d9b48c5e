//===- Expected.h - outputs against what they should be ---------*- C++ -*-===//

#ifndef TLM_TOOLS_EXPECTED_H
#define TLM_TOOLS_EXPECTED_H

#include "LoadedModel.h"
#include "TensorCompare.h"
#include "TestData.h"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace tlm {

/// Compares outputs by name; prints a line each, started with `label`, and adds
/// an object each to `report`. Returns what differs first, or "".
std::string compareExpected(const std::vector<HostTensor> &outputs,
                            const std::vector<HostTensor> &expected,
                            const Tolerance &tolerance,
                            const std::string &label, nlohmann::json &report);

/// Runs the model on every data set of --test-data; an error of code Mismatch
/// when an output differs from its file. `report` gets a list of data sets.
Status runTestData(LoadedModel &model, const std::vector<TestData> &sets,
                   const Tolerance &tolerance, nlohmann::json &report);

} // namespace tlm

#endif // TLM_TOOLS_EXPECTED_H
