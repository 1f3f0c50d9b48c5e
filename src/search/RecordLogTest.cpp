#include "search/RecordLog.h"

#include "records/RecordTestData.h"

using namespace tlm;

namespace {

class RecordLogTest : public RecordTest {
protected:
  Task task = testTask(0);
  Target target = testTarget();
  Space space{task, target};
  Random random{3};

  RecordLogOptions options() {
    RecordLogOptions options;
    options.path = path("a");
    options.target = target;
    options.maker = {0, std::string(compilerVersion()), "test"};
    options.strategy = "random";
    return options;
  }
  Trial trial(double microseconds, int64_t number) {
    Measurement measurement;
    measurement.minMicroseconds = measurement.medianMicroseconds = microseconds;
    measurement.samples = 9;
    return {space.sample(random), measurement, number};
  }
};

} // namespace

TEST_F(RecordLogTest, LaterRunsKnowWhatEarlierOnesMeasured) {
  Trial a = trial(10, 0), b = trial(20, 1);
  b.measurement = {Outcome::Crashed, 0, 0, 0, 1, "signal\n\xff"};
  Trial again = a;
  again.measurement.minMicroseconds = 9;
  again.measurement.rounds = 5;
  size_t told = 0;
  {
    RecordLogOptions with = options();
    with.committed = [&](const std::vector<Record> &records) {
      told += records.size();
    };
    Result<RecordLog> log = RecordLog::open(with, task);
    ASSERT_TRUE(log) << log.error().message;
    EXPECT_FALSE(log->find(a.schedule, 1));
    log->add({a, b});
    log->add({again});
    ASSERT_TRUE(log->status()) << log->status().error().message;
    EXPECT_EQ(log->find(a.schedule, 1)->minMicroseconds, 10);
  }
  EXPECT_EQ(told, 3u);
  EXPECT_EQ(openStore(path("a"), Store::Access::Read).stats()->records, 3);
  Result<RecordLog> log = RecordLog::open(options(), task);
  ASSERT_TRUE(log);
  EXPECT_EQ(log->find(a.schedule, 1)->minMicroseconds, 10);
  EXPECT_EQ(log->find(a.schedule, 5)->minMicroseconds, 9);
  EXPECT_FALSE(log->find(a.schedule, 6));
  EXPECT_EQ(log->find(b.schedule, 1)->outcome, Outcome::Crashed);
  EXPECT_EQ(log->find(b.schedule, 1)->detail, "signal ?");
}

TEST_F(RecordLogTest, KnowsOneTargetAndOneVersion) {
  Trial a = trial(10, 0);
  RecordLog::open(options(), task)->add({a});
  RecordLogOptions other = options();
  other.target.threads = 7;
  EXPECT_FALSE(RecordLog::open(other, task)->find(a.schedule, 1));
  other = options();
  other.maker.compiler = "0.0.9";
  EXPECT_FALSE(RecordLog::open(other, task)->find(a.schedule, 1));
  EXPECT_FALSE(RecordLog::open(options(), testTask(1))->find(a.schedule, 1));
  EXPECT_TRUE(RecordLog::open(options(), task)->find(a.schedule, 1));
}

TEST_F(RecordLogTest, KeepsTheFirstFailure) {
  Result<RecordLog> log = RecordLog::open(options(), task);
  ASSERT_TRUE(log);
  for (const char *suffix : {"", "-wal", "-shm"})
    std::filesystem::remove(path("a") + suffix);
  ASSERT_TRUE(writeFileAtomically(path("a"), std::string(5000, 'x')));
  log->add({trial(10, 0)});
  ASSERT_FALSE(log->status());
  EXPECT_NE(log->status().error().message.find("no SQLite file"),
            std::string::npos);
}
