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

/// How many neighbouring elements a thread can access at once: as many as 16 bytes hold and extent number `n`
/// is a multiple of. 1 if that has less than 4 bytes. For a matrix, `n` = 1: the length of a row.
std::int64_t vector_width(const Shape &shape, DType dtype, std::size_t n = 1);

/// The buffers that the block reads, without the one that it writes.
std::vector<Buffer> inputs_of(const Schedule &s, BlockRef block);

/// Copies all buffers that the block reads into registers, `width` neighbouring elements at once. The innermost
/// loop of the block is over these elements.
void load_in_vectors(Schedule &s, BlockRef block, std::int64_t width);

} // namespace nestsmith::rows
