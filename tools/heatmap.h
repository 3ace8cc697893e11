#pragma once
/// The picture of one request: lanes over the banks of shared memory, or over the sectors of global memory.

#include "runtime/model/count.h"
#include "tools/analysed.h"

#include <string>

namespace nestsmith::cli {

/// Banks from left to right, wavefronts from top to bottom; a cell has the lane that it serves, and `+` where
/// it serves more lanes with the same word. An access of 8 or 16 bytes goes in parts
/// (runtime/model/counters.h). Half of the banks, or fewer, stand below the others where `width` is too small
/// for all.
std::string bank_picture(const model::WarpRequest &request, std::int64_t bytes, const Style &style,
                         std::size_t width);
/// A line of 128 bytes in a row, with its four sectors; a mark for each word that a lane asks for.
std::string sector_picture(const model::WarpRequest &request, std::int64_t bytes, const Style &style);

/// Prints the picture of the first request of an access: `wanted` is its number, or a buffer (then the one that
/// costs most); empty: of all, the one that costs most. Throws UserError(usage) with the list where there is
/// no such access.
ExitCode show_heatmap(const Context &context, const Analysed &it, const std::string &wanted);

} // namespace nestsmith::cli
