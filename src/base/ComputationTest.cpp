//===- ComputationTest.cpp ------------------------------------------------===//

#include "base/Computation.h"

#include <gtest/gtest.h>

using namespace tlm;

namespace {

/// The worked example of Computation.h.
Computation gather() {
  ComputationBuilder b({5, 3});
  auto index = b.load(1, DType::I64, {b.loop(0)});
  auto wrapped = b.select(b.op(Scalar::Less, {index, b.integer(0)}),
                          b.op(Scalar::Add, {index, b.integer(7)}), index);
  return b.finish(b.load(0, DType::F32, {wrapped, b.loop(1)}));
}

const std::vector<DType> kTypes = {DType::F32, DType::I64};
const std::vector<size_t> kRanks = {2, 1};

} // namespace

TEST(Computation, Text) {
  EXPECT_EQ(gather().text(), "loops [5, 3]\n"
                             "%0 = loop 0\n"
                             "%1 = load i64 1 [%0]\n"
                             "%2 = const i64 0\n"
                             "%3 = lt %1 %2\n"
                             "%4 = const i64 7\n"
                             "%5 = add %1 %4\n"
                             "%6 = select %3 %5 %1\n"
                             "%7 = loop 1\n"
                             "%8 = load f32 0 [%6, %7]\n"
                             "result %8\n");
}

TEST(Computation, TextOfConstantsAndReductions) {
  ComputationBuilder b({2}, {4});
  auto x = b.load(0, DType::F32, {b.loop(0), b.reduction(0)});
  auto sum = b.reduce(b.op(Scalar::Max, {x, b.real(-0.0)}), Combine::Sum);
  Computation c = b.finish(
      b.op(Scalar::Mul, {b.cast(sum, DType::F64), b.real(0.1, DType::F64)}));
  EXPECT_EQ(c.text(), "loops [2] reductions [4]\n"
                      "%0 = loop 0\n"
                      "%1 = loop 1\n"
                      "%2 = load f32 0 [%0, %1]\n"
                      "%3 = const f32 -0\n"
                      "%4 = max %2 %3\n"
                      "%5 = reduce sum %4\n"
                      "%6 = cast f64 %5\n"
                      "%7 = const f64 0.1\n"
                      "%8 = mul %6 %7\n"
                      "result %8\n");
  EXPECT_EQ(c.verify({DType::F32}, {2}), "");
}

TEST(Computation, VerifiesGather) {
  EXPECT_EQ(gather().verify(kTypes, kRanks), "");
  EXPECT_EQ(gather().verify({DType::F32, DType::I32}, kRanks),
            "%1: load of a i64 from a i32");
  EXPECT_EQ(gather().verify(kTypes, {3, 1}),
            "%8: load with 2 indices from rank 3");
  EXPECT_EQ(gather().verify({DType::F32}, {2}), "%1: load of operand 1 of 1");
}

TEST(Computation, RefusesArgumentsThatComeLater) {
  Computation broken = gather();
  broken.nodes[3].arguments[1] = 5;
  EXPECT_EQ(broken.verify(kTypes, kRanks),
            "%3: argument %5 is not defined before");
  broken = gather();
  broken.result = 9;
  EXPECT_EQ(broken.verify(kTypes, kRanks), "the result is no node");
}

TEST(Computation, RefusesTypesThatDoNotFit) {
  Computation broken = gather();
  broken.nodes[4].dtype = DType::I32;
  EXPECT_EQ(broken.verify(kTypes, kRanks), "%5: add wants numbers of its type");
  broken = gather();
  broken.nodes[3].op = Scalar::Exp;
  EXPECT_NE(broken.verify(kTypes, kRanks), "");
}

TEST(Computation, RefusesReductionLoopsOutsideTheReduce) {
  ComputationBuilder b({2}, {4});
  auto x = b.load(0, DType::F32, {b.loop(0), b.reduction(0)});
  Computation c = b.finish(x);
  EXPECT_EQ(c.verify({DType::F32}, {2}),
            "the result depends on a reduction loop outside the reduce");

  ComputationBuilder twice({2}, {4});
  auto y = twice.load(0, DType::F32, {twice.loop(0), twice.reduction(0)});
  auto sum = twice.reduce(y, Combine::Sum);
  Computation d = twice.finish(twice.op(Scalar::Add, {sum, y}));
  EXPECT_EQ(d.verify({DType::F32}, {2}),
            "%4: the result of the reduce is used inside a reduction loop");
}
