#pragma once
/// The rungs of `tensor`: products of two matrices by the matrix instructions of a warp, for operands of f16,
/// bf16, tf32, i8 or u8.

#include "schedules/library/fragments.h"
#include "schedules/library/product.h"
#include "schedules/rung.h"

#include <cstdint>
#include <vector>

namespace nestsmith::tensor {

using library::Instruction;
using library::instruction_for;
using library::Source;
using library::swizzle_rows;
using library::to_lanes;
using Tiles = library::MatrixTiles;
inline constexpr auto dtypes = library::matrix_dtypes;

/// The shape with the size that `tiles.part` names, if it names one.
Shape with_size_of_part(const Shape &shape, DType dtype, const Target &target, const Tiles &tiles);

/// The schedule of alpha*A*B + beta*C for these tiles. The operands are stored as the shape says.
Schedule product(const Shape &shape, DType dtype, const Target &target, const Tiles &tiles);

/// The shape with B stored N x K, so that both operands are contiguous along k unless A is transposed too.
Shape with_b_transposed(Shape shape);

/// The form for a shape whose rows of A and B do not all start at multiples of 16 bytes.
std::optional<Variant> variant(const Shape &shape, DType dtype);
/// The same if B is transposed.
std::optional<Variant> variant_nt(const Shape &shape, DType dtype);

} // namespace nestsmith::tensor
