#pragma once
/// The instruction handlers, with one version for each instruction set of the host.

#include "runtime/sim/program.h"

namespace nestsmith::sim {

/// "Uniform" and "lanes" are the two kinds of register in program.h. A boolean in lanes is a mask.
struct Lanes {
  /// dst = a op b, with operands and result of one kind. Booleans support the logical operators, eq and ne.
  Handler (*binary)(BinaryOp op, DType dtype, bool uniform);
  Handler (*complement)(bool uniform);                 ///< dst = not a
  Handler (*select)(DType dtype, bool uniform);        ///< dst = a ? b : c, all of one kind
  Handler (*cast)(DType from, DType to, bool uniform); ///< dst = to(a)
  Handler (*splat)(DType dtype);                       ///< lanes dst = uniform a
  Handler (*copy)(DType dtype);                        ///< lanes dst = lanes a
  /// dst = c + a * b in f32 or u32, with c and b in lanes.
  Handler (*multiply_add)(DType dtype, bool a_uniform);
  /// The same with dst == c, a local element: only active lanes change. dst must differ from a and b.
  Handler (*accumulate)(DType dtype, bool a_uniform);
  Handler (*load)(const Access &access);
  Handler (*store)(const Access &access);
  /// Reports active lanes that have not written the local element of `access`, whose index is uniform.
  Handler check_written;
  /// Marks the local element of `access` as written by the active lanes, after a direct load into it.
  Handler mark_written;
  Handler block_index; ///< dst = blockIdx on axis imm

  Handler loop_begin; ///< dst = 0; jumps by imm unless dst < a. b: region
  Handler loop_next;  ///< dst += c; jumps by imm while dst < a. b: region
  Handler loop_whole; ///< loop_begin and loop_next of a loop with an empty body
  /// Saves the active mask in dst and intersects it with mask a; jumps by imm if it is empty. b: region; c: not
  /// an else
  Handler if_lanes;
  Handler if_uniform; ///< jumps by imm unless a. b: region
  Handler end_if;     ///< restores the active mask from a
  Handler end;        ///< the warp has finished
};

/// The fastest version that this host supports.
const Lanes &host_lanes();
extern const Lanes baseline_lanes;
#if defined(__x86_64__)
extern const Lanes avx2_lanes;
#endif

} // namespace nestsmith::sim
