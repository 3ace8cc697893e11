#include "dsl/expr/dtype.h"

#include "dsl/expr/error.h"

#include <array>
#include <fmt/format.h>

namespace nestsmith {

static constexpr std::array dtypes = {DType::boolean, DType::i8,   DType::i32,  DType::i64,
                                      DType::u8,      DType::u16,  DType::u32,  DType::u64,
                                      DType::f16,     DType::bf16, DType::tf32, DType::f32};

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
  refuse_value("DType", static_cast<int>(type),
               "DType::boolean, i8, i32, i64, u8, u16, u32, u64, f16, bf16, tf32 or f32");
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
