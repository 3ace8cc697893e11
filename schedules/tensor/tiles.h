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

/// The schedule of alpha*A*B + beta*C for these tiles. The operands are stored as the shape says.
Schedule product(const Shape &shape, DType dtype, const Target &target, const Tiles &tiles);

/// The shape with B stored N x K, so that both operands are contiguous along k unless A is transposed too.
Shape with_b_transposed(Shape shape);

/// The form for a shape whose rows of A and B do not all start at multiples of 16 bytes.
std::optional<Variant> variant(const Shape &shape, DType dtype);
/// The same if B is transposed.
std::optional<Variant> variant_nt(const Shape &shape, DType dtype);

/// Candidates for the number of blocks that share a tile of a product: each block has two tiles of `depth`
/// along k or more. Only 1 if K is known only at launch.
std::vector<std::int64_t> parts_of_k(const Shape &shape, std::int64_t depth);

/// Candidates for the tiles along k of each of the blocks that share a tile of the result, if K is known only
/// at launch. 0: no blocks share a tile.
inline const std::vector<std::int64_t> tiles_of_parts = {0, 4, 8, 16, 32, 64, 128};

} // namespace nestsmith::tensor
