#include "train/EstimateRanks.h"
#include "records/TargetKey.h"
#include "space/KernelEstimate.h"
#include "space/SpaceTestTasks.h"
#include "train/RecordSentences.h"
#include "train/TrainTestData.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace tlm;

TEST(EstimateRanks, SpearmanOfRanksOnly) {
  std::vector<double> a = {1, 2, 3, 4, 5};
  EXPECT_DOUBLE_EQ(spearman(a, {1, 10, 100, 1000, 10000}), 1);
  EXPECT_DOUBLE_EQ(spearman(a, {5, 4, 3, 2, 1}), -1);
  EXPECT_DOUBLE_EQ(spearman(a, {2, 1, 4, 3, 5}), 0.8);
  EXPECT_DOUBLE_EQ(spearman(a, {7, 7, 7, 7, 7}), 0);
  // Equal values share their ranks: 0.5, 0.5, 2, 3 against 0, 1, 2, 3.
  EXPECT_NEAR(spearman({1, 2, 3, 4}, {1, 1, 2, 3}), 4.5 / std::sqrt(5 * 4.5),
              1e-12);
}

TEST(EstimateRanks, PairsThatDiffer) {
  // 10 and 10.1 are no order; of the five other pairs (10.1, 12) is wrong.
  RankSums sums = rankSums({10, 10.1, 12, 20}, {2, 5, 4, 6});
  EXPECT_EQ(sums.tasks, 1);
  EXPECT_EQ(sums.candidates, 4);
  EXPECT_EQ(sums.pairs, 5);
  EXPECT_EQ(sums.rightPairs, 4);
  EXPECT_DOUBLE_EQ(sums.logLoss, 0);
  EXPECT_DOUBLE_EQ(rankSums({10, 20}, {3, 1}).logLoss, std::log(2.0));
}

TEST(EstimateRanks, OfAStore) {
  Target target = *targetFor("x86-64-v3");
  TrainFolder folder;
  Result<Store> store =
      Store::open(folder.file("store"), Store::Access::Create);
  ASSERT_TRUE(store.ok());
  RecordSet set;
  set.targets[targetKey(target)] = targetText(target);
  std::vector<Task> tasks = spaceTestTasks();
  for (size_t t : {0, 1}) {
    const Task &task = tasks[t];
    set.tasks[task.key()] = task.text();
    Random random(8);
    for (const LabelledSchedule &labelled :
         randomSchedules(task, target, Space(task, target), 20, {}, random)) {
      Record record;
      record.task = task.key();
      record.target = targetKey(target);
      record.schedule = labelled.schedule.text();
      record.maker = {0, std::string(compilerVersion()), "test"};
      double time =
          estimateKernel(task, target, labelled.schedule).microseconds;
      record.measurement.outcome = Outcome::Ok;
      record.measurement.minMicroseconds = t == 0 ? time : 1000 / time;
      record.measurement.medianMicroseconds =
          record.measurement.minMicroseconds;
      record.measurement.samples = 10;
      record.provenance = {"random", 1, 1, 1000};
      ASSERT_EQ(record.verify(), "");
      set.records.push_back(record);
    }
  }
  ASSERT_TRUE(store->add(set).ok());
  Result<std::map<TaskKind, RankSums>> ranks = estimateRanks(*store);
  ASSERT_TRUE(ranks.ok());
  ASSERT_EQ(ranks->size(), 1u);
  const RankSums &sums = ranks->at(TaskKind::Conv);
  EXPECT_EQ(sums.tasks, 2);
  EXPECT_EQ(sums.candidates, 40);
  // One task in order and one in reverse.
  EXPECT_NEAR(sums.spearman, 0, 1e-9);
  EXPECT_GT(sums.rightPairs, 0);
  EXPECT_LT(sums.rightPairs, sums.pairs);
}
