#pragma once
/// The fields of a record: the one description of its columns in the database and of its attributes in JSON,
/// for both directions. Include this from .cpp files only: it needs LLVM's headers.

#include "runtime/records/record.h"

#include <functional>
#include <llvm/Support/JSON.h>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace nestsmith::records {

using Value = std::variant<std::monostate, std::int64_t, double, std::string>;

struct Field {
  enum class Kind : std::uint8_t { text, integer, real };
  const char *name;
  Kind kind;
  bool identity; ///< a part of the primary key
  std::function<Value(const Record &)> get;
  /// Returns false, and leaves the record unchanged, if the value does not fit.
  std::function<bool(Record &, const Value &)> set;
};

/// The name of a field of a measured record that is impossible: a time that is not above 0. Empty if there is
/// none.
std::string impossible_field(const Record &record);

/// All fields, in the order of the columns.
std::span<const Field> fields();
/// The fields of `Measurement`, the part of a record that a measurement fills.
std::span<const Field> fields_of_measurement();
/// Whether two records are about the same kernel on the same machine.
bool same_identity(const Record &a, const Record &b);
/// The field of this name, which must be one of them.
const Field &field(std::string_view name);

llvm::json::Value to_json(const Value &value);
/// `value` may be null. A value that is no text and no number is read as none.
Value from_json(const llvm::json::Value *value);

} // namespace nestsmith::records
