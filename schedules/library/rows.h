#pragma once
/// The rows of a product in two parts, each of which gets a schedule of its own: even tails.
///
/// A grid of tiles that is no multiple of the thread blocks that a GPU executes at one time leaves most of its
/// multiprocessors idle in the last wave. With an even tail, the first rows of tiles are computed whole, and
/// each tile of the others by several blocks, which multiply parts of k. These come last in the same launch:
///
///     40 tiles, 16 blocks at one time    without: 16 + 16 + 8         3 waves
///     30 whole tiles, 10 in 4 parts      with:    30 + 10*4/4 = 40    2.5 waves, and the sum of the parts

#include "schedules/library/product.h"

#include <array>
#include <cstdint>
#include <optional>

namespace nestsmith::library {

/// Makes two sums of a contraction: of the rows before `row`, which keeps the name, and of the others. Each has
/// results of its own, so that `library::product` schedules it. The rows are those of `Contraction`: the axes
/// of the first operand, fused. Each part is a kernel.
///
/// Throws UserError (illegal_schedule) and leaves the schedule unchanged if the block is no contraction, if it
/// has a batch, or if `row` is not inside of the rows for all sizes.
std::array<BlockRef, 2> cut_rows(Schedule &s, BlockRef sum, std::int64_t row);

struct EvenTail {
  std::int64_t whole_rows = 0; ///< rows of tiles that are computed whole, at least one
  std::int64_t parts = 1;      ///< of each tile of the other rows
};
/// The extents of a product, or of its tiles: rows, columns and terms.
using Extents = std::array<std::int64_t, 3>;
/// An element of a part takes as long to add as this number of multiplications, by a thread block alone on a
/// multiprocessor: of 128 multiplications in a clock, and of 1024 by matrix units, at 80 GB/s for one block.
inline constexpr double terms_of_a_part = 10, terms_of_a_part_by_units = 80;
/// The even tail with the least time for a product in these tiles, of which a GPU computes `places` at one
/// time. A part has 4 tiles of k or more, and there are at most 16 parts. None if the grid without an even tail
/// takes as long, or up to 2 % longer.
std::optional<EvenTail> even_tail(const Extents &extents, const Extents &tile, std::int64_t places,
                                  double terms = terms_of_a_part);

/// Schedules a contraction by `product`, with an even tail if it takes less time and its extents are known.
/// `places` is the number of thread blocks that the GPU executes at one time. Returns the handles of the whole
/// tiles.
///
/// Throws the errors of `product`, and leaves the schedule unchanged then.
Product product_with_even_tail(Schedule &s, BlockRef sum, const RegisterTiles &tiles, std::int64_t places);
Product product_with_even_tail(Schedule &s, BlockRef sum, const MatrixTiles &tiles, std::int64_t places);

} // namespace nestsmith::library
