#include "TestData.h"

#include "TemporaryFolder.h"
#include "TensorProtoFile.h"
#include "base/AtomicFile.h"

#include <gtest/gtest.h>

namespace tlm {
namespace {

/// A TensorProto of one f32 dim, written by hand: dims=1, data_type=2, name=8,
/// raw_data=9.
std::string proto(const std::string &name, const std::vector<float> &values) {
  std::string bytes = {'\x08', char(values.size()), '\x10', '\x01'};
  bytes += '\x42';
  bytes += char(name.size());
  bytes += name;
  bytes += '\x4a';
  bytes += char(values.size() * sizeof(float));
  bytes.append(reinterpret_cast<const char *>(values.data()),
               values.size() * sizeof(float));
  return bytes;
}

class TestDataTest : public ::testing::Test {
protected:
  void write(const std::string &name, const std::string &bytes) {
    std::filesystem::path path = folder.path() / name;
    std::filesystem::create_directories(path.parent_path());
    ASSERT_TRUE(writeFileAtomically(path.string(), bytes).ok());
  }
  Result<std::vector<TestData>> read(const std::string &name = "") {
    return readTestData((folder.path() / name).string(), inputs, outputs);
  }
  std::string error(const std::string &name = "") {
    auto sets = read(name);
    return sets ? "no error" : sets.error().message;
  }

  TemporaryFolder folder;
  std::vector<TensorSpec> inputs{{"a", DType::F32, {2}},
                                 {"b", DType::F32, {1}}};
  std::vector<TensorSpec> outputs{{"y", DType::F32, {2}}};
};

TEST_F(TestDataTest, SetsInTheOrderOfTheirNumbers) {
  for (const char *set : {"test_data_set_10/", "test_data_set_9/"}) {
    write(std::string(set) + "input_0.pb", proto("a", {1, 2}));
    write(std::string(set) + "input_1.pb", proto("b", {3}));
    write(std::string(set) + "output_0.pb", proto("y", {4, 5}));
  }
  auto sets = read();
  ASSERT_TRUE(sets.ok()) << sets.error().message;
  ASSERT_EQ(sets->size(), 2u);
  EXPECT_TRUE((*sets)[0].path.ends_with("test_data_set_9"));
  EXPECT_EQ((*sets)[0].inputs[0].at(1), 2);
  EXPECT_EQ((*sets)[1].outputs[0].at(1), 5);
}

TEST_F(TestDataTest, TensorsWithoutElements) {
  Result<HostTensor> tensor = parseTensorProto(proto("a", {}), "a.pb");
  ASSERT_TRUE(tensor.ok()) << tensor.error().message;
  EXPECT_EQ(tensor->typeText(), "f32[0]");
  EXPECT_TRUE(tensor->data.empty());
}

TEST_F(TestDataTest, OneSetItselfAndNamesBeforeNumbers) {
  write("input_0.pb", proto("b", {3}));
  write("input_1.pb", proto("a", {1, 2}));
  write("output_0.pb", proto("other name", {4, 5}));
  auto sets = read();
  ASSERT_TRUE(sets.ok()) << sets.error().message;
  ASSERT_EQ(sets->size(), 1u);
  EXPECT_EQ((*sets)[0].inputs[0].name, "a");
  EXPECT_EQ((*sets)[0].inputs[1].at(0), 3);
  EXPECT_EQ((*sets)[0].outputs[0].name, "y");
}

TEST_F(TestDataTest, Refusals) {
  EXPECT_NE(error().find("holds no ONNX test data"), std::string::npos);
  EXPECT_NE(error("none").find("cannot read"), std::string::npos);
  write("input_0.pb", proto("a", {1, 2}));
  EXPECT_NE(error().find("no data for input 'b'"), std::string::npos);
  write("input_1.pb", proto("b", {1}));
  EXPECT_NE(error().find("no output_*.pb"), std::string::npos);
  write("output_3.pb", proto("z", {1}));
  EXPECT_NE(error().find("is no tensor of the model"), std::string::npos);
  write("input_2.pb", proto("a", {1, 2}));
  EXPECT_NE(error().find("given twice"), std::string::npos);
}

TEST_F(TestDataTest, TypesAreChecked) {
  write("input_0.pb", proto("a", {1, 2, 3}));
  write("input_1.pb", proto("b", {1}));
  write("output_0.pb", proto("y", {1, 2}));
  EXPECT_NE(error().find("input 'a' is f32[3], the model wants f32[2]"),
            std::string::npos);
}

} // namespace
} // namespace tlm
