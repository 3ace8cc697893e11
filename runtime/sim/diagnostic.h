#pragma once
/// The errors that the simulator finds in a kernel.

#include "lowering/kernel.h"

#include <cstdint>
#include <optional>
#include <string>

namespace nestsmith::sim {

/// race               two unordered accesses to one element, one of them a store
/// out_of_bounds      an element offset outside of the buffer; the access is not performed, and a load gives 0
/// unwritten_read     a read of an element that the kernel has not written, in shared or local memory, in an
///                    output, or in an argument that is not initialised
/// in_flight          an access to an element whose asynchronous copy has not arrived, a store to the source of
/// a copy
///                    in flight, or a copy in flight at the end of the kernel
/// misaligned         a vector whose address is not a multiple of its width, or registers that a call takes as
///                    a word and that do not start one; the access is performed
/// operands_overlap   the result of a call shares registers with another operand
/// replicas_differ    lanes hold different values of one element that a call reads
/// order_of_blocks    the result depends on the order in which blocks arrive at a counter
/// divergent_barrier  threads of one warp or one block wait at different barriers, or some lanes of a warp miss
///                    a call that all lanes must execute
/// deadlock           warps wait for threads that have finished
/// unfenced           matrix units read a tile that a thread has written without a fence (lowering/sync.h)
/// counter_left       a counter of arrivals is not zero at the end of the kernel
enum class ErrorKind : std::uint8_t {
  race,
  out_of_bounds,
  unwritten_read,
  in_flight,
  misaligned,
  divergent_barrier,
  deadlock,
  unfenced,
  counter_left,
  operands_overlap,
  replicas_differ,
  order_of_blocks
};
const char *name(ErrorKind kind);

struct Diagnostic {
  ErrorKind kind;
  /// States the buffer, the element, the threads, the loop iterations and the statements.
  std::string message;
  /// For a race in one block, or an access in flight: the violated order, in the form of a certificate.
  std::optional<kernel::Hazard> hazard = std::nullopt;
};

} // namespace nestsmith::sim
