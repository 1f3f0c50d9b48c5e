#include "model/SafeTensors.h"
#include "base/AtomicFile.h"
#include "model/TestModel.h"

#include <gtest/gtest.h>

using namespace tlm;

namespace {

/// A file of the header and so many bytes of data.
std::string fileOf(const std::string &header, size_t dataBytes) {
  std::string bytes;
  for (int i = 0; i < 8; ++i)
    bytes.push_back(char(header.size() >> (8 * i)));
  return bytes + header + std::string(dataBytes, 'x');
}

Result<SafeTensors> parse(const std::string &bytes) {
  return SafeTensors::parse(std::as_bytes(std::span(bytes)), nullptr, "f");
}

TEST(SafeTensors, WrittenFilesReadBack) {
  TestFolder folder;
  std::vector<float> a = {1, 2, 3, 4, 5, 6};
  std::vector<int64_t> b = {7, -8};
  std::string path = folder.file("t.safetensors");
  ASSERT_TRUE(
      writeSafeTensors(path, {{"format", "pt"}},
                       {{"a", DType::F32, {2, 3}, std::as_bytes(std::span(a))},
                        {"empty", DType::U8, {0, 5}, {}},
                        {"b", DType::I64, {2}, std::as_bytes(std::span(b))}})
          .ok());
  Result<SafeTensors> file = SafeTensors::open(path);
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->metadata().at("format"), "pt");
  ASSERT_EQ(file->tensors().size(), 3u);
  const NamedTensor &first = file->tensors()[0], &last = file->tensors()[2];
  EXPECT_EQ(first.name, "a");
  EXPECT_EQ(first.dims, (std::vector<int64_t>{2, 3}));
  EXPECT_TRUE(std::ranges::equal(first.bytes, std::as_bytes(std::span(a))));
  EXPECT_EQ(last.name, "b");
  EXPECT_EQ(last.dtype, DType::I64);
  EXPECT_TRUE(std::ranges::equal(last.bytes, std::as_bytes(std::span(b))));
}

TEST(SafeTensors, RefusalsSayWhy) {
  struct Case {
    const char *header;
    size_t dataBytes;
    const char *message;
  };
  const Case cases[] = {
      {"[]", 0, "no JSON object"},
      {"{\"a\":", 0, "no JSON object"},
      {R"({"a":1})", 0, "\"a\" is not an object of"},
      {R"({"a":{"dtype":"F8","shape":[],"data_offsets":[0,1]}})", 1,
       "unknown dtype \"F8\""},
      {R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4,
       "has the dim -1"},
      {R"({"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})", 4,
       "has the dim 1.0"},
      {R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],)"
       R"("data_offsets":[0,0]}})",
       0, "more than 2^64 bytes"},
      {R"({"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],)"
       R"("data_offsets":[0,4]}})",
       4, "up to 8 dims"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}})", 8,
       "has 8 bytes of data; its shape [1] asks for 4"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 3,
       "has the data_offsets [0,4]; the file has 3 bytes of data"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4,
       "has the data_offsets [4,0]"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
       R"("b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})",
       6, "\"b\" begins at byte 2 of the data; the one before it ends at 4"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8,
       "begins at byte 4"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 5,
       "has 5 bytes of data; the tensors take 4"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
       R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
       1, "has \"a\" twice"},
      {R"({"__metadata__":{"k":1}})", 0, "is no text"},
      {R"({"__metadata__":[]})", 0, "__metadata__ is no object"},
  };
  for (const Case &c : cases) {
    Result<SafeTensors> file = parse(fileOf(c.header, c.dataBytes));
    ASSERT_FALSE(file.ok()) << c.header;
    EXPECT_NE(file.error().message.find(c.message), std::string::npos)
        << file.error().message;
  }
}

TEST(SafeTensors, HeaderSizesThatLieAreRefused) {
  EXPECT_FALSE(parse("").ok());
  EXPECT_FALSE(parse("1234567").ok());
  std::string bytes = fileOf("{}", 0);
  EXPECT_TRUE(parse(bytes).ok());
  for (size_t i = 0; i < 8; ++i) {
    std::string wrong = bytes;
    wrong[i] = char(0xff);
    EXPECT_FALSE(parse(wrong).ok()) << i;
  }
}

TEST(SafeTensors, DeepNestingIsRefused) {
  EXPECT_FALSE(parse(fileOf(std::string(200000, '['), 0)).ok());
  std::string deep =
      "{\"a\":" + std::string(100000, '[') + std::string(100000, ']') + "}";
  EXPECT_FALSE(parse(fileOf(deep, 0)).ok());
}

TEST(SafeTensors, HashOfDataDoesNotDependOnThePieces) {
  std::string text;
  for (int i = 0; i < 1000; ++i)
    text.push_back(char(i * 7 + i / 50));
  std::span<const std::byte> all = std::as_bytes(std::span(text));
  uint64_t whole = hashOfData({&all, 1});
  for (size_t cut : {8, 64, 72, 400, 992}) {
    std::span<const std::byte> pieces[] = {all.first(cut), all.subspan(cut)};
    EXPECT_EQ(hashOfData(pieces), whole) << cut;
  }
  for (size_t i = 0; i < text.size(); ++i) {
    text[i] ^= 1;
    EXPECT_NE(hashOfData({&all, 1}), whole) << i;
    text[i] ^= 1;
  }
}

} // namespace
