//===- Database.h - SQLite with results -------------------------*- C++ -*-===//

#ifndef TLM_RECORDS_DATABASE_H
#define TLM_RECORDS_DATABASE_H

#include "base/Result.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace tlm {

/// A prepared statement. Parameters are bound in their order; step() runs it up
/// to its next row.
class Statement {
public:
  Statement &bind(int64_t value);
  Statement &bind(double value);
  Statement &bind(std::string_view text);

  /// Whether there is a row; after the last one, or `reset`, parameters are
  /// bound anew.
  Result<bool> step();
  void reset();

  int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;

private:
  friend class Database;
  Statement(const std::string &path, sqlite3 *connection,
            sqlite3_stmt *statement);
  std::string path;
  sqlite3 *connection;
  std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt *)> statement;
  int bound = 0;
};

/// A connection. Waits a minute for other processes that write.
class Database {
public:
  enum class Access { Read, Write, Create };
  static Result<Database> open(const std::string &path, Access access);

  /// One or several statements without parameters.
  Status execute(const std::string &sql) const;
  Result<Statement> prepare(std::string_view sql) const;
  /// The first column of the first row.
  Result<int64_t> integer(std::string_view sql) const;

  const std::string &path() const { return file; }

private:
  Database(const std::string &path, sqlite3 *connection);
  std::string file;
  std::unique_ptr<sqlite3, int (*)(sqlite3 *)> connection;
};

/// Rolled back unless it is committed.
class Transaction {
public:
  static Result<Transaction> begin(const Database &database);
  Transaction(Transaction &&other) : database(other.database) {
    other.database = nullptr;
  }
  ~Transaction();
  Status commit();

private:
  explicit Transaction(const Database &database) : database(&database) {}
  const Database *database;
};

} // namespace tlm

#endif // TLM_RECORDS_DATABASE_H
