#include "base/AtomicFile.h"
#include "driver/testdata/TinyModel.h"
#include "runtime/Format.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <elf.h>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace tlm {
namespace {

class ArtifactFileTest : public testing::Test {
protected:
  std::string write(const TinyModel &model, const std::string &name = "tiny.so",
                    int64_t sideLimit = int64_t(1) << 30) {
    std::string path = directory.file(name);
    ArtifactInput input = model.input();
    input.sideFileLimitBytes = sideLimit;
    auto summary = writeArtifact(input, path);
    EXPECT_TRUE(summary.ok()) << summary.error().message;
    return path;
  }
  std::string bytesOf(const std::string &path) {
    auto bytes = readWholeFile(path);
    EXPECT_TRUE(bytes.ok());
    return bytes.ok() ? *bytes : "";
  }
  void put(const std::string &path, std::string_view bytes) {
    ASSERT_TRUE(writeFileAtomically(path, bytes).ok());
  }

  /// The outcome of loading and opening: "" or the message.
  std::string openingError(const std::string &path,
                           tlm_status expected = TLM_ERROR_FILE) {
    LoadedArtifact loaded(path);
    if (!loaded.api)
      return loaded.error.empty() ? "no api" : loaded.error;
    tlm_model *model = nullptr;
    tlm_status status = loaded.api->model_open(nullptr, &model);
    if (status == TLM_OK) {
      loaded.api->model_close(model);
      return "";
    }
    EXPECT_EQ(status, expected);
    EXPECT_EQ(model, nullptr);
    return loaded.api->last_error();
  }

  void expectHas(const std::string &text, const std::string &part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }

  TestDirectory directory;
  /// How the plan begins.
  const std::string plan =
      std::string(TLM_PLAN_MAGIC, 8) + char(TLM_FORMAT_VERSION);
};

TEST_F(ArtifactFileTest, EqualInputsEqualBytes) {
  std::filesystem::create_directory(directory.file("other"));
  TinyModel model;
  model.addBallast(3 << 20);
  ArtifactInput input = model.input();
  ASSERT_TRUE(writeArtifact(input, directory.file("tiny.so")).ok());
  input.threads = 1;
  ASSERT_TRUE(writeArtifact(input, directory.file("other/tiny.so")).ok());
  std::string bytes = bytesOf(directory.file("tiny.so"));
  EXPECT_EQ(bytes, bytesOf(directory.file("other/tiny.so")));
  EXPECT_EQ(bytes.find(directory.path), std::string::npos);
  EXPECT_EQ(openingError(directory.file("tiny.so")), "");
  // No temporary left.
  size_t files = 0;
  for (auto &entry : std::filesystem::directory_iterator(directory.path))
    files += entry.is_regular_file();
  EXPECT_EQ(files, 1u);
}

TEST_F(ArtifactFileTest, NeedsLibcAndLibmOnly) {
  std::string bytes = bytesOf(write(TinyModel()));
  auto *header = reinterpret_cast<const Elf64_Ehdr *>(bytes.data());
  auto *segments =
      reinterpret_cast<const Elf64_Phdr *>(bytes.data() + header->e_phoff);
  auto fileOffset = [&](uint64_t address) -> uint64_t {
    for (int i = 0; i < header->e_phnum; ++i)
      if (segments[i].p_type == PT_LOAD && address >= segments[i].p_vaddr &&
          address - segments[i].p_vaddr < segments[i].p_filesz)
        return segments[i].p_offset + address - segments[i].p_vaddr;
    return 0;
  };
  std::vector<uint64_t> names;
  uint64_t strings = 0, soname = 0;
  for (int i = 0; i < header->e_phnum; ++i) {
    if (segments[i].p_type != PT_DYNAMIC)
      continue;
    auto *entry = reinterpret_cast<const Elf64_Dyn *>(bytes.data() +
                                                      segments[i].p_offset);
    for (; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_NEEDED)
        names.push_back(entry->d_un.d_val);
      if (entry->d_tag == DT_SONAME)
        soname = entry->d_un.d_val;
      if (entry->d_tag == DT_STRTAB)
        strings = fileOffset(entry->d_un.d_ptr);
      EXPECT_NE(entry->d_tag, DT_RPATH);
      EXPECT_NE(entry->d_tag, DT_RUNPATH);
      EXPECT_NE(entry->d_tag, DT_TEXTREL);
    }
  }
  ASSERT_EQ(names.size(), 2u);
  EXPECT_STREQ(bytes.data() + strings + names[0], "libc.so.6");
  EXPECT_STREQ(bytes.data() + strings + names[1], "libm.so.6");
  EXPECT_STREQ(bytes.data() + strings + soname, "tiny.so");
}

TEST_F(ArtifactFileTest, CutOffIsRefused) {
  TinyModel model;
  model.addBallast(1 << 20);
  std::string path = write(model), bytes = bytesOf(path);
  for (size_t size : {bytes.size() - 1, bytes.size() - 100, bytes.size() - 5000,
                      bytes.size() - (1 << 19), bytes.size() - (1 << 20) - 8192,
                      size_t(4096), size_t(10)}) {
    put(directory.file("cut.so"), std::string_view(bytes).substr(0, size));
    EXPECT_NE(openingError(directory.file("cut.so")), "") << size;
  }
  put(directory.file("cut.so"),
      std::string_view(bytes).substr(0, bytes.size() - 5000));
  expectHas(openingError(directory.file("cut.so")), "weights are cut off");
}

TEST_F(ArtifactFileTest, DamagedWeightsAreFoundWhenAsked) {
  TinyModel model;
  model.addBallast(3 << 20);
  std::string path = write(model), bytes = bytesOf(path);
  bytes[bytes.size() - (1 << 20)] ^= 1;
  put(path, bytes);
  EXPECT_EQ(openingError(path), "");
  setenv("TLM_CHECK_WEIGHTS", "1", 1);
  expectHas(openingError(path), "do not have the stored hash");
  unsetenv("TLM_CHECK_WEIGHTS");
}

TEST_F(ArtifactFileTest, DamagedPlanIsRefused) {
  std::string path = write(TinyModel()), bytes = bytesOf(path);
  size_t at = bytes.find("node_scale", bytes.find(plan));
  ASSERT_NE(at, std::string::npos);
  bytes[at] = 'N';
  put(path, bytes);
  EXPECT_NE(openingError(path), "");
}

TEST_F(ArtifactFileTest, OtherFormatVersionIsRefused) {
  std::string path = write(TinyModel()), bytes = bytesOf(path);
  size_t at = bytes.find(plan);
  ASSERT_NE(at, std::string::npos);
  bytes[at + 8] = 99;
  put(path, bytes);
  expectHas(openingError(path, TLM_ERROR_VERSION), "has format 99");
}

TEST_F(ArtifactFileTest, SideFile) {
  std::string path = write(TinyModel(), "tiny.so", 1);
  ASSERT_TRUE(std::filesystem::exists(path + ".weights"));
  EXPECT_EQ(openingError(path), "");
  // Found beside the artifact wherever that moves, by any name of it.
  std::filesystem::create_directory(directory.file("moved"));
  std::filesystem::rename(path + ".weights",
                          directory.file("moved/tiny.so.weights"));
  std::filesystem::copy(path, directory.file("moved/renamed.so"));
  EXPECT_EQ(openingError(directory.file("moved/renamed.so")), "");
  expectHas(openingError(path), "cannot open the weights");
  // Of another model.
  write(TinyModel({4, 5}), "other.so", 1);
  std::filesystem::copy(directory.file("other.so.weights"), path + ".weights");
  expectHas(openingError(path), "belong to another artifact");
  put(path + ".weights", "short");
  expectHas(openingError(path), "cut off");
  put(path + ".weights", std::string(100000, 'x'));
  expectHas(openingError(path), "no TLM weights");
}

TEST_F(ArtifactFileTest, MissingFeatureIsRefusedByName) {
  TinyModel model;
  model.target.cpu = "x86-64-v4";
  model.target.features = {"avx2", "avx512bw", "sse2"};
  std::string path = write(model);
  setenv("TLM_TEST_HIDE_CPU_FEATURES", "fma4,avx512bw", 1);
  std::string message = openingError(path, TLM_ERROR_MACHINE);
  expectHas(message, "needs avx512bw, this CPU lacks it; recompile with "
                     "--mcpu=x86-64-v");
  setenv("TLM_TEST_HIDE_CPU_FEATURES", "avx2,avx512bw", 1);
  message = openingError(path, TLM_ERROR_MACHINE);
  expectHas(message, "needs avx2");
  expectHas(message, "--mcpu=x86-64-v2");
  unsetenv("TLM_TEST_HIDE_CPU_FEATURES");
  model.target.features = {"no-such-feature"};
  expectHas(openingError(write(model, "unknown.so"), TLM_ERROR_MACHINE),
            "needs no-such-feature, which this runtime cannot check");
}

TEST_F(ArtifactFileTest, Manifest) {
  LoadedArtifact loaded(write(TinyModel()));
  ASSERT_NE(loaded.api, nullptr);
  auto manifest = nlohmann::json::parse(loaded.api->manifest(), nullptr, false);
  ASSERT_TRUE(manifest.is_object());
  EXPECT_EQ(manifest["versions"]["format"], TLM_FORMAT_VERSION);
  EXPECT_EQ(manifest["target"]["features"][0], "sse2");
  EXPECT_EQ(manifest["inputs"][0]["name"], "x");
  EXPECT_EQ(manifest["kernels"].size(), 3u);
  EXPECT_EQ(manifest["steps"][2]["operands"][1], "w");
}

TEST_F(ArtifactFileTest, UnwritablePathLeavesNothing) {
  auto summary =
      writeArtifact(TinyModel().input(), directory.file("no/such/tiny.so"));
  ASSERT_FALSE(summary.ok());
  expectHas(summary.error().message, "cannot create");
  EXPECT_TRUE(std::filesystem::is_empty(directory.path));
}

} // namespace
} // namespace tlm
