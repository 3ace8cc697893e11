#pragma once
/// A database of measurements: one SQLite file, which several processes may use at the same time.

#include "runtime/records/record.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace nestsmith::records {

/// A condition on records. An empty string matches every value.
struct Query {
  std::string rung, shape, dtype, gpu;
};

/// Errors of the file (no permission, not a database, a newer schema, no space) throw UserError (usage) with
/// the path. Each function is one transaction, so a record is stored completely or not at all.
class Database {
public:
  /// The version of the schema that this program writes.
  static constexpr int schema_version = 1;

  /// Opens the file, or creates it with its folder. With `existing`, a missing file is an error.
  static Database open(const std::filesystem::path &path, bool existing = false);
  Database(Database &&) noexcept;
  Database &operator=(Database &&) noexcept;
  ~Database();

  const std::filesystem::path &path() const { return path_; }

  /// Adds the record, or replaces the one with the same identity.
  void add(const Record &record);
  void add(const std::vector<Record> &records);
  /// In the order: rung, GPU, dtype, shape, then ascending median; other outcomes than `measured` come last.
  std::vector<Record> find(const Query &query = {}) const;

private:
  struct Handle;
  Database(std::filesystem::path path, std::unique_ptr<Handle> handle);
  std::filesystem::path path_;
  std::unique_ptr<Handle> handle_;
};

} // namespace nestsmith::records
