//===- OpsCommand.cpp - tlm ops -------------------------------------------===//

#include "Commands.h"
#include "Report.h"
#include "import/Import.h"
#include "import/Operators.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

namespace tlm {
namespace {

std::string opsetRange(const OnnxOperator &op) {
  return std::to_string(op.since) + "-" + std::to_string(kNewestOpset);
}

std::string limitsOf(const OnnxOperator &op) {
  return std::string(op.limits.empty() ? "all" : op.limits);
}

void printMarkdown() {
  std::printf("# Supported ONNX operators\n\n"
              "Written by `tlm ops --markdown`; do not edit. %zu operators of "
              "ONNX's own domain, opsets %lld to %lld.\n"
              "`tlm inspect model.onnx` says what a model needs.\n\n"
              "| operator | opsets | what is taken |\n|---|---|---|\n",
              onnxOperators().size(), static_cast<long long>(kOldestOpset),
              static_cast<long long>(kNewestOpset));
  for (const OnnxOperator &op : onnxOperators())
    std::printf("| %s | %s | %s |\n", std::string(op.opType).c_str(),
                opsetRange(op).c_str(), limitsOf(op).c_str());
}

void printText() {
  std::printf("%-22s %-7s %s\n", "operator", "opsets", "what is taken");
  for (const OnnxOperator &op : onnxOperators())
    std::printf("%-22s %-7s %s\n", std::string(op.opType).c_str(),
                opsetRange(op).c_str(), limitsOf(op).c_str());
}

Status ops(bool markdown, const GlobalOptions &global) {
  if (markdown)
    printMarkdown();
  else
    printText();
  nlohmann::json report = newReport("ops");
  report["domain"] = "ai.onnx";
  nlohmann::json list = nlohmann::json::array();
  for (const OnnxOperator &op : onnxOperators())
    list.push_back({{"op", op.opType},
                    {"opset_min", op.since},
                    {"opset_max", kNewestOpset},
                    {"inputs_min", op.minInputs},
                    {"inputs_max", op.maxInputs},
                    {"limits", op.limits}});
  report["operators"] = list;
  return writeReport(report, global.jsonPath);
}

} // namespace

Action addOps(CLI::App &app, const GlobalOptions &global) {
  auto markdown = std::make_shared<bool>(false);
  app.add_flag("--markdown", *markdown, "as docs/onnx-support.md");
  return [markdown, &global] { return ops(*markdown, global); };
}

} // namespace tlm
