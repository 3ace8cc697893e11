#pragma once
/// Element types of buffers and scalars.

#include <cstdint>
#include <optional>
#include <string_view>

namespace nestsmith {

/// `i64` is the type of all index arithmetic in a program; lowering narrows it to `i32` where the
/// largest value provably fits. `u32` is the ring Z/2^32 of ring mode.
enum class DType : std::uint8_t { boolean, i32, i64, u32, f32 };

constexpr bool is_float(DType type) { return type == DType::f32; }
constexpr bool is_index(DType type) { return type == DType::i32 || type == DType::i64; }

/// Bytes of one element in memory.
constexpr int byte_size(DType type) {
  switch (type) {
  case DType::boolean:
    return 1;
  case DType::i32:
  case DType::u32:
  case DType::f32:
    return 4;
  case DType::i64:
    return 8;
  }
  return 0;
}

/// The name users write: "f32", "u32", ….
std::string_view name(DType type);
std::optional<DType> parse_dtype(std::string_view text);

} // namespace nestsmith
