#pragma once
/// Schedules of a product of a matrix and a vector, or of any reduction of rows to a vector: the one stage of
/// the computation is y[i] = the reduction over k of an expression of elements [i, k] of matrices and elements
/// k of vectors. The reducer may be any. The functions throw what the directives throw if the computation has
/// another form.

#include "dsl/schedule/schedule.h"
#include "schedules/rung.h"

#include <optional>

namespace nestsmith::matvecs {

/// One thread for each row: the lanes of a warp read 32 rows, one line of memory for each.
Schedule by_thread(const Program &program, const Target &target);

/// One warp for each row: the lanes read neighbouring elements, and shuffles combine their results.
Schedule by_warp(const Program &program, const Target &target);

/// As `by_warp`, but each lane loads 16 bytes at a time. `shape` is M x N, the extents of the matrix.
Schedule in_vectors(const Program &program, const Shape &shape, const Target &target);
/// The variant for rows of which no vector is a part.
std::optional<Variant> vector_variant(const Shape &shape, DType dtype);

/// As `in_vectors`, but each warp has several rows. It loads an element of the vector once for all of them, and
/// the loads of several rows are in flight together. The knob `rows` is the number of rows of a warp.
Schedule in_registers(const Program &program, const Shape &shape, const Target &target, Knobs &knobs);

/// If the matrix has few rows, each row is divided among several blocks, and the last block of a row combines
/// their results. The knobs are `rows` for a block, and `steps` for the loads of a thread from each of its
/// rows.
Schedule in_parts(const Program &program, const Shape &shape, const Target &target, Knobs &knobs);
/// Many rows are computed as by `in_registers`, and rows of which no vector is a part element by element.
std::optional<Variant> parts_variant(const Shape &shape, DType dtype);

} // namespace nestsmith::matvecs
