#include "train/ScheduleSentences.h"
#include "lang/Answer.h"
#include "lang/Sentence.h"
#include "records/TargetKey.h"
#include "space/SpaceTestTasks.h"
#include "train/RecordSentences.h"
#include "train/TrainTestData.h"

#include <gtest/gtest.h>
#include <set>

using namespace tlm;

namespace {

class ScheduleSentencesTest : public testing::Test {
protected:
  Target target = *targetFor("x86-64-v3");
  Random random{3};
  SentenceOptions options;
};

TEST_F(ScheduleSentencesTest, EveryBranchReadsBackAsItsSchedule) {
  options.hiddenPercent = 0;
  for (const Task &task : spaceTestTasks()) {
    Space space(task, target);
    std::vector<LabelledSchedule> schedules =
        randomSchedules(task, target, space, 30, {}, random);
    SentenceSet set = sentencesOf(Hardware::of(target), task, space, schedules,
                                  options, random);
    EXPECT_EQ(set.notLegal, 0);
    EXPECT_EQ(set.schedules, int64_t(schedules.size()));
    size_t i = 0;
    for (const SentenceGroup &group : set.groups) {
      EXPECT_EQ(group.prompt, promptPrefix(Hardware::of(target), task));
      EXPECT_LE(int64_t(group.branches.size()), options.branches);
      for (const Branch &branch : group.branches) {
        ASSERT_EQ(branch.lossBegin, 3);
        EXPECT_EQ(branch.tokens[1], Token(kUnknown));
        EXPECT_EQ(branch.tokens[2], Token(kAnswer));
        Result<Schedule> schedule =
            parseAnswer(space, std::span(branch.tokens).subspan(3));
        ASSERT_TRUE(schedule.ok()) << schedule.error().message;
        EXPECT_EQ(schedule->text(), schedules[i++].schedule.text());
      }
    }
  }
}

TEST_F(ScheduleSentencesTest, BucketsConditionOrAreJudged) {
  Task task = spaceTestTasks()[0];
  Space space(task, target);
  // The longer the text, the slower.
  TimeEstimate estimate = [](const Task &, const Schedule &schedule) {
    return double(schedule.text().size());
  };
  std::vector<LabelledSchedule> schedules =
      randomSchedules(task, target, space, 200, estimate, random);
  ASSERT_GT(schedules.size(), 50u);
  size_t shortest = schedules[0].schedule.text().size();
  for (const LabelledSchedule &s : schedules)
    shortest = std::min(shortest, s.schedule.text().size());
  for (const LabelledSchedule &s : schedules)
    EXPECT_EQ(s.quality, qualityBucket(double(shortest) /
                                       double(s.schedule.text().size())));

  SentenceSet set = sentencesOf(Hardware::of(target), task, space, schedules,
                                options, random);
  size_t i = 0, judged = 0;
  for (const SentenceGroup &group : set.groups)
    for (const Branch &branch : group.branches) {
      Token bucket = qualityToken(schedules[i++].quality);
      if (branch.tokens[1] == bucket) {
        EXPECT_EQ(branch.tokens.back(), Token(kEnd));
      } else {
        ++judged;
        EXPECT_EQ(branch.tokens[1], Token(kUnknown));
        EXPECT_EQ(branch.tokens.back(), bucket);
      }
    }
  EXPECT_NEAR(double(judged) / double(i), 0.3, 0.12);
}

TEST_F(ScheduleSentencesTest, FactsOfTheMachineAreHiddenAtRandom) {
  Task task = spaceTestTasks()[0];
  Space space(task, target);
  std::vector<LabelledSchedule> schedules =
      randomSchedules(task, target, space, 60, {}, random);
  options.branches = 1;
  std::set<std::vector<int32_t>> prompts;
  for (const SentenceGroup &group :
       sentencesOf(Hardware::of(target), task, space, schedules, options,
                   random)
           .groups) {
    TokenReader reader(group.prompt);
    EXPECT_TRUE(readHardware(reader).ok());
    prompts.insert(group.prompt);
  }
  EXPECT_GT(prompts.size(), 5u);
}

TEST_F(ScheduleSentencesTest, TargetsReadBack) {
  for (const char *name : {"host", "x86-64-v3", "znver4"}) {
    Target from = *targetFor(name);
    Result<Target> back = targetOfText(targetText(from));
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_EQ(targetText(*back), targetText(from));
    EXPECT_EQ(back->vectorBits, from.vectorBits);
    EXPECT_EQ(back->vectorRegisters, from.vectorRegisters);
  }
  for (const char *text : {"", "x", "x86_64 cpu=a l1d=0", "a cpu=b features="})
    EXPECT_FALSE(targetOfText(text).ok()) << text;
}

/// A store with `count` candidates of one task, the i-th taking 10 + i us; the
/// last one was cut off.
RecordSet recordsOf(const Task &task, const Target &target, int64_t count) {
  RecordSet set;
  set.tasks[task.key()] = task.text();
  set.targets[targetKey(target)] = targetText(target);
  Random random(8);
  std::vector<LabelledSchedule> schedules =
      randomSchedules(task, target, Space(task, target), count, {}, random);
  EXPECT_EQ(int64_t(schedules.size()), count);
  for (int64_t i = 0; i < count; ++i) {
    Record record;
    record.task = task.key();
    record.target = targetKey(target);
    record.schedule = schedules[size_t(i)].schedule.text();
    record.maker = {0, std::string(compilerVersion()), "test"};
    record.measurement.outcome = i + 1 == count ? Outcome::CutOff : Outcome::Ok;
    record.measurement.minMicroseconds = i + 1 == count ? 1000 : 10 + double(i);
    record.measurement.medianMicroseconds = record.measurement.minMicroseconds;
    record.measurement.samples = 10;
    record.provenance = {"random", 1, i, 1000 + i};
    EXPECT_EQ(record.verify(), "");
    set.records.push_back(record);
  }
  return set;
}

TEST_F(ScheduleSentencesTest, RecordsGiveBucketsOfBestTimeByOwnTime) {
  TrainFolder folder;
  std::vector<Task> tasks = spaceTestTasks();
  Result<Store> store =
      Store::open(folder.file("store"), Store::Access::Create);
  ASSERT_TRUE(store.ok());
  ASSERT_TRUE(store->add(recordsOf(tasks[0], target, 20)).ok());
  ASSERT_TRUE(store->add(recordsOf(tasks[1], target, 3)).ok());
  options.judgedPercent = 0;
  auto all = [](const Task &) { return true; };
  Result<RecordSentences> result = sentencesOfRecords(*store, options, 1, all);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->tasks, 2);
  EXPECT_EQ(result->withoutQuality, 1);
  EXPECT_EQ(result->unreadable, 0);
  EXPECT_EQ(result->set.schedules, 23);
  std::multiset<Token> found, expected;
  for (const SentenceGroup &group : result->set.groups)
    for (const Branch &branch : group.branches)
      found.insert(branch.tokens[1]);
  for (int i = 0; i < 19; ++i)
    expected.insert(qualityToken(qualityBucket(10.0 / (10 + i))));
  expected.insert(qualityToken(qualityBucket(0.01)));
  for (int i = 0; i < 3; ++i)
    expected.insert(kUnknown);
  EXPECT_EQ(found, expected);

  Result<RecordSentences> again = sentencesOfRecords(*store, options, 1, all);
  EXPECT_EQ(again->set.groups, result->set.groups);
  Result<RecordSentences> one =
      sentencesOfRecords(*store, options, 1, [&](const Task &task) {
        return task.key() == tasks[0].key();
      });
  EXPECT_EQ(one->set.schedules, 20);
}

} // namespace
