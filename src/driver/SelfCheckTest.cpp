//===- SelfCheckTest.cpp - wrong kernels fall back ------------------------===//

#include "driver/Compile.h"
#include "driver/testdata/TinyModel.h"
#include "import/OnnxTestModel.h"
#include "model/GptParameters.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>

namespace tlm {
namespace {

/// y = relu(conv1x1(x) + b), 16 channels of 8x8 to 48.
class SelfCheckTest : public testing::Test {
protected:
  static constexpr int64_t C = 16, F = 48, S = 8;

  SelfCheckTest() {
    Floats w, b;
    for (int64_t i = 0; i < F * C; ++i)
      w.push_back(float(i % 7) / 4 - 0.75f);
    for (int64_t i = 0; i < F; ++i)
      b.push_back(float(i % 5) - 2);
    model.input("x", {1, C, S, S})
        .output("y")
        .weight("w", {F, C, 1, 1}, w)
        .weight("b", {F}, b)
        .node("Conv", {"x", "w", "b"}, {"c"})
        .node("Relu", {"c"}, {"y"});
    options.modelPath = directory.file("model.onnx");
    std::ofstream(options.modelPath, std::ios::binary) << model.bytes();
    options.outputPath = directory.file("model.so");
    options.target = hostTarget();
  }

  Compilation compiled() {
    Result<Compilation> result = compileModel(options);
    EXPECT_TRUE(result) << result.error().message;
    return result ? std::move(*result) : Compilation();
  }

  /// Damages the kernel of the convolution.
  void damage(std::function<void(Kernel &)> body) {
    options.damageKernel = [this, body](size_t task, Kernel &kernel) {
      if (task == convolution)
        body(kernel);
    };
  }

  void expectArtifactRight() {
    Tensor x = iota({1, C, S, S});
    for (float &value : x.data)
      value = std::sin(value);
    Floats expected = model.run({x})[0].data, y(expected.size(), -1);
    LoadedArtifact loaded(options.outputPath);
    ASSERT_NE(loaded.api, nullptr) << loaded.error;
    tlm_model *opened = nullptr;
    tlm_context *context = nullptr;
    ASSERT_EQ(loaded.api->model_open(nullptr, &opened), TLM_OK);
    ASSERT_EQ(loaded.api->context_create(opened, &context), TLM_OK);
    int64_t in[] = {1, C, S, S}, out[] = {1, F, S, S};
    tlm_tensor xs{sizeof(tlm_tensor), x.data.data(), TLM_F32, 4, in, nullptr};
    tlm_tensor ys{sizeof(tlm_tensor), y.data(), TLM_F32, 4, out, nullptr};
    EXPECT_EQ(loaded.api->run(context, &xs, 1, &ys, 1, nullptr), TLM_OK);
    for (size_t i = 0; i < y.size(); ++i)
      ASSERT_NEAR(y[i], expected[i], 1e-4f) << i;
    auto manifest =
        nlohmann::json::parse(loaded.api->manifest(), nullptr, false);
    reason = manifest["kernels"][convolution].value("fallback_reason", "");
    loaded.api->context_destroy(context);
    loaded.api->model_close(opened);
  }

  std::string detailOf(const Compilation &c, Phase phase) {
    for (const PhaseReport &report : c.phases)
      if (report.phase == phase)
        return report.detail;
    return "no such phase";
  }

  TestDirectory directory;
  OnnxTestModel model;
  CompileOptions options;
  std::string reason; ///< in the manifest
  size_t convolution = 0;

  void SetUp() override {
    options.stopAfter = Phase::Schedules;
    Compilation c = compiled();
    while (c.plan.tasks[convolution].kind != TaskKind::Conv)
      ++convolution;
    options.stopAfter = Phase::Link;
  }
};

TEST_F(SelfCheckTest, RightKernelsStay) {
  Compilation c = compiled();
  EXPECT_TRUE(c.warnings.empty());
  EXPECT_NE(detailOf(c, Phase::SelfCheck).find("-> OK"), std::string::npos);
  expectArtifactRight();
  EXPECT_EQ(reason, "");
}

TEST_F(SelfCheckTest, UnwrittenChunkFallsBack) {
  damage([](Kernel &kernel) { --kernel.stages.back().chunks; });
  Compilation c = compiled();
  ASSERT_EQ(c.warnings.size(), 1u);
  EXPECT_NE(c.warnings[0].find(c.plan.tasks[convolution].label()),
            std::string::npos);
  EXPECT_NE(c.warnings[0].find("nothing was written"), std::string::npos);
  EXPECT_NE(detailOf(c, Phase::SelfCheck).find("1 fell back"),
            std::string::npos);
  expectArtifactRight();
  EXPECT_EQ(reason, c.fallbackReasons[convolution]);
  EXPECT_TRUE(reason.starts_with("self check: nothing was written")) << reason;
}

TEST_F(SelfCheckTest, WrongValuesFallBack) {
  // Weights in another order than the kernel reads them.
  damage([](Kernel &kernel) {
    for (std::optional<Packing> &packing : kernel.packings)
      if (packing && packing->sourceDims.size() == 4)
        for (PackDim &dim : packing->dims)
          if (dim.axis == 1 && dim.extent == C)
            dim = {1, C, 2};
  });
  Compilation c = compiled();
  ASSERT_EQ(c.warnings.size(), 1u);
  for (const char *part : {"point [", "expected", "plain schedule"})
    EXPECT_NE(c.warnings[0].find(part), std::string::npos) << c.warnings[0];
  expectArtifactRight();
  EXPECT_TRUE(reason.starts_with("self check: point [")) << reason;
}

TEST_F(SelfCheckTest, WhatTheModelWroteFallsBackToTheDefaultSchedule) {
  ModelConfig config;
  config.layers = 1;
  config.heads = 1;
  config.width = 32;
  config.positions = 256;
  config.vocabulary = int64_t(Vocabulary::get().size());
  config.vocabularyId = {kLanguageVersion,
                         std::stoull(Vocabulary::get().hash(), nullptr, 16)};
  WriterOptions writer{.folder = directory.file("weights")};
  ASSERT_TRUE(
      writeModelFolder(writer.folder, config, randomParameters(config, 1)));
  options.writer = writer;
  damage([](Kernel &kernel) { --kernel.stages.back().chunks; });
  Compilation c = compiled();
  const Task &task = c.plan.tasks[convolution];
  Schedule byRules = defaultSchedule(task, options.target, options.schedule);
  ASSERT_EQ(c.chosen[convolution].source, ScheduleSource::Model);
  ASSERT_NE(c.chosen[convolution].schedule.text(), byRules.text());
  EXPECT_EQ(c.schedules[convolution].text(), byRules.text());
  ASSERT_EQ(c.warnings.size(), 1u);
  EXPECT_NE(c.warnings[0].find("fell back to the default schedule"),
            std::string::npos)
      << c.warnings[0];
  expectArtifactRight();
  EXPECT_TRUE(reason.starts_with("self check: ")) << reason;
}

TEST_F(SelfCheckTest, SameOnAnyJobs) {
  damage([](Kernel &kernel) { --kernel.stages.back().chunks; });
  options.jobs = 1;
  std::vector<std::string> one = compiled().fallbackReasons;
  options.jobs = 3;
  EXPECT_EQ(one, compiled().fallbackReasons);
}

TEST_F(SelfCheckTest, WrongPlainKernelIsAnError) {
  options.plainSchedules = true;
  damage([](Kernel &kernel) { --kernel.stages.back().chunks; });
  Result<Compilation> result = compileModel(options);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::Mismatch);
  EXPECT_TRUE(result.error().message.starts_with("no right kernel for task"))
      << result.error().message;
  EXPECT_FALSE(std::ifstream(options.outputPath).good());
}

TEST_F(SelfCheckTest, SkippedForAnotherMachineOrWhenSwitchedOff) {
  options.checkKernels = false;
  EXPECT_EQ(detailOf(compiled(), Phase::SelfCheck), "skipped: switched off");
  options.checkKernels = true;
  options.target.features.push_back("xop");
  EXPECT_EQ(detailOf(compiled(), Phase::SelfCheck),
            "skipped: this machine lacks xop");
}

} // namespace
} // namespace tlm
