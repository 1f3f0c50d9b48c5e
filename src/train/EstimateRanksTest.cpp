#include "train/EstimateRanks.h"
#include "records/TargetKey.h"
#include "space/DefaultSchedule.h"
#include "space/KernelEstimate.h"
#include "space/SpaceTestTasks.h"
#include "train/LearnedEstimate.h"
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

namespace {

const auto kAll = [](const Task &) { return true; };

/// Candidates of two tasks of one kind, whose times `timeOf` makes up from
/// their number and estimate.
void fill(Store &store, const Target &target, int64_t count,
          const std::function<double(size_t, double)> &timeOf) {
  RecordSet set;
  set.targets[targetKey(target)] = targetText(target);
  std::vector<Task> tasks = spaceTestTasks();
  for (size_t t : {0, 1}) {
    const Task &task = tasks[t];
    set.tasks[task.key()] = task.text();
    Random random(8);
    for (const LabelledSchedule &labelled : randomSchedules(
             task, target, Space(task, target), count, {}, random)) {
      Record record;
      record.task = task.key();
      record.target = targetKey(target);
      record.schedule = labelled.schedule.text();
      record.maker = {0, std::string(compilerVersion()), "test"};
      Measurement &measurement = record.measurement;
      measurement.minMicroseconds = timeOf(
          t, estimateKernel(task, target, labelled.schedule).microseconds);
      measurement.medianMicroseconds = measurement.minMicroseconds;
      measurement.samples = 10;
      record.provenance = {"random", 1, 1, 1000};
      ASSERT_EQ(record.verify(), "");
      set.records.push_back(record);
    }
  }
  ASSERT_TRUE(store.add(set).ok());
}

class EstimateRanksOfRecords : public testing::Test {
protected:
  void SetUp() override { ASSERT_TRUE(store.ok()); }

  Target target = *targetFor("x86-64-v3");
  TrainFolder folder;
  Result<Store> store =
      Store::open(folder.file("store"), Store::Access::Create);
};
using LearnedEstimateOfRecords = EstimateRanksOfRecords;

} // namespace

TEST_F(EstimateRanksOfRecords, OfAStore) {
  fill(*store, target, 20, [](size_t task, double estimate) {
    return task == 0 ? estimate : 1000 / estimate;
  });
  Result<RanksByKind> ranks = estimateRanks(*store, arithmeticEstimate, kAll);
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

TEST_F(EstimateRanksOfRecords, LearntWhereArithmeticIsWrong) {
  fill(*store, target, 150,
       [](size_t, double estimate) { return 1000 / estimate; });
  Result<RanksByKind> arithmetic =
      estimateRanks(*store, arithmeticEstimate, kAll);
  Result<RanksByKind> learned = learnedRanks(*store, 2, kAll);
  ASSERT_TRUE(arithmetic.ok());
  ASSERT_TRUE(learned.ok()) << learned.error().message;
  const RankSums &sums = learned->at(TaskKind::Conv);
  EXPECT_EQ(sums.tasks, 2);
  EXPECT_NEAR(arithmetic->at(TaskKind::Conv).spearman / 2, -1, 1e-9);
  EXPECT_GT(sums.spearman / 2, 0.5);
}

// Its task is in no fold, and nothing is learnt from it.
TEST_F(EstimateRanksOfRecords, ATargetThatIsNotUnderstood) {
  fill(*store, target, 150, [](size_t, double estimate) { return estimate; });
  RecordSet set;
  std::string text = targetText(target);
  size_t at = text.find("l1d=");
  ASSERT_NE(at, text.npos);
  text.replace(at, text.find(' ', at) - at, "l1d=0");
  Result<std::string> key = targetKey(text);
  ASSERT_TRUE(key.ok()) << key.error().message;
  set.targets[*key] = text;
  Task task = spaceTestTasks()[2];
  set.tasks[task.key()] = task.text();
  Record record;
  record.task = task.key();
  record.target = *key;
  record.schedule = defaultSchedule(task, target).text();
  record.maker = {0, std::string(compilerVersion()), "test"};
  record.measurement.minMicroseconds = 1;
  record.measurement.medianMicroseconds = 1;
  record.measurement.samples = 10;
  record.provenance = {"random", 1, 1, 1000};
  set.records.push_back(record);
  ASSERT_TRUE(store->add(set).ok());
  Result<RanksByKind> learned = learnedRanks(*store, 2, kAll);
  ASSERT_TRUE(learned.ok()) << learned.error().message;
  EXPECT_EQ(learned->at(TaskKind::Conv).tasks, 2);
}

TEST_F(LearnedEstimateOfRecords, SaysRatiosToTheDefaultAndWhatIsMissing) {
  Result<LearnedEstimate> none = LearnedEstimate::fit(*store, kAll);
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message.find("no task has candidates that differ"),
            std::string::npos);
  fill(*store, target, 20, [](size_t, double estimate) { return estimate; });
  Result<LearnedEstimate> estimate = LearnedEstimate::fit(*store, kAll);
  ASSERT_TRUE(estimate.ok());
  EXPECT_EQ(estimate->tasks(), 2);
  EXPECT_EQ(estimate->candidates(), 40);
  Task task = spaceTestTasks()[0];
  TimeEstimate time = estimate->of(task, target);
  double ofDefault = time(task, defaultSchedule(task, target));
  EXPECT_NEAR(ofDefault, 1, 0.3);
  Result<LearnedEstimate> again = LearnedEstimate::fit(*store, kAll);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->of(task, target)(task, defaultSchedule(task, target)),
            ofDefault);
}
