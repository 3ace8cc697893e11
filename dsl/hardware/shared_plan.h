#pragma once
/// The memory of the shared arrays of one nest. Arrays whose lifetimes do not meet share memory.
///
/// The threads of a block execute a sequence of statements: loops and blocks. Loops that are bound, or that
/// have one iteration, are no statements of their own: their bodies are parts of the sequence around them. Two
/// arrays can share memory if, in the innermost sequence that contains all accesses to both, the last statement
/// that accesses the one is before the first statement that accesses the other. They do share it
///
///   - if a thread block executes this sequence once: sharing adds at most one barrier for each block;
///   - in the body of a loop, if the barriers between the two arrays exist anyway: a barrier of the block is
///     between a write of a shared array and its read by another statement;
///   - in the body of any loop, if the arrays otherwise need more shared memory than a block can have, or than
///     the requested blocks of an SM can have.
///
/// The sequence must not be in a pipelined loop, whose iterations overlap, and the nest must have no last
/// block. A pipelined loop as a whole is one statement of the sequence around it. An array that some iterations
/// of a loop fill for others is live in all of them. An array of tuples shares no memory.

#include "dsl/hardware/target.h"
#include "dsl/ir/allocation.h"
#include "dsl/ir/program.h"
#include "dsl/ir/tenancy.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith {

struct SharedArray {
  Buffer buffer;
  std::int64_t bytes = 0;
  std::int64_t alignment = shared_alignment; ///< in bytes; `plan_shared` sets that of tiles of matrix units
  bool of_warps = false; ///< no two warps access an element, so that no barrier of the block is after a write
  std::optional<Tenancy> tenancy = {}; ///< none: the array has memory of its own
};

/// Arrays that need a larger alignment come first in shared memory.
struct SharedPlan {
  std::vector<SharedArray> arrays;
  std::int64_t bytes = 0; ///< of all arrays that have memory of their own, and of the gaps between them
};

/// Places arrays of these sizes. `nest` is one top-level nest, and contains all accesses to the arrays. An
/// array of 0 bytes, whose size is not known, shares no memory.
SharedPlan plan_shared(const Program &nest, std::vector<SharedArray> arrays, const Target &target);

} // namespace nestsmith
