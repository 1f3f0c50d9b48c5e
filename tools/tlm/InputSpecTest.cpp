//===- InputSpecTest.cpp --------------------------------------------------===//

#include "InputSpec.h"

#include "NearestName.h"
#include "Npy.h"
#include "Statistics.h"
#include "TensorCompare.h"
#include "base/AtomicFile.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace tlm;

namespace {

const std::vector<TensorSpec> kOne{{"x", DType::F32, {1, 3}}};
const std::vector<TensorSpec> kTwo{{"x", DType::F32, {1, 3}},
                                   {"ids", DType::I64, {-1, 2}}};

std::string file(const std::string &name, const std::string &bytes) {
  std::string path = testing::TempDir() + name;
  EXPECT_TRUE(writeFileAtomically(path, bytes).ok());
  return path;
}

std::string errorOf(const std::vector<TensorSpec> &signature,
                    const std::vector<std::string> &specs) {
  auto inputs = makeInputs(signature, specs, 0);
  return inputs.ok() ? "no error" : inputs.error().message;
}

TEST(ParseDims, BothForms) {
  EXPECT_EQ(*parseDims("1x3x?"), (std::vector<int64_t>{1, 3, -1}));
  EXPECT_EQ(*parseDims("[1,3,-1]"), (std::vector<int64_t>{1, 3, -1}));
  EXPECT_EQ(*parseDims(""), std::vector<int64_t>{});
  for (const char *bad :
       {"1x", "x1", "1xx2", "a", "-2", "1x99999999999999999999"})
    EXPECT_FALSE(parseDims(bad).ok()) << bad;
}

TEST(InputSpec, FillsTheRestFromTheSeed) {
  std::vector<std::string> filled;
  auto a = makeInputs(kOne, {}, 1, &filled);
  auto b = makeInputs(kOne, {"random"}, 1);
  auto c = makeInputs(kOne, {"x=random"}, 2);
  ASSERT_TRUE(a.ok() && b.ok() && c.ok());
  EXPECT_EQ(filled, std::vector<std::string>{"x"});
  EXPECT_EQ((*a)[0].data, (*b)[0].data);
  EXPECT_NE((*a)[0].data, (*c)[0].data);
}

TEST(InputSpec, RawFileWithItsType) {
  float values[3] = {1, 2, 3};
  std::string path =
      file("raw.bin", std::string(reinterpret_cast<char *>(values), 12));
  for (const std::string &spec : {"x=f32:1x3=@" + path, "f32:1x3=@" + path}) {
    auto inputs = makeInputs(kOne, {spec}, 0);
    ASSERT_TRUE(inputs.ok()) << inputs.error().message;
    EXPECT_EQ((*inputs)[0].at(2), 3);
  }
  EXPECT_NE(errorOf(kOne, {"x=f32:1x4=@" + path}).find("12 bytes"),
            std::string::npos);
}

TEST(InputSpec, NpyByNameAndByIndex) {
  HostTensor tensor("", DType::I64, {5, 2});
  std::string path = file("ids.npy", *npyBytes(tensor));
  for (const char *name : {"ids", "1"}) {
    auto inputs = makeInputs(kTwo, {std::string(name) + "=@" + path}, 0);
    ASSERT_TRUE(inputs.ok()) << inputs.error().message;
    EXPECT_EQ((*inputs)[1].dims, (std::vector<int64_t>{5, 2}));
  }
}

TEST(InputSpec, NpzGivesEveryInputByName) {
  std::vector<HostTensor> tensors{HostTensor("ids", DType::I64, {1, 2}),
                                  HostTensor("x", DType::F32, {1, 3})};
  fillOnes(tensors[1]);
  std::string path = file("all.npz", *npzBytes(tensors));
  auto inputs = makeInputs(kTwo, {"@" + path}, 0);
  ASSERT_TRUE(inputs.ok()) << inputs.error().message;
  EXPECT_EQ((*inputs)[0].at(0), 1);
}

TEST(InputSpec, ErrorsNameWhatIsThere) {
  EXPECT_NE(errorOf(kOne, {"y=random"}).find("'x' f32[1,3]"),
            std::string::npos);
  EXPECT_NE(errorOf(kTwo, {"random"}).find("names no input"),
            std::string::npos);
  EXPECT_NE(errorOf(kOne, {"x=what"}).find("expected NAME=@file"),
            std::string::npos);
  EXPECT_NE(errorOf(kOne, {"x=@/no/such.npy"}).find("/no/such.npy"),
            std::string::npos);
  EXPECT_NE(errorOf(kTwo, {}).find("symbolic"), std::string::npos);
  HostTensor wrong("x", DType::F64, {1, 3});
  std::string path = file("wrong.npy", *npyBytes(wrong));
  EXPECT_EQ(errorOf(kOne, {"@" + path}),
            "input 'x' is f64[1,3], the model wants f32[1,3]");
}

TEST(NearestName, FindsTyposOnly) {
  std::vector<std::string> flags{"--threads", "--duration", "--mcpu"};
  EXPECT_EQ(nearestName("--thread", flags), "--threads");
  EXPECT_EQ(nearestName("--mcup", flags), "--mcpu");
  EXPECT_EQ(nearestName("--zzzzzzzzzzzz", flags), "");
}

TEST(Statistics, PercentilesInterpolate) {
  Statistics s = summarise({4, 1, 3, 2}, {0, 50, 100});
  EXPECT_EQ(s.min, 1);
  EXPECT_EQ(s.median, 2.5);
  EXPECT_EQ(s.percentiles, (std::vector<double>{1, 2.5, 4}));
  EXPECT_EQ(summarise({2}, {99}).percentiles[0], 2);
}

TEST(Statistics, Durations) {
  EXPECT_DOUBLE_EQ(*parseDuration("200ms"), 0.2);
  EXPECT_DOUBLE_EQ(*parseDuration("3s"), 3);
  EXPECT_DOUBLE_EQ(*parseDuration("1.5"), 1.5);
  for (const char *bad : {"", "s", "-1s", "3 h", "inf", "nan"})
    EXPECT_FALSE(parseDuration(bad).ok()) << bad;
}

HostTensor floats(std::vector<float> values) {
  HostTensor tensor("y", DType::F32, {int64_t(values.size())});
  std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
  return tensor;
}

TEST(TensorCompare, ToleranceScalesWithTheLargest) {
  EXPECT_TRUE(compareTensors(floats({100, 0.009f}), floats({100, 0}), {}).ok);
  Comparison c = compareTensors(floats({100, 0.02f}), floats({100, 0}), {});
  EXPECT_FALSE(c.ok);
  EXPECT_EQ(c.firstBad, 1);
  EXPECT_NE(c.text.find("first at [1]"), std::string::npos);
}

TEST(TensorCompare, NotANumberMatchesItself) {
  float nan = std::nanf(""), inf = INFINITY;
  EXPECT_TRUE(compareTensors(floats({nan, inf}), floats({nan, inf}), {}).ok);
  EXPECT_FALSE(compareTensors(floats({nan}), floats({1}), {}).ok);
  EXPECT_FALSE(compareTensors(floats({1}), floats({nan}), {}).ok);
  EXPECT_FALSE(compareTensors(floats({-inf}), floats({inf}), {}).ok);
}

TEST(TensorCompare, ShapesAndIntegersAreExact) {
  EXPECT_FALSE(compareTensors(floats({1, 1}), floats({1}), {}).ok);
  HostTensor a("y", DType::I64, {1}), b("y", DType::I64, {1});
  fillOnes(a);
  EXPECT_FALSE(compareTensors(a, b, {}).ok);
  EXPECT_TRUE(compareTensors(a, a, {}).ok);
}

} // namespace
