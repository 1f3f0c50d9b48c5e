//===- Store.h - a file of records ------------------------------*- C++ -*-===//
//
// A SQLite file in WAL mode. What add() has returned for is kept, whatever
// happens to this process after that; what it has not is not there, all of it.
// Several processes may use one store.
//
// Candidates run in forked children, and one that scribbles must not reach the
// store: whoever measures opens the store for every addition and closes it
// again.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_RECORDS_STORE_H
#define TLM_RECORDS_STORE_H

#include "records/Database.h"
#include "records/Record.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tlm {

/// Which records; what is empty takes all.
struct RecordFilter {
  std::string task, target; ///< starts of keys
  std::optional<Outcome> outcome;
  std::string compiler; ///< only of that version
};

/// Counts by name, for people.
struct StoreStats {
  int64_t version = 0, bytes = 0;
  int64_t records = 0, tasks = 0, targets = 0, candidates = 0, drifted = 0;
  int64_t oldest = 0, newest = 0; ///< seconds since 1970
  std::map<std::string, int64_t> outcomes, strategies, compilers, ofTargets;
};

class Store {
public:
  enum class Access {
    Read,
    Write,
    Create, ///< write; a missing file is made
  };
  /// An old store is brought to today's version. `examine` reads the whole file
  /// for damage first, which writers that open it often leave out.
  static Result<Store> open(const std::string &path, Access access,
                            bool examine = true);

  /// All or none, in one transaction. Records that are there already are left
  /// out; returns how many were not.
  Result<int64_t> add(const RecordSet &set);
  /// The union; returns how many records came in.
  Result<int64_t> merge(const Store &from);

  /// The records of one task on one target, the oldest first.
  Result<std::vector<Record>> find(const std::string &task,
                                   const std::string &target) const;
  /// In the order of (time, trial, rounds, identity), which depends on nothing
  /// but the records. An error of `visit` ends the walk.
  Status forEach(const RecordFilter &filter,
                 const std::function<Status(const Record &)> &visit) const;
  /// key -> text, all of them.
  Result<std::map<std::string, std::string>> taskTexts() const;
  Result<std::map<std::string, std::string>> targetTexts() const;
  /// Targets on which there is a record of the task, sorted.
  Result<std::vector<std::string>> targetsOf(const std::string &task) const;

  /// Removes records, and tasks and targets that are named by none after that;
  /// returns how many records it were.
  Result<int64_t> remove(const std::vector<std::string> &ids);

  Result<StoreStats> stats() const;
  /// SQLite's own check, and whether every key and identity is the hash of what
  /// it stands for. What is wrong, or empty.
  Result<std::string> damage() const;

  const std::string &path() const { return database.path(); }

private:
  explicit Store(Database database) : database(std::move(database)) {}
  Result<int64_t> insert(const RecordSet &set);
  Database database;
};

} // namespace tlm

#endif // TLM_RECORDS_STORE_H
