#include "driver/ScheduleWriter.h"

#include "lang/Answer.h"
#include "space/DefaultSchedule.h"
#include "space/ScheduleChecker.h"
#include "space/SpaceTestTasks.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

using namespace tlm;

namespace {

class ScheduleWriterTest : public testing::Test {
protected:
  static LanguageModel model(size_t words = Vocabulary::get().size(),
                             int64_t positions = 512) {
    ModelConfig config;
    config.layers = 2;
    config.heads = 2;
    config.width = 64;
    config.positions = positions;
    config.vocabulary = int64_t(words);
    GptParameters parameters = randomParameters(config, 3);
    for (float &value : parameters.tokens)
      value *= 10;
    return LanguageModel(config, parameters);
  }

  std::vector<WrittenSchedules> write(const ScheduleWriter &writer,
                                      int threads = 2) const {
    return writer.write(pointers, target, {}, threads);
  }

  ScheduleWriterTest() {
    for (const Task &task : tasks)
      pointers.push_back(&task);
  }

  std::vector<Task> tasks = spaceTestTasks();
  std::vector<const Task *> pointers;
  Target target = *targetFor("x86-64-v4");
};

TEST_F(ScheduleWriterTest, WritesLegalSchedulesWithTheirProbabilities) {
  std::vector<WrittenSchedules> written =
      write(ScheduleWriter(model(), {.judgesAlways = true}));
  ASSERT_EQ(written.size(), tasks.size());
  size_t answered = 0;
  for (size_t i = 0; i < tasks.size(); ++i) {
    Space space(tasks[i], target);
    ASSERT_EQ(written[i].answers.size(), space.next({}) ? 1u : 0u)
        << written[i].refused;
    EXPECT_EQ(written[i].refused, "");
    for (const WrittenSchedule &answer : written[i].answers) {
      EXPECT_EQ(checkSchedule(tasks[i], target, answer.schedule), "");
      EXPECT_EQ(answer.probabilities.size(),
                tlm::answer(space, answer.schedule)->size() - 1);
      double logarithm = 0;
      for (float probability : answer.probabilities) {
        EXPECT_GT(probability, 0);
        EXPECT_LE(probability, 1);
        logarithm += std::log(double(probability));
      }
      EXPECT_NEAR(answer.logProbability, logarithm, 1e-4);
      ASSERT_TRUE(answer.expectedShare);
      EXPECT_GT(*answer.expectedShare, 0);
      EXPECT_LT(*answer.expectedShare, 1);
      ++answered;
    }
  }
  EXPECT_GT(answered, tasks.size() / 2);
}

TEST_F(ScheduleWriterTest, RanksDifferentSamples) {
  std::vector<WrittenSchedules> written =
      write(ScheduleWriter(model(), {.samples = 8}));
  size_t several = 0;
  for (const WrittenSchedules &each : written) {
    several += each.answers.size() > 1;
    for (size_t k = 1; k < each.answers.size(); ++k) {
      EXPECT_GE(*each.answers[k - 1].expectedShare,
                *each.answers[k].expectedShare);
      for (size_t j = 0; j < k; ++j)
        EXPECT_NE(each.answers[j].schedule.text(),
                  each.answers[k].schedule.text());
    }
  }
  EXPECT_GT(several, 3u);
}

TEST_F(ScheduleWriterTest, WorkersGetTheChunksOfTheRules) {
  target.threads = 2;
  size_t asked = 0, free = 0;
  std::vector<WrittenSchedules> written =
      write(ScheduleWriter(model(), {.samples = 4}));
  for (size_t i = 0; i < tasks.size(); ++i)
    for (const WrittenSchedule &answer : written[i].answers) {
      EXPECT_EQ(checkSchedule(tasks[i], target, answer.schedule), "");
      Schedule byRules = defaultSchedule(tasks[i], target);
      auto valueOf = [](const Schedule &schedule, Decision decision,
                        const char *subject) {
        return schedule.get(decision, subject, -1);
      };
      if (valueOf(answer.schedule, Decision::Algorithm, "") !=
          valueOf(byRules, Decision::Algorithm, ""))
        continue;
      EXPECT_EQ(valueOf(answer.schedule, Decision::MaxParallelism, ""),
                valueOf(byRules, Decision::MaxParallelism, ""));
      bool sameTile = valueOf(answer.schedule, Decision::RegisterRow, "f") ==
                      valueOf(byRules, Decision::RegisterRow, "f");
      for (const char *subject : {"rows", "c", "f"})
        if (sameTile && valueOf(answer.schedule, Decision::RegisterTile, "w") ==
                            valueOf(byRules, Decision::RegisterTile, "w")) {
          EXPECT_EQ(valueOf(answer.schedule, Decision::ParallelTile, subject),
                    valueOf(byRules, Decision::ParallelTile, subject))
              << tasks[i].label() << ' ' << subject;
          ++asked;
        }
      free += answer.schedule.text() != byRules.text();
    }
  EXPECT_GT(asked, 10u);
  EXPECT_GT(free, 10u);
}

TEST_F(ScheduleWriterTest, OtherTasksAndThreadsChangeNothing) {
  ScheduleWriter writer(model(), {.samples = 4, .seed = 7});
  std::vector<WrittenSchedules> together = write(writer, 3);
  for (size_t i = 0; i < tasks.size(); ++i) {
    std::vector<WrittenSchedules> alone =
        writer.write({&pointers[i], 1}, target, {}, 1);
    ASSERT_EQ(alone[0].answers.size(), together[i].answers.size());
    for (size_t k = 0; k < alone[0].answers.size(); ++k) {
      const WrittenSchedule &a = alone[0].answers[k],
                            &b = together[i].answers[k];
      EXPECT_EQ(a.schedule.text(), b.schedule.text());
      EXPECT_EQ(a.probabilities, b.probabilities);
      EXPECT_EQ(a.expectedShare, b.expectedShare);
    }
  }
}

TEST_F(ScheduleWriterTest, ASeedGivesOtherSamples) {
  std::vector<WrittenSchedules> one =
      write(ScheduleWriter(model(), {.samples = 4, .seed = 1}));
  std::vector<WrittenSchedules> two =
      write(ScheduleWriter(model(), {.samples = 4, .seed = 2}));
  size_t different = 0;
  for (size_t i = 0; i < tasks.size(); ++i)
    different += one[i].answers.size() != two[i].answers.size() ||
                 !std::ranges::equal(one[i].answers, two[i].answers, {},
                                     &WrittenSchedule::schedule,
                                     &WrittenSchedule::schedule);
  EXPECT_GT(different, 0u);
}

TEST_F(ScheduleWriterTest, ATemperatureSpreadsSamples) {
  auto count = [&](float temperature) {
    size_t answers = 0;
    for (const WrittenSchedules &each : write(ScheduleWriter(
             model(), {.samples = 16, .temperature = temperature})))
      answers += each.answers.size();
    return answers;
  };
  size_t cold = count(0.05F), usual = count(1), hot = count(4);
  EXPECT_LT(cold, usual);
  EXPECT_LT(usual, hot);
}

TEST_F(ScheduleWriterTest, OldWeightsDoNotAnswerWhatTheyDoNotKnow) {
  // They know every word before the choices, and a few of those.
  auto first = size_t(Vocabulary::get().at("algorithm=direct"));
  std::vector<WrittenSchedules> written =
      write(ScheduleWriter(model(first + 1), {.samples = 2}));
  size_t refused = 0;
  for (size_t i = 0; i < tasks.size(); ++i) {
    bool decides = Space(tasks[i], target).next({}).has_value();
    EXPECT_TRUE(!decides ||
                written[i].answers.empty() == !written[i].refused.empty());
    EXPECT_TRUE(decides || written[i].refused.empty());
    refused += !written[i].refused.empty();
  }
  EXPECT_GT(refused, 3u);
}

TEST_F(ScheduleWriterTest, TooLongSentencesAreRefused) {
  for (const WrittenSchedules &each :
       write(ScheduleWriter(model(Vocabulary::get().size(), 24), {}))) {
    EXPECT_TRUE(each.answers.empty());
    EXPECT_TRUE(each.refused.empty() ||
                each.refused.find("longer than the 24 tokens") !=
                    std::string::npos)
        << each.refused;
  }
}

TEST_F(ScheduleWriterTest, NoWeightsAreAnError) {
  Result<ScheduleWriter> writer = ScheduleWriter::load({.folder = "/nowhere"});
  ASSERT_FALSE(writer);
  EXPECT_NE(writer.error().message.find("/nowhere"), std::string::npos);
}

} // namespace
