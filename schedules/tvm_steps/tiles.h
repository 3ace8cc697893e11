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

/// Schedules step 4 and the later steps. They extend step 3: the results are in registers, and each thread
/// stores four results at a time.
Schedule in_registers(const Shape &shape, DType dtype, const Target &target, Steps steps);

} // namespace nestsmith::tvm_steps
