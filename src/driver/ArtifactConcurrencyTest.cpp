#include "driver/testdata/TinyModel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace tlm {
namespace {

class OpenModel {
public:
  OpenModel(const std::string &path, int32_t threads) : loaded(path) {
    tlm_options options = {};
    options.struct_size = sizeof(options);
    options.threads = threads;
    if (loaded.api)
      EXPECT_EQ(loaded.api->model_open(&options, &model), TLM_OK);
  }
  ~OpenModel() { loaded.api->model_close(model); }

  /// Runs x `times` times in a context of its own; counts wrong results.
  int failures(const std::vector<float> &x, const std::vector<float> &expected,
               int times) {
    const int64_t dims[] = {1, 2, 6, 5};
    tlm_context *context = nullptr;
    if (loaded.api->context_create(model, &context) != TLM_OK)
      return times;
    int failures = 0;
    for (int i = 0; i < times; ++i) {
      std::vector<float> in = x, out(x.size());
      tlm_tensor from = {sizeof(from), in.data(), TLM_F32, 4, dims, nullptr};
      tlm_tensor to = {sizeof(to), out.data(), TLM_F32, 4, dims, nullptr};
      bool isRight =
          loaded.api->run(context, &from, 1, &to, 1, nullptr) == TLM_OK;
      for (size_t j = 0; j < out.size(); ++j)
        isRight &= std::abs(out[j] - expected[j]) < 1e-4f;
      failures += !isRight;
    }
    loaded.api->context_destroy(context);
    return failures;
  }

  LoadedArtifact loaded;
  tlm_model *model = nullptr;
};

TEST(ArtifactConcurrency, TwoArtifactsEightCallers) {
  TestDirectory directory;
  TinyModel first({2, 3}), second({-1, 7}, 1.5f);
  ASSERT_TRUE(writeArtifact(first.input("a"), directory.file("a.so")).ok());
  ASSERT_TRUE(writeArtifact(second.input("b"), directory.file("b.so")).ok());
  OpenModel a(directory.file("a.so"), 2), b(directory.file("b.so"), 2);
  std::atomic<int> failures{0};
  std::vector<std::thread> callers;
  for (uint32_t i = 0; i < 8; ++i)
    callers.emplace_back([&, i] {
      std::vector<float> x = TinyModel::randomInput(i);
      failures += i % 2 ? a.failures(x, first.expected(x), 300)
                        : b.failures(x, second.expected(x), 300);
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(failures, 0);
}

TEST(ArtifactConcurrency, ChildOfForkRuns) {
  TestDirectory directory;
  TinyModel tiny;
  ASSERT_TRUE(writeArtifact(tiny.input("a"), directory.file("a.so")).ok());
  OpenModel model(directory.file("a.so"), 3);
  std::vector<float> x = TinyModel::randomInput(1), y = tiny.expected(x);
  ASSERT_EQ(model.failures(x, y, 10), 0);
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    int failures = model.failures(x, y, 10);
    model.loaded.api->model_close(model.model);
    _exit(failures);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(model.failures(x, y, 10), 0);
}

TEST(ArtifactConcurrency, OpenAndCloseRepeatedly) {
  TestDirectory directory;
  TinyModel tiny;
  ASSERT_TRUE(writeArtifact(tiny.input("a"), directory.file("a.so")).ok());
  std::vector<float> x = TinyModel::randomInput(1), y = tiny.expected(x);
  for (int i = 0; i < 20; ++i) {
    OpenModel model(directory.file("a.so"), 4); // dlopen to dlclose
    ASSERT_EQ(model.failures(x, y, 3), 0);
  }
}

} // namespace
} // namespace tlm
