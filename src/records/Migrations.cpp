#include "records/Migrations.h"

using namespace tlm;

/// "TLMR": what a store has for SQLite's application_id.
static constexpr int64_t kApplication = 0x544c4d52;

std::span<const Migration> tlm::migrations() {
  static constexpr Migration kMigrations[] = {
      {1, R"(
CREATE TABLE task(
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  label TEXT NOT NULL,
  text TEXT NOT NULL
) STRICT;
CREATE TABLE target(
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  text TEXT NOT NULL
) STRICT;
CREATE TABLE record(
  id TEXT NOT NULL PRIMARY KEY,
  task INTEGER NOT NULL REFERENCES task(id),
  target INTEGER NOT NULL REFERENCES target(id),
  schedule TEXT NOT NULL,
  language INTEGER NOT NULL,
  compiler TEXT NOT NULL,
  build TEXT NOT NULL,
  outcome INTEGER NOT NULL,
  detail TEXT NOT NULL,
  min_us REAL NOT NULL,
  median_us REAL NOT NULL,
  samples INTEGER NOT NULL,
  slowdown REAL NOT NULL,
  strategy TEXT NOT NULL,
  seed INTEGER NOT NULL,
  trial INTEGER NOT NULL,
  time INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
)"},
      // Candidates of a final are measured several times, in turn.
      {2, R"(
ALTER TABLE record ADD COLUMN rounds INTEGER NOT NULL DEFAULT 1;
CREATE INDEX record_of_task ON record(task, target);
)"},
  };
  return kMigrations;
}

int tlm::storeVersion() { return migrations().back().version; }

Result<int> tlm::versionOf(const Database &database) {
  TLM_TRY(int64_t version, database.integer("PRAGMA user_version"));
  TLM_TRY(int64_t application, database.integer("PRAGMA application_id"));
  TLM_TRY(int64_t tables, database.integer("SELECT count(*) FROM "
                                           "sqlite_schema"));
  bool isEmpty = version == 0 && application == 0 && tables == 0;
  if (!isEmpty && (application != kApplication || version < 1))
    return makeError("'" + database.path() +
                     "' is no store of records: it is another program's "
                     "SQLite file");
  if (version > storeVersion())
    return makeError("'" + database.path() + "' is a store of version " +
                         std::to_string(version) + "; known up to " +
                         std::to_string(storeVersion()),
                     "a newer tlm wrote it");
  return int(version);
}

Status tlm::migrate(const Database &database) {
  TLM_TRY(Transaction transaction, Transaction::begin(database));
  // Another process may have done it by now.
  TLM_TRY(int version, versionOf(database));
  for (const Migration &step : migrations())
    if (step.version > version)
      TLM_TRY_STATUS(database.execute(step.statements));
  TLM_TRY_STATUS(database.execute(
      "PRAGMA application_id = " + std::to_string(kApplication) +
      "; PRAGMA user_version = " + std::to_string(storeVersion())));
  return transaction.commit();
}
