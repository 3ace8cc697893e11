#pragma once
/// Schedules of a transpose, or of any computation of elements of a transposed matrix: the one stage of the
/// computation is Y[j, i] = an expression of X[i, j]. The functions throw what the directives throw if the
/// computation has another form.

#include "dsl/schedule/schedule.h"
#include "schedules/rung.h"

#include <optional>

namespace nestsmith::transposes {

/// One thread for each element. A warp stores neighbouring elements of Y, which it reads from a column of X.
Schedule by_element(const Program &program, const Target &target);

/// A block copies a tile of X to shared memory by its rows, and reads it by its columns, so it accesses rows of
/// both X and Y. All lanes of a warp read one bank.
Schedule in_tiles(const Program &program, const Target &target);

/// The same with one more word in each row of the tile, so that a column is in 32 banks.
Schedule in_padded_tiles(const Program &program, const Target &target);

/// The same with the elements of each row of the tile permuted instead, which takes no memory.
Schedule in_swizzled_tiles(const Program &program, const Target &target);

/// As `in_swizzled_tiles`, but each thread loads, and stores, 16 bytes at a time. Rows of the tile have 128
/// bytes. `shape` is M x N, the extents of X.
Schedule in_vectors(const Program &program, const Shape &shape, const Target &target);
/// Matrices whose rows are no multiple of a vector are transposed as by `in_swizzled_tiles`.
std::optional<Variant> vector_variant(const Shape &shape, DType dtype);

} // namespace nestsmith::transposes
