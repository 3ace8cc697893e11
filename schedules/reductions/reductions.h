#pragma once
/// Schedules of a reduction of a whole array to one element, such as the sum of a vector: the one stage of the
/// computation is y[i] = the reduction over k of an expression of elements k of arrays, for an i of extent 1.
/// The reducer may be any. The functions throw what the directives throw if the computation has another form.

#include "dsl/schedule/schedule.h"
#include "schedules/rung.h"

#include <optional>

namespace nestsmith::reductions {

/// One thread reads all elements. The other 31 of its warp have no work.
Schedule by_thread(const Program &program, const Target &target);

/// One block. Each thread reduces every 256th element. Then 128 threads combine two neighbouring results each,
/// in shared memory, and so on.
Schedule by_tree(const Program &program, const Target &target);

/// One block. Shuffles combine the results of a warp, and shared memory those of the warps.
Schedule by_shuffles(const Program &program, const Target &target);

/// Blocks reduce 2048 neighbouring elements each, as by `by_shuffles`. One block of a second kernel combines
/// their results.
Schedule by_blocks(const Program &program, const Target &target);

/// As `by_blocks`, but each thread loads 16 bytes at a time. The knob `threads` is the size of a block, and
/// `steps` the number of loads of a thread. `shape` is N, the extent of k.
Schedule in_vectors(const Program &program, const Shape &shape, const Target &target, Knobs &knobs);

/// As `in_vectors`, but in one kernel: the last block to finish combines the results of all blocks.
Schedule in_one_pass(const Program &program, const Shape &shape, const Target &target, Knobs &knobs);

/// As `in_vectors`, but each block combines its result with y by an atomic operation, in any order, which is
/// not deterministic if the reducer rounds. A first kernel stores the identity. Refused if the reducer has no
/// atomic operation.
Schedule by_atomics(const Program &program, const Shape &shape, const Target &target, Knobs &knobs);

/// An N of which no vector is a part is read element by element.
std::optional<Variant> vector_variant(const Shape &shape, DType dtype);

} // namespace nestsmith::reductions
