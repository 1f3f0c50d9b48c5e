#include "records/Store.h"

#include "records/Migrations.h"
#include "records/RecordTestData.h"

#include <algorithm>
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

using namespace tlm;

namespace {

using StoreTest = RecordTest;
using Access = Store::Access;

std::string refusal(const std::string &path, Access access = Access::Read) {
  Result<Store> store = Store::open(path, access);
  return store ? "" : store.error().message;
}

void addAll(Store &store, const RecordSet &set) {
  Result<int64_t> added = store.add(set);
  ASSERT_TRUE(added) << added.error().message;
}

} // namespace

TEST_F(StoreTest, KeepsEveryField) {
  RecordSet set = testSet(1, 40);
  {
    Store store = openStore(path("a"));
    Result<int64_t> added = store.add(set);
    ASSERT_TRUE(added) << added.error().message;
    EXPECT_EQ(*added, 40);
    EXPECT_EQ(*store.add(set), 0) << "the same records again";
  }
  Store store = openStore(path("a"), Access::Read);
  EXPECT_EQ(*store.damage(), "");
  size_t count = 0;
  for (const Record &record : set.records) {
    std::vector<Record> found = *store.find(record.task, record.target);
    // The identity is made of every field.
    EXPECT_TRUE(
        std::any_of(found.begin(), found.end(), [&](const Record &other) {
          return other.id() == record.id();
        }));
    EXPECT_TRUE(std::is_sorted(found.begin(), found.end(),
                               [](const Record &a, const Record &b) {
                                 return a.provenance.time < b.provenance.time;
                               }));
    ++count;
  }
  EXPECT_EQ(count, 40u);
  StoreStats stats = *store.stats();
  EXPECT_EQ(stats.records, 40);
  EXPECT_EQ(stats.tasks, 2);
  EXPECT_EQ(stats.targets, 2);
  EXPECT_EQ(stats.version, storeVersion());
  EXPECT_EQ(stats.strategies.at("random"), 40);
}

TEST_F(StoreTest, AddsAllOrNone) {
  RecordSet set = testSet(1, 5);
  set.records[4].measurement.rounds = 0;
  Store store = openStore(path("a"));
  EXPECT_FALSE(store.add(set));
  EXPECT_EQ(contents(store), "");
  set = testSet(1, 5);
  set.tasks.begin()->second += " ";
  EXPECT_FALSE(store.add(set));
  set = testSet(1, 5);
  set.targets.clear(); // a record that names no known target
  EXPECT_FALSE(store.add(set));
  EXPECT_EQ(contents(store), "");
  EXPECT_EQ(store.stats()->tasks, 0);
}

TEST_F(StoreTest, FiltersAndRemoves) {
  Store store = openStore(path("a"));
  RecordSet set = testSet(1, 60);
  addAll(store, set);
  RecordFilter filter;
  filter.task = set.records[0].task.substr(0, 6);
  filter.outcome = Outcome::Ok;
  std::vector<std::string> ids;
  ASSERT_TRUE(store.forEach(filter, [&](const Record &record) {
    EXPECT_EQ(record.task, set.records[0].task);
    EXPECT_TRUE(record.measurement.isOk());
    ids.push_back(record.id());
    return success();
  }));
  size_t wanted = size_t(
      std::count_if(set.records.begin(), set.records.end(), [&](auto &record) {
        return record.task == set.records[0].task && record.measurement.isOk();
      }));
  EXPECT_EQ(ids.size(), wanted);
  EXPECT_GT(wanted, 10u);
  EXPECT_EQ(*store.remove(ids), int64_t(wanted));
  EXPECT_EQ(store.stats()->records, int64_t(60 - wanted));
  EXPECT_EQ(*store.remove(ids), 0);
  // Tasks that nobody names go too.
  ids.clear();
  filter = {};
  filter.task = set.records[0].task;
  ASSERT_TRUE(store.forEach(filter, [&](const Record &record) {
    ids.push_back(record.id());
    return success();
  }));
  ASSERT_TRUE(store.remove(ids));
  EXPECT_EQ(store.stats()->tasks, 1);
  EXPECT_EQ(*store.damage(), "");
}

// Three stores that share some of their records, put together in every order
// and grouping, and once more: always the same contents.
TEST_F(StoreTest, MergeIsAUnion) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    Random random(seed);
    RecordSet parts[3];
    RecordSet pool = testSet(100 * seed, 50);
    for (RecordSet &part : parts) {
      part.tasks = pool.tasks;
      part.targets = pool.targets;
      for (const Record &record : pool.records)
        if (random.below(2))
          part.records.push_back(record);
    }
    auto name = [&](const std::string &what) {
      return path(what + std::to_string(seed));
    };
    for (int i = 0; i < 3; ++i) {
      Store store = openStore(name("part" + std::to_string(i) + "-"));
      addAll(store, parts[i]);
    }
    std::set<std::string> results;
    std::vector<int> order = {0, 1, 2};
    int number = 0;
    do {
      for (bool pairFirst : {false, true}) {
        std::string tag = std::to_string(number++) + "-";
        Store all = openStore(name("all" + tag)),
              pair = openStore(name("pair" + tag));
        auto part = [&](int i) {
          return openStore(
              name("part" + std::to_string(order[size_t(i)]) + "-"),
              Access::Read);
        };
        if (pairFirst) {
          ASSERT_TRUE(pair.merge(part(0)));
          ASSERT_TRUE(pair.merge(part(1)));
          ASSERT_TRUE(all.merge(part(2)));
          ASSERT_TRUE(all.merge(pair));
        } else {
          for (int i = 0; i < 3; ++i)
            ASSERT_TRUE(all.merge(part(i)));
        }
        EXPECT_EQ(*all.merge(part(1)), 0) << "idempotent";
        EXPECT_EQ(*all.damage(), "");
        results.insert(contents(all));
      }
    } while (std::next_permutation(order.begin(), order.end()));
    EXPECT_EQ(results.size(), 1u) << "seed " << seed;
  }
}

// The schema of version 1, as it stood then.
TEST_F(StoreTest, TakesUpAFileOfVersionOne) {
  RecordSet set = testSet(1, 12);
  std::string file = path("old");
  {
    Result<Database> old = Database::open(file, Database::Access::Create);
    ASSERT_TRUE(old);
    ASSERT_EQ(migrations()[0].version, 1);
    ASSERT_TRUE(old->execute(migrations()[0].statements));
    ASSERT_TRUE(old->execute("PRAGMA application_id = 1414286674; "
                             "PRAGMA user_version = 1"));
    auto quoted = [](const std::string &text) { return "'" + text + "'"; };
    for (const auto &[key, text] : set.tasks)
      ASSERT_TRUE(old->execute("INSERT INTO task(key, label, text) VALUES(" +
                               quoted(key) + ", 'x', " + quoted(text) + ")"));
    for (const auto &[key, text] : set.targets)
      ASSERT_TRUE(old->execute("INSERT INTO target(key, text) VALUES(" +
                               quoted(key) + ", " + quoted(text) + ")"));
    for (const Record &r : set.records) {
      const Measurement &m = r.measurement;
      char times[200];
      std::snprintf(times, sizeof times, "%.17g, %.17g, %d, %.17g",
                    m.minMicroseconds, m.medianMicroseconds, m.samples,
                    m.slowdown);
      Status status = old->execute(
          "INSERT INTO record VALUES(" + quoted(r.id()) +
          ", (SELECT id FROM task WHERE key = " + quoted(r.task) +
          "), (SELECT id FROM target WHERE key = " + quoted(r.target) + "), " +
          quoted(r.schedule) + ", 0, " + quoted(r.maker.compiler) + ", " +
          quoted(r.maker.build) + ", " + std::to_string(int(m.outcome)) + ", " +
          quoted(m.detail) + ", " + times + ", " +
          quoted(r.provenance.strategy) + ", " +
          std::to_string(r.provenance.seed) + ", " +
          std::to_string(r.provenance.trial) + ", " +
          std::to_string(r.provenance.time) + ")");
      ASSERT_TRUE(status) << status.error().message;
    }
  }
  Store fresh = openStore(path("fresh"));
  addAll(fresh, set);
  for (Access access : {Access::Read, Access::Write}) {
    Store store = openStore(file, access);
    EXPECT_EQ(store.stats()->version, storeVersion());
    EXPECT_EQ(contents(store), contents(fresh));
    EXPECT_EQ(*store.damage(), "");
  }
}

// A process that does nothing but add is killed again and again: what add() has
// returned for is there.
TEST_F(StoreTest, KeepsWhatWasAddedBeforeAKill) {
  RecordSet pool = testSet(1, 4000);
  Random random(5);
  size_t next = 0, kills = 0;
  // More of them, and later, where the machine is slow.
  for (; kills < 25 || (next <= 20 && kills < 250); ++kills) {
    ASSERT_LT(next + 3, pool.records.size());
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    pid_t child = ::fork();
    if (child == 0) {
      for (size_t i = next; i + 3 < pool.records.size(); i += 3) {
        RecordSet part;
        part.tasks = pool.tasks;
        part.targets = pool.targets;
        part.records.assign(pool.records.begin() + int64_t(i),
                            pool.records.begin() + int64_t(i + 3));
        Result<Store> store = Store::open(path("a"), Access::Create, false);
        if (!store || !store->add(part))
          _exit(1);
        if (::write(ends[1], &i, sizeof i) != sizeof i)
          _exit(2);
      }
      _exit(0);
    }
    ::close(ends[1]);
    ::usleep(useconds_t(1000 + random.below(30000 + 1000 * kills)));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
    for (size_t i; ::read(ends[0], &i, sizeof i) == sizeof i;)
      next = i + 3;
    ::close(ends[0]);
    if (next == 0)
      continue;
    Store store = openStore(path("a"), Access::Read);
    EXPECT_EQ(*store.damage(), "");
    std::string all = contents(store);
    for (size_t i = 0; i < next; ++i)
      EXPECT_NE(all.find(pool.records[i].id()), all.npos) << kills << ' ' << i;
    // A batch that was on its way is there as a whole or not at all.
    EXPECT_EQ(store.stats()->records % 3, 0);
  }
  EXPECT_GT(next, 20u);
}

TEST_F(StoreTest, RefusesNewerVersionsAndForeignFiles) {
  openStore(path("new"));
  {
    Result<Database> file =
        Database::open(path("new"), Database::Access::Write);
    ASSERT_TRUE(file->execute("PRAGMA user_version = 99"));
  }
  EXPECT_EQ(refusal(path("new")),
            "'" + path("new") + "' is a store of version 99; known up to " +
                std::to_string(storeVersion()));
  EXPECT_EQ(refusal(path("new"), Access::Create), refusal(path("new")));
  {
    Result<Database> file =
        Database::open(path("other"), Database::Access::Create);
    ASSERT_TRUE(file->execute("CREATE TABLE t(x)"));
  }
  EXPECT_NE(refusal(path("other")).find("another program's"),
            std::string::npos);
  EXPECT_NE(refusal(path("missing")).find("No such file"), std::string::npos);
  ASSERT_TRUE(writeFileAtomically(path("empty"), ""));
  EXPECT_NE(refusal(path("empty")).find("it is empty"), std::string::npos);
  ASSERT_TRUE(writeFileAtomically(path("text"), std::string(5000, 'x')));
  EXPECT_NE(refusal(path("text")).find("no SQLite file"), std::string::npos);
}

// Cut or overwritten anywhere: refused with the file's name, or, where SQLite
// cannot see it, found by damage(), or it was in unused room of the file.
TEST_F(StoreTest, NoticesDamage) {
  {
    Store store = openStore(path("a"));
    addAll(store, testSet(1, 300));
  }
  std::string whole = *readWholeFile(path("a"));
  ASSERT_GT(whole.size(), size_t(100000));
  std::string right = contents(openStore(path("a")));
  auto verdict = [&](const std::string &bytes) -> std::string {
    for (const char *suffix : {"", "-wal", "-shm"})
      std::filesystem::remove(path("b") + suffix);
    EXPECT_TRUE(writeFileAtomically(path("b"), bytes));
    Result<Store> store = Store::open(path("b"), Access::Read);
    if (!store)
      return store.error().message;
    Result<std::string> found = store->damage();
    if (found && found->empty() && contents(*store) == right)
      return "harmless";
    return found ? *found : found.error().message;
  };
  EXPECT_EQ(verdict(whole), "harmless");
  for (size_t size = 1; size < whole.size(); size += whole.size() / 23)
    EXPECT_NE(verdict(whole.substr(0, size)).find("' is "), std::string::npos)
        << size << verdict(whole.substr(0, size));
  Random random(7);
  for (int i = 0; i < 40; ++i) {
    std::string bytes = whole;
    size_t at = 4096 + random.below(whole.size() - 4096 - 600);
    for (size_t j = 0; j < 600; ++j)
      bytes[at + j] = char(random.next());
    EXPECT_NE(verdict(bytes), "") << at;
  }
}
