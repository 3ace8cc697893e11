#include "dsl/expr/dtype.h"

#include "dsl/expr/error.h"
#include "dsl/expr/identifier.h"

#include <array>
#include <deque>
#include <fmt/format.h>
#include <mutex>
#include <set>

namespace nestsmith {

static constexpr std::array dtypes = {DType::boolean, DType::i8,   DType::i16, DType::i32, DType::i64,
                                      DType::u8,      DType::u16,  DType::u32, DType::u64, DType::f16,
                                      DType::bf16,    DType::tf32, DType::f32, DType::f64};

namespace {

struct TupleType {
  std::vector<TuplePart> parts;
  std::string name;
  int bytes;
};

/// The tuple types of the process. A deque, so that references to its elements stay valid.
struct TupleTypes {
  std::mutex mutex;
  std::deque<TupleType> types;
};
TupleTypes &tuple_types() {
  static TupleTypes all;
  return all;
}

constexpr std::size_t first_tuple = static_cast<std::size_t>(DType::f64) + 1, most_tuple_types = 200;

/// Null if `tuple_type` has not returned the type.
const TupleType *find_tuple(DType type) {
  if (!is_tuple(type))
    return nullptr;
  TupleTypes &all = tuple_types();
  std::scoped_lock lock(all.mutex);
  std::size_t at = static_cast<std::size_t>(type) - first_tuple;
  return at < all.types.size() ? &all.types[at] : nullptr;
}

const TupleType &known_tuple(DType type) {
  const TupleType *known = find_tuple(type);
  internal_check(known != nullptr, "a dtype is taken for a tuple type");
  return *known;
}

void check_parts(const std::vector<TuplePart> &parts) {
  if (parts.size() < 2 || parts.size() > most_tuple_parts)
    throw UserError(ExitCode::usage,
                    fmt::format("a tuple has {} parts, expected 2 to {}", parts.size(), most_tuple_parts));
  std::set<std::string> names;
  for (const TuplePart &part : parts) {
    check_identifier(part.name, "the name of a part");
    if (is_tuple(part.dtype) || part.dtype == DType::tf32)
      throw UserError(ExitCode::usage, fmt::format("the part '{}' of a tuple is {}, expected a type of one "
                                                   "number that can be stored",
                                                   part.name, name(part.dtype)));
    if (!names.insert(part.name).second)
      throw UserError(ExitCode::usage,
                      fmt::format("a tuple has two parts '{}'; give each its own name", part.name));
  }
}

} // namespace

DType tuple_type(const std::vector<TuplePart> &parts) {
  check_parts(parts);
  TupleTypes &all = tuple_types();
  std::scoped_lock lock(all.mutex);
  std::size_t at = 0;
  while (at < all.types.size() && all.types[at].parts != parts)
    ++at;
  if (at == most_tuple_types)
    throw UserError(
        ExitCode::usage,
        fmt::format("one process has at most {} different tuple types; use the same names and types "
                    "of parts again",
                    most_tuple_types));
  if (at == all.types.size()) {
    TupleType made{parts, "", 0};
    for (const TuplePart &part : parts) {
      made.name += fmt::format("{}{}: {}", made.name.empty() ? "(" : ", ", part.name, name(part.dtype));
      made.bytes += byte_size(part.dtype);
    }
    made.name += ")";
    all.types.push_back(std::move(made));
  }
  return static_cast<DType>(first_tuple + at);
}

const std::vector<TuplePart> &parts_of(DType type) { return known_tuple(type).parts; }
int tuple_bytes(DType type) { return known_tuple(type).bytes; }

std::string_view name(DType type) {
  if (const TupleType *tuple = find_tuple(type))
    return tuple->name;
  switch (type) {
  case DType::boolean:
    return "bool";
  case DType::i8:
    return "i8";
  case DType::i16:
    return "i16";
  case DType::i32:
    return "i32";
  case DType::i64:
    return "i64";
  case DType::u8:
    return "u8";
  case DType::u16:
    return "u16";
  case DType::u32:
    return "u32";
  case DType::u64:
    return "u64";
  case DType::f16:
    return "f16";
  case DType::bf16:
    return "bf16";
  case DType::tf32:
    return "tf32";
  case DType::f32:
    return "f32";
  case DType::f64:
    return "f64";
  }
  refuse_value("DType", static_cast<int>(type),
               "DType::boolean, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, tf32, f32 or f64");
}

std::optional<DType> parse_dtype(std::string_view text) {
  for (DType type : dtypes)
    if (name(type) == text)
      return type;
  return std::nullopt;
}

std::string dtype_names() {
  std::string list;
  for (DType type : dtypes)
    list += (list.empty() ? "" : ", ") + std::string(name(type));
  return list;
}

} // namespace nestsmith
