#pragma once
/// Our own tutorial: the best of all tutorials in one sequence, from naive to double-buffered 8 x 8 register
/// tiles with 128-bit accesses. C = alpha*A*B + beta*C. Its first rungs are rungs of other tutorials
/// (schedules/rungs.cpp).

#include "dsl/schedule/schedule.h"
#include "schedules/rung.h"

namespace nestsmith::ladder {

Schedule coalesced(const Shape &shape, DType dtype, const Target &target);
Schedule prefetch(const Shape &shape, DType dtype, const Target &target);
Schedule warps(const Shape &shape, DType dtype, const Target &target, Knobs &knobs);
Schedule async(const Shape &shape, DType dtype, const Target &target, Knobs &knobs);
/// Rows of A have K elements; rows of B and C have N.
std::optional<Variant> vector_variant(const Shape &shape, DType dtype);

} // namespace nestsmith::ladder
