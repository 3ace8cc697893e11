#pragma once
/// The fields of a record, as columns of the database and as attributes of JSON.

#include "runtime/records/record.h"

#include <functional>
#include <span>
#include <string>
#include <variant>

namespace nestsmith::records {

using Value = std::variant<std::monostate, std::int64_t, double, std::string>;

struct Field {
  enum class Kind : std::uint8_t { text, integer, real };
  const char *name;
  Kind kind;
  bool identity; ///< a part of the primary key
  std::function<Value(const Record &)> get;
  /// Returns false if the value does not fit.
  std::function<bool(Record &, const Value &)> set;
};

/// The name of a field of a measured record that is impossible: a time that is not above 0. Empty if there is
/// none.
std::string impossible_field(const Record &record);

/// All fields, in the order of the columns.
std::span<const Field> fields();

} // namespace nestsmith::records
