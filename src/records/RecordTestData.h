//===- RecordTestData.h - records to test with ------------------*- C++ -*-===//

#ifndef TLM_RECORDS_RECORDTESTDATA_H
#define TLM_RECORDS_RECORDTESTDATA_H

#include "base/AtomicFile.h"
#include "records/Shards.h"
#include "records/TargetKey.h"
#include "space/DefaultSchedule.h"
#include "space/SpaceTestTasks.h"

#include <filesystem>
#include <gtest/gtest.h>

namespace tlm {

/// A folder of its own for a test; gone with it.
class RecordTest : public testing::Test {
protected:
  RecordTest() {
    std::string form = testing::TempDir() + "tlm-records-XXXXXX";
    folder = ::mkdtemp(form.data());
  }
  ~RecordTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  std::string path(const std::string &name) const {
    return folder + "/" + name;
  }
  std::string folder;
};

inline Task testTask(size_t index) {
  return *parseTask("tlm-task 1\n" + std::string(kSpaceTestTasks[index]));
}

inline Target testTarget(const std::string &cpu = "x86-64-v4") {
  Target target = *targetFor(cpu);
  target.threads = 2;
  return target;
}

/// A record of a random schedule; seed and trial tell it from others.
inline Record testRecord(const Task &task, const Target &target,
                         uint64_t seed) {
  Random random(seed);
  Record record;
  record.task = task.key();
  record.target = targetKey(target);
  record.schedule = Space(task, target).sample(random).text();
  record.maker = {0, std::string(compilerVersion()), "test"};
  Measurement &m = record.measurement;
  m.minMicroseconds = 1 + double(random.below(1000000)) / 977;
  m.medianMicroseconds = m.minMicroseconds * 1.01;
  m.samples = 7 + int32_t(random.below(100));
  m.slowdown = 1 + double(random.below(100)) / 1000;
  if (random.below(4) == 0)
    m = {Outcome(1 + random.below(9)), 0, 0, 0, 1, "what happened"};
  record.provenance = {"random", seed, int64_t(random.below(64)),
                       int64_t(1760000000 + random.below(1000))};
  return record;
}

/// Records of two tasks and two targets.
inline RecordSet testSet(uint64_t firstSeed, size_t count) {
  RecordSet set;
  for (size_t i = 0; i < count; ++i) {
    Task task = testTask(i % 2);
    Target target = testTarget(i % 3 ? "x86-64-v4" : "x86-64-v3");
    set.records.push_back(testRecord(task, target, firstSeed + i));
    set.tasks[task.key()] = task.text();
    set.targets[targetKey(target)] = targetText(target);
  }
  return set;
}

inline Store openStore(const std::string &path,
                       Store::Access access = Store::Access::Create) {
  Result<Store> store = Store::open(path, access);
  EXPECT_TRUE(store) << store.error().message;
  return std::move(*store);
}

/// All records of a store as one text.
inline std::string contents(const Store &store) {
  std::string text;
  EXPECT_TRUE(store.forEach({}, [&](const Record &record) {
    text += record.id() + ' ' + record.task + ' ' + record.target + '\n';
    return success();
  }));
  return text;
}

} // namespace tlm

#endif // TLM_RECORDS_RECORDTESTDATA_H
