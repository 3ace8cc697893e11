#pragma once
/// Names of loops that a directive makes. A schedule identifies loops by long names, such as
/// ax_B_k_ax_B_j_outer_outer, which state how the loop was made. A kernel is read without its schedule, so its
/// loops have brief names, as a person would choose: n_outer. A short name is used as it is
/// (`name_in_kernel`).

#include "dsl/schedule/primitives/edit.h"

#include <string>

namespace nestsmith {

/// A part of the loop `whole`, result number `result` of the directive: its name with `suffix`, such as
/// "_outer".
Var part_of_loop(Schedule::Edit &edit, const Var &whole, const std::string &suffix, std::size_t result);
/// The loop made of two loops, the result of the directive. Its brief name is n.
Var fused_loop(Schedule::Edit &edit, const Var &outer, const Var &inner);
/// A loop over an axis of a block. Its brief name is that of the axis without the names of buffers: i_0 for
/// ax_A_shared_i_0.
Var loop_of_axis(Schedule::Edit &edit, const std::string &axis, const std::string &suffix);
/// A copy of a loop: its name with `suffix`, such as "_init" for an init.
Var copied_loop(Schedule::Edit &edit, const Var &copied, const std::string &suffix);

} // namespace nestsmith
