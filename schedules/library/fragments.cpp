#include "schedules/library/fragments.h"

#include "dsl/expr/error.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace nestsmith::library {

/// "k%8//2", "k%4": the group of `width` elements along k that a lane holds.
static std::string group_of_lane(std::int64_t width) {
  return width == 1 ? "k%4" : fmt::format("k%{}//{}", 4 * width, width);
}

bool has_instruction(DType dtype) {
  return dtype == DType::u16 || std::ranges::find(matrix_dtypes, dtype) != matrix_dtypes.end();
}

Instruction instruction_for(DType dtype) {
  switch (dtype) {
  case DType::f16:
  case DType::bf16:
  case DType::u16:
    return {"mma_m16n8k16", 2};
  case DType::tf32:
  case DType::u32:
    return {"mma_m16n8k8", 1};
  case DType::i8:
  case DType::u8:
    return {"mma_m16n8k32", 4};
  default:
    throw UserError(ExitCode::usage,
                    fmt::format("got the dtype {}, but matrix instructions multiply f16, bf16, tf32, i8 and "
                                "u8, and u32 stands in for tf32 in ring mode; use "
                                "--dtype f16",
                                name(dtype)));
  }
}

std::string Instruction::a_layout(bool transposed) const {
  return fmt::format("{} -> i%8*4 + {}, i//16, k//{}, k%{}//{}, i%16//8{}", transposed ? "k, i" : "i, k",
                     group_of_lane(width), 8 * width, 8 * width, 4 * width,
                     width == 1 ? "" : fmt::format(", k%{}", width));
}

std::string Instruction::b_layout(bool transposed) const {
  return fmt::format("{} -> j%8*4 + {}, k//{}, j//8, k%{}//{}{}", transposed ? "j, k" : "k, j",
                     group_of_lane(width), 8 * width, 8 * width, 4 * width,
                     width == 1 ? "" : fmt::format(", k%{}", width));
}

std::vector<Loop> to_lanes(Schedule &s, Loop row, Loop column, std::int64_t width) {
  auto [row_tile, row_lane] = s.split(row, {infer, 8});
  auto [column_tile, column_lane, element] = s.split(column, {infer, 4, width});
  s.reorder({row_lane, column_lane, row_tile, column_tile, element});
  s.bind(s.fuse(row_lane, column_lane), Axis::lane);
  return {row_tile, column_tile, element};
}

void swizzle_rows(Schedule &s, BlockRef tile, std::int64_t columns, std::int64_t bytes) {
  auto bits_of = [](std::int64_t n) {
    return static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(n))) - 1;
  };
  std::int64_t base = bits_of(16 / bytes), chunks = bits_of(columns * bytes / 16),
               bits = std::min<std::int64_t>(chunks, 3);
  // 8 groups fill all banks, so rows shorter than that share them.
  if (bits > 0)
    s.swizzle(tile, bits, base, std::max<std::int64_t>(chunks, 3));
}

std::string with_batch(const std::string &layout) { return "b, " + layout; }

} // namespace nestsmith::library
