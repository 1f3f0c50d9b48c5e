#include "driver/testdata/TinyModel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <set>

namespace tlm {
namespace {

/// One artifact for all tests of this file.
class ArtifactRunTest : public testing::Test {
protected:
  static void SetUpTestSuite() {
    directory = new TestDirectory;
    TinyModel model;
    ASSERT_TRUE(writeArtifact(model.input(), directory->file("tiny.so")).ok());
    loaded = new LoadedArtifact(directory->file("tiny.so"));
    ASSERT_NE(loaded->api, nullptr) << loaded->error;
  }
  static void TearDownTestSuite() {
    delete loaded;
    delete directory;
  }

  void SetUp() override { open({}); }
  void TearDown() override { close(); }

  void open(tlm_options options) {
    close();
    options.struct_size = sizeof(options);
    ASSERT_EQ(api()->model_open(&options, &model), TLM_OK)
        << api()->last_error();
    ASSERT_EQ(api()->context_create(model, &context), TLM_OK);
  }
  void close() {
    if (context)
      api()->context_destroy(context);
    if (model)
      api()->model_close(model);
    context = nullptr;
    model = nullptr;
  }

  static const tlm_api *api() { return loaded->api; }
  static tlm_tensor tensor(void *data, const int64_t *strides = nullptr) {
    return {sizeof(tlm_tensor), data, TLM_F32, 4, dims, strides};
  }
  tlm_status run(tlm_tensor in, tlm_tensor out) {
    return api()->run(context, &in, 1, &out, 1, nullptr);
  }
  void expectRight(const std::vector<float> &x, const std::vector<float> &y) {
    std::vector<float> expected = TinyModel().expected(x);
    for (size_t i = 0; i < y.size(); ++i)
      ASSERT_NEAR(y[i], expected[i], 1e-5) << i;
  }
  /// Runs with dense tensors and returns y.
  std::vector<float> result(std::vector<float> x) {
    std::vector<float> y(TinyModel::size, -1);
    EXPECT_EQ(run(tensor(x.data()), tensor(y.data())), TLM_OK)
        << api()->last_error();
    return y;
  }
  void expectRefused(tlm_tensor in, tlm_tensor out, const char *message) {
    EXPECT_EQ(run(in, out), TLM_ERROR_ARGUMENT);
    EXPECT_STREQ(api()->last_error(), message);
  }

  static inline TestDirectory *directory = nullptr;
  static inline LoadedArtifact *loaded = nullptr;
  static inline const int64_t dims[] = {1, 2, 6, 5};
  tlm_model *model = nullptr;
  tlm_context *context = nullptr;
  std::vector<float> x = TinyModel::randomInput(1);
  std::vector<float> y = std::vector<float>(TinyModel::size);
};

TEST_F(ArtifactRunTest, Computes) {
  expectRight(x, result(x));
  std::vector<float> other = TinyModel::randomInput(2);
  expectRight(other, result(other));
}

TEST_F(ArtifactRunTest, NamedApiIsTheSame) {
  auto named = reinterpret_cast<decltype(&tlm_artifact_api)>(
      dlsym(loaded->handle, "tiny_api"));
  ASSERT_NE(named, nullptr);
  EXPECT_EQ(named(TLM_ABI_VERSION), api());
  EXPECT_EQ(named(TLM_ABI_VERSION + 1), nullptr);
  EXPECT_EQ(dlsym(loaded->handle, "tiny_copy"), nullptr);
  EXPECT_EQ(dlsym(loaded->handle, "tlmPlanBlob"), nullptr);
}

TEST_F(ArtifactRunTest, Signature) {
  ASSERT_EQ(api()->input_count(model), 1);
  ASSERT_EQ(api()->output_count(model), 1);
  tlm_tensor_info info = {};
  info.struct_size = sizeof(info);
  ASSERT_EQ(api()->output_info(model, 0, &info), TLM_OK);
  EXPECT_STREQ(info.name, "y");
  EXPECT_EQ(info.dtype, TLM_F32);
  ASSERT_EQ(info.rank, 4);
  EXPECT_TRUE(std::equal(dims, dims + 4, info.dims));
  EXPECT_EQ(info.symbols[3], nullptr);
  EXPECT_EQ(api()->input_info(model, 1, &info), TLM_ERROR_ARGUMENT);
  EXPECT_STREQ(api()->last_error(), "input_info: index is 1, there are 1");
}

TEST_F(ArtifactRunTest, MisalignedTensors) {
  std::vector<char> in(x.size() * 4 + 64), out(x.size() * 4 + 64);
  for (size_t shift : {1, 2, 4, 7, 28}) {
    std::memcpy(in.data() + shift, x.data(), x.size() * 4);
    ASSERT_EQ(run(tensor(in.data() + shift), tensor(out.data() + shift)),
              TLM_OK);
    std::memcpy(y.data(), out.data() + shift, y.size() * 4);
    expectRight(x, y);
  }
}

TEST_F(ArtifactRunTest, StridedTensors) {
  // x as NHWC in memory, y with gaps and its rows from last to first.
  std::vector<float> in(x.size()), out(400, -7);
  for (int64_t c = 0; c < 2; ++c)
    for (int64_t i = 0; i < 30; ++i)
      in[size_t(i * 2 + c)] = x[size_t(c * 30 + i)];
  const int64_t inStrides[] = {60, 1, 10, 2}, outStrides[] = {400, 200, -20, 3};
  ASSERT_EQ(
      run(tensor(in.data(), inStrides), tensor(out.data() + 100, outStrides)),
      TLM_OK);
  std::set<size_t> written;
  for (int64_t c = 0; c < 2; ++c)
    for (int64_t h = 0; h < 6; ++h)
      for (int64_t w = 0; w < 5; ++w) {
        size_t at = size_t(100 + c * 200 - h * 20 + w * 3);
        y[size_t((c * 6 + h) * 5 + w)] = out[at];
        written.insert(at);
      }
  expectRight(x, y);
  for (size_t i = 0; i < out.size(); ++i)
    if (!written.count(i))
      ASSERT_EQ(out[i], -7) << i;
}

TEST_F(ArtifactRunTest, OutputOverInput) {
  std::vector<float> both = x;
  ASSERT_EQ(run(tensor(both.data()), tensor(both.data())), TLM_OK);
  expectRight(x, both);
}

TEST_F(ArtifactRunTest, WrongArguments) {
  tlm_tensor in = tensor(x.data()), out = tensor(y.data());
  tlm_tensor wrong = in;
  wrong.dtype = TLM_F64;
  expectRefused(wrong, out,
                "input 0 'x': expected f32[1,2,6,5], got f64[1,2,6,5]");
  wrong.dtype = 99;
  expectRefused(
      wrong, out,
      "input 0 'x': expected f32[1,2,6,5], got unknown dtype[1,2,6,5]");
  const int64_t other[] = {1, 2, 6, 7};
  wrong = out;
  wrong.dims = other;
  expectRefused(in, wrong,
                "output 0 'y': expected f32[1,2,6,5], got f32[1,2,6,7]");
  wrong = in;
  wrong.rank = 3;
  expectRefused(wrong, out,
                "input 0 'x': expected f32[1,2,6,5], got f32[1,2,6]");
  wrong = in;
  wrong.data = nullptr;
  expectRefused(wrong, out, "input 0 'x': data is null");
  wrong = in;
  wrong.struct_size = 8;
  expectRefused(wrong, out, "input 0 'x': struct_size is 8, expected 40");
  EXPECT_EQ(api()->run(context, &in, 2, &out, 1, nullptr), TLM_ERROR_ARGUMENT);
  EXPECT_STREQ(api()->last_error(), "expected 1 input(s), got 2");
  EXPECT_EQ(api()->run(context, nullptr, 1, &out, 1, nullptr),
            TLM_ERROR_ARGUMENT);
  EXPECT_EQ(api()->run(nullptr, &in, 1, &out, 1, nullptr), TLM_ERROR_ARGUMENT);
  EXPECT_EQ(api()->model_open(nullptr, nullptr), TLM_ERROR_ARGUMENT);
  expectRight(x, result(x)); // nothing of that spoiled the context
}

TEST_F(ArtifactRunTest, PoisonedArenaTwice) {
  tlm_options options = {};
  options.poison_arena = 1;
  open(options);
  for (int i = 0; i < 2; ++i)
    expectRight(x, result(x));
}

TEST_F(ArtifactRunTest, AnyThreadsSameBits) {
  std::vector<float> first;
  for (int32_t threads : {1, 2, 3, 4, 16}) {
    tlm_options options = {};
    options.threads = threads;
    open(options);
    for (int i = 0; i < 50; ++i) {
      std::vector<float> got = result(x);
      if (first.empty())
        first = got;
      ASSERT_EQ(std::memcmp(got.data(), first.data(), got.size() * 4), 0)
          << threads;
    }
  }
  expectRight(x, first);
}

TEST_F(ArtifactRunTest, ParallelForHook) {
  tlm_options options = {};
  options.threads = 3;
  static int64_t calls;
  calls = 0;
  options.parallel_for = [](void *, int64_t count,
                            void (*body)(void *, int64_t), void *argument) {
    ++calls;
    for (int64_t i = count; i-- > 0;)
      body(argument, i);
  };
  open(options);
  expectRight(x, result(x));
  EXPECT_EQ(calls, 4); // stages
}

TEST_F(ArtifactRunTest, AllocatorHook) {
  static int64_t live, made;
  live = made = 0;
  tlm_options options = {};
  options.allocate = [](void *, size_t size, size_t alignment) {
    ++live;
    ++made;
    return std::aligned_alloc(alignment, size);
  };
  options.release = [](void *, void *memory) {
    --live;
    std::free(memory);
  };
  open(options);
  expectRight(x, result(x));
  close();
  EXPECT_GT(made, 0);
  EXPECT_EQ(live, 0);
}

TEST_F(ArtifactRunTest, StepsAndTheirOutputs) {
  ASSERT_EQ(api()->step_count(model), 3);
  tlm_step_info info = {};
  info.struct_size = sizeof(info);
  ASSERT_EQ(api()->step_info(model, 2, &info), TLM_OK);
  EXPECT_STREQ(info.name, "node_scale");
  EXPECT_STREQ(info.output_name, "y");
  EXPECT_EQ(info.stages, 2);
  EXPECT_EQ(info.max_parallelism, 4);

  struct Seen {
    const tlm_api *api;
    std::vector<float> x;
    int32_t steps = 0;
    int64_t last = 0;
  } seen{api(), x};
  tlm_run_options options = {};
  options.struct_size = sizeof(options);
  options.step_hook_user = &seen;
  options.step_hook = [](void *user, tlm_context *context, int32_t step,
                         int64_t begin, int64_t end) {
    Seen &seen = *static_cast<Seen *>(user);
    EXPECT_EQ(step, seen.steps++);
    EXPECT_LE(seen.last, begin);
    EXPECT_LE(begin, end);
    seen.last = end;
    if (step != 0)
      return;
    tlm_buffer_view view = {};
    view.struct_size = sizeof(view);
    ASSERT_EQ(seen.api->step_output(context, step, &view), TLM_OK);
    ASSERT_EQ(view.rank, 4);
    auto *data = static_cast<const float *>(view.data);
    for (int64_t c = 0; c < 2; ++c)
      for (int64_t h = 0; h < 6; ++h)
        for (int64_t w = 0; w < 5; ++w)
          ASSERT_EQ(data[c * view.strides[1] + h * view.strides[2] +
                         w * view.strides[3]],
                    seen.x[size_t((c * 6 + h) * 5 + w)]);
    EXPECT_EQ(data[-view.strides[3]], 0.5f); // the border
  };
  tlm_tensor in = tensor(x.data()), out = tensor(y.data());
  ASSERT_EQ(api()->run(context, &in, 1, &out, 1, &options), TLM_OK);
  EXPECT_EQ(seen.steps, 3);
  tlm_buffer_view view = {};
  view.struct_size = sizeof(view);
  EXPECT_EQ(api()->step_output(context, 0, &view), TLM_ERROR_ARGUMENT);
}

TEST(Artifact, HandedThroughAndDuplicatedOutputs) {
  TestDirectory directory;
  TinyModel tiny;
  tiny.addHandedThroughOutputs();
  std::string path = directory.file("tiny.so");
  ASSERT_TRUE(writeArtifact(tiny.input(), path).ok());
  LoadedArtifact loaded(path);
  ASSERT_NE(loaded.api, nullptr) << loaded.error;
  tlm_model *model = nullptr;
  tlm_context *context = nullptr;
  ASSERT_EQ(loaded.api->model_open(nullptr, &model), TLM_OK);
  ASSERT_EQ(loaded.api->context_create(model, &context), TLM_OK);
  const int64_t dims[] = {1, 2, 6, 5}, weightDims[] = {2, 1, 1};
  std::vector<float> x = TinyModel::randomInput(3), y(60), again(60), same(60);
  float weight[2] = {};
  tlm_tensor in = {sizeof(in), x.data(), TLM_F32, 4, dims, nullptr};
  tlm_tensor out[] = {
      {sizeof(in), y.data(), TLM_F32, 4, dims, nullptr},
      {sizeof(in), again.data(), TLM_F32, 4, dims, nullptr},
      {sizeof(in), same.data(), TLM_F32, 4, dims, nullptr},
      {sizeof(in), weight, TLM_F32, 3, weightDims, nullptr},
  };
  ASSERT_EQ(loaded.api->run(context, &in, 1, out, 4, nullptr), TLM_OK);
  std::vector<float> expected = tiny.expected(x);
  for (size_t i = 0; i < 60; ++i)
    ASSERT_NEAR(y[i], expected[i], 1e-5);
  EXPECT_EQ(again, y);
  EXPECT_EQ(same, x);
  EXPECT_EQ(weight[0], 2);
  EXPECT_EQ(weight[1], 3);
  // y over x, while x is handed through as well.
  out[0].data = x.data();
  std::vector<float> old = x;
  ASSERT_EQ(loaded.api->run(context, &in, 1, out, 4, nullptr), TLM_OK);
  EXPECT_EQ(x, y);
  EXPECT_EQ(same, old);
  loaded.api->context_destroy(context);
  loaded.api->model_close(model);
}

} // namespace
} // namespace tlm
