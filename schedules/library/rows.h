#pragma once
/// The rows of a product in two parts, each of which gets a schedule of its own (schedules/even_tail.h).

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

/// Schedules a contraction by `product` with the helped tiles of `tiles.helped_places`, or with the even tail
/// of `tiles.even_places`, and returns the handles of the whole tiles. None, and the schedule is unchanged, if
/// neither takes less time, if the extents are not known, if there is a batch, if the sum is a parameter, or if
/// all tiles are shared by several blocks. States launch bounds of as many blocks on a multiprocessor as the
/// tail is made for.
///
/// Throws the errors of `product`, and leaves the schedule unchanged then.
std::optional<Product> product_with_tail(Schedule &s, BlockRef sum, const RegisterTiles &tiles);
std::optional<Product> product_with_tail(Schedule &s, BlockRef sum, const MatrixTiles &tiles);

} // namespace nestsmith::library
