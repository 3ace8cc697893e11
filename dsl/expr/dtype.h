#pragma once
/// Element types of buffers and scalars.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

/// Element types. `i64` is the type of all index arithmetic in a program; lowering narrows an index to `i32` if
/// its largest value provably fits. `u32` has wrapping arithmetic (the ring Z/2^32), which ring mode of `check`
/// uses. `tf32` is f32 rounded to a 10-bit mantissa; it is a compute type, and parameters cannot have it.
///
/// Further values are *tuple types*, such as (value: f32, index: i32), which `tuple_type` makes. Temporaries of
/// a program may have them. A kernel has an array for each part.
enum class DType : std::uint8_t { boolean, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, tf32, f32, f64 };

constexpr bool is_tuple(DType type) { return type > DType::f64; }
constexpr bool is_float(DType type) { return type >= DType::f16 && type <= DType::f64; }
constexpr bool is_index(DType type) { return type == DType::i32 || type == DType::i64; }
/// Types that can be stored and converted, but that have no arithmetic.
constexpr bool is_narrow(DType type) {
  return type == DType::i8 || type == DType::i16 || type == DType::u8 || type == DType::u16 ||
         type == DType::f16 || type == DType::bf16 || type == DType::tf32;
}
/// The dtype of the arithmetic on values that are stored as `type`: a wider type for narrow types, otherwise
/// `type`.
constexpr DType arithmetic_type(DType type) {
  if (!is_narrow(type))
    return type;
  return is_float(type) ? DType::f32 : type == DType::i8 || type == DType::i16 ? DType::i32 : DType::u32;
}

/// A part of a tuple type.
struct TuplePart {
  std::string name; ///< an identifier
  DType dtype;      ///< no tuple
  bool operator==(const TuplePart &) const = default;
};
inline constexpr std::size_t most_tuple_parts = 8;
/// The tuple type of these parts. Equal parts give equal types. Throws UserError (usage) for fewer than 2 or
/// more than `most_tuple_parts` parts, for names that are equal or no identifiers, for a part that is a tuple
/// or a compute type, and for more than 200 different types in one process.
DType tuple_type(const std::vector<TuplePart> &parts);
/// The parts of a tuple type.
const std::vector<TuplePart> &parts_of(DType type);
int tuple_bytes(DType type); ///< of all parts

/// Bytes of one element in memory; of a tuple type the sum over its parts.
constexpr int byte_size(DType type) {
  if (is_tuple(type))
    return tuple_bytes(type);
  switch (type) {
  case DType::boolean:
  case DType::i8:
  case DType::u8:
    return 1;
  case DType::i16:
  case DType::u16:
  case DType::f16:
  case DType::bf16:
    return 2;
  case DType::i32:
  case DType::u32:
  case DType::tf32:
  case DType::f32:
    return 4;
  case DType::i64:
  case DType::u64:
  case DType::f64:
    return 8;
  }
  return 0;
}

/// The name that users write: "f32", "u32", …; "(value: f32, index: i32)" for a tuple type. Throws UserError
/// (usage) for any other value.
std::string_view name(DType type);
/// The inverse of `name` for types that are no tuples; none for other text.
std::optional<DType> parse_dtype(std::string_view text);
/// All names, for messages: "bool, i32, …".
std::string dtype_names();

} // namespace nestsmith
