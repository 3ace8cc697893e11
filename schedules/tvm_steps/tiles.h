#pragma once
/// Code that the later steps of the tutorial share.

#include "schedules/rung.h"

namespace nestsmith::tvm_steps {

/// The later steps to apply.
struct Steps {
  bool pipeline = false; ///< step 5
  bool unroll = false;   ///< step 6
};

/// Rows of A have K elements; rows of B and C have N.
std::optional<Variant> vector_variant(const Shape &shape, DType dtype);

/// Step 4 and the later steps: step 3 with results in registers, which are written back four at a time.
Schedule in_registers(const Shape &shape, DType dtype, const Target &target, Steps steps);

} // namespace nestsmith::tvm_steps
