#pragma once
/// Schedules of any computation of rows, such as a softmax: from X, of M x N elements, it computes stages of
/// one element for each row, which may be reductions over the row, and stages of one element for each element
/// of X. The last stage, of the second kind, is the result. The first stage is a reduction of X, and the only
/// buffer that it reads is X. Each later stage reads an earlier one; in_registers also takes one that reads
/// only X. The functions throw what the directives throw if the computation has another form.

#include "dsl/schedule/schedule.h"
#include "schedules/rung.h"

#include <array>
#include <cstdint>
#include <optional>

namespace nestsmith::rows {

/// The element types of the rungs. In u32, a function is a hash, so that a run shows each wrong operand.
inline constexpr std::array dtypes = {DType::f32, DType::f16, DType::bf16, DType::f64, DType::u32};

/// Divides each row among `threads` threads, which are bound to `axis`. They combine the results of the row, of
/// which each of them keeps a copy in a register, and each thread writes its elements of the result. Elements
/// of the stages between are computed again where they are used. `row` is the loop over the rows.
void divide(Schedule &s, Loop row, Axis axis, std::int64_t threads);

/// One thread for each row: the lanes of a warp read 32 rows, one line of memory for each.
Schedule by_thread(const Program &program, const Target &target);

/// One warp for each row: the lanes read neighbouring elements, and shuffles combine their results.
Schedule by_warp(const Program &program, const Target &target);

/// One thread block for each row: shuffles combine the results of a warp, and shared memory those of the warps.
/// A long row has more threads, so fewer rows fill the GPU.
Schedule by_block(const Program &program, const Target &target);

/// As `by_block`, but each thread loads and stores 16 bytes at a time. The knob `threads` is the size of the
/// block. `shape` is M x N.
Schedule in_vectors(const Program &program, const Shape &shape, const Target &target, Knobs &knobs);

/// Each thread keeps its elements of the row in registers, so a row is read once, and each stage is computed
/// once for each element. A short row has one warp, and a longer one as many as hold it. The knobs are `warps`
/// for a row, and `rows` for a block if a row has one warp.
Schedule in_registers(const Program &program, const Shape &shape, const Target &target, Knobs &knobs);
/// Rows that are too long for registers are read as by `in_vectors`.
std::optional<Variant> in_registers_variant(const Shape &shape, DType dtype);

} // namespace nestsmith::rows
