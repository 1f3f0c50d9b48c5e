//===- Migrations.h - the schema of a store, version by version -*- C++ -*-===//
//
// The schema is what the statements of all versions leave when they run one
// after the other, in a new file as in an old one. Append only.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_RECORDS_MIGRATIONS_H
#define TLM_RECORDS_MIGRATIONS_H

#include "records/Database.h"

#include <span>

namespace tlm {

struct Migration {
  int version;
  const char *statements;
};
std::span<const Migration> migrations();

/// The newest version, what this program writes.
int storeVersion();

/// The version of the file; 0 when it is empty. Refuses SQLite files of others
/// and versions that are newer than this program.
Result<int> versionOf(const Database &database);

/// Brings the file from `version` to storeVersion(), wholly or not at all.
Status migrate(const Database &database);

} // namespace tlm

#endif // TLM_RECORDS_MIGRATIONS_H
