#pragma once
/// A picture of one memory request: lanes over the banks of shared memory, or over the sectors of global
/// memory.

#include "runtime/model/count.h"
#include "tools/results/analysed.h"

#include <string>

namespace nestsmith::cli {

/// Columns are banks and rows are wavefronts. A cell shows the lane that accesses this bank in this wavefront,
/// or `+` if several lanes access the same word. An access of 8 or 16 bytes is split into parts
/// (runtime/model/counters.h). If `width` is too small, the columns are split into groups below each other.
std::string bank_picture(const model::WarpRequest &request, std::int64_t bytes, const Style &style,
                         std::size_t width);
/// Each row is a line of 128 bytes with its four sectors, with a mark for each word that a lane requests.
std::string sector_picture(const model::WarpRequest &request, std::int64_t bytes, const Style &style);

/// The number of lanes whose words share the wavefronts of a request to shared memory: 32, 16 or 8.
int lanes_at_once(const model::WarpRequest &request, std::int64_t bytes);
/// "32 lanes of 4 bytes, 2 wavefronts, 1 of them bank conflicts".
std::string cost_text(const model::WarpRequest &request, const model::AccessCounts &access);

/// Prints the picture of the first request of an access. `wanted` is the number of the access, or a buffer,
/// which selects its most expensive access; empty selects the most expensive of all. Throws UserError (usage)
/// with a list of the accesses if there is no such access.
ExitCode show_heatmap(const Context &context, const Analysed &analysed, const std::string &wanted);

} // namespace nestsmith::cli
