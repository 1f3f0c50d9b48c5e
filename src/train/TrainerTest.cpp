#include "train/Trainer.h"
#include "base/AtomicFile.h"
#include "lang/Vocabulary.h"
#include "model/GptParameters.h"
#include "model/LanguageModel.h"
#include "train/TrainTestData.h"

#include <gtest/gtest.h>
#include <thread>

using namespace tlm;

namespace {

class TrainerTest : public testing::Test {
protected:
  void SetUp() override {
    configureTorch(1);
    options.layers = 2;
    options.heads = 2;
    options.width = 32;
    options.positions = 32;
    options.steps = 12;
    options.batchTokens = 100;
    options.warmup = 3;
    write("data", testGroups(40, 1));
    write("validation", testGroups(10, 2));
  }
  void write(const std::string &name,
             const std::vector<SentenceGroup> &groups) {
    ASSERT_TRUE(writeSentences(folder.file(name), {1, 7}, 40, groups).ok());
  }
  Result<TrainResult> run(const std::string &out, TrainPace pace,
                          const std::string &start = {}) {
    return train(options,
                 {folder.file("data"), folder.file("validation"), start,
                  folder.file(out)},
                 pace, {},
                 [&](const std::string &line) { log += line + "\n"; });
  }
  std::string weights(const std::string &out) {
    return *readWholeFile(folder.file(out) + "/model.safetensors");
  }
  void expectRefused(const Result<TrainResult> &result,
                     const std::string &what) {
    ASSERT_FALSE(result.ok()) << what;
    EXPECT_NE(result.error().message.find(what), std::string::npos)
        << result.error().message;
  }

  TrainFolder folder;
  TrainOptions options;
  std::string log;
};

TEST_F(TrainerTest, InterruptedAndUninterruptedGiveTheSameBits) {
  ASSERT_TRUE(run("whole", {}).ok());
  for (int64_t stop : {1, 4, 7, 11}) {
    std::string out = "cut" + std::to_string(stop);
    TrainPace pace;
    pace.stopAfter = stop;
    Result<TrainResult> first = run(out, pace);
    ASSERT_TRUE(first.ok());
    EXPECT_EQ(first->steps, stop);
    EXPECT_NE(weights(out), weights("whole"));
    TrainPace resume;
    resume.resume = true;
    Result<TrainResult> second = run(out, resume);
    ASSERT_TRUE(second.ok()) << second.error().message;
    EXPECT_EQ(second->steps, options.steps);
    EXPECT_EQ(weights(out), weights("whole")) << stop;
    EXPECT_EQ(*readWholeFile(folder.file(out) + "/checkpoint.safetensors"),
              *readWholeFile(folder.file("whole/checkpoint.safetensors")));
  }
}

TEST_F(TrainerTest, LearnsWhatThereIsToLearn) {
  options.steps = 300;
  options.rate = 3e-3;
  options.warmup = 20;
  TrainPace pace;
  pace.validateEvery = 0;
  Result<TrainResult> result = run("out", pace);
  ASSERT_TRUE(result.ok());
  EXPECT_LT(result->loss, 1); // chance is log(40) = 3.7
  EXPECT_GT(result->validationCorrect, 0.5);
  EXPECT_NE(log.find("tokens/s"), std::string::npos);
  // What inference reads.
  Result<LanguageModel> model =
      LanguageModel::load(folder.file("out"), nullptr);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->config().vocabularyId, (VocabularyId{1, 7}));
}

TEST_F(TrainerTest, GoesOnFromAFolder) {
  ASSERT_TRUE(run("base", {}).ok());
  options.seed = 5;
  Result<TrainResult> tuned = run("tuned", {}, folder.file("base"));
  ASSERT_TRUE(tuned.ok()) << tuned.error().message;
  EXPECT_NE(weights("tuned"), weights("base"));
  options.layers = 1;
  expectRefused(run("other", {}, folder.file("base")), "of another shape");
}

TEST_F(TrainerTest, WordsThatCameSinceAreLearnt) {
  auto writeFor = [&](int64_t words) {
    VocabularyId id{
        kLanguageVersion,
        std::stoull(Vocabulary::get().hash(size_t(words)), nullptr, 16)};
    for (const char *name : {"data", "validation"})
      ASSERT_TRUE(
          writeSentences(folder.file(name), id, words, testGroups(20, 1, words))
              .ok());
  };
  writeFor(40);
  ASSERT_TRUE(run("old", {}).ok());
  writeFor(50);
  options.steps = 1;
  options.warmup = 0;
  options.rate = 1e-9;
  Result<TrainResult> result = run("new", {}, folder.file("old"));
  ASSERT_TRUE(result.ok()) << result.error().message;
  GptFolder before = *readModelFolder(folder.file("old")),
            after = *readModelFolder(folder.file("new"));
  EXPECT_EQ(after.config.vocabulary, 50);
  ASSERT_EQ(after.parameters.tokens.size(), size_t(50 * options.width));
  for (size_t i = 0; i < before.parameters.tokens.size(); ++i)
    EXPECT_NEAR(after.parameters.tokens[i], before.parameters.tokens[i], 1e-6);
  // An adapter's weights stay as they are.
  options.rank = 2;
  expectRefused(run("adapter", {}, folder.file("old")), "of another shape");
}

TEST_F(TrainerTest, AdaptersLeaveTheirModelAndResumeExactly) {
  ASSERT_TRUE(run("base", {}).ok());
  std::string base = folder.file("base"), before = weights("base");
  write("data", testGroups(40, 77));
  options.rank = 4;
  expectRefused(run("whole", {}), "needs the model that it is for");
  ASSERT_TRUE(run("whole", {}, base).ok());
  TrainPace cut, resume;
  cut.stopAfter = 5;
  resume.resume = true;
  ASSERT_TRUE(run("cut", cut, base).ok());
  ASSERT_TRUE(run("cut", resume, base).ok());
  std::string adapter =
      *readWholeFile(folder.file("whole/adapter.safetensors"));
  EXPECT_EQ(*readWholeFile(folder.file("cut/adapter.safetensors")), adapter);
  EXPECT_EQ(weights("base"), before);
  Result<Evaluation> plain = evaluate(base, "", folder.file("data")),
                     better = evaluate(base,
                                       folder.file("whole/adapter.safetensors"),
                                       folder.file("data"));
  ASSERT_TRUE(plain.ok() && better.ok());
  EXPECT_LT(better->sums.loss, plain->sums.loss);

  Result<LanguageModel> adapted = LanguageModel::load(
      base, nullptr, folder.file("whole/adapter.safetensors"));
  ASSERT_TRUE(adapted.ok()) << adapted.error().message;
  options.rank = 0;
  options.seed = 9;
  ASSERT_TRUE(run("other", {}).ok());
  EXPECT_FALSE(LanguageModel::load(folder.file("other"), nullptr,
                                   folder.file("whole/adapter.safetensors"))
                   .ok());
}

TEST_F(TrainerTest, CheckpointsOfOtherRunsAndDamagedOnesAreRefused) {
  TrainPace pace;
  pace.stopAfter = 4;
  ASSERT_TRUE(run("out", pace).ok());
  TrainPace resume;
  resume.resume = true;
  TrainOptions before = options;
  options.rate = 2e-3;
  expectRefused(run("out", resume), "is of a run with other options");
  options = before;
  options.width = 64;
  expectRefused(run("out", resume), "is of a run with other config");
  options = before;
  write("data", testGroups(41, 1));
  expectRefused(run("out", resume), "is of a run with other data");
  write("data", testGroups(40, 1));

  std::string path = folder.file("out/checkpoint.safetensors");
  std::string bytes = *readWholeFile(path);
  for (size_t at = 3; at < bytes.size(); at += bytes.size() / 23) {
    std::string damaged = bytes;
    damaged[at] ^= 4;
    ASSERT_TRUE(writeFileAtomically(path, damaged).ok());
    EXPECT_FALSE(run("out", resume).ok()) << at;
    ASSERT_TRUE(writeFileAtomically(path, bytes.substr(0, at)).ok());
    EXPECT_FALSE(run("out", resume).ok()) << at;
  }
  ASSERT_TRUE(writeFileAtomically(path, bytes).ok());
  EXPECT_TRUE(run("out", resume).ok());
}

TEST_F(TrainerTest, SentencesThatDoNotFitAreRefused) {
  options.positions = 8;
  expectRefused(run("out", {}), "the model reads 8");
  options.positions = 32;
  ASSERT_TRUE(
      writeSentences(folder.file("validation"), {1, 8}, 40, testGroups(3, 1))
          .ok());
  expectRefused(run("out", {}), "is of another vocabulary");
  write("validation", testGroups(3, 1));
  ASSERT_TRUE(run("out", {}).ok());
  ASSERT_TRUE(
      writeSentences(folder.file("validation"), {1, 8}, 40, testGroups(3, 1))
          .ok());
  EXPECT_FALSE(
      evaluate(folder.file("out"), "", folder.file("validation")).ok());
  options.warmup = 13;
  expectRefused(run("out", {}), "warm-up");
}

/// Both processes of a world of two, as threads.
std::vector<Result<TrainResult>> runTwo(const TrainOptions &options,
                                        const TrainFolder &folder,
                                        const std::string &out,
                                        const TrainPace &pace) {
  std::vector<Result<TrainResult>> results(2, makeError("not run"));
  std::vector<std::thread> processes;
  for (int rank : {0, 1})
    processes.emplace_back([&, rank] {
      configureTorch(1);
      results[size_t(rank)] = train(
          options, {folder.file("data"), "", "", folder.file(out)}, pace,
          {rank, folder.file(out + "-store" + std::to_string(pace.stopAfter))},
          [](const std::string &) {});
    });
  for (std::thread &process : processes)
    process.join();
  return results;
}

TEST_F(TrainerTest, TwoProcessesGiveTheSameBitsEachTime) {
  options.world = 2;
  for (const char *out : {"a", "b"})
    for (const Result<TrainResult> &result : runTwo(options, folder, out, {}))
      ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(weights("a"), weights("b"));

  TrainPace cut, resume;
  cut.stopAfter = 5;
  resume.resume = true;
  ASSERT_TRUE(runTwo(options, folder, "c", cut)[0].ok());
  ASSERT_TRUE(runTwo(options, folder, "c", resume)[0].ok());
  EXPECT_EQ(weights("c"), weights("a"));

  // The same training as by one process, but for the order of additions.
  options.world = 1;
  ASSERT_TRUE(run("one", {}).ok());
  GptFolder two = *readModelFolder(folder.file("a")),
            one = *readModelFolder(folder.file("one"));
  for (size_t i = 0; i < one.parameters.tokens.size(); ++i)
    EXPECT_NEAR(one.parameters.tokens[i], two.parameters.tokens[i], 1e-3);
}

} // namespace
