#pragma once
/// Random schedules that a GPU programmer might write: tiles, threads, caches, pipelines and vectors, with
/// unusual numbers and unusual directives in between. Most of them can be lowered.

#include "tests/fuzz/computations.h"
#include "tests/fuzz/random.h"

#include <functional>
#include <map>
#include <string>

namespace nestsmith::fuzz {

inline constexpr std::size_t most_directives = 25, most_directives_for_warps = 90;

struct Attempts {
  std::size_t tried = 0, refused = 0;
};

/// A schedule under construction, and statistics of its directives.
struct Draft {
  Case setting; ///< contains the accepted directives
  Schedule schedule;
  std::map<std::string, Attempts> attempts; ///< by primitive
};

/// The default number of generated computations: those of the seeds 1 to this number.
inline constexpr std::uint64_t usual_computations = 4000;

/// Whether the seed gives a schedule for warps. One seed in eight does.
bool is_for_warps(std::uint64_t seed);

/// Returns the schedule of a seed. It is the same on every host. One in eight is for warps. Half of the others
/// schedule a computation of `computations()`, and half one of the generated computations, of which there are
/// `computations`. Directives may be refused. Any other exception propagates. `about_to` is called before each
/// directive. The schedule is for the architecture `arch`, or for a random one if `arch` is empty.
Draft draft(std::uint64_t seed, std::uint64_t computations = usual_computations,
            const std::function<void(const Draft &, const Directive &)> &about_to = {},
            const std::string &arch = {});

/// Appends some arbitrary directives to a schedule, and then directives that meet some of its obligations.
void go_on(Draft &draft, Random &random, std::size_t arbitrary,
           const std::function<void(const Draft &, const Directive &)> &about_to = {});

} // namespace nestsmith::fuzz
