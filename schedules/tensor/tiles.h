#pragma once
/// Products by the matrix instructions of a warp (`mma.sync`), for operands of f16, bf16, tf32, i8 or u8.

#include "dsl/schedule/schedule.h"
#include "schedules/grids.h"
#include "schedules/rung.h"

#include <array>

namespace nestsmith::tensor {

/// The layouts of the operands of one instruction, for boxes of any number of its tiles. Of the 32 lanes, 8
/// count rows of A and C or columns of B, and 4 count groups of `width` elements along k, which fill a register
/// of 4 bytes. In the accumulator, they count pairs of columns.
struct Instruction {
  std::string name;   ///< the argument of `tensorize`
  std::int64_t width; ///< operand elements in a register
  std::int64_t k() const { return 8 * width; }
  std::string a_layout() const;
  std::string b_layout(bool transposed) const; ///< the indices of a transposed B are j, k
  static constexpr const char *c_layout = "i, j -> i%8*4 + j%8//2, i//16, j//8, i%16//8, j%2";
};
/// The dtypes of a product for which there is an instruction, and u32, for ring mode: in the layout of tf32, by
/// shuffles.
inline constexpr std::array dtypes = {DType::f16, DType::bf16, DType::tf32, DType::i8, DType::u8, DType::u32};
/// The instruction for this dtype of a product. Throws UserError (usage) if there is none.
Instruction instruction_for(DType dtype);

/// Splits the loops over the rows and columns of a fragment, and binds the part that counts lanes. A lane takes
/// `width` consecutive columns. Returns the other loops, outermost first; the last one is over these columns.
std::vector<Loop> to_lanes(Schedule &s, Loop row, Loop column, std::int64_t width);

/// Permutes groups of 16 bytes so that 8 consecutive rows of the tile start in different banks. A row has
/// `columns` elements of `bytes` bytes.
void swizzle_rows(Schedule &s, BlockRef tile, std::int64_t columns, std::int64_t bytes);

/// The source of the operands of a warp.
enum class Source : std::uint8_t {
  global,  ///< loads of each lane from global memory
  shared,  ///< loads of each lane from tiles in shared memory
  ldmatrix ///< tiles in shared memory, by `ldmatrix`; loads if B is not transposed and has not 2 bytes
};

struct Tiles {
  bool b_transposed = false; ///< B is stored N x K, so that both operands are contiguous along k
  Grid warps = {1, 1};       ///< of a thread block
  Grid results = {16, 8};    ///< of a warp: multiples of 16 and of 8
  std::int64_t steps = 1;    ///< instructions along k in one tile
  Source source = Source::global;
  bool swizzled = false;   ///< the tiles in shared memory
  std::int64_t stages = 1; ///< more than 1: asynchronous copies of stages - 1 tiles are in flight
  bool ahead = false;     ///< loads the operands of the next step while the matrix units use those of this step
  bool joined = false;    ///< and the operands of the first step of the next tile; needs `ahead` and stages
  bool late = false;      ///< starts the copies after the multiplications, or before those of the last step
  bool snake = false;     ///< every second row of instructions in reverse: it starts with the last operand of B
  std::int64_t group = 1; ///< consecutive blocks compute a column of this many tiles

  std::int64_t tile(std::size_t side) const { return warps[side] * results[side]; }
};

/// The schedule of alpha*A*B + beta*C for these tiles.
Schedule product(const Shape &shape, DType dtype, const Target &target, const Tiles &tiles);

/// Vectors of 16 bytes need rows of A and B that start at multiples of 16 bytes.
std::optional<Variant> variant(const Shape &shape, DType dtype);
/// The same if B is transposed.
std::optional<Variant> variant_nt(const Shape &shape, DType dtype);

} // namespace nestsmith::tensor
