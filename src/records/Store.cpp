#include "records/Store.h"

#include "records/Migrations.h"

#include <set>
#include <sys/stat.h>

using namespace tlm;

static constexpr const char *kSelect =
    "SELECT t.key, g.key, r.schedule, r.language, r.compiler, r.build, "
    "r.outcome, r.detail, r.min_us, r.median_us, r.samples, r.slowdown, "
    "r.rounds, r.strategy, r.seed, r.trial, r.time, r.id FROM record r JOIN "
    "task t ON t.id = r.task JOIN target g ON g.id = r.target ";
static constexpr const char *kOrder =
    " ORDER BY r.time, r.trial, r.rounds, r.id";

/// An error when the row is not what its identity says.
static Result<Record> recordOf(const Statement &row, const std::string &path) {
  Record record;
  record.task = row.text(0);
  record.target = row.text(1);
  record.schedule = row.text(2);
  record.maker = {int32_t(row.integer(3)), row.text(4), row.text(5)};
  Measurement &m = record.measurement;
  m.outcome = Outcome(row.integer(6));
  m.detail = row.text(7);
  m.minMicroseconds = row.real(8);
  m.medianMicroseconds = row.real(9);
  m.samples = int32_t(row.integer(10));
  m.slowdown = row.real(11);
  m.rounds = int32_t(row.integer(12));
  record.provenance = {row.text(13), uint64_t(row.integer(14)), row.integer(15),
                       row.integer(16)};
  std::string id = row.text(17), wrong = record.verify();
  if (wrong.empty() && record.id() != id)
    wrong = "it says something else than its identity";
  if (!wrong.empty())
    return makeError("'" + path + "' is damaged: record " + cleanDetail(id) +
                     ": " + wrong);
  return record;
}

/// Rows of two columns of text.
static Result<std::map<std::string, std::string>>
textPairs(const Database &database, std::string_view sql) {
  TLM_TRY(Statement statement, database.prepare(sql));
  std::map<std::string, std::string> pairs;
  for (;;) {
    TLM_TRY(bool isRow, statement.step());
    if (!isRow)
      return pairs;
    pairs.emplace(statement.text(0), statement.text(1));
  }
}

static Result<std::map<std::string, int64_t>> countsOf(const Database &database,
                                                       std::string_view sql) {
  TLM_TRY(Statement statement, database.prepare(sql));
  std::map<std::string, int64_t> counts;
  for (;;) {
    TLM_TRY(bool isRow, statement.step());
    if (!isRow)
      return counts;
    counts.emplace(statement.text(0), statement.integer(1));
  }
}

Result<Store> Store::open(const std::string &path, Access access,
                          bool examine) {
  auto mode = access == Access::Read    ? Database::Access::Read
              : access == Access::Write ? Database::Access::Write
                                        : Database::Access::Create;
  TLM_TRY(Database database, Database::open(path, mode));
  TLM_TRY(int version, versionOf(database));
  if (version == 0 && access != Access::Create)
    return makeError("'" + path + "' is no store of records: it is empty");
  if (examine && version > 0) {
    TLM_TRY(Statement check, database.prepare("PRAGMA quick_check(1)"));
    TLM_TRY(bool isRow, check.step());
    std::string found = isRow ? check.text(0) : "ok";
    if (found != "ok")
      return makeError("'" + path + "' is damaged: " + cleanDetail(found),
                       "records that were exported can be imported into a new "
                       "store");
  }
  if (version < storeVersion()) {
    if (access == Access::Read) {
      TLM_TRY(Database writer, Database::open(path, Database::Access::Write));
      TLM_TRY_STATUS(migrate(writer));
    } else {
      TLM_TRY_STATUS(migrate(database));
    }
  }
  if (access != Access::Read) {
    // Refused while another process reads the file; a store in the mode that it
    // had is as safe, and the next one to open it tries again.
    (void)database.execute("PRAGMA journal_mode = WAL");
    TLM_TRY_STATUS(database.execute("PRAGMA synchronous = FULL; "
                                    "PRAGMA foreign_keys = ON"));
  }
  return Store(std::move(database));
}

/// Adds the texts that are new; a key whose stored text differs is an error.
static Status insertText(const Database &database, const char *table,
                         const std::string &key, const std::string &text,
                         const std::string *label) {
  TLM_TRY(Statement known, database.prepare(std::string("SELECT text FROM ") +
                                            table + " WHERE key = ?"));
  TLM_TRY(bool isKnown, known.bind(key).step());
  if (isKnown) {
    if (known.text(0) != text)
      return makeError(std::string("two texts of ") + table + " " + key);
    return success();
  }
  std::string sql = std::string("INSERT INTO ") + table +
                    (label ? "(key, text, label) VALUES(?, ?, ?)"
                           : "(key, text) VALUES(?, ?)");
  TLM_TRY(Statement statement, database.prepare(sql));
  statement.bind(key).bind(text);
  if (label)
    statement.bind(*label);
  TLM_TRY(bool isRow, statement.step());
  (void)isRow;
  return success();
}

Result<int64_t> Store::insert(const RecordSet &set) {
  for (const auto &[key, text] : set.tasks) {
    TLM_TRY(Task task, storedTask(key, text));
    std::string label = task.label();
    TLM_TRY_STATUS(insertText(database, "task", key, text, &label));
  }
  for (const auto &[key, text] : set.targets) {
    TLM_TRY_STATUS(checkTargetText(key, text));
    TLM_TRY_STATUS(insertText(database, "target", key, text, nullptr));
  }
  TLM_TRY(
      Statement statement,
      database.prepare(
          "INSERT INTO record(id, task, target, schedule, language, compiler, "
          "build, outcome, detail, min_us, median_us, samples, slowdown, "
          "rounds, strategy, seed, trial, time) VALUES(?, (SELECT id FROM task "
          "WHERE key = ?), (SELECT id FROM target WHERE key = ?), ?, ?, ?, ?, "
          "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(id) DO NOTHING"));
  int64_t added = 0;
  for (const Record &record : set.records) {
    std::string wrong = record.verify();
    if (!wrong.empty())
      return makeError("record of task " + record.task + ": " + wrong);
    const Measurement &m = record.measurement;
    const Provenance &p = record.provenance;
    statement.bind(record.id())
        .bind(record.task)
        .bind(record.target)
        .bind(record.schedule)
        .bind(int64_t(record.maker.language))
        .bind(record.maker.compiler)
        .bind(record.maker.build)
        .bind(int64_t(m.outcome))
        .bind(m.detail)
        .bind(m.minMicroseconds)
        .bind(m.medianMicroseconds)
        .bind(int64_t(m.samples))
        .bind(m.slowdown)
        .bind(int64_t(m.rounds))
        .bind(p.strategy)
        .bind(int64_t(p.seed))
        .bind(p.trial)
        .bind(p.time);
    TLM_TRY(bool isRow, statement.step());
    (void)isRow;
    TLM_TRY(int64_t changed, database.integer("SELECT changes()"));
    added += changed;
  }
  return added;
}

Result<int64_t> Store::add(const RecordSet &set) {
  TLM_TRY(Transaction transaction, Transaction::begin(database));
  TLM_TRY(int64_t added, insert(set));
  TLM_TRY_STATUS(transaction.commit());
  return added;
}

Result<int64_t> Store::merge(const Store &from) {
  TLM_TRY(Transaction transaction, Transaction::begin(database));
  RecordSet texts;
  TLM_TRY(texts.tasks, from.taskTexts());
  TLM_TRY(texts.targets, from.targetTexts());
  TLM_TRY(int64_t added, insert(texts));
  RecordSet batch;
  auto flush = [&]() -> Status {
    TLM_TRY(int64_t more, insert(batch));
    added += more;
    batch.records.clear();
    return success();
  };
  TLM_TRY_STATUS(from.forEach({}, [&](const Record &record) -> Status {
    batch.records.push_back(record);
    return batch.records.size() < 1000 ? success() : flush();
  }));
  TLM_TRY_STATUS(flush());
  TLM_TRY_STATUS(transaction.commit());
  return added;
}

Result<std::vector<Record>> Store::find(const std::string &task,
                                        const std::string &target) const {
  TLM_TRY(Statement statement,
          database.prepare(std::string(kSelect) +
                           "WHERE t.key = ? AND g.key = ?" + kOrder));
  statement.bind(task).bind(target);
  std::vector<Record> records;
  for (;;) {
    TLM_TRY(bool isRow, statement.step());
    if (!isRow)
      return records;
    TLM_TRY(Record record, recordOf(statement, path()));
    records.push_back(std::move(record));
  }
}

Status
Store::forEach(const RecordFilter &filter,
               const std::function<Status(const Record &)> &visit) const {
  TLM_TRY(Statement statement,
          database.prepare(
              std::string(kSelect) +
              "WHERE substr(t.key, 1, length(?1)) = ?1 AND substr(g.key, 1, "
              "length(?2)) = ?2 AND (?3 = -1 OR r.outcome = ?3) AND (?4 = '' "
              "OR r.compiler = ?4)" +
              kOrder));
  statement.bind(filter.task)
      .bind(filter.target)
      .bind(filter.outcome ? int64_t(*filter.outcome) : int64_t(-1))
      .bind(filter.compiler);
  for (;;) {
    TLM_TRY(bool isRow, statement.step());
    if (!isRow)
      return success();
    TLM_TRY(Record record, recordOf(statement, path()));
    TLM_TRY_STATUS(visit(record));
  }
}

Result<std::map<std::string, std::string>> Store::taskTexts() const {
  return textPairs(database, "SELECT key, text FROM task");
}

Result<std::map<std::string, std::string>> Store::targetTexts() const {
  return textPairs(database, "SELECT key, text FROM target");
}

Result<std::vector<std::string>>
Store::targetsOf(const std::string &task) const {
  TLM_TRY(Statement statement,
          database.prepare("SELECT DISTINCT g.key FROM record r JOIN task t ON "
                           "t.id = r.task JOIN target g ON g.id = r.target "
                           "WHERE t.key = ? ORDER BY g.key"));
  statement.bind(task);
  std::vector<std::string> keys;
  for (;;) {
    TLM_TRY(bool isRow, statement.step());
    if (!isRow)
      return keys;
    keys.push_back(statement.text(0));
  }
}

Result<int64_t> Store::remove(const std::vector<std::string> &ids) {
  TLM_TRY(Transaction transaction, Transaction::begin(database));
  TLM_TRY(Statement statement,
          database.prepare("DELETE FROM record WHERE id = ?"));
  int64_t removed = 0;
  for (const std::string &id : ids) {
    TLM_TRY(bool isRow, statement.bind(id).step());
    (void)isRow;
    TLM_TRY(int64_t changed, database.integer("SELECT changes()"));
    removed += changed;
  }
  TLM_TRY_STATUS(database.execute(
      "DELETE FROM task WHERE id NOT IN (SELECT task FROM record); "
      "DELETE FROM target WHERE id NOT IN (SELECT target FROM record)"));
  TLM_TRY_STATUS(transaction.commit());
  // While others use the store it keeps its size; the room is used again.
  (void)database.execute("VACUUM");
  return removed;
}

Result<StoreStats> Store::stats() const {
  StoreStats stats;
  auto number = [&](int64_t &value, const char *sql) -> Status {
    TLM_TRY(value, database.integer(sql));
    return success();
  };
  auto counts = [&](std::map<std::string, int64_t> &map,
                    const char *sql) -> Status {
    TLM_TRY(map, countsOf(database, sql));
    return success();
  };
  TLM_TRY_STATUS(number(stats.version, "PRAGMA user_version"));
  TLM_TRY_STATUS(number(stats.records, "SELECT count(*) FROM record"));
  TLM_TRY_STATUS(number(stats.tasks, "SELECT count(*) FROM task"));
  TLM_TRY_STATUS(number(stats.targets, "SELECT count(*) FROM target"));
  TLM_TRY_STATUS(number(stats.candidates,
                        "SELECT count(*) FROM (SELECT DISTINCT task, "
                        "target, schedule FROM record)"));
  TLM_TRY_STATUS(number(stats.oldest, "SELECT min(time) FROM record"));
  TLM_TRY_STATUS(number(stats.newest, "SELECT max(time) FROM record"));
  TLM_TRY(Statement drifted,
          database.prepare("SELECT count(*) FROM record WHERE slowdown > ?"));
  TLM_TRY(bool isRow, drifted.bind(kDrift).step());
  stats.drifted = isRow ? drifted.integer(0) : 0;
  TLM_TRY(auto outcomes, countsOf(database, "SELECT outcome, count(*) FROM "
                                            "record GROUP BY outcome"));
  for (const auto &[id, count] : outcomes)
    stats.outcomes[std::string(nameOf(Outcome(std::stoi(id))))] += count;
  TLM_TRY_STATUS(
      counts(stats.strategies,
             "SELECT strategy, count(*) FROM record GROUP BY strategy"));
  TLM_TRY_STATUS(
      counts(stats.compilers,
             "SELECT compiler, count(*) FROM record GROUP BY compiler"));
  TLM_TRY_STATUS(counts(stats.ofTargets,
                        "SELECT g.key, count(*) FROM record r JOIN target g ON "
                        "g.id = r.target GROUP BY g.key"));
  struct stat facts;
  if (::stat(path().c_str(), &facts) == 0)
    stats.bytes = facts.st_size;
  return stats;
}

Result<std::string> Store::damage() const {
  for (const char *pragma :
       {"PRAGMA integrity_check(1)", "PRAGMA foreign_key_check"}) {
    TLM_TRY(Statement check, database.prepare(pragma));
    TLM_TRY(bool isRow, check.step());
    if (isRow && check.text(0) != "ok")
      return cleanDetail(check.text(0));
  }
  TLM_TRY(auto tasks, taskTexts());
  for (const auto &[key, text] : tasks)
    if (Result<Task> task = storedTask(key, text); !task)
      return task.error().message;
  TLM_TRY(auto targets, targetTexts());
  for (const auto &[key, text] : targets)
    if (Status status = checkTargetText(key, text); !status)
      return status.error().message;
  // A walk examines every record.
  if (Status status = forEach({}, [](auto &) { return success(); }); !status)
    return status.error().message;
  return std::string();
}
