//===- Expected.cpp - outputs against what they should be -----------------===//

#include "Expected.h"

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace tlm {

std::string compareExpected(const std::vector<HostTensor> &outputs,
                            const std::vector<HostTensor> &expected,
                            const Tolerance &tolerance,
                            const std::string &label, nlohmann::json &report) {
  std::string mismatch;
  for (const HostTensor &want : expected)
    for (const HostTensor &output : outputs) {
      if (output.name != want.name)
        continue;
      Comparison c = compareTensors(output, want, tolerance);
      std::printf("%s%s: %s -> %s\n", label.c_str(), output.name.c_str(),
                  c.text.c_str(), c.ok ? "OK" : "MISMATCH");
      report.push_back({{"name", output.name},
                        {"ok", c.ok},
                        {"max_abs", c.maxAbs},
                        {"max_rel", c.maxRel}});
      if (!c.ok && mismatch.empty())
        mismatch = label + "output '" + output.name + "' " + c.text;
    }
  return mismatch;
}

Status runTestData(LoadedModel &model, const std::vector<TestData> &sets,
                   const Tolerance &tolerance, nlohmann::json &report) {
  std::string mismatch;
  size_t good = 0;
  for (const TestData &set : sets) {
    std::vector<HostTensor> outputs;
    TLM_TRY_STATUS(model.run(set.inputs, outputs));
    nlohmann::json compared = nlohmann::json::array();
    std::string name = std::filesystem::path(set.path).filename().string();
    std::string found =
        compareExpected(outputs, set.outputs, tolerance,
                        name.empty() ? "" : name + ": ", compared);
    report.push_back(
        {{"path", set.path}, {"ok", found.empty()}, {"outputs", compared}});
    good += found.empty();
    if (mismatch.empty())
      mismatch = found;
  }
  std::printf("test data: %zu of %zu sets agree -> %s\n", good, sets.size(),
              mismatch.empty() ? "OK" : "MISMATCH");
  if (mismatch.empty())
    return success();
  return makeError(mismatch, {}, ErrorCode::Mismatch);
}

} // namespace tlm
