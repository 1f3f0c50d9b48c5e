// tlm-cases
//
// A test tool: compiles and runs many small models in one process. Reads lines
// "FOLDER" from stdin; FOLDER has model.onnx and input_0.bin, ... (raw, dense,
// one per input of the signature), and gets output_0.bin, .... Answers one line
// each:
//   ok                 ran
//   refused MESSAGE    the compiler says no
//   failed MESSAGE     compiled, but does not load or run

#include "LoadedModel.h"
#include "driver/Compile.h"
#include "target/Target.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

using namespace tlm;

namespace {

std::string oneLine(const Error &error) {
  std::string text = error.message;
  if (!error.hint.empty())
    text += "; hint: " + error.hint;
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

Result<std::vector<HostTensor>> readInputs(const LoadedModel &model,
                                           const std::string &folder) {
  std::vector<HostTensor> inputs;
  for (const TensorSpec &spec : model.inputs()) {
    HostTensor tensor(spec.name, spec.dtype, spec.dims);
    std::string path =
        folder + "/input_" + std::to_string(inputs.size()) + ".bin";
    std::ifstream file(path, std::ios::binary);
    std::vector<char> bytes(std::istreambuf_iterator<char>(file), {});
    if (!file || bytes.size() != tensor.data.size())
      return makeError(path + ": " + std::to_string(bytes.size()) +
                       " bytes, not those of " + spec.typeText());
    tensor.data = std::move(bytes);
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

Status runCase(const std::string &folder) {
  TLM_TRY(auto model, LoadedModel::open(folder + "/model.so", {0, true}));
  TLM_TRY(std::vector<HostTensor> inputs, readInputs(*model, folder));
  std::vector<HostTensor> outputs;
  TLM_TRY_STATUS(model->run(inputs, outputs));
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::ofstream file(folder + "/output_" + std::to_string(i) + ".bin",
                       std::ios::binary);
    file.write(outputs[i].data.data(), std::streamsize(outputs[i].data.size()));
    if (!file)
      return makeError("cannot write to " + folder);
  }
  return success();
}

std::string answer(const std::string &folder) {
  CompileOptions options;
  options.modelPath = folder + "/model.onnx";
  options.outputPath = folder + "/model.so";
  options.target = hostTarget();
  options.jobs = 1;
  options.stopAfter = Phase::Link;
  Result<Compilation> compilation = compileModel(options);
  if (!compilation)
    return "refused " + oneLine(compilation.error());
  Status status = runCase(folder);
  std::error_code ignored; // the folder goes with the test
  std::filesystem::remove(options.outputPath, ignored);
  return status ? "ok" : "failed " + oneLine(status.error());
}

} // namespace

int main() {
  for (std::string folder; std::getline(std::cin, folder);)
    std::cout << answer(folder) << std::endl;
  return 0;
}
