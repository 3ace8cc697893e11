#pragma once
/// Schedules of a convolution of images whose channels are the last dimension: the one stage of the computation
/// is Y[n, h, w, k] = the sum over r, s and c of X[n, h + r + a, w + s + b, c]*F[r, s, c, k] for constants a
/// and b, with loops in the order n, h, w, k, r, s, c. A mask excludes the reads outside of X. F has 3 x 3 taps
/// or another number. The functions throw what the directives throw if the computation has another form.

#include "dsl/schedule/schedule.h"
#include "schedules/rung.h"

#include <optional>

namespace nestsmith::convolutions {

/// One thread for each element. The lanes of a warp compute neighbouring channels of one pixel.
Schedule by_element(const Program &program, const Target &target);

/// A block computes 4 x 8 pixels of 16 channels. It copies the pixels with their halo, and the filters, to
/// shared memory, some channels of X at a time.
Schedule in_tiles(const Program &program, const Target &target);

/// The same with 8 x 16 pixels of 64 channels, of which each thread has 8 pixels of a row and 4 channels in
/// registers.
Schedule in_registers(const Program &program, const Target &target);

/// As `in_registers`, but each thread accesses 16 bytes at a time, and 4 channels of the filters. `shape` is N
/// x H x W x C x K.
Schedule in_vectors(const Program &program, const Shape &shape, const Target &target);
/// Channels of which no vector is a part are copied element by element.
std::optional<Variant> vector_variant(const Shape &shape, DType dtype);

/// The convolution as a product of matrices (implicit GEMM), by the matrix instructions of a warp: the rows are
/// pixels, the columns are channels of Y, and the sum is over taps and channels of X. The operands of each tap
/// are loaded from one tile of pixels with its halo. X and F have a type that matrix instructions multiply.
/// Tiles past an end of X, F or Y are filled with zeros in shared memory, for any shape.
Schedule on_matrix_units(const Program &program, const Shape &shape, const Target &target);

/// The same, and the tiles of the next channels are copied asynchronously.
Schedule with_async_copies(const Program &program, const Shape &shape, const Target &target);

} // namespace nestsmith::convolutions
