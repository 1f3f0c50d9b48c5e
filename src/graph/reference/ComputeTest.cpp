#include "graph/reference/Kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace tlm;

namespace {

Tensor floats(Dims dims, std::vector<float> data) {
  return {std::move(dims), std::move(data)};
}

template <typename T>
Tensor wholes(DType dtype, Dims dims, std::vector<T> data) {
  Tensor tensor = Tensor::make(dtype, std::move(dims));
  std::copy_n(reinterpret_cast<const std::byte *>(data.data()),
              tensor.sizeBytes(), tensor.raw());
  return tensor;
}

Tensor run(const Computation &computation, const std::vector<Tensor> &inputs,
           int threads = 1) {
  std::vector<TensorView> views(inputs.begin(), inputs.end());
  std::vector<DType> types;
  std::vector<size_t> ranks;
  for (const Tensor &input : inputs) {
    types.push_back(input.dtype);
    ranks.push_back(input.dims.size());
  }
  EXPECT_EQ(computation.verify(types, ranks), "") << computation.text();
  return reference::evaluate(
      Op::Compute, computation, views, computation.loops, threads,
      computation.nodes[size_t(computation.result)].dtype);
}

/// One reduction over x [rows, columns], along the columns.
Tensor reduceRows(const Tensor &x, Combine combine, int threads = 1) {
  ComputationBuilder b({x.dims[0]}, {x.dims[1]});
  auto value = b.load(0, x.dtype, {b.loop(0), b.reduction(0)});
  return run(b.finish(b.reduce(value, combine)), {x}, threads);
}

} // namespace

TEST(Compute, GatherWrapsAndClamps) {
  ComputationBuilder b({4, 2});
  auto index = b.load(1, DType::I64, {b.loop(0)});
  auto wrapped = b.select(b.op(Scalar::Less, {index, b.integer(0)}),
                          b.op(Scalar::Add, {index, b.integer(3)}), index);
  Computation gather = b.finish(b.load(0, DType::F32, {wrapped, b.loop(1)}));
  Tensor y = run(gather, {floats({3, 2}, {0, 1, 2, 3, 4, 5}),
                          wholes<int64_t>(DType::I64, {4}, {2, -3, 77, -99})});
  EXPECT_EQ(y.data, (std::vector<float>{4, 5, 0, 1, 4, 5, 0, 1}));
}

TEST(Compute, LoadFromNothingIsZero) {
  ComputationBuilder b({2});
  Computation c = b.finish(b.load(0, DType::F32, {b.loop(0)}));
  EXPECT_EQ(run(c, {floats({0}, {})}).data, (std::vector<float>{0, 0}));
}

TEST(Compute, BlocksAndThreadsDoNotMatter) {
  ComputationBuilder b({7, 5, 31});
  auto x = b.load(0, DType::F32, {b.loop(2), b.loop(0), b.loop(1)});
  Computation c = b.finish(b.op(Scalar::Exp, {x}));
  Tensor x0 = floats({31, 7, 5}, {});
  for (int i = 0; i < 31 * 7 * 5; ++i)
    x0.data.push_back(float(i % 13) * 0.1f);
  Tensor one = run(c, {x0}, 1), three = run(c, {x0}, 3);
  EXPECT_EQ(one.data, three.data);
  for (int64_t i = 0; i < 7; ++i)
    for (int64_t j = 0; j < 5; ++j)
      for (int64_t k = 0; k < 31; ++k)
        EXPECT_EQ(
            one.data[size_t((i * 5 + j) * 31 + k)],
            float(std::exp(double(x0.data[size_t((k * 7 + i) * 5 + j)]))));
}

TEST(Compute, SumsAlongReductionOrOutputsAgree) {
  // Few rows: the lanes run along the reduction; many: along the rows.
  Tensor few = floats({3, 1000}, {}), many = floats({300, 1000}, {});
  for (int i = 0; i < 300 * 1000; ++i) {
    float value = std::sin(float(i % 3000));
    many.data.push_back(value);
    if (i < 3000)
      few.data.push_back(value);
  }
  Tensor a = reduceRows(few, Combine::Sum), b = reduceRows(many, Combine::Sum);
  EXPECT_EQ(a.data, (std::vector<float>(b.data.begin(), b.data.begin() + 3)));
  EXPECT_EQ(b.data, reduceRows(many, Combine::Sum, 4).data);
}

TEST(Compute, ReductionsOfNothing) {
  Tensor none = floats({2, 0}, {});
  float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(reduceRows(none, Combine::Sum).data, (std::vector<float>{0, 0}));
  EXPECT_EQ(reduceRows(none, Combine::Product).data[0], 1);
  EXPECT_EQ(reduceRows(none, Combine::Min).data[0], infinity);
  EXPECT_EQ(reduceRows(none, Combine::Max).data[0], -infinity);
  Tensor bytes = Tensor::make(DType::I8, {1, 0});
  EXPECT_EQ(int8_t(reduceRows(bytes, Combine::Max).bytes[0]), -128);
}

TEST(Compute, PositionsOfExtremes) {
  Tensor x = floats({1, 5}, {3, 7, 1, 7, 1});
  auto position = [&](Combine combine) {
    Tensor y = reduceRows(x, combine);
    return *reinterpret_cast<const int64_t *>(y.raw());
  };
  EXPECT_EQ(position(Combine::ArgMaxFirst), 1);
  EXPECT_EQ(position(Combine::ArgMaxLast), 3);
  EXPECT_EQ(position(Combine::ArgMinFirst), 2);
  EXPECT_EQ(position(Combine::ArgMinLast), 4);
}

TEST(Compute, NanWinsMinimumAndMaximum) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  for (size_t at : {0, 1, 2}) {
    Tensor x = floats({1, 3}, {1, 2, 3});
    x.data[at] = nan;
    EXPECT_TRUE(std::isnan(reduceRows(x, Combine::Max).data[0])) << at;
    EXPECT_TRUE(std::isnan(reduceRows(x, Combine::Min).data[0])) << at;
  }
}

TEST(Compute, NodesAfterTheReduceSeeIt) {
  ComputationBuilder b({2}, {3});
  auto x = b.load(0, DType::F32, {b.loop(0), b.reduction(0)});
  auto best = b.reduce(x, Combine::ArgMaxFirst);
  Computation c = b.finish(b.load(1, DType::I32, {best}));
  Tensor y = run(c, {floats({2, 3}, {0, 9, 1, 5, 1, 2}),
                     wholes<int32_t>(DType::I32, {3}, {10, 20, 30})});
  auto *data = reinterpret_cast<const int32_t *>(y.raw());
  EXPECT_EQ(data[0], 20);
  EXPECT_EQ(data[1], 10);
}

TEST(Compute, NarrowIntegersWrap) {
  ComputationBuilder b({2});
  auto x = b.load(0, DType::U8, {b.loop(0)});
  Computation c = b.finish(b.op(Scalar::Add, {x, b.integer(200, DType::U8)}));
  Tensor y = run(c, {wholes<uint8_t>(DType::U8, {2}, {100, 1})});
  EXPECT_EQ(uint8_t(y.bytes[0]), 44);
  EXPECT_EQ(uint8_t(y.bytes[1]), 201);
}

TEST(Compute, FloatsRoundAfterEveryOperation) {
  ComputationBuilder b({1});
  auto x = b.load(0, DType::F32, {b.loop(0)});
  auto sum = b.op(Scalar::Add, {x, b.real(1)});
  Computation c = b.finish(b.op(Scalar::Sub, {sum, b.real(1)}));
  EXPECT_EQ(run(c, {floats({1}, {1e-9f})}).data[0], 0);
}
