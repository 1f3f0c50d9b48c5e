//===- NpyTest.cpp --------------------------------------------------------===//

#include "Npy.h"

#include <gtest/gtest.h>

using namespace tlm;

namespace {

HostTensor randomTensor(DType dtype, std::vector<int64_t> dims) {
  HostTensor tensor("x", dtype, std::move(dims));
  fillRandom(tensor, 7);
  return tensor;
}

TEST(Npy, RoundTripsTypesAndRanks) {
  for (DType dtype : {DType::F32, DType::F64, DType::F16, DType::U8, DType::I8,
                      DType::I16, DType::I32, DType::I64, DType::Bool,
                      DType::U16, DType::U32, DType::U64})
    for (const std::vector<int64_t> &dims : std::vector<std::vector<int64_t>>{
             {}, {5}, {2, 3}, {0, 4}, {1, 3, 2, 2}}) {
      HostTensor tensor = randomTensor(dtype, dims);
      std::string bytes = *npyBytes(tensor);
      auto read = parseNpy(bytes, "x.npy");
      ASSERT_TRUE(read.ok()) << read.error().message;
      EXPECT_EQ(read->typeText(), tensor.typeText());
      EXPECT_EQ(read->data, tensor.data);
    }
}

TEST(Npy, HeaderIsAligned) {
  std::string bytes = *npyBytes(randomTensor(DType::F32, {1, 3}));
  EXPECT_EQ((bytes.size() - 12) % 64, 0u);
}

TEST(Npy, ReadsFortranOrder) {
  HostTensor tensor("x", DType::U8, {2, 3});
  tensor.data = {0, 3, 1, 4, 2, 5}; // columns of [[0,1,2],[3,4,5]]
  std::string bytes = *npyBytes(tensor);
  bytes.replace(bytes.find("False"), 5, "True ");
  auto read = parseNpy(bytes, "x.npy");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->data, (std::vector<char>{0, 1, 2, 3, 4, 5}));
}

TEST(Npy, RefusesForeignTypes) {
  std::string bytes = *npyBytes(randomTensor(DType::F32, {2}));
  bytes.replace(bytes.find("<f4"), 3, ">f4");
  auto read = parseNpy(bytes, "big.npy");
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().message.find("big.npy"), std::string::npos);
  EXPECT_NE(read.error().message.find(">f4"), std::string::npos);
}

TEST(Npy, RefusesImpossibleShapes) {
  std::string bytes = *npyBytes(randomTensor(DType::F32, {2, 1, 1, 1, 1, 1}));
  size_t at = bytes.find("(2, 1, 1, 1, 1, 1)");
  bytes.replace(at, 18, "(9999999999999999)");
  EXPECT_FALSE(parseNpy(bytes, "x").ok());
  bytes.replace(at, 18, "(-1, 2)           ");
  EXPECT_FALSE(parseNpy(bytes, "x").ok());
}

TEST(Npy, TruncationIsAlwaysAnError) {
  std::string bytes = *npyBytes(randomTensor(DType::I32, {3, 2}));
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(parseNpy(std::string_view(bytes).substr(0, size), "x").ok())
        << size;
}

TEST(Npz, RoundTrips) {
  std::vector<HostTensor> tensors{randomTensor(DType::F32, {2, 3}),
                                  randomTensor(DType::I64, {4})};
  tensors[1].name = "a/b:0";
  auto read = parseNpz(*npzBytes(tensors), "x.npz");
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ((*read)[1].name, "a/b:0");
  EXPECT_EQ((*read)[0].data, tensors[0].data);
  EXPECT_EQ((*read)[1].data, tensors[1].data);
}

TEST(Npz, DamageIsAnErrorNotACrash) {
  std::string bytes = *npzBytes({randomTensor(DType::F32, {2, 3})});
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(parseNpz(std::string_view(bytes).substr(0, size), "x").ok())
        << size;
  for (size_t at = 0; at < bytes.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = bytes;
      flipped[at] = char(flipped[at] ^ 1 << bit);
      auto read = parseNpz(flipped, "x"); // either is fine, a crash is not
      if (read.ok() && read->size() == 1) {
        EXPECT_EQ((*read)[0].data.size(), 24u);
      }
    }
}

} // namespace
