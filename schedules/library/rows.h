#pragma once
/// The rows of a product in two parts, each of which gets a schedule of its own.

#include "schedules/library/contraction.h"

#include <array>
#include <cstdint>

namespace nestsmith::library {

/// Makes two sums of a contraction: of the rows before `row`, which keeps the name, and of the others. Each has
/// results of its own, so that `library::product` schedules it. The rows are those of `Contraction`: the axes
/// of the first operand, fused. Each part is a kernel.
///
/// Throws UserError (illegal_schedule) and leaves the schedule unchanged if the block is no contraction, if it
/// has a batch, or if `row` is not inside of the rows for all sizes.
std::array<BlockRef, 2> cut_rows(Schedule &s, BlockRef sum, std::int64_t row);

} // namespace nestsmith::library
