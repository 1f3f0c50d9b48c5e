//===- Record.h - what one measurement left ---------------------*- C++ -*-===//
//
// A candidate (task, target, schedule), what became of it, and where the
// knowledge comes from. Records are facts: they are added and removed, never
// changed. Two records are the same one exactly when all they say is the same,
// so their identity is a hash of a canonical text, and putting stores together
// is a union: in any order, as often as one likes.
//
// The canonical text, lines of "name value" and then the schedule's text, is
// hashed only; RecordLines.h is the form that is written.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_RECORDS_RECORD_H
#define TLM_RECORDS_RECORD_H

#include "base/Result.h"
#include "records/Measurement.h"
#include "task/Task.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tlm {

/// What made the kernel. The versions of task and schedule text stand in these.
struct Maker {
  /// Of the tensor language that proposed the schedule; 0: none did.
  int32_t language = 0;
  std::string compiler; ///< compilerVersion()
  std::string build;    ///< commit
  bool operator==(const Maker &) const = default;
};

/// "0.1.0". Times of kernels of another version do not speak for this one's.
std::string_view compilerVersion();

/// How the candidate came up.
struct Provenance {
  std::string strategy;
  uint64_t seed = 0;
  int64_t trial = 0; ///< in its search
  int64_t time = 0;  ///< seconds since 1970, UTC
  bool operator==(const Provenance &) const = default;
};

struct Record {
  std::string task;     ///< Task::key()
  std::string target;   ///< targetKey()
  std::string schedule; ///< Schedule::text(), every decision in it
  Maker maker;
  Measurement measurement;
  Provenance provenance;

  bool isDrifted() const { return measurement.slowdown > kDrift; }
  /// 32 hex digits, the same on every platform.
  std::string id() const;
  /// What is wrong with it, or empty.
  std::string verify() const;
};

/// Records with the texts behind the keys that they name.
struct RecordSet {
  std::map<std::string, std::string> tasks, targets; ///< key -> text
  std::vector<Record> records;
};

/// The task of a stored text, whose key must be `key`; no other spelling of it.
Result<Task> storedTask(const std::string &key, const std::string &text);
/// Whether `key` is the key of that target.
Status checkTargetText(const std::string &key, const std::string &text);

/// `text` as a record may hold it: one line of printable ASCII, not too long.
std::string cleanDetail(std::string_view text);

} // namespace tlm

#endif // TLM_RECORDS_RECORD_H
