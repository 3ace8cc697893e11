#pragma once
/// Operands and results of the matrix instructions of a warp (`mma.sync`).

#include "dsl/schedule/schedule.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace nestsmith::library {

/// The layouts of the operands of one instruction, for boxes of any number of its tiles. Of the 32 lanes, 8
/// count rows of A and C or columns of B, and 4 count groups of `width` elements along k, which fill a register
/// of 4 bytes. In the accumulator, they count pairs of columns.
struct Instruction {
  std::string name;   ///< the argument of `tensorize`
  std::int64_t width; ///< operand elements in a register
  std::int64_t k() const { return 8 * width; }
  /// The indices of A are i, k, those of a transposed A are k, i. Those of B are k, j or, transposed, j, k.
  std::string a_layout(bool transposed = false) const;
  std::string b_layout(bool transposed) const;
  static constexpr const char *c_layout = "i, j -> i%8*4 + j%8//2, i//16, j//8, i%16//8, j%2";
};
/// The dtypes of a product for which there is an instruction, and u32, for ring mode: in the layout of tf32, by
/// shuffles.
inline constexpr std::array matrix_dtypes = {DType::f16, DType::bf16, DType::tf32,
                                             DType::i8,  DType::u8,   DType::u32};
/// Whether there is an instruction for this dtype of a product. u16 stands in for f16 and bf16 in ring mode.
bool has_instruction(DType dtype);
/// The instruction for this dtype of a product. Throws UserError (usage) if there is none.
Instruction instruction_for(DType dtype);

/// The layout for a fragment with another index in front, that of a batch, which has one value in a fragment.
std::string with_batch(const std::string &layout);

/// Splits the loops over the rows and columns of a fragment, and binds the part that counts lanes. A lane takes
/// `width` consecutive columns. Returns the other loops, outermost first; the last one is over these columns.
std::vector<Loop> to_lanes(Schedule &s, Loop row, Loop column, std::int64_t width);

/// Permutes groups of 16 bytes so that 8 consecutive rows of the tile start in different banks. A row has
/// `columns` elements of `bytes` bytes.
void swizzle_rows(Schedule &s, BlockRef tile, std::int64_t columns, std::int64_t bytes);

} // namespace nestsmith::library
