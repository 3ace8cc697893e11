#pragma once
/// The computations that random schedules are written for, and the cases that reproduce a schedule.

#include "dsl/schedule/trace.h"
#include "schedules/rung.h"
#include "tests/fuzz/generate.h"

#include <cstdint>
#include <string>
#include <vector>

namespace nestsmith::fuzz {

struct Computation {
  std::string name; ///< the name of its program
  std::size_t rank; ///< number of extents of its shape
  Program (*make)(const Shape &, DType);
  bool symbolic = false; ///< whether it can be made for symbolic sizes
};

/// The computations of schedules/workloads.h, and others: chains of stages, overlapping windows, masks, several
/// sums.
const std::vector<Computation> &computations();

/// The computation, the shape and the directives that reproduce a schedule.
struct Case {
  Program source;
  const Computation *computation = nullptr; ///< the entry of `computations()` that made `source`; null: none
  Shape shape;                              ///< of the run that judges the case
  DType dtype = DType::f32;
  std::string arch;
  std::vector<Directive> directives;
  std::vector<Fit> fits = {}; ///< of a generated computation only
};

/// Returns a case without directives. Throws UserError(usage) if the computation rejects the shape.
Case case_of(const Computation &computation, Shape shape, DType dtype, std::string arch);
/// Returns a case of the generated computation of this seed (tests/fuzz/generate.h).
Case case_of_generated(std::uint64_t seed, std::string arch);

TraceFile trace_of(const Case &test_case);
/// Throws UserError(usage) if the trace contains no computation and does not name one of the table.
Case case_of(const TraceFile &trace, const std::string &where);

} // namespace nestsmith::fuzz
