#pragma once
/// Softmax of rows: a maximum, a sum of exponentials and a division, by one thread, by a warp and by a block
/// for each row, and with the row in registers.

#include "dsl/schedule/schedule.h"
#include "schedules/rung.h"

#include <array>

namespace nestsmith::softmax_rows {

/// The element types that have a softmax. In u32, exp is a hash, so that a run shows each wrong operand.
inline constexpr std::array dtypes = {DType::f32, DType::f16, DType::bf16, DType::u32};

Schedule naive(const Shape &shape, DType dtype, const Target &target);
Schedule warp(const Shape &shape, DType dtype, const Target &target);
Schedule block(const Shape &shape, DType dtype, const Target &target);
Schedule vectors(const Shape &shape, DType dtype, const Target &target, Knobs &knobs);
Schedule registers(const Shape &shape, DType dtype, const Target &target, Knobs &knobs);

std::optional<Variant> registers_variant(const Shape &shape, DType dtype);

} // namespace nestsmith::softmax_rows
