#include "dsl/dtype.h"

#include "dsl/axis.h"
#include "dsl/buffer.h"
#include "dsl/error.h"

#include <array>
#include <fmt/format.h>

namespace nestsmith {

static constexpr std::array dtypes = {DType::boolean, DType::i8,   DType::i32,  DType::i64,
                                      DType::u8,      DType::u16,  DType::u32,  DType::u64,
                                      DType::f16,     DType::bf16, DType::tf32, DType::f32};

/// Refuses a value that is not an enumerator. Only a cast from an integer makes such a value.
template <class Enum>
[[noreturn]] static void refuse_value(const char *type, Enum value, const char *enumerators) {
  throw UserError(ExitCode::usage, fmt::format("the value {} is not an enumerator of {}; use {}",
                                               static_cast<int>(value), type, enumerators));
}

std::string_view name(DType type) {
  switch (type) {
  case DType::boolean:
    return "bool";
  case DType::i8:
    return "i8";
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
  }
  refuse_value("DType", type, "DType::boolean, i8, i32, i64, u8, u16, u32, u64, f16, bf16, tf32 or f32");
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

std::string_view name(Scope scope) {
  switch (scope) {
  case Scope::global:
    return "global";
  case Scope::shared:
    return "shared";
  case Scope::local:
    return "local";
  case Scope::warp:
    return "warp";
  }
  refuse_value("Scope", scope, "Scope::global, shared, local or warp");
}

std::string_view name(Axis axis) {
  switch (axis) {
  case Axis::block_x:
    return "blockIdx.x";
  case Axis::block_y:
    return "blockIdx.y";
  case Axis::block_z:
    return "blockIdx.z";
  case Axis::thread_x:
    return "threadIdx.x";
  case Axis::thread_y:
    return "threadIdx.y";
  case Axis::thread_z:
    return "threadIdx.z";
  case Axis::warp:
    return "warp";
  case Axis::lane:
    return "lane";
  }
  refuse_value("Axis", axis, "Axis::block_x, block_y, block_z, thread_x, thread_y, thread_z, warp or lane");
}

std::optional<Axis> parse_axis(std::string_view text) {
  for (Axis axis : all_axes)
    if (name(axis) == text)
      return axis;
  return std::nullopt;
}

} // namespace nestsmith
