#pragma once
/// Dependences through parameters.
///
/// A temporary has one producer, so its accesses are ordered by "written before it is read". A parameter may be
/// read before it is overwritten and read again after that: each pair of accesses to an element, at least one
/// of them a write, must keep its order. Two blocks *conflict* in a buffer if both access it and at least one
/// writes it.
///
/// Five questions are decided here, all conservatively:
///   - Does a directive that moves one block keep the order of each conflicting pair (`broken_by_move`)?
///   - Does a new order of loops keep it (`broken_by_reorder`)?
///   - Do loops of their own for the statements of a loop keep it (`broken_by_fission`)?
///   - Do two nests access common elements (`common_element`)?
///   - Are conflicting accesses of different threads ordered (`unordered_accesses`)?

#include "dsl/expr/simplify.h"
#include "dsl/ir/program.h"

#include <optional>
#include <vector>

namespace nestsmith {

/// The parameters in which the blocks conflict.
std::vector<Buffer> conflicts(const Block &a, const Block &b);

struct Dependence {
  BlockId first, second; ///< in the order that must be kept
  Buffer buffer;
};

/// The first dependence that a directive does not provably keep; none if all are kept. The directive changes
/// the program from `before` to `after`. It moves the block `moved`, or computes it repeatedly, and moves no
/// other block. In `after` the moved block is `now`: the same block, or a part of it such as its init.
std::optional<Dependence> broken_by_move(const Stmt &before, const BlockId &moved, const Stmt &after,
                                         const BlockId &now);

/// A dependence that needs the order of two loops.
struct BrokenExchange {
  Dependence dependence;
  Var outer, inner; ///< in the order that must be kept
};
/// The first dependence that a new order of loops does not provably keep; none if all are kept. `before` lists
/// loops of a perfect nest, without gaps, the outermost first. `after` lists the same loops in the new order.
/// Requires that each element is accessed in the order of the conflicting blocks in the nest. All directives
/// ensure this: a computation has one nest for each block, and no directive changes the order of accesses.
std::optional<BrokenExchange> broken_by_reorder(const Stmt &root, const std::vector<Var> &before,
                                                const std::vector<Var> &after);

/// The first dependence that loops of their own for the statements in the body of `loop` do not provably keep;
/// none if all are kept. Temporaries are checked too: their readers may be in other iterations.
std::optional<Dependence> broken_by_fission(const Stmt &root, const Var &loop);

/// The first element, as far as it can be excluded, that blocks of both nests access in global memory, and at
/// least one of them writes; none if there is none. `bounds` are those of the loops; `first` precedes `second`.
std::optional<Dependence> common_element(const Bounds &bounds, const Stmt &first, const Stmt &second);

/// Two conflicting accesses in one kernel by different threads, which no barrier orders.
struct Race {
  BlockId first, second;
  Buffer buffer;
  Axis axis; ///< of the threads or thread blocks
};
/// The first race in a nest, which becomes one kernel; none if there is no race. The function checks parameters
/// and the global temporaries that the last block reads (dsl/ir/last_block.h).
std::optional<Race> unordered_accesses(const Program &program, const Stmt &nest);
/// An axis on which two blocks of a program may access one element of `buffer` with different indices; none if
/// the element determines the index on every axis. Each thread block has its own copy of shared memory. The
/// variables `fixed` have the same values for both accesses.
std::optional<Axis> axis_of_other_thread(const Program &program, const Block &a, const Block &b,
                                         const Buffer &buffer, const std::vector<Var> &fixed);

} // namespace nestsmith
