#pragma once
/// The instruction handlers. There is one version for each supported instruction set of the host.

#include "dsl/ir/residues.h"
#include "runtime/sim/decoded_kernel.h"

namespace nestsmith::sim {

/// A uniform register and a lane register are defined in decoded_kernel.h. A boolean in a lane register is a
/// mask. `dst`, `a`, `b`, `c` and `imm` are the fields of `Instr`.
struct HandlerTable {
  /// dst = a op b. The operands and the result are all uniform or all in lane registers. Booleans support the
  /// logical operators, eq and ne.
  Handler (*binary)(BinaryOp op, DType dtype, bool uniform);
  Handler (*complement)(bool uniform);          ///< dst = not a
  Handler (*select)(DType dtype, bool uniform); ///< dst = a ? b : c, all uniform or all in lane registers
  Handler (*cast)(DType from, DType to, bool uniform); ///< dst = to(a)
  Handler (*splat)(DType dtype);                       ///< copies uniform a to all lanes of dst
  Handler (*copy)(DType dtype);                        ///< copies lane register a to dst
  /// dst = row imm of the functions of mathematics on a, b and c, all uniform or all in lane registers.
  Handler (*function)(DType dtype, bool uniform);
  /// dst = c + a * b in f32, f64 or u32. c and b are lane registers.
  Handler (*multiply_add)(DType dtype, bool a_uniform);
  /// The same for an element of local memory that is both dst and c. Only the active lanes of dst change. dst
  /// must differ from a and b.
  Handler (*accumulate)(DType dtype, bool a_uniform);
  Handler (*load)(const Access &access);
  Handler (*store)(const Access &access);
  /// Reports active lanes that have not written the local element of `access`, whose index is uniform.
  Handler check_written;
  /// Marks the local element of `access` as written by the active lanes, after a direct load into it.
  Handler mark_written;
  Handler (*gather)(
      DType dtype);    ///< dst = in each lane, the element that `DecodedKernel::gathers[imm]` gives it
  Handler block_index; ///< dst = blockIdx on axis imm

  Handler loop_begin; ///< dst = 0; jumps by imm unless dst < a. b: region
  Handler loop_next;  ///< dst += c; jumps by imm while dst < a. b: region
  Handler loop_whole; ///< loop_begin and loop_next of a loop with an empty body
  /// Saves the active mask in dst and intersects the active mask with mask a. Jumps by imm if the result is
  /// empty. b: region. c: 0 for the else side of an if, otherwise 1.
  Handler if_lanes;
  Handler if_uniform; ///< jumps by imm unless a. b: region
  Handler end_if;     ///< restores the active mask from a
  Handler end;        ///< the warp has finished
};

/// The dtypes of `multiply_add` and `accumulate`.
constexpr bool has_multiply_add(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::u32;
}

/// The fastest version that this host supports.
const HandlerTable &host_handlers();
extern const HandlerTable baseline_handlers;
#if defined(__x86_64__)
extern const HandlerTable avx2_handlers;
#endif

/// The handlers for floating-point numbers, or for what stands for them. `baseline` as in `Options`.
const HandlerTable &handlers_for(Arithmetic arithmetic, bool baseline);

} // namespace nestsmith::sim
