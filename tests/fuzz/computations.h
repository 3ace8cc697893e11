#pragma once
/// What random schedules are made for, and what they are reproduced by.

#include "dsl/schedule/trace.h"
#include "schedules/rung.h"
#include "tests/fuzz/generate.h"

#include <cstdint>
#include <string>
#include <vector>

namespace nestsmith::fuzz {

struct Computation {
  std::string name; ///< of its program
  std::size_t rank; ///< extents of its shape
  Program (*make)(const Shape &, DType);
  bool symbolic = false; ///< it can be made for all sizes
};

/// Those of schedules/workloads.h, and others: chains of stages, windows that overlap, masks, several sums.
const std::vector<Computation> &computations();

/// A schedule of any computation, by what replays it.
struct Case {
  Program source;
  const Computation *computation = nullptr; ///< of the table, which made `source`; null for any other
  Shape shape;                              ///< of a run
  DType dtype = DType::f32;
  std::string arch;
  std::vector<Directive> directives;
  std::vector<Fit> fits = {}; ///< of a generated computation
};

/// A case without directives. Throws UserError(usage) for a shape that the computation does not take.
Case case_of(const Computation &computation, Shape shape, DType dtype, std::string arch);
/// A case of the computation that `generated` makes of this seed (tests/fuzz/generate.h).
Case case_of_generated(std::uint64_t seed, std::string arch);

TraceFile trace_of(const Case &test_case);
/// Throws UserError(usage) if the trace contains no computation and names none of the table.
Case case_of(const TraceFile &trace, const std::string &where);

} // namespace nestsmith::fuzz
