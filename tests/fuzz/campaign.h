#pragma once
/// Many random schedules, each judged in a process that may crash or hang.

#include "tests/fuzz/author.h"
#include "tests/fuzz/judge.h"

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace nestsmith::fuzz {

/// What came of them. Plain numbers, so that processes can share them.
struct Tally {
  static constexpr std::size_t most_primitives = 40, most_architectures = 64, most_features = 64;
  std::uint64_t schedules = 0, directives = 0; ///< and those that were accepted, in all
  std::array<std::uint64_t, 16> kinds = {};    ///< by Kind
  /// Of the schedules that were exact:
  std::uint64_t shared = 0, pipeline = 0, vector = 0, narrow_vector = 0, intrinsic = 0, several_kernels = 0,
                infinite = 0, warps = 0, fragment = 0, call = 0, warp_barrier = 0;
  /// Their kernels that NVRTC took, by the architecture's place in its list.
  std::array<std::uint64_t, most_architectures> texts = {};
  /// Of each primitive, in the order of all_primitives(): how often it was tried and refused, and in how
  /// many exact schedules it took part.
  std::array<std::uint64_t, most_primitives> tried = {}, refused = {}, took_part = {};
  /// Schedules of generated computations, the exact ones among them, and how many different computations.
  std::uint64_t generated = 0, generated_exact = 0, computations = 0;
  /// For each of features(): the different computations that have it, and the exact schedules of these.
  std::array<std::uint64_t, most_features> with_feature = {}, exact_with_feature = {};

  std::uint64_t of(Kind kind) const { return kinds[static_cast<std::size_t>(kind)]; }
  std::uint64_t broken() const;
  std::uint64_t compiled() const; ///< texts
};

/// A promise broken.
struct Failure {
  std::uint64_t seed;
  Case shrunk; ///< shrunk
  Verdict verdict;
};

struct Plan {
  std::uint64_t first_seed = 1;
  std::uint64_t count = 0;                         ///< schedules; 0: no limit
  double seconds = 0;                              ///< 0: no limit
  std::uint64_t computations = usual_computations; ///< generated ones to choose from
  bool only_warps = false;                         ///< skip the seeds of other schedules
  std::uint64_t compile = 0; ///< every so many are compiled by NVRTC, for its architectures in turn; 0: none
  /// Every so many are judged by all oracles (tests/fuzz/judge_all.h), and none is compiled; 0: none.
  std::uint64_t everything = 0;
  std::size_t failures = 20; ///< after so many it stops
  bool shrink = true;
  std::function<void(std::uint64_t next_seed, const Tally &)> progress = {};
  std::function<void(const Failure &)> found = {};
};

struct Outcome {
  Tally tally;
  std::vector<Failure> failures;
  std::uint64_t next_seed = 0; ///< where to go on
};

/// Judges the schedules of the seeds from `first_seed` on, one each.
Outcome run(const Plan &plan);

/// The figures, for a reader.
std::string report(const Tally &tally);
/// What broke, how to see it again, and the trace to be pinned.
std::string report(const Failure &failure);

} // namespace nestsmith::fuzz
