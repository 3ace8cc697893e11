#pragma once
/// Ours: the best of all tutorials in one line, from naive to double-buffered 8 x 8 register tiles by 128-bit
/// accesses. C = alpha*A*B + beta*C. The first rungs are those of the others (schedules/rungs.cpp).

#include "dsl/schedule.h"
#include "schedules/rung.h"

namespace nestsmith::ladder {

Schedule prefetch(const Shape &shape, DType dtype, const Target &target);
Schedule warps(const Shape &shape, DType dtype, const Target &target);
/// Rows of A have K elements, those of B and C have N.
std::optional<Variant> vector_variant(const Shape &shape, DType dtype);

} // namespace nestsmith::ladder
