#include "records/RecordTestData.h"

#include <cmath>

using namespace tlm;

namespace {

Record record() {
  Target target;
  target.cpu = "znver5";
  target.features = {"avx2", "fma"};
  target.threads = 2;
  Record record;
  record.task = testTask(0).key();
  record.target = targetKey(target);
  record.schedule = plainSchedule(testTask(0)).text();
  record.maker = {0, "0.1.0", "abc"};
  record.measurement.minMicroseconds = 12.625;
  record.measurement.medianMicroseconds = 13.1;
  record.measurement.samples = 50;
  record.provenance = {"random", 1, 2, 1760000000};
  return record;
}

} // namespace

// Stores depend on these: they hold for ever and on every platform.
TEST(Record, KeysAreLocked) {
  EXPECT_EQ(record().target, "znver5.2t.4e7154498502fbd4");
  EXPECT_EQ(record().id(), "6931b6dd572242e87f7bf5c07cae3bcb");
}

TEST(Record, EveryFieldIsPartOfTheIdentity) {
  Record base = record();
  std::vector<Record> others(15, base);
  others[0].task = "0123456789abcdef";
  others[1].target += "0";
  others[2].schedule += "size = 1\n";
  others[3].maker.language = 1;
  others[4].maker.compiler = "0.2.0";
  others[5].maker.build = "abd";
  others[6].measurement.outcome = Outcome::CutOff;
  others[7].measurement.detail = "x";
  others[8].measurement.minMicroseconds = std::nextafter(12.625, 13);
  others[9].measurement.medianMicroseconds = 13.2;
  others[10].measurement.samples = 51;
  others[11].measurement.slowdown = 1.5;
  others[12].measurement.rounds = 2;
  others[13].provenance.seed = uint64_t(-1);
  others[14].provenance.time = 1760000001;
  std::set<std::string> ids = {base.id()};
  for (const Record &other : others)
    EXPECT_TRUE(ids.insert(other.id()).second) << &other - others.data();
}

TEST(Record, VerifyNamesWhatIsWrong) {
  EXPECT_EQ(record().verify(), "");
  auto wrong = [](auto change) {
    Record changed = record();
    change(changed);
    return changed.verify();
  };
  EXPECT_NE(wrong([](Record &r) { r.measurement.minMicroseconds = NAN; }), "");
  EXPECT_NE(wrong([](Record &r) { r.measurement.minMicroseconds = 0; }), "");
  EXPECT_NE(wrong([](Record &r) { r.measurement.medianMicroseconds = 1; }), "");
  EXPECT_NE(wrong([](Record &r) { r.measurement.outcome = Outcome(77); }), "");
  EXPECT_NE(wrong([](Record &r) { r.measurement.rounds = 0; }), "");
  EXPECT_NE(wrong([](Record &r) { r.measurement.detail = "a\nb"; }), "");
  EXPECT_NE(wrong([](Record &r) { r.provenance.strategy = ""; }), "");
  EXPECT_NE(wrong([](Record &r) { r.schedule = "tlm-schedule 1\n"; }), "");
  EXPECT_NE(wrong([](Record &r) { r.task = testTask(1).key(); }), "");
}

TEST(Record, DetailsBecomeOneLine) {
  EXPECT_EQ(cleanDetail("a\nb\xff\x01"), "a b??");
  EXPECT_EQ(cleanDetail(std::string(5000, 'x')).size(), 500u);
}

TEST(TargetKey, SaysWhatDecidesAndNothingElse) {
  Target target = testTarget();
  std::string key = targetKey(target);
  EXPECT_TRUE(key.starts_with("x86-64-v4.2t.")) << key;
  target.threads = 3;
  EXPECT_NE(targetKey(target), key);
  target.threads = 2;
  target.l2Bytes *= 2;
  EXPECT_NE(targetKey(target), key);
  EXPECT_FALSE(targetKey("x86_64 cpu= features= threads=2"));
  EXPECT_FALSE(targetKey("x86_64 cpu=a features= threads=0"));
  EXPECT_FALSE(targetKey("x86_64 cpu=a\n features= threads=2"));
}
