//===- ComputationBuilderTest.cpp -----------------------------------------===//

#include "base/Computation.h"
#include "base/IntegerArithmetic.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace tlm;

namespace {

/// The result of an expression that must have become a constant.
int64_t folded(ComputationBuilder &b, ComputationBuilder::Node node) {
  Computation c = b.finish(node);
  EXPECT_EQ(c.nodes.size(), 1u) << c.text();
  EXPECT_EQ(c.nodes[0].op, Scalar::Constant) << c.text();
  return c.nodes[0].integer;
}

} // namespace

TEST(ComputationBuilder, FoldsIndexArithmetic) {
  ComputationBuilder b({8});
  auto three = b.integer(3), four = b.integer(4);
  auto twelve = b.op(Scalar::Mul, {three, four});
  EXPECT_EQ(folded(b, b.op(Scalar::Sub, {twelve, three})), 9);
  auto i = b.loop(0);
  EXPECT_EQ(b.op(Scalar::Add, {i, b.integer(0)}), i);
  EXPECT_EQ(b.op(Scalar::Mul, {b.integer(1), i}), i);
  EXPECT_EQ(b.op(Scalar::Add, {i, three}), b.op(Scalar::Add, {three, i}));
}

TEST(ComputationBuilder, KnowsTheExtentsOfLoops) {
  ComputationBuilder b({8, 1});
  auto i = b.loop(0);
  EXPECT_EQ(folded(b, b.op(Scalar::Less, {i, b.integer(8)})), 1);
  EXPECT_EQ(folded(b, b.op(Scalar::Less, {i, b.integer(0)})), 0);
  EXPECT_EQ(folded(b, b.loop(1)), 0);
  EXPECT_EQ(b.op(Scalar::FloorMod, {i, b.integer(8)}), i);
  EXPECT_EQ(b.op(Scalar::Max, {i, b.integer(0)}), i);
  EXPECT_NE(b.op(Scalar::Max, {i, b.integer(1)}), i);
}

TEST(ComputationBuilder, SelectsByConstants) {
  ComputationBuilder b({8});
  auto x = b.load(0, DType::F32, {b.loop(0)}), zero = b.real(0);
  EXPECT_EQ(b.select(b.integer(1, DType::Bool), x, zero), x);
  EXPECT_EQ(b.select(b.op(Scalar::IsNan, {x}), zero, zero), zero);
}

TEST(ComputationBuilder, KeepsFloatArithmetic) {
  ComputationBuilder b({8});
  auto x = b.load(0, DType::F32, {b.loop(0)});
  EXPECT_NE(b.op(Scalar::Add, {x, b.real(0)}), x); // -0 + 0 is 0
  EXPECT_NE(b.op(Scalar::Mul, {x, b.real(0)}), b.real(0));
  EXPECT_NE(b.real(0.0), b.real(-0.0));
}

TEST(IntegerArithmetic, NeverTraps) {
  int64_t least = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(integerOp(Scalar::Div, DType::I64, 7, 0), 0);
  EXPECT_EQ(integerOp(Scalar::Div, DType::I64, least, -1), least);
  EXPECT_EQ(integerOp(Scalar::Div, DType::I8, -128, -1), -128);
  EXPECT_EQ(integerOp(Scalar::Remainder, DType::I64, least, -1), 0);
  EXPECT_EQ(integerOp(Scalar::FloorMod, DType::I32, -7, 3), 2);
  EXPECT_EQ(integerOp(Scalar::FloorMod, DType::I32, 7, -3), -2);
  EXPECT_EQ(integerOp(Scalar::Remainder, DType::I32, -7, 3), -1);
  EXPECT_EQ(integerOp(Scalar::Pow, DType::I64, 2, -1), 0);
  EXPECT_EQ(integerOp(Scalar::Pow, DType::I64, -1, -3), -1);
  EXPECT_EQ(integerOp(Scalar::ShiftLeft, DType::U8, 255, 4), 240);
  EXPECT_EQ(integerOp(Scalar::ShiftLeft, DType::U8, 255, 200), 0);
  EXPECT_EQ(integerOp(Scalar::ShiftRight, DType::I64, -8, 100), -1);
}

TEST(IntegerArithmetic, UnsignedOrder) {
  EXPECT_EQ(integerOp(Scalar::Less, DType::U64, 1, -1), 1);
  EXPECT_EQ(integerOp(Scalar::Max, DType::U64, 1, -1), -1);
  EXPECT_EQ(integerOp(Scalar::Div, DType::U64, -1, 2),
            std::numeric_limits<int64_t>::max());
  EXPECT_EQ(integerOp(Scalar::Add, DType::U32, 0xffffffff, 1), 0);
}

TEST(IntegerArithmetic, CastsStopAtTheEnds) {
  EXPECT_EQ(integerFromReal(DType::I8, 300.7), 127);
  EXPECT_EQ(integerFromReal(DType::U8, -1.5), 0);
  EXPECT_EQ(integerFromReal(DType::I32, -2.9), -2);
  EXPECT_EQ(integerFromReal(DType::I64, std::nan("")), 0);
  EXPECT_EQ(integerFromReal(DType::Bool, std::nan("")), 1);
  EXPECT_EQ(integerFromReal(DType::U64, 1e30), -1);
}
