#pragma once
/// The stages of a computation of rows, and steps that its schedules share.

#include "schedules/rows/rows.h"

#include <vector>

namespace nestsmith::rows {

struct Stage {
  BlockRef block;
  bool reduces;   ///< over the row
  bool elements;  ///< one for each element of the row
  bool temporary; ///< read by later stages only
};

/// The stages in the order of the computation.
std::vector<Stage> stages_of(const Schedule &s);

/// X: what the first stage reads.
Buffer input_of(const Program &program);

/// The same, after the stages of elements between were written into their readers.
std::vector<Stage> inlined_stages(Schedule &s);

/// How many elements of X, and of the result, a thread can access at once: as many as 16 bytes hold and rows
/// are a multiple of. 1 if that has less than 4 bytes.
std::int64_t vector_width(const Shape &shape, DType dtype);

} // namespace nestsmith::rows
