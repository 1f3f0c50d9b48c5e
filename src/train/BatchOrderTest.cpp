#include "train/BatchOrder.h"
#include "train/TrainTestData.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

using namespace tlm;

namespace {

class BatchOrderTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(writeSentences(folder.file("d"), {1, 2}, 40, groups).ok());
    file.emplace(*SentenceFile::open(folder.file("d")));
  }
  TrainFolder folder;
  std::vector<SentenceGroup> groups = testGroups(50, 3);
  std::optional<SentenceFile> file;
};

TEST_F(BatchOrderTest, AnEpochHasEveryGroupOnceInAnOrderOfItsOwn) {
  BatchOrder order(*file, 1, 60);
  DataCursor cursor;
  std::vector<std::vector<int64_t>> epochs(3);
  while (cursor.epoch < 3) {
    DataCursor before = cursor;
    std::vector<int64_t> batch = order.next(cursor);
    if (cursor.epoch != before.epoch)
      before.epoch = cursor.epoch;
    if (cursor.epoch == 3)
      break;
    int64_t tokens = 0;
    for (int64_t group : batch)
      tokens += file->tokensOf(group);
    EXPECT_TRUE(tokens >= 60 || cursor.next == file->size());
    std::vector<int64_t> &epoch = epochs[size_t(cursor.epoch)];
    epoch.insert(epoch.end(), batch.begin(), batch.end());
  }
  EXPECT_NE(epochs[0], epochs[1]);
  for (std::vector<int64_t> &epoch : epochs) {
    std::ranges::sort(epoch);
    for (int64_t i = 0; i < 50; ++i)
      EXPECT_EQ(epoch[size_t(i)], i);
  }
}

TEST_F(BatchOrderTest, GoesOnFromAnyCursor) {
  BatchOrder whole(*file, 9, 60);
  DataCursor cursor;
  for (int i = 0; i < 40; ++i) {
    DataCursor copy = cursor;
    BatchOrder fresh(*file, 9, 60);
    EXPECT_EQ(whole.next(cursor), fresh.next(copy));
    EXPECT_EQ(cursor, copy);
  }
  EXPECT_GT(cursor.epoch, 1);
}

TEST_F(BatchOrderTest, PackedRowsAreThoseOfTheSentences) {
  PackedBatch batch = packGroups(groups);
  size_t loss = 0, row = 0;
  for (size_t g = 0; g < groups.size(); ++g) {
    const SentenceGroup &group = groups[g];
    const PackedGroup &packed = batch.groups[g];
    EXPECT_EQ(packed.begin, int64_t(row));
    ASSERT_EQ(packed.branches, int64_t(group.branches.size()));
    for (size_t i = 0; i < group.prompt.size(); ++i, ++row) {
      EXPECT_EQ(batch.tokens[row], group.prompt[i]);
      EXPECT_EQ(batch.positions[row], int64_t(i));
    }
    for (const Branch &branch : group.branches)
      for (int64_t i = 0; i < packed.length; ++i, ++row) {
        EXPECT_EQ(batch.positions[row], int64_t(group.prompt.size()) + i);
        if (i < int64_t(branch.tokens.size()))
          EXPECT_EQ(batch.tokens[row], branch.tokens[size_t(i)]);
        if (i + 1 >= branch.lossBegin &&
            i + 1 < int64_t(branch.tokens.size())) {
          ASSERT_LT(loss, batch.lossRows.size());
          EXPECT_EQ(batch.lossRows[loss], int64_t(row));
          EXPECT_EQ(batch.targets[loss++], branch.tokens[size_t(i) + 1]);
        }
      }
  }
  EXPECT_EQ(row, batch.tokens.size());
  EXPECT_EQ(loss, batch.targets.size());
}

} // namespace
