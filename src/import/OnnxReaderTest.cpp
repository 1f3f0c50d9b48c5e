#include "import/OnnxTestModel.h"

#include <filesystem>
#include <fstream>
#include <random>
#include <unistd.h>

using namespace tlm;
namespace fs = std::filesystem;

namespace {

/// A folder of its own, removed afterwards.
class OnnxReaderTest : public ::testing::Test {
protected:
  OnnxReaderTest() {
    std::string name = "tlm-onnx-reader-" + std::to_string(::getpid());
    folder = fs::temp_directory_path() / name;
    fs::create_directories(folder / "model");
  }
  ~OnnxReaderTest() override { fs::remove_all(folder); }

  fs::path write(const fs::path &name, const std::string &bytes) {
    std::ofstream(folder / name, std::ios::binary) << bytes;
    return folder / name;
  }
  std::string errorOf(const fs::path &path) {
    auto model = importOnnx(path.string());
    EXPECT_FALSE(model);
    return model ? "" : model.error().message;
  }
  static bool has(const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
  }

  /// y = x + w, w f32[2] in an external file.
  OnnxTestModel external(const std::string &location, const std::string &offset,
                         const std::string &length) {
    OnnxTestModel model;
    model.input("x", {2}).weight("w", {2}, {}).node("Add", {"x", "w"}, {"y"});
    model.output("y");
    auto &tensor = *model.graph().mutable_initializer(0);
    tensor.clear_raw_data();
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    for (auto [key, value] :
         {std::pair("location", location), std::pair("offset", offset),
          std::pair("length", length)}) {
      if (value.empty())
        continue;
      auto *entry = tensor.add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
    return model;
  }

  fs::path folder;
};

std::string floats(std::vector<float> values) {
  return {reinterpret_cast<const char *>(values.data()),
          values.size() * sizeof(float)};
}

TEST_F(OnnxReaderTest, MissingEmptyAndForeignFiles) {
  EXPECT_TRUE(has(errorOf(folder / "none.onnx"), "No such file"));
  EXPECT_TRUE(has(errorOf(folder), "not a regular file"));
  EXPECT_TRUE(has(errorOf(write("empty.onnx", "")), "the file is empty"));
  EXPECT_TRUE(
      has(errorOf(write("text.onnx", "# a readme\n")), "not an ONNX model"));
  EXPECT_TRUE(has(errorOf(write("zero.onnx", std::string(64, '\0'))),
                  "not an ONNX model"));
  std::string noGraph("\x08\x08", 2); // ir_version = 8 alone
  EXPECT_TRUE(has(errorOf(write("nograph.onnx", noGraph)), "no graph"));
}

TEST_F(OnnxReaderTest, ErrorNamesTheFile) {
  fs::path path = write("bad.onnx", OnnxTestModel(3).bytes());
  EXPECT_EQ(errorOf(path).rfind(path.string() + ": opset 3", 0), 0u);
}

TEST_F(OnnxReaderTest, ExternalDataIsRelativeToTheModel) {
  write("model/w.bin", std::string(3, '\0') + floats({10, 20}));
  fs::path path =
      write("model/m.onnx", external("w.bin", "3", "8").bytes()); // unaligned
  auto model = importOnnx(path.string());
  ASSERT_TRUE(model) << model.error().message;
  auto y = runReference(model->graph, {{{2}, {1, 2}}});
  EXPECT_EQ((*y)[0].data, (Floats{11, 22}));
}

TEST_F(OnnxReaderTest, ExternalDataIsMapped) {
  write("model/w.bin", floats({1, 2, 3, 4}));
  fs::path path = write("model/m.onnx", external("./w.bin", "8", "").bytes());
  auto model = importOnnx(path.string());
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ((*runReference(model->graph, {{{2}, {0, 0}}}))[0].data,
            (Floats{3, 4}));
}

TEST_F(OnnxReaderTest, ExternalDataMustStayInTheFolder) {
  fs::path outside = write("secret.bin", floats({1, 2}));
  fs::create_symlink(outside, folder / "model/link.bin");
  fs::create_symlink(folder, folder / "model/up");
  auto error = [&](const std::string &location) {
    return errorOf(write("model/m.onnx", external(location, "", "").bytes()));
  };
  EXPECT_TRUE(has(error(outside.string()), "not relative"));
  EXPECT_TRUE(has(error("../secret.bin"), "leaves the folder"));
  EXPECT_TRUE(has(error("a/../../secret.bin"), "leaves the folder"));
  EXPECT_TRUE(has(error("link.bin"), "a link that leaves"));
  EXPECT_TRUE(has(error("up/secret.bin"), "a link that leaves"));
  EXPECT_TRUE(has(error(""), "not relative"));
  EXPECT_TRUE(has(error("none.bin"), "No such file"));
  EXPECT_TRUE(has(error("."), "not a regular file"));
}

TEST_F(OnnxReaderTest, ExternalDataMustFitTheFile) {
  write("model/w.bin", floats({1, 2}));
  auto error = [&](const std::string &offset, const std::string &length) {
    return errorOf(
        write("model/m.onnx", external("w.bin", offset, length).bytes()));
  };
  EXPECT_TRUE(has(error("4", "8"), "has 8 bytes; 8 at offset 4"));
  EXPECT_TRUE(has(error("-1", "8"), "offset -1"));
  EXPECT_TRUE(has(error("9223372036854775807", "8"), "are asked for"));
  EXPECT_TRUE(has(error("99999999999999999999", "8"), "is not a number"));
  EXPECT_TRUE(has(error("0", "4"), "the type takes 8"));
  EXPECT_TRUE(has(error("0", "x"), "is not a number"));
}

TEST(OnnxReader, TensorDataMustMatchItsType) {
  OnnxTestModel model;
  model.input("x", {2}).weight("w", {3}, {1, 2});
  model.node("Add", {"x", "w"}, {"y"}).output("y");
  EXPECT_NE(model.error().find("tensor 'w': f32[3]: 8 bytes of data; 12 are"),
            std::string::npos);
  model.graph().mutable_initializer(0)->set_dims(0, -3);
  EXPECT_NE(model.error().find("bad dims [-3]"), std::string::npos);
  model.graph().mutable_initializer(0)->set_dims(0, int64_t(1) << 62);
  EXPECT_NE(model.error().find("bad dims"), std::string::npos);
}

TEST(OnnxReader, TypedFields) {
  OnnxTestModel model;
  model.input("x", {2}).node("Add", {"x", "w"}, {"y"}).output("y");
  auto &tensor = *model.graph().add_initializer();
  tensor.set_name("w");
  tensor.add_dims(2);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_float_data(3);
  tensor.add_float_data(4);
  EXPECT_EQ(model.run({{{2}, {1, 1}}})[0].data, (Floats{4, 5}));
}

/// A model with a bit of everything the reader and the importer look at.
OnnxTestModel sample() {
  OnnxTestModel model(13);
  model.input("x", {1, 2, 4, 4}).weight("w", {2, 2, 3, 3}, Floats(36, 0.1f));
  model.weight("p", {2}, {1, 2})
      .ints("shape", {0, -1})
      .valueInfo("c", {1, 2, 4, 4});
  model.node("Conv", {"x", "w", "p"}, {"c"},
             {{"pads", Attr::Ints{1, 1, 1, 1}}, {"auto_pad", "NOTSET"}});
  model.node("BatchNormalization", {"c", "p", "p", "p", "p"}, {"n"});
  model.node("AveragePool", {"n"}, {"a"},
             {{"kernel_shape", Attr::Ints{2, 2}}, {"ceil_mode", 1}});
  model.node("Reshape", {"a", "shape"}, {"r"});
  model.node("Softmax", {"r"}, {"s"}, {{"axis", 1}});
  model.node("Slice", {"s", "b", "e"}, {"y"}).ints("b", {1}).ints("e", {9});
  return model.ints("unused", {1, 2}).output("s");
}

/// Says how many files a test damaged; test/fuzz/hostile_files.py adds them up.
void recordDamaged(size_t count) {
  ::testing::Test::RecordProperty("damaged_files", std::to_string(count));
}

/// Whatever the bytes are, import returns, and what it accepts simplifies and
/// verifies.
void importDamaged(const std::string &bytes) {
  auto model = importOnnxBytes(bytes.data(), bytes.size(), ".");
  if (!model)
    return;
  int64_t elements = 0;
  for (const Value &value : model->graph.values)
    elements += countOf(value.dims);
  if (elements < 1 << 20)
    simplifyGraph(model->graph);
}

TEST(OnnxReaderDamage, TruncatedAnywhere) {
  std::string bytes = sample().bytes();
  ASSERT_TRUE(sample().import());
  for (size_t size = 0; size < bytes.size(); ++size)
    importDamaged(bytes.substr(0, size));
  recordDamaged(bytes.size());
}

TEST(OnnxReaderDamage, EveryBitFlipped) {
  std::string bytes = sample().bytes();
  for (size_t i = 0; i < bytes.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[i] = char(damaged[i] ^ (1 << bit));
      importDamaged(damaged);
    }
  recordDamaged(bytes.size() * 8);
}

TEST(OnnxReaderDamage, RandomBytesOverwritten) {
  std::string bytes = sample().bytes();
  std::mt19937 engine(7);
  constexpr size_t kRounds = 5000;
  for (size_t round = 0; round < kRounds; ++round) {
    std::string damaged = bytes;
    for (int i = 0; i < 4; ++i)
      damaged[engine() % damaged.size()] = char(engine());
    importDamaged(damaged);
  }
  recordDamaged(kRounds);
}

} // namespace
