#pragma once
/// What random schedules are made for, and what they are reproduced by.

#include "dsl/trace.h"
#include "schedules/rung.h"

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

/// A schedule by what replays it.
struct Case {
  const Computation *computation = nullptr;
  Shape shape;
  DType dtype = DType::f32;
  std::string arch;
  std::vector<Directive> directives;
};

Program source_of(const Case &test_case);
TraceFile trace_of(const Case &test_case);
/// Throws UserError(usage) where the trace is of no computation that is known here.
Case case_of(const TraceFile &trace, const std::string &where);

} // namespace nestsmith::fuzz
