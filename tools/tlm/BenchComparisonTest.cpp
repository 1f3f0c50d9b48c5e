#include "BenchComparison.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tlm {
namespace {

using nlohmann::json;

json report(double median, double spread = 0) {
  json samples = json::array();
  for (int i = -5; i <= 5; ++i)
    samples.push_back(median + spread * i);
  return {{"command", "bench"},
          {"host", {{"cpu", "one"}}},
          {"config", {{"threads", 2}, {"streams", 1}}},
          {"latency_ms", {{"median", median}, {"min", median}, {"n", 11}}},
          {"throughput", 1e3 / median},
          {"samples", samples}};
}

BenchComparison compare(const json &a, const json &b, double tolerance = 0.1) {
  auto result = compareBenchReports(a, b, tolerance, {"a", "b"});
  EXPECT_TRUE(result.ok());
  return result ? *result : BenchComparison{};
}

TEST(BenchComparison, Verdicts) {
  EXPECT_EQ(compare(report(10), report(10.9)).verdict, BenchVerdict::Same);
  EXPECT_EQ(compare(report(10), report(11.1)).verdict, BenchVerdict::Slower);
  EXPECT_EQ(compare(report(10), report(9)).verdict, BenchVerdict::Faster);
  EXPECT_EQ(compare(report(10), report(9.5)).verdict, BenchVerdict::Same);
}

TEST(BenchComparison, ASpreadThatExplainsTheChangeIsNoRegression) {
  BenchComparison noisy = compare(report(10, 1), report(12, 1));
  EXPECT_GT(noisy.noise, 0.2);
  EXPECT_EQ(noisy.verdict, BenchVerdict::Same);
  EXPECT_EQ(compare(report(10, 0.1), report(12, 0.1)).verdict,
            BenchVerdict::Slower);
}

TEST(BenchComparison, CallersAreJudgedByThroughput) {
  json a = report(10), b = report(20);
  for (json *one : {&a, &b})
    (*one)["config"]["streams"] = 4;
  b["throughput"] = a["throughput"];
  EXPECT_EQ(compare(a, b).verdict, BenchVerdict::Same);
}

TEST(BenchComparison, KernelsByTask) {
  json a = report(10), b = report(10);
  a["kernels"] = {{{"task", "1"}, {"kernel", "conv"}, {"total_ms", 1.0}},
                  {{"task", "2"}, {"kernel", "pool"}, {"total_ms", 2.0}}};
  b["kernels"] = {{{"task", "2"}, {"kernel", "pool"}, {"total_ms", 3.0}}};
  BenchComparison result = compare(a, b);
  ASSERT_EQ(result.kernels.size(), 1u);
  EXPECT_EQ(result.kernels[0].name, "pool");
  EXPECT_DOUBLE_EQ(result.kernels[0].ratio(), 1.5);
  EXPECT_EQ(result.onlyBefore, 1u);
  EXPECT_EQ(result.onlyAfter, 0u);
}

TEST(BenchComparison, OtherMachinesAreSaid) {
  json other = report(10);
  other["host"]["cpu"] = "two";
  other["config"]["threads"] = 1;
  EXPECT_EQ(compare(report(10), other).warnings.size(), 2u);
}

TEST(BenchComparison, NoReport) {
  for (const json &bad :
       {json(3), json::object(), json{{"command", "run"}},
        json{{"command", "bench"}, {"latency_ms", {{"median", "fast"}}}}}) {
    auto result = compareBenchReports(report(1), bad, 0.1, {"a", "b.json"});
    ASSERT_FALSE(result.ok());
    EXPECT_NE(result.error().message.find("'b.json' is no report"),
              std::string::npos);
  }
}

} // namespace
} // namespace tlm
