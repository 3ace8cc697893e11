#include "runtime/records/database.h"

#include "dsl/expr/error.h"
#include "dsl/expr/outside.h"
#include "dsl/expr/printable.h"
#include "runtime/records/fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sqlite3.h>
#include <system_error>

namespace nestsmith::records {

namespace {

constexpr int busy_timeout_ms = 10'000;    ///< another process may hold the lock for a moment
constexpr int most_value_bytes = 16 << 20; ///< of one text
constexpr std::size_t most_records = 1'000'000;
constexpr int application_id = 0x4e455354; ///< "NEST"; marks the file as ours

std::string columns_text() {
  std::string text;
  for (const Field &field : fields())
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", field.name,
                        field.kind == Field::Kind::text   ? "TEXT"
                        : field.kind == Field::Kind::real ? "REAL"
                                                          : "INTEGER");
  return text;
}

std::vector<std::string> names(bool identity_only) {
  std::vector<std::string> list;
  for (const Field &field : fields())
    if (!identity_only || field.identity)
      list.emplace_back(field.name);
  return list;
}

} // namespace

struct Database::Handle {
  struct CloseDatabase {
    void operator()(sqlite3 *database) const { sqlite3_close_v2(database); }
  };
  struct Finalize {
    void operator()(sqlite3_stmt *statement) const { sqlite3_finalize(statement); }
  };
  std::filesystem::path path;
  std::unique_ptr<sqlite3, CloseDatabase> database;

  [[noreturn]] void fail(const std::string &doing) const {
    throw UserError(ExitCode::usage,
                    fmt::format("cannot {} the database {}: {}", doing, printable(path.string()),
                                printable(sqlite3_errmsg(database.get()))));
  }
  void execute(const std::string &sql, const std::string &doing) const {
    if (sqlite3_exec(database.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
      fail(doing);
  }
  std::unique_ptr<sqlite3_stmt, Finalize> prepare(const std::string &sql, const std::string &doing) const {
    sqlite3_stmt *statement = nullptr;
    if (sqlite3_prepare_v2(database.get(), sql.c_str(), -1, &statement, nullptr) != SQLITE_OK)
      fail(doing);
    return std::unique_ptr<sqlite3_stmt, Finalize>(statement);
  }
  int number(const std::string &sql) const {
    auto statement = prepare(sql, "read");
    if (sqlite3_step(statement.get()) != SQLITE_ROW)
      fail("read");
    return sqlite3_column_int(statement.get(), 0);
  }
};

namespace {

int bind_value(sqlite3_stmt *statement, int place, const Value &value) {
  if (const auto *text = std::get_if<std::string>(&value))
    return sqlite3_bind_text(statement, place, text->data(), static_cast<int>(text->size()), SQLITE_TRANSIENT);
  if (const auto *real = std::get_if<double>(&value))
    return sqlite3_bind_double(statement, place, *real);
  if (const auto *integer = std::get_if<std::int64_t>(&value))
    return sqlite3_bind_int64(statement, place, *integer);
  return sqlite3_bind_null(statement, place);
}

Value column(sqlite3_stmt *statement, int place) {
  switch (sqlite3_column_type(statement, place)) {
  case SQLITE_INTEGER:
    return static_cast<std::int64_t>(sqlite3_column_int64(statement, place));
  case SQLITE_FLOAT:
    return sqlite3_column_double(statement, place);
  case SQLITE_TEXT:
    return std::string(reinterpret_cast<const char *>(sqlite3_column_text(statement, place)),
                       static_cast<std::size_t>(sqlite3_column_bytes(statement, place)));
  default:
    return std::monostate();
  }
}

} // namespace

Database::Database(std::filesystem::path path, std::unique_ptr<Handle> handle)
    : path_(std::move(path)), handle_(std::move(handle)) {}
Database::Database(Database &&) noexcept = default;
Database &Database::operator=(Database &&) noexcept = default;
Database::~Database() = default;

namespace {

std::string create_text() {
  return fmt::format("CREATE TABLE record ({}, PRIMARY KEY ({}))", columns_text(),
                     fmt::join(names(true), ", "));
}

/// A file from others may have a schema whose triggers and views run when a table is used.
void harden(sqlite3 *database) {
  sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_limit(database, SQLITE_LIMIT_LENGTH, most_value_bytes);
  sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0);
}

} // namespace

Database Database::open(const std::filesystem::path &path, bool existing) {
  std::error_code error;
  const std::string shown = printable(path.string());
  check_regular_file(path, "database"); // SQLite waits for a FIFO
  if (existing && !std::filesystem::exists(path, error))
    throw UserError(ExitCode::usage, fmt::format("there is no database {}", shown));
  if (!existing && path.has_parent_path())
    std::filesystem::create_directories(path.parent_path(), error);
  auto handle = std::make_unique<Handle>();
  handle->path = path;
  sqlite3 *database = nullptr;
  int flags = SQLITE_OPEN_READWRITE | (existing ? 0 : SQLITE_OPEN_CREATE);
  int status = sqlite3_open_v2(path.c_str(), &database, flags, nullptr);
  handle->database.reset(database);
  if (status != SQLITE_OK)
    handle->fail("open");
  harden(database);
  sqlite3_busy_timeout(database, busy_timeout_ms);

  // One process at a time may create the table.
  handle->execute("BEGIN IMMEDIATE", "open");
  int version = handle->number("PRAGMA user_version"), id = handle->number("PRAGMA application_id");
  if (version == 0 && id == 0 && handle->number("SELECT count(*) FROM sqlite_master") == 0) {
    handle->execute(fmt::format("{}; PRAGMA user_version = {}; PRAGMA application_id = {}", create_text(),
                                schema_version, application_id),
                    "create");
  } else if (id != application_id) {
    throw UserError(ExitCode::usage,
                    fmt::format("{} is a database of another program; name another file with --db", shown));
  } else if (version != schema_version) {
    throw UserError(ExitCode::usage,
                    fmt::format("the database {} has the schema version {}, expected {}; export it with the "
                                "nestsmith that wrote it, and import the text",
                                shown, version, schema_version));
  } else if (handle->number(fmt::format(
                 "SELECT count(*) FROM sqlite_master WHERE sql IS NOT NULL AND sql != '{}'", create_text())) !=
                 0 ||
             handle->number("SELECT count(*) FROM sqlite_master WHERE sql IS NOT NULL") != 1) {
    throw UserError(ExitCode::usage,
                    fmt::format("{} is not a database of nestsmith: it has other tables, views, "
                                "indices or triggers than it creates; name another file with "
                                "--db",
                                shown));
  }
  handle->execute("COMMIT", "open");
  return Database(path, std::move(handle));
}

void Database::add(const Record &record) { add(std::vector<Record>{record}); }

void Database::add(const std::vector<Record> &records) {
  handle_->execute("BEGIN IMMEDIATE", "write to");
  try {
    std::vector<std::string> marks(fields().size(), "?");
    auto statement = handle_->prepare(fmt::format("INSERT OR REPLACE INTO record ({}) VALUES ({})",
                                                  fmt::join(names(false), ", "), fmt::join(marks, ", ")),
                                      "write to");
    for (const Record &record : records) {
      int place = 0;
      for (const Field &field : fields())
        if (bind_value(statement.get(), ++place, field.get(record)) != SQLITE_OK)
          handle_->fail("write to");
      if (sqlite3_step(statement.get()) != SQLITE_DONE)
        handle_->fail("write to");
      sqlite3_reset(statement.get());
    }
    statement.reset();
    handle_->execute("COMMIT", "write to");
  } catch (...) {
    sqlite3_exec(handle_->database.get(), "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
}

std::vector<Record> Database::find(const Query &query) const {
  std::vector<std::pair<std::string, std::string>> conditions;
  for (const auto &[column_name, wanted] : {std::pair<std::string, const std::string &>{"rung", query.rung},
                                            {"shape", query.shape},
                                            {"dtype", query.dtype},
                                            {"gpu", query.gpu}})
    if (!wanted.empty())
      conditions.emplace_back(column_name + " = ?", wanted);
  std::string where;
  for (const auto &[condition, wanted] : conditions)
    where += (where.empty() ? " WHERE " : " AND ") + condition;
  auto statement = handle_->prepare(
      fmt::format("SELECT {} FROM record{} ORDER BY rung, gpu, dtype, shape, symbolic, outcome != 'measured', "
                  "median_ms, knobs, code",
                  fmt::join(names(false), ", "), where),
      "read");
  for (std::size_t n = 0; n < conditions.size(); ++n)
    if (bind_value(statement.get(), static_cast<int>(n) + 1, conditions[n].second) != SQLITE_OK)
      handle_->fail("read");
  std::vector<Record> records;
  int status = 0;
  while ((status = sqlite3_step(statement.get())) == SQLITE_ROW) {
    Record record;
    int place = 0;
    for (const Field &field : fields())
      if (!field.set(record, column(statement.get(), place++)))
        throw UserError(ExitCode::usage, fmt::format("the database {} has a record whose {} is malformed",
                                                     printable(path_.string()), field.name));
    if (std::string name = impossible_field(record); !name.empty())
      throw UserError(ExitCode::usage, fmt::format("the database {} has a record whose {} is not above 0",
                                                   printable(path_.string()), name));
    records.push_back(std::move(record));
    if (records.size() > most_records)
      throw UserError(ExitCode::usage, fmt::format("the database {} has more than {} records; name a rung",
                                                   printable(path_.string()), most_records));
  }
  if (status != SQLITE_DONE)
    handle_->fail("read");
  return records;
}

} // namespace nestsmith::records
