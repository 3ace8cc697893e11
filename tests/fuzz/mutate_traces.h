#pragma once
/// Many mutants of traces, each under every oracle, in a process that may crash or hang.

#include "tests/fuzz/judge.h"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace nestsmith::fuzz {

/// Traces to begin with: of all rungs at small shapes, and those of tests/pinned. The other mutants are of
/// random schedules (tests/fuzz/author.h).
std::vector<std::string> trace_corpus();

/// A mutant that broke a promise.
struct Find {
  std::uint64_t seed = 0;
  Kind kind = Kind::exact;
  std::string doing;     ///< what it was doing: "parse", "apply", "judge", "report"
  std::string message;   ///< the end of what it said
  std::string signature; ///< of the cause: finds with one signature are mostly one error
  std::string trace;     ///< for the first of its signature, smaller
  double seconds = 0;    ///< of the processor, since the begin
};

struct MutationPlan {
  std::uint64_t first_seed = 1;
  std::uint64_t count = 0; ///< mutants; 0: no limit
  double seconds = 0;      ///< of the processor; 0: no limit
  std::size_t finds = 20;  ///< with different signatures, after which it stops
  bool shrink = true;
  std::function<void(const Find &)> found = {};
};

struct MutationOutcome {
  std::uint64_t mutants = 0, next_seed = 0;
  std::array<std::uint64_t, 16> kinds = {}; ///< by Kind
  std::uint64_t not_read = 0;               ///< of the refused ones, those that are no trace of a computation
  std::vector<Find> finds;                  ///< the first of each signature
  std::map<std::string, std::uint64_t> signatures;

  std::uint64_t of(Kind kind) const { return kinds[static_cast<std::size_t>(kind)]; }
};

MutationOutcome mutate_traces(const MutationPlan &plan);
/// The trace of the mutant of this seed, as far as it came.
std::string mutant_apart(std::uint64_t seed);

/// The figures, for a reader.
std::string report(const MutationOutcome &outcome);
std::string report(const Find &find);

} // namespace nestsmith::fuzz
