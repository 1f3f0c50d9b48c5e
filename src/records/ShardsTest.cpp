#include "records/Shards.h"

#include "records/RecordLines.h"
#include "records/RecordTestData.h"

using namespace tlm;

namespace {

class ShardsTest : public RecordTest {
protected:
  Store filled(const std::string &name, const RecordSet &set) {
    Store store = openStore(path(name));
    EXPECT_TRUE(store.add(set));
    return store;
  }
  std::vector<std::string> exported(const Store &store, const std::string &name,
                                    int64_t bytes = 2000000) {
    ShardOptions options;
    options.folder = path(name);
    options.mostBytes = bytes;
    auto paths = writeShards(store, {}, options);
    EXPECT_TRUE(paths) << paths.error().message;
    return paths ? *paths : std::vector<std::string>();
  }
};

std::string linesOf(const RecordSet &set) {
  std::string text = headerLine();
  for (const auto &[key, task] : set.tasks)
    text += taskLine(key, task);
  for (const auto &[key, target] : set.targets)
    text += targetLine(key, target);
  for (const Record &record : set.records)
    text += recordLine(record);
  return text;
}

std::string errorOf(const std::string &text) {
  RecordSet set;
  Status status = readRecordLines(text, "f", set);
  return status ? "" : status.error().message;
}

std::string replaced(std::string text, const std::string &from,
                     const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return text.replace(at, from.size(), to);
}

} // namespace

TEST_F(ShardsTest, ExportThenImportIsTheIdentity) {
  Store store = filled("a", testSet(1, 400));
  std::vector<std::string> paths = exported(store, "out", 8192);
  ASSERT_GT(paths.size(), 2u);
  for (const std::string &path : paths)
    EXPECT_LE(std::filesystem::file_size(path), 8192u);
  // Most of them are nearly full.
  EXPECT_GT(std::filesystem::file_size(paths[0]), 4000u);
  RecordSet set = *readShards({path("out")});
  EXPECT_EQ(set.records.size(), 400u);
  Store again = filled("b", set);
  EXPECT_EQ(contents(again), contents(store));
  std::vector<std::string> second = exported(again, "out2", 8192);
  ASSERT_EQ(second.size(), paths.size());
  for (size_t i = 0; i < paths.size(); ++i)
    EXPECT_EQ(*readWholeFile(second[i]), *readWholeFile(paths[i]));
  // Each is complete in itself, in any order.
  Store parts = filled("c", {});
  for (size_t i = paths.size(); i-- > 0;)
    EXPECT_TRUE(parts.add(*readShards({paths[i]})));
  EXPECT_EQ(contents(parts), contents(store));
}

TEST_F(ShardsTest, LaterRecordsLeaveFullShardsAsTheyAre) {
  RecordSet set = testSet(1, 300);
  Store store = filled("a", set);
  std::vector<std::string> before = exported(store, "out", 8192);
  RecordSet more = testSet(1000, 100);
  for (Record &record : more.records)
    record.provenance.time += 5000;
  ASSERT_TRUE(store.add(more));
  std::vector<std::string> after = exported(store, "out2", 8192);
  ASSERT_GT(after.size(), before.size());
  for (size_t i = 0; i + 1 < before.size(); ++i)
    EXPECT_EQ(*readWholeFile(after[i]), *readWholeFile(before[i]));
}

TEST_F(ShardsTest, AnEmptyStoreIsAShardWithoutRecords) {
  std::vector<std::string> paths = exported(filled("a", {}), "out");
  ASSERT_EQ(paths.size(), 1u);
  EXPECT_EQ(readShards(paths)->records.size(), 0u);
}

TEST_F(ShardsTest, RefusesWhatItCannotDoWhole) {
  Store store = filled("a", testSet(1, 10));
  exported(store, "out");
  ShardOptions options;
  options.folder = path("out");
  EXPECT_FALSE(writeShards(store, {}, options)) << "there are shards";
  options.folder = path("small");
  options.mostBytes = 300;
  EXPECT_FALSE(writeShards(store, {}, options));
  std::filesystem::create_directories(path("bare"));
  EXPECT_FALSE(readShards({path("bare")}));
  EXPECT_FALSE(readShards({path("missing.jsonl.zst")}));
}

// Every cut and every flipped byte of a compressed shard.
TEST_F(ShardsTest, DamagedShardsAreRefused) {
  std::string shard = exported(filled("a", testSet(1, 30)), "out").front();
  std::string whole = *readWholeFile(shard);
  ASSERT_TRUE(decompressed(whole, "f"));
  for (size_t size = 0; size < whole.size(); size += 7) {
    Result<std::string> text = decompressed(whole.substr(0, size), "f");
    EXPECT_FALSE(text) << size;
    if (!text)
      EXPECT_TRUE(text.error().message.starts_with("f: "));
  }
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string bytes = whole;
    bytes[i] = char(bytes[i] ^ 0x10);
    Result<std::string> text = decompressed(bytes, "f");
    EXPECT_TRUE(!text || *text == *decompressed(whole, "f")) << i;
  }
}

TEST_F(ShardsTest, ErrorsNameTheLine) {
  std::string text = linesOf(testSet(1, 3));
  EXPECT_EQ(errorOf(text), "");
  EXPECT_EQ(errorOf(""), "f:1: expected {\"format\":\"tlm-records\","
                         "\"version\":1}");
  EXPECT_EQ(errorOf(replaced(text, "\"version\":1", "\"version\":2")),
            "f:1: version 2; known: 1");
  EXPECT_EQ(errorOf(text.substr(0, text.size() - 1)),
            "f: the last line has no end: the file is cut");
  EXPECT_EQ(errorOf(text + "{\n"), "f:9: no JSON: '{'");
  EXPECT_EQ(errorOf(text + "{\"recipe\":{}}\n"),
            "f:9: expected a task, a target or a record, not 'recipe'");
  EXPECT_EQ(errorOf(replaced(text, "\"outcome\":\"", "\"outcome\":\"un"))
                .substr(0, 28),
            "f:6: unknown outcome 'unok'");
  EXPECT_NE(errorOf(replaced(text, "\"seed\":1", "\"seed\":9"))
                .find("f:6: the record's identity is"),
            std::string::npos);
  EXPECT_NE(errorOf(replaced(text, "\"seed\":1", "\"seed\":-1"))
                .find("f:6: field 'seed': expected a number"),
            std::string::npos);
  EXPECT_NE(errorOf(replaced(text, "\"trial\":", "\"trail\":"))
                .find("f:6: field 'trial'"),
            std::string::npos);
  EXPECT_NE(errorOf(replaced(text, "\"seed\":1", "\"more\":1,\"seed\":1"))
                .find("f:6: fields that are not known here"),
            std::string::npos);
  EXPECT_NE(errorOf(replaced(text, "kind conv", "kind cone")).find("f:2: "),
            std::string::npos);
  std::string record = text.substr(text.find("{\"record\""));
  EXPECT_NE(errorOf(headerLine() + record)
                .find("f:2: no line before it says "
                      "what task"),
            std::string::npos);
}

// Whatever a line holds, reading returns, and what it takes was not changed.
TEST_F(ShardsTest, EveryDamagedByteOfTheTextIsRefused) {
  std::string text = linesOf(testSet(5, 1));
  for (size_t i = 0; i < text.size(); ++i)
    for (char c : {'\0', '\n', '"', '9', '{', '\xff'}) {
      if (text[i] == c)
        continue;
      std::string damaged = text;
      damaged[i] = c;
      EXPECT_NE(errorOf(damaged), "")
          << i << ' ' << int(c) << text.substr(i, 20);
    }
}
