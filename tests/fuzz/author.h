#pragma once
/// Random schedules that a GPU programmer might write: tiles, threads, caches, pipelines and vectors, with
/// odd numbers and odd ideas in between. Most of them can be lowered.

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

/// A schedule and how it came about.
struct Draft {
  Case setting; ///< with the directives that were accepted
  Schedule schedule;
  std::map<std::string, Attempts> attempts; ///< of each primitive
};

/// The generated computations are those of the seeds from 1 to this number, unless another is given.
inline constexpr std::uint64_t usual_computations = 4000;

/// Whether the schedule of this seed is for warps: one in eight is.
bool is_for_warps(std::uint64_t seed);

/// The schedule of this seed: the same on every host. One in eight is for warps. Of the others, every second
/// one is of a computation of the table, and the rest are of generated computations, so many. Refusals are part
/// of the game; any other exception comes through. `about_to` sees each directive before it is applied.
Draft draft(std::uint64_t seed, std::uint64_t computations = usual_computations,
            const std::function<void(const Draft &, const Directive &)> &about_to = {});

/// A few arbitrary directives for a schedule that is there, and a few tries to pay what it owes.
void go_on(Draft &draft, Random &random, std::size_t arbitrary,
           const std::function<void(const Draft &, const Directive &)> &about_to = {});

} // namespace nestsmith::fuzz
