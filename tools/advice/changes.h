#pragma once
/// Changes of a schedule that may make its kernel faster. Each rule lists the changes of one kind. A change may
/// be illegal, or no gain: tools/advice/advice.h applies each change, and keeps those that gain.

#include "runtime/model/words.h"
#include "tools/options/scheduled.h"

#include <functional>
#include <string>
#include <vector>

namespace nestsmith::cli {

/// The schedule to change, and its analysis.
struct Subject {
  const Scheduled &scheduled;
  const PlanAnalysis &analysis;
};

struct Change {
  Texts what;                         ///< "pad A_shared to rows of 33 words"
  std::function<Schedule()> schedule; ///< throws UserError if the change is illegal
};

/// The trace of `from` again. `replace` applies another directive instead of one and returns true, or returns
/// false for a directive that stays.
Schedule replayed(const Schedule &from, const std::function<bool(Schedule &, const Directive &)> &replace);
/// The loop or the block that is argument number `n` of a directive; null if the argument is of another kind.
const std::string *loop_argument(const Directive &directive, std::size_t n = 0);
/// Whether the directive binds a loop to the axis.
bool is_bind(const Directive &directive, Axis axis);

// Shared memory with bank conflicts (storage_changes.cpp).
std::vector<Change> pad_rows(const Subject &subject);
std::vector<Change> swizzle_words(const Subject &subject);

// Loops (loop_changes.cpp).
std::vector<Change> swap_lanes(const Subject &subject);     ///< if requests to global memory are not coalesced
std::vector<Change> widen_accesses(const Subject &subject); ///< vectors of four elements
std::vector<Change> resize_tiles(const Subject &subject);   ///< a factor of a split, doubled or halved

// Blocks and registers (launch_changes.cpp).
std::vector<Change>
overlap_copies(const Subject &subject); ///< a pipeline, or one with another number of stages
std::vector<Change> reorder_blocks(const Subject &subject);
std::vector<Change> limit_registers(const Subject &subject); ///< if registers limit the occupancy
std::vector<Change> turn_knobs(const Subject &subject);      ///< each knob of the rung by one candidate

} // namespace nestsmith::cli
