//===- Verification.cpp - an artifact against the reference ---------------===//

#include "Verification.h"

#include "graph/Reference.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>

namespace tlm {
namespace {

HostTensor toHost(const std::string &name, const Tensor &tensor) {
  HostTensor host(name, DType::F32, tensor.dims);
  std::memcpy(host.data.data(), tensor.data.data(), host.data.size());
  return host;
}

Result<std::vector<Tensor>> toReference(const std::vector<HostTensor> &inputs) {
  std::vector<Tensor> tensors;
  for (const HostTensor &input : inputs) {
    if (input.dtype != DType::F32)
      return makeError("input '" + input.name + "' is " + input.typeText() +
                       "; the reference runs f32 networks only");
    Tensor tensor;
    tensor.dims = input.dims;
    tensor.data.resize(size_t(input.count()));
    std::memcpy(tensor.data.data(), input.data.data(), input.data.size());
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

} // namespace

const VerifiedTensor *Verification::firstBad() const {
  for (const VerifiedTensor &tensor : tensors)
    if (!tensor.comparison.ok)
      return &tensor;
  return nullptr;
}

std::string Verification::text() const {
  double maxAbs = 0, maxScaled = 0;
  size_t steps = 0;
  for (const VerifiedTensor &tensor : tensors) {
    const Comparison &c = tensor.comparison;
    steps += !tensor.kernel.empty();
    maxAbs = std::max(maxAbs, c.maxAbs);
    if (c.largest > 0)
      maxScaled = std::max(maxScaled, c.maxAbs / c.largest);
  }
  char line[200];
  std::snprintf(line, sizeof(line),
                "%zu steps and %zu outputs compared, max abs err %.2g, at most "
                "%.2g of a tensor's largest value",
                steps, tensors.size() - steps, maxAbs, maxScaled);
  std::string text = line;
  if (!uncompared.empty())
    text += "; " + std::to_string(uncompared.size()) +
            " steps have no value of that name";
  return text;
}

nlohmann::json Verification::json() const {
  nlohmann::json list = nlohmann::json::array();
  for (const VerifiedTensor &tensor : tensors)
    list.push_back({{"step", tensor.step},
                    {"kernel", tensor.kernel},
                    {"value", tensor.value},
                    {"ok", tensor.comparison.ok},
                    {"max_abs", tensor.comparison.maxAbs},
                    {"max_rel", tensor.comparison.maxRel},
                    {"largest", tensor.comparison.largest},
                    {"text", tensor.comparison.text}});
  return {{"ok", firstBad() == nullptr},
          {"tensors", list},
          {"uncompared", uncompared}};
}

Result<Verification> compareWithReference(
    const Graph &graph, const LoadedModel &model,
    const std::vector<HostTensor> &inputs, const std::vector<HostTensor> &steps,
    const std::vector<HostTensor> &outputs, const Tolerance &tolerance) {
  TLM_TRY(std::vector<Tensor> tensors, toReference(inputs));
  std::multimap<std::string, size_t> byName;
  for (size_t i = 0; i < steps.size(); ++i)
    byName.emplace(steps[i].name, i);
  std::vector<std::optional<Comparison>> compared(steps.size());

  auto compareSteps = [&](ValueId id, const Tensor &tensor) {
    const std::string &name = graph.value(id).name;
    auto [begin, end] = byName.equal_range(name);
    if (begin == end)
      return;
    HostTensor expected = toHost(name, tensor);
    for (auto it = begin; it != end; ++it) {
      HostTensor found = steps[it->second];
      // A task may see a tensor reshaped, [1,24] for [1,24,1,1].
      if (found.count() == expected.count())
        found.dims = expected.dims;
      compared[it->second] = compareTensors(found, expected, tolerance);
    }
  };
  // A step may copy an input, which the reference does not compute.
  for (size_t i = 0; i < tensors.size(); ++i)
    compareSteps(graph.inputs[i], tensors[i]);
  ReferenceOptions options;
  options.visit = compareSteps;
  TLM_TRY(std::vector<Tensor> expected, runReference(graph, tensors, options));

  Verification result;
  for (size_t i = 0; i < steps.size(); ++i) {
    const StepFacts &step = model.steps()[i];
    if (compared[i])
      result.tensors.push_back(
          {step.name, step.kernel, steps[i].name, *compared[i]});
    else
      result.uncompared.push_back(steps[i].name);
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    const std::string &name = outputs[i].name;
    result.tensors.push_back(
        {"", "", name,
         compareTensors(outputs[i], toHost(name, expected[i]), tolerance)});
  }
  return result;
}

} // namespace tlm
