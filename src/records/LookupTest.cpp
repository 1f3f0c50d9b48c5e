#include "records/Lookup.h"

#include "records/RecordTestData.h"

using namespace tlm;

namespace {

class LookupTest : public RecordTest {
protected:
  Task task = testTask(0);
  Target target = testTarget();
  Space space{task, target};
  Store store = openStore(path("a"));
  Random random{11};

  Record make(double microseconds, double slowdown = 1, int32_t rounds = 1) {
    Record record = testRecord(task, target, random.next());
    record.schedule = space.sample(random).text();
    record.measurement = {Outcome::Ok, microseconds, microseconds, 10,
                          slowdown,    "",           rounds};
    return record;
  }
  void add(const std::vector<Record> &records, const Target &on) {
    RecordSet set;
    set.tasks[task.key()] = task.text();
    set.targets[targetKey(on)] = targetText(on);
    set.records = records;
    for (Record &record : set.records)
      record.target = targetKey(on);
    Result<int64_t> added = store.add(set);
    ASSERT_TRUE(added) << added.error().message;
  }
  Lookup look() { return *lookUp(store, task, target, space); }
};

} // namespace

TEST_F(LookupTest, PrefersWhatIsKnownWell) {
  // A single lucky measurement has to be 3 % faster than a trusted one.
  Record trusted = make(100, 1, 5), lucky = make(98), faster = make(96);
  auto ranked = rankCandidates({lucky, trusted});
  ASSERT_EQ(ranked.size(), 2u);
  EXPECT_EQ(ranked[0].schedule, trusted.schedule);
  EXPECT_EQ(ranked[0].rounds, 5);
  ranked = rankCandidates({lucky, trusted, faster});
  EXPECT_EQ(ranked[0].schedule, faster.schedule);
  EXPECT_EQ(ranked[1].schedule, trusted.schedule);
}

TEST_F(LookupTest, PrefersAQuietMachine) {
  Record quiet = make(100), drifted = make(95, 1.5);
  auto ranked = rankCandidates({drifted, quiet});
  EXPECT_EQ(ranked[0].schedule, quiet.schedule);
  EXPECT_TRUE(ranked[1].drifted);
  // Where both kinds are known of one candidate, the quiet ones count.
  Record again = quiet;
  again.measurement.minMicroseconds = 10;
  again.measurement.slowdown = 2;
  ranked = rankCandidates({again, quiet});
  ASSERT_EQ(ranked.size(), 1u);
  EXPECT_EQ(ranked[0].microseconds, 100);
  EXPECT_FALSE(ranked[0].drifted);
}

TEST_F(LookupTest, ManyMeasurementsGiveTheirMedian) {
  Record a = make(100), b = a, c = a;
  b.measurement.minMicroseconds = 50;
  c.measurement.minMicroseconds = 101;
  auto ranked = rankCandidates({a, b, c});
  EXPECT_EQ(ranked[0].microseconds, 100);
  EXPECT_EQ(ranked[0].cautious, 100);
  b.measurement.rounds = 5; // a final outweighs single measurements
  EXPECT_EQ(rankCandidates({a, b, c})[0].microseconds, 50);
  EXPECT_EQ(rankCandidates({a, b, c})[0].rounds, 7);
  c.measurement.outcome = Outcome::WrongValues;
  EXPECT_TRUE(rankCandidates({a, b, c}).empty());
}

TEST_F(LookupTest, FindsTheBestLegalOne) {
  Record slow = make(100, 1, 5), fast = make(50, 1, 5), illegal = make(10);
  Schedule schedule = *parseSchedule(illegal.schedule);
  schedule.choices.back().value = 12345;
  schedule.choices.back().decision = Decision::RegisterTile;
  illegal.schedule = schedule.text();
  add({slow, illegal, fast}, target);
  Lookup found = look();
  EXPECT_EQ(found.outcome, LookupOutcome::Found);
  EXPECT_EQ(found.schedule.text(), fast.schedule);
  EXPECT_EQ(found.candidate.microseconds, 50);
}

TEST_F(LookupTest, SaysWhyThereIsNone) {
  EXPECT_EQ(look().outcome, LookupOutcome::NoRecord);
  Target other = testTarget("x86-64-v3");
  add({make(1)}, other);
  EXPECT_EQ(look().outcome, LookupOutcome::OtherTarget);
  EXPECT_EQ(look().detail, targetKey(other));
  Record old = make(1);
  old.maker.compiler = "0.0.7";
  add({old}, target);
  EXPECT_EQ(look().outcome, LookupOutcome::OtherVersion);
  EXPECT_EQ(look().detail, "0.0.7");
  Record failed = make(1);
  failed.measurement = {Outcome::TimedOut, 0, 0, 0, 1, ""};
  add({failed}, target);
  EXPECT_EQ(look().outcome, LookupOutcome::NoneOk);
  Record illegal = make(10);
  Schedule schedule = *parseSchedule(illegal.schedule);
  schedule.choices.pop_back();
  illegal.schedule = schedule.text();
  add({illegal}, target);
  EXPECT_EQ(look().outcome, LookupOutcome::NotLegal);
  EXPECT_FALSE(look().detail.empty());
  add({make(10)}, target);
  EXPECT_EQ(look().outcome, LookupOutcome::Found);
}
