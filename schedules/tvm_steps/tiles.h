#pragma once
/// What the later steps of the tutorial share.

#include "schedules/rung.h"

namespace nestsmith::tvm_steps {

/// Which of the later steps are taken.
struct Steps {
  bool pipeline = false; ///< step 5
  bool unroll = false;   ///< step 6
};

/// Rows of A have K elements, those of B and C have N.
std::optional<Variant> vector_variant(const Shape &shape, DType dtype);

/// Step 4 and what follows it: step 3, its results kept in registers and written back four at a time.
Schedule in_registers(const Shape &shape, DType dtype, const Target &target, Steps steps);

} // namespace nestsmith::tvm_steps
