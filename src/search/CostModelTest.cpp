#include "search/SearchTestLandscape.h"

#include "search/CostModel.h"
#include "space/SpaceTestTasks.h"

#include <chrono>
#include <filesystem>
#include <gtest/gtest.h>

using namespace tlm;

namespace {

struct Samples {
  std::vector<FeatureVector> features;
  std::vector<double> times;
};

Samples samplesOf(const Task &task, const Target &target, uint64_t seed,
                  int count) {
  Space space(task, target);
  Random random(seed);
  Landscape landscape(space, 1);
  Samples samples;
  for (int i = 0; i < count; ++i) {
    Schedule schedule = space.sample(random);
    samples.features.push_back(featuresOf(task, target, schedule));
    samples.times.push_back(landscape.microseconds(schedule));
  }
  return samples;
}

/// The share of pairs that the scores put in the order of their times.
double ordered(const std::vector<float> &scores,
               const std::vector<double> &times) {
  double right = 0, pairs = 0;
  for (size_t i = 0; i < times.size(); ++i)
    for (size_t j = 0; j < i; ++j, ++pairs)
      right += (scores[i] > scores[j]) == (times[i] < times[j]);
  return right / pairs;
}

} // namespace

TEST(CostModel, OrdersWhatItHasNotSeen) {
  Task task = spaceTestTasks()[2];
  Target target = *targetFor("x86-64-v4");
  target.threads = 4;
  Samples train = samplesOf(task, target, 1, 200),
          test = samplesOf(task, target, 2, 200);
  CostModel model;
  EXPECT_FALSE(model.isTrained());
  EXPECT_EQ(model.predict(test.features),
            std::vector<float>(test.features.size(), 0.5F));
  for (size_t i = 0; i < train.times.size(); ++i) {
    model.add("k", train.features[i], train.times[i]);
    if (i == 30) {
      model.train();
      EXPECT_GT(ordered(model.predict(test.features), test.times), 0.65);
    }
  }
  model.train();
  std::vector<float> scores = model.predict(test.features);
  EXPECT_GT(ordered(scores, test.times), 0.8);
  EXPECT_EQ(model.observations("k"), 200u);

  // The same observations, the same bits; and no thread is left behind, since
  // measuring forks.
  CostModel again;
  for (size_t i = 0; i < train.times.size(); ++i)
    again.add("k", train.features[i], train.times[i]);
  again.train();
  EXPECT_EQ(again.predict(test.features), scores);
  std::filesystem::directory_iterator threads("/proc/self/task"), end;
  EXPECT_EQ(std::distance(threads, end), 1);
}

TEST(CostModel, FailuresScoreLow) {
  Task task = spaceTestTasks()[2];
  Target target = *targetFor("x86-64-v4");
  Samples samples = samplesOf(task, target, 1, 60);
  CostModel model;
  auto fails = [&](size_t i) { return i % 2 == 0; };
  std::vector<FeatureVector> failed, timed;
  for (size_t i = 0; i < samples.times.size(); ++i) {
    samples.features[i][0] = fails(i) ? 1.0F : 2.0F; // what they have in common
    model.add("k", samples.features[i], fails(i) ? 0 : samples.times[i]);
    (fails(i) ? failed : timed).push_back(samples.features[i]);
  }
  model.train();
  auto mean = [&](const std::vector<FeatureVector> &rows) {
    double sum = 0;
    for (float score : model.predict(rows))
      sum += score;
    return sum / double(rows.size());
  };
  EXPECT_LT(mean(failed), 0.5 * mean(timed));
  EXPECT_EQ(model.observations("k"), 30u);
}

// A round of a search can afford it.
TEST(CostModel, TrainsInTensOfMilliseconds) {
  Task task = spaceTestTasks()[2];
  Target target = *targetFor("x86-64-v4");
  Samples samples = samplesOf(task, target, 1, 300);
  CostModel model;
  for (size_t i = 0; i < samples.times.size(); ++i)
    model.add("k", samples.features[i], samples.times[i]);
  auto begin = std::chrono::steady_clock::now();
  model.train();
  double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  RecordProperty("milliseconds", int(seconds * 1e3));
  EXPECT_LT(seconds, 1); // about 0.05 where nothing else runs
}
