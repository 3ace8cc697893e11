#pragma once
/// The handlers of instructions, in one version for each instruction set of the host.

#include "runtime/sim/program.h"

namespace nestsmith::sim {

/// "Uniform" and "lanes" are the two kinds of register of program.h; booleans in lanes are masks.
struct Lanes {
  /// dst = a op b, both of one kind. Booleans take the logical operators, eq and ne.
  Handler (*binary)(BinaryOp op, DType dtype, bool uniform);
  Handler (*complement)(bool uniform);                 ///< dst = not a
  Handler (*select)(DType dtype, bool uniform);        ///< dst = a ? b : c, all of one kind
  Handler (*cast)(DType from, DType to, bool uniform); ///< dst = to(a)
  Handler (*splat)(DType dtype);                       ///< lanes dst = uniform a
  Handler (*copy)(DType dtype);                        ///< lanes dst = lanes a
  /// dst = c + a * b, f32 or u32, c and b in lanes.
  Handler (*multiply_add)(DType dtype, bool a_uniform);
  /// The same with dst == c, a local element: only active lanes change. dst must not be a or b.
  Handler (*accumulate)(DType dtype, bool a_uniform);
  Handler (*load)(const Access &access);
  Handler (*store)(const Access &access);
  /// Reports active lanes that never wrote the local element of `access`, whose index is uniform.
  Handler check_written;
  /// Notes that the active lanes wrote the local element of `access`, to which a load went directly.
  Handler mark_written;
  Handler block_index; ///< dst = blockIdx on axis imm

  Handler loop_begin; ///< dst = 0; jumps by imm unless dst < a. b: region
  Handler loop_next;  ///< dst += c; jumps by imm while dst < a. b: region
  Handler loop_whole; ///< as loop_begin and loop_next do with nothing between them
  /// Saves the active mask in dst and narrows it by mask a; jumps by imm if none. b: region; c: not an else
  Handler if_lanes;
  Handler if_uniform; ///< jumps by imm unless a. b: region
  Handler end_if;     ///< restores the active mask from a
  Handler end;        ///< the warp has finished
};

/// The fastest that this host can run.
const Lanes &host_lanes();
extern const Lanes baseline_lanes;
#if defined(__x86_64__)
extern const Lanes avx2_lanes;
#endif

} // namespace nestsmith::sim
