// tlm-reference MODEL.onnx OUT.bin [--simplify] INPUT.bin...
//
// A test tool: runs a model on the reference path. Inputs and outputs are raw
// elements of their types in ONNX order, one file per input, all outputs in one
// file. Prints the summary, the warnings, the operators, the outputs' types and
// the time.

#include "graph/Passes.h"
#include "graph/Reference.h"
#include "import/Import.h"

#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>

using namespace tlm;

namespace {

int fail(const Error &error) {
  std::fprintf(stderr, "error: %s\n", error.message.c_str());
  if (!error.hint.empty())
    std::fprintf(stderr, "hint: %s\n", error.hint.c_str());
  return int(error.code);
}

void describe(const ImportedModel &model) {
  std::printf("%s\n", model.summary.text().c_str());
  for (const std::string &warning : model.warnings)
    std::printf("warning: %s\n", warning.c_str());
  std::map<std::string_view, int> counts;
  for (const Node &node : model.graph.nodes)
    ++counts[nameOf(node.op)];
  for (auto [name, count] : counts)
    std::printf("  %s %d\n", std::string(name).c_str(), count);
  for (ValueId id : model.graph.outputs) {
    const Value &output = model.graph.value(id);
    std::printf("output %s %s\n", typeText(output.dtype, output.dims).c_str(),
                output.name.c_str());
  }
}

} // namespace

int main(int argc, char **argv) {
  std::vector<std::string> paths;
  bool simplify = false;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--simplify")
      simplify = true;
    else
      paths.push_back(argv[i]);
  }
  if (paths.empty())
    return fail(makeError("usage: tlm-reference MODEL.onnx [OUT.bin "
                          "INPUT.bin...] [--simplify]",
                          {}, ErrorCode::Usage));
  Result<ImportedModel> model = importOnnx(paths[0]);
  if (!model)
    return fail(model.error());
  if (simplify)
    simplifyGraph(model->graph);
  describe(*model);
  if (paths.size() == 1)
    return 0;

  std::vector<Tensor> inputs;
  for (size_t i = 2; i < paths.size() && i - 2 < model->graph.inputs.size();
       ++i) {
    const Value &input = model->graph.value(model->graph.inputs[i - 2]);
    Tensor tensor = Tensor::make(input.dtype, input.dims);
    std::ifstream file(paths[i], std::ios::binary);
    if (!file.read(reinterpret_cast<char *>(tensor.raw()),
                   std::streamsize(tensor.sizeBytes())))
      return fail(makeError(paths[i] + ": too few bytes"));
    inputs.push_back(std::move(tensor));
  }
  auto begin = std::chrono::steady_clock::now();
  auto outputs = runReference(model->graph, inputs);
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - begin;
  if (!outputs)
    return fail(outputs.error());
  std::printf("ran in %.3f s\n", seconds.count());
  std::ofstream out(paths[1], std::ios::binary);
  for (const Tensor &tensor : *outputs)
    out.write(reinterpret_cast<const char *>(tensor.raw()),
              std::streamsize(tensor.sizeBytes()));
  return out ? 0 : fail(makeError(paths[1] + ": cannot write"));
}
