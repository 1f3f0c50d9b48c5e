#include "train/TaskCorpus.h"
#include "lang/LangTestTasks.h"
#include "space/DefaultSchedule.h"
#include "space/Space.h"
#include "train/TaskMutation.h"
#include "train/TrainTestData.h"

#include <gtest/gtest.h>

using namespace tlm;

namespace {

class TaskCorpusTest : public testing::Test {
protected:
  Target target = targetOf("znver5", 2);
  HeldOutKeys none;
  CorpusOptions options{.count = 300, .validationPercent = 10};
};

std::vector<std::string> keysOf(const std::vector<Task> &tasks) {
  std::vector<std::string> keys;
  for (const Task &task : tasks)
    keys.push_back(task.key());
  return keys;
}

Task product(int64_t m, int64_t n, int64_t k) {
  auto text = [](int64_t a, int64_t b) {
    return '[' + std::to_string(a) + ',' + std::to_string(b) + "]\n";
  };
  return taskOf("kind matmul\noperand input f32 plain" + text(m, k) +
                "operand weight const f32 plain" + text(k, n) +
                "operand output f32 plain" + text(m, n));
}

} // namespace

TEST_F(TaskCorpusTest, MutatedTasksVerifyAndHaveASpace) {
  Random random(5);
  std::vector<Task> parents = langTestTasks();
  for (int i = 0; i < 60; ++i)
    parents.push_back(randomTask(random));
  std::map<TaskKind, int> made;
  for (const Task &parent : parents)
    for (int i = 0; i < 20; ++i) {
      std::optional<Task> child = mutateTask(parent, random);
      if (!child)
        continue;
      ++made[child->kind];
      ASSERT_EQ(child->verify(), "") << child->text();
      EXPECT_EQ(child->kind, parent.kind);
      EXPECT_EQ(child->windows, parent.windows);
      EXPECT_EQ(child->points.size(), parent.points.size());
      ASSERT_EQ(child->operands.size(), parent.operands.size());
      for (size_t k = 0; k < parent.operands.size(); ++k) {
        EXPECT_EQ(child->operands[k].role, parent.operands[k].role);
        EXPECT_EQ(child->operands[k].type.layout,
                  parent.operands[k].type.layout);
      }
      Space space(*child, target);
      EXPECT_TRUE(space.check(defaultSchedule(*child, target)))
          << child->text();
      EXPECT_TRUE(space.check(space.sample(random))) << child->text();
      Result<Task> back = parseTask(child->text());
      ASSERT_TRUE(back.ok()) << back.error().message;
      EXPECT_EQ(back->text(), child->text());
    }
  for (TaskKind kind :
       {TaskKind::Conv, TaskKind::Depthwise, TaskKind::MatMul,
        TaskKind::BatchMatMul, TaskKind::Attention, TaskKind::Softmax,
        TaskKind::Normalize, TaskKind::MaxPool, TaskKind::AveragePool,
        TaskKind::Pointwise})
    EXPECT_GT(made[kind], 10) << nameOf(kind);
  EXPECT_EQ(made.count(TaskKind::Compute), 0u);
}

TEST_F(TaskCorpusTest, EqualExtentsMostlyStayEqual) {
  Task parent = spaceTestTasks()[2]; // 3x3, 56x56, 64 to 64
  Random random(1);
  int square = 0, all = 0;
  for (int i = 0; i < 200; ++i)
    if (std::optional<Task> child = mutateTask(parent, random)) {
      const std::vector<int64_t> &dims = child->output().type.dims;
      square += dims[2] == dims[3];
      ++all;
      EXPECT_EQ(dims[2], child->operands[0].type.dims[2]); // padding of 1
    }
  EXPECT_GT(all, 100);
  EXPECT_GT(square * 10, all * 7);
  EXPECT_LT(square, all);
}

TEST_F(TaskCorpusTest, DependsOnTasksAndSeedOnly) {
  std::vector<Task> graphs = spaceTestTasks();
  TaskCorpus a = makeTaskCorpus(graphs, none, target, options);
  TaskCorpus b = makeTaskCorpus(graphs, none, target, options);
  EXPECT_EQ(int64_t(a.training.size()), options.count);
  EXPECT_EQ(keysOf(a.training), keysOf(b.training));
  EXPECT_EQ(keysOf(a.validation), keysOf(b.validation));
  std::vector<std::string> keys = keysOf(a.training);
  EXPECT_EQ(std::set(keys.begin(), keys.end()).size(), keys.size());
  options.seed = 2;
  EXPECT_NE(keysOf(makeTaskCorpus(graphs, none, target, options).training),
            keys);
}

TEST_F(TaskCorpusTest, SplitsShareNoContraction) {
  std::vector<Task> graphs = spaceTestTasks();
  HeldOutKeys heldOut;
  heldOut.add(graphs[0]);
  heldOut.add(graphs[2]);
  TaskCorpus corpus = makeTaskCorpus(graphs, heldOut, target, options);
  EXPECT_GE(corpus.heldOut, 2);
  EXPECT_GT(corpus.validation.size(), 5u);
  EXPECT_TRUE(refuseHeldOut(heldOut, corpus.training));
  EXPECT_TRUE(refuseHeldOut(heldOut, corpus.validation));
  HeldOutKeys validation;
  for (const Task &task : corpus.validation)
    validation.add(task);
  EXPECT_TRUE(refuseHeldOut(validation, corpus.training));

  // A task that slipped in is named, with its key.
  corpus.training.push_back(graphs[2]);
  Status refused = refuseHeldOut(heldOut, corpus.training);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find(contractionKeys(graphs[2])[0]),
            std::string::npos);
  EXPECT_NE(refused.error().message.find(graphs[2].key()), std::string::npos);
}

TEST_F(TaskCorpusTest, KeysSeeThroughTheDress) {
  std::vector<Task> tasks = spaceTestTasks();
  // 1x1 on 14x14 pixels, 64 to 112, with a residual.
  EXPECT_EQ(contractionKeys(tasks[0]),
            std::vector<std::string>{"f32 matmul b1 m196 n112 k64"});
  EXPECT_EQ(contractionKeys(product(196, 112, 64)), contractionKeys(tasks[0]));
  EXPECT_EQ(contractionKeys(tasks[2]),
            std::vector<std::string>{"f32 conv n1 g1 f64 c64 out56x56 "
                                     "kernel3x3 stride1x1 dilation1x1"});
  Task attention = taskOf(
      "kind attention\noperand input f32 plain[2,16,24]\n"
      "operand input f32 plain[2,20,24]\noperand input f32 plain[2,20,32]\n"
      "operand output f32 plain[2,16,32]\nheads 4 key_heads 4 scale 0.4\n");
  EXPECT_EQ(contractionKeys(attention),
            (std::vector<std::string>{"f32 matmul b8 m16 n20 k6",
                                      "f32 matmul b8 m16 n8 k20"}));
  Task epilogue = tasks[2];
  epilogue.points.clear();
  EXPECT_EQ(contractionKeys(epilogue), contractionKeys(tasks[2]));
}

TEST_F(TaskCorpusTest, FilesReadBack) {
  TrainFolder folder;
  std::vector<Task> tasks = langTestTasks();
  ASSERT_TRUE(writeTaskList(folder.file("a.task"), tasks).ok());
  for (const std::string &path : {folder.file("a.task"), folder.path}) {
    Result<std::vector<Task>> back = readTaskLists({path});
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_EQ(keysOf(*back), keysOf(tasks));
  }
  HeldOutKeys heldOut;
  for (const Task &task : tasks)
    heldOut.add(task);
  ASSERT_TRUE(heldOut.write(folder.file("keys")).ok());
  Result<HeldOutKeys> back = HeldOutKeys::read(folder.file("keys"));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->size(), heldOut.size());
  EXPECT_TRUE(back->find(tasks[0]));

  EXPECT_FALSE(HeldOutKeys::read(folder.file("a.task")).ok());
  Result<std::vector<Task>> refused = readTaskLists({folder.file("keys")});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("task 1"), std::string::npos);
  EXPECT_FALSE(readTaskLists({folder.file("none")}).ok());
}
