#pragma once
/// Schedules of a stencil, or of any computation of elements from their neighbours: the one stage of the
/// computation is Y[i, j] = an expression of elements X[i + r, j + c] for constants r and c. Masks exclude the
/// reads outside of X. The functions throw what the directives throw if the computation has another form.

#include "dsl/schedule/schedule.h"
#include "schedules/rung.h"

namespace nestsmith::stencils {

/// One thread for each element. The elements of a block are neighbours in a row, so several blocks read each
/// row of X.
Schedule by_rows(const Program &program, const Target &target);

/// The same with blocks of 8 x 32 elements. Several threads of a block read the same row of X, which L1 keeps.
Schedule in_blocks(const Program &program, const Target &target);

/// The same with the elements that a block reads, its tile and the halo around it, in shared memory. It
/// includes the elements that the masks exclude, so the computation itself has no mask.
Schedule in_shared_tiles(const Program &program, const Target &target);

/// As `in_blocks`, but each thread computes several elements of a column. It loads what they read into
/// registers, once for all of them. The knob `rows` is their number.
Schedule in_columns(const Program &program, const Target &target, Knobs &knobs);

/// As `in_columns`, but blocks whose tile is at no edge have code of their own, without masks and guards.
Schedule with_edges(const Program &program, const Target &target, Knobs &knobs);

/// For a computation of two stages of this form, of which the second reads the first: each by a kernel as by
/// `with_edges`. The first stage is in global memory.
Schedule step_by_step(const Program &program, const Target &target, Knobs &knobs);

/// The same in one kernel. Each block computes the elements of the first stage that it reads, in shared memory,
/// from a tile of X there. It computes the halo, too, which its neighbours compute as well.
Schedule two_steps(const Program &program, const Target &target);

} // namespace nestsmith::stencils
