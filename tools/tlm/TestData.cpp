//===- TestData.cpp - ONNX's test_data_set folders ------------------------===//

#include "TestData.h"

#include "TensorProtoFile.h"
#include "base/AtomicFile.h"
#include "base/NumberText.h"

#include <algorithm>
#include <filesystem>

namespace tlm {
namespace {

namespace fs = std::filesystem;

struct Entry {
  int64_t number;
  fs::path path;
};

/// What `folder` holds as PREFIX<number>SUFFIX, in the order of the numbers.
Result<std::vector<Entry>> numbered(const fs::path &folder,
                                    std::string_view prefix,
                                    std::string_view suffix) {
  std::vector<Entry> entries;
  std::error_code failure;
  fs::directory_iterator it(folder, failure), end;
  for (; !failure && it != end; it.increment(failure)) {
    std::string name = it->path().filename().string();
    if (name.size() <= prefix.size() + suffix.size() ||
        !name.starts_with(prefix) || !name.ends_with(suffix))
      continue;
    std::optional<int64_t> number = parseInteger(name.substr(
        prefix.size(), name.size() - prefix.size() - suffix.size()));
    if (number && *number >= 0)
      entries.push_back({*number, it->path()});
  }
  if (failure)
    return makeError("--test-data: cannot read '" + folder.string() +
                     "': " + failure.message());
  std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) {
    return a.number != b.number ? a.number < b.number : a.path < b.path;
  });
  return entries;
}

/// The tensors of `entries` at their places in the signature.
Result<std::vector<std::optional<HostTensor>>>
readPlaced(const std::vector<Entry> &entries,
           const std::vector<TensorSpec> &signature) {
  std::vector<std::optional<HostTensor>> placed(signature.size());
  for (const Entry &entry : entries) {
    TLM_TRY(std::string bytes, readWholeFile(entry.path.string()));
    TLM_TRY(HostTensor tensor, parseTensorProto(bytes, entry.path.string()));
    auto named = std::find_if(
        signature.begin(), signature.end(),
        [&](const TensorSpec &spec) { return spec.name == tensor.name; });
    size_t index = named != signature.end() ? size_t(named - signature.begin())
                                            : size_t(entry.number);
    if (index >= signature.size())
      return makeError("'" + entry.path.string() + "' ('" + tensor.name +
                       "') is no tensor of the model, which has " +
                       std::to_string(signature.size()) + " there");
    if (placed[index])
      return makeError("'" + entry.path.string() + "': '" +
                       signature[index].name + "' is given twice");
    tensor.name = signature[index].name;
    placed[index] = std::move(tensor);
  }
  return placed;
}

Result<TestData> readSet(const fs::path &folder,
                         const std::vector<TensorSpec> &inputSignature,
                         const std::vector<TensorSpec> &outputSignature) {
  TestData data;
  data.path = folder.string();
  TLM_TRY(std::vector<Entry> files, numbered(folder, "input_", ".pb"));
  TLM_TRY(auto inputs, readPlaced(files, inputSignature));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i])
      return makeError("'" + data.path + "' has no data for input '" +
                           inputSignature[i].name + "'",
                       "expected input_" + std::to_string(i) + ".pb");
    TLM_TRY_STATUS(checkType(inputSignature[i], *inputs[i]));
    data.inputs.push_back(std::move(*inputs[i]));
  }
  TLM_TRY(files, numbered(folder, "output_", ".pb"));
  TLM_TRY(auto outputs, readPlaced(files, outputSignature));
  for (std::optional<HostTensor> &output : outputs)
    if (output)
      data.outputs.push_back(std::move(*output));
  if (data.outputs.empty())
    return makeError("'" + data.path + "' has no output_*.pb to compare with");
  return data;
}

} // namespace

Result<std::vector<TestData>>
readTestData(const std::string &folder,
             const std::vector<TensorSpec> &inputSignature,
             const std::vector<TensorSpec> &outputSignature) {
  TLM_TRY(std::vector<Entry> inputs, numbered(folder, "input_", ".pb"));
  TLM_TRY(std::vector<Entry> outputs, numbered(folder, "output_", ".pb"));
  std::vector<Entry> folders;
  if (inputs.empty() && outputs.empty()) {
    TLM_TRY(folders, numbered(folder, "test_data_set_", ""));
    if (folders.empty())
      return makeError("'" + folder + "' holds no ONNX test data",
                       "expected input_0.pb and output_0.pb, or "
                       "test_data_set_0 with them");
  } else {
    folders.push_back({0, folder});
  }
  std::vector<TestData> sets;
  for (const Entry &entry : folders) {
    TLM_TRY(TestData data,
            readSet(entry.path, inputSignature, outputSignature));
    sets.push_back(std::move(data));
  }
  return sets;
}

} // namespace tlm
