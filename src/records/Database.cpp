#include "records/Database.h"

#include <cerrno>
#include <cstring>
#include <sqlite3.h>
#include <unistd.h>

using namespace tlm;

static constexpr int kBusyMilliseconds = 60000;

static Error errorOf(const std::string &path, sqlite3 *connection, int code) {
  std::string start = "'" + path + "' ";
  switch (code & 0xff) {
  case SQLITE_NOTADB:
    return makeError(start + "is no store of records: it is no SQLite file");
  case SQLITE_CORRUPT:
    return makeError(start + "is damaged: " + sqlite3_errmsg(connection),
                     "records that were exported can be imported into a new "
                     "store");
  case SQLITE_BUSY:
    return makeError(start + "is in use by another process for more than " +
                     std::to_string(kBusyMilliseconds / 1000) + " s");
  default:
    return makeError(start + "cannot be used as a store of records: " +
                     sqlite3_errmsg(connection));
  }
}

Statement::Statement(const std::string &path, sqlite3 *connection,
                     sqlite3_stmt *statement)
    : path(path), connection(connection),
      statement(statement, sqlite3_finalize) {}

// What can fail when a value is bound is memory, or a wrong index: bugs.
Statement &Statement::bind(int64_t value) {
  TLM_CHECK(sqlite3_bind_int64(statement.get(), ++bound, value) == SQLITE_OK);
  return *this;
}

Statement &Statement::bind(double value) {
  TLM_CHECK(sqlite3_bind_double(statement.get(), ++bound, value) == SQLITE_OK);
  return *this;
}

Statement &Statement::bind(std::string_view text) {
  TLM_CHECK(sqlite3_bind_text64(statement.get(), ++bound, text.data(),
                                text.size(), SQLITE_TRANSIENT,
                                SQLITE_UTF8) == SQLITE_OK);
  return *this;
}

Result<bool> Statement::step() {
  int code = sqlite3_step(statement.get());
  if (code == SQLITE_ROW)
    return true;
  reset();
  if (code == SQLITE_DONE)
    return false;
  return errorOf(path, connection, code);
}

void Statement::reset() {
  sqlite3_reset(statement.get());
  bound = 0;
}

int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement.get(), column);
}

double Statement::real(int column) const {
  return sqlite3_column_double(statement.get(), column);
}

std::string Statement::text(int column) const {
  const void *bytes = sqlite3_column_text(statement.get(), column);
  int count = sqlite3_column_bytes(statement.get(), column);
  return std::string(static_cast<const char *>(bytes), size_t(count));
}

Database::Database(const std::string &path, sqlite3 *connection)
    : file(path), connection(connection, sqlite3_close_v2) {}

Result<Database> Database::open(const std::string &path, Access access) {
  if (access != Access::Create && ::access(path.c_str(), R_OK) != 0)
    return makeError("cannot read '" + path + "': " + std::strerror(errno));
  int flags = access == Access::Read ? SQLITE_OPEN_READONLY
              : access == Access::Write
                  ? SQLITE_OPEN_READWRITE
                  : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  sqlite3 *connection = nullptr;
  int code = sqlite3_open_v2(path.c_str(), &connection, flags, nullptr);
  Database database(path, connection);
  if (code != SQLITE_OK)
    return errorOf(path, connection, code);
  sqlite3_extended_result_codes(connection, 1);
  sqlite3_busy_timeout(connection, kBusyMilliseconds);
  return database;
}

Status Database::execute(const std::string &sql) const {
  int code =
      sqlite3_exec(connection.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK)
    return errorOf(file, connection.get(), code);
  return success();
}

Result<Statement> Database::prepare(std::string_view sql) const {
  sqlite3_stmt *statement = nullptr;
  int code = sqlite3_prepare_v2(connection.get(), sql.data(), int(sql.size()),
                                &statement, nullptr);
  if (code != SQLITE_OK)
    return errorOf(file, connection.get(), code);
  return Statement(file, connection.get(), statement);
}

Result<int64_t> Database::integer(std::string_view sql) const {
  TLM_TRY(Statement statement, prepare(sql));
  TLM_TRY(bool isRow, statement.step());
  return isRow ? statement.integer(0) : 0;
}

Result<Transaction> Transaction::begin(const Database &database) {
  TLM_TRY_STATUS(database.execute("BEGIN IMMEDIATE"));
  return Transaction(database);
}

Transaction::~Transaction() {
  if (database)
    (void)database->execute("ROLLBACK");
}

Status Transaction::commit() {
  Status status = database->execute("COMMIT");
  if (status)
    database = nullptr;
  return status;
}
