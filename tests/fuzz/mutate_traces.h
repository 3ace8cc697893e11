#pragma once
/// Judges many mutants of traces by every oracle, in child processes that may crash or hang.

#include "tests/fuzz/judge.h"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace nestsmith::fuzz {

/// Returns the traces to mutate: those of all rungs at small shapes, and those of tests/pinned. The other
/// mutants start from random schedules (tests/fuzz/author.h).
std::vector<std::string> trace_corpus();

/// A mutant that broke a promise.
struct Find {
  std::uint64_t seed = 0;
  Kind kind = Kind::exact;
  std::string doing;     ///< the activity at the failure: "parse", "apply", "judge", "report"
  std::string message;   ///< the end of the output
  std::string signature; ///< identifies the cause: finds with equal signatures mostly show the same error
  std::string trace;     ///< the shrunk trace, for the first find of a signature
  double seconds = 0;    ///< processor time since the start of the run, in seconds
};

struct MutationPlan {
  std::uint64_t first_seed = 1;
  std::uint64_t count = 0; ///< maximum number of mutants; 0: no limit
  double seconds = 0;      ///< maximum processor time; 0: no limit
  std::size_t finds = 20;  ///< maximum number of finds with different signatures
  bool shrink = true;
  std::function<void(const Find &)> found = {};
};

struct MutationOutcome {
  std::uint64_t mutants = 0, next_seed = 0;
  std::array<std::uint64_t, 16> kinds = {}; ///< by Kind
  std::uint64_t not_read = 0;               ///< refused mutants that are no trace of a computation
  std::vector<Find> finds;                  ///< the first find of each signature
  std::map<std::string, std::uint64_t> signatures;

  std::uint64_t of(Kind kind) const { return kinds[static_cast<std::size_t>(kind)]; }
};

MutationOutcome mutate_traces(const MutationPlan &plan);
/// Returns the trace of the mutant of a seed, up to the directive at which a crash or a hang ended it.
std::string mutant_apart(std::uint64_t seed);

/// Returns the counts as text.
std::string report(const MutationOutcome &outcome);
std::string report(const Find &find);

} // namespace nestsmith::fuzz
