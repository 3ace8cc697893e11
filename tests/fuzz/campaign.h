#pragma once
/// A campaign: judges many random schedules in child processes, each of which may crash or hang.

#include "tests/fuzz/author.h"
#include "tests/fuzz/judge.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace nestsmith::fuzz {

/// The counts of a campaign. They are plain numbers, so that processes can share them.
struct CampaignCounts {
  static constexpr std::size_t most_primitives = 49, most_architectures = 64, most_features = 64;
  std::uint64_t schedules = 0, directives = 0; ///< accepted directives only
  std::array<std::uint64_t, 16> kinds = {};    ///< by Kind
  /// Counts of exact schedules with these properties (tests/fuzz/judge.h):
  std::uint64_t shared = 0, pipeline = 0, vector = 0, narrow_vector = 0, intrinsic = 0, several_kernels = 0,
                infinite = 0, warps = 0, fragment = 0, call = 0, warp_barrier = 0;
  /// Exact schedules by Trait; those that the device executed, too; and the sum of the latter, without traits.
  std::array<std::uint64_t, trait_count> traits = {}, executed_traits = {};
  std::uint64_t executed = 0;
  std::uint64_t with_bulk_stores = 0; ///< schedules with one, also those that are refused
  /// Compiled kernels of exact schedules, by the index of the architecture in Nvrtc::arches().
  std::array<std::uint64_t, most_architectures> texts = {};
  /// For each primitive, in the order of all_primitives(): how often it was tried and refused, and in how many
  /// exact schedules it was used.
  std::array<std::uint64_t, most_primitives> tried = {}, refused = {}, took_part = {};
  /// Schedules of generated computations; the exact ones among them; the number of different computations.
  std::uint64_t generated = 0, generated_exact = 0, computations = 0;
  /// For each feature of features(): the number of different computations that have it, and of their exact
  /// schedules.
  std::array<std::uint64_t, most_features> with_feature = {}, exact_with_feature = {};

  std::uint64_t of(Kind kind) const { return kinds[static_cast<std::size_t>(kind)]; }
  std::uint64_t broken() const;
  std::uint64_t compiled() const; ///< the sum of `texts`
};

/// A schedule that broke a promise.
struct Failure {
  std::uint64_t seed;
  Case shrunk; ///< after `shrink`, if the plan asks for it
  Verdict verdict;
};

struct Plan {
  std::uint64_t first_seed = 1;
  std::uint64_t count = 0;                         ///< schedules; 0: no limit
  double seconds = 0;                              ///< 0: no limit
  std::uint64_t computations = usual_computations; ///< number of generated computations to choose from
  bool only_warps = false;                         ///< skip the seeds of schedules that are not for warps
  std::uint64_t compile = 0; ///< compile every Nth schedule by NVRTC, for its architectures in turn; 0: none
  /// Every Nth schedule is judged by all oracles (tests/fuzz/judge_all.h). If it is not 0, no schedule is
  /// compiled; 0: none.
  std::uint64_t everything = 0;
  std::string arch = {};       ///< of all schedules; empty: each draws its own
  OpenDevice open_device = {}; ///< a device that executes the exact schedules, too; null: none
  /// A file that contains the trace of the launch in progress, so that it is known after this process was
  /// killed, too; empty: none.
  std::filesystem::path launched = {};
  std::size_t failures = 20; ///< the campaign stops after this number
  bool shrink = true;
  std::function<void(std::uint64_t next_seed, const CampaignCounts &)> progress = {};
  std::function<void(const Failure &)> found = {};
};

struct Outcome {
  CampaignCounts tally;
  std::vector<Failure> failures;
  std::uint64_t next_seed = 0; ///< the first seed of a run that continues this one
};

/// Judges the schedules of the seeds from `first_seed` on.
Outcome run(const Plan &plan);

/// Returns the counts as text.
std::string report(const CampaignCounts &tally);
/// Returns the verdict, the command that reproduces the failure, and the trace to add to tests/pinned.
std::string report(const Failure &failure);

} // namespace nestsmith::fuzz
