#pragma once
/// The knobs of the tiles of a product. The rungs of `fast`, `tensor` and `hopper` ask for them, and
/// `library::product` reads a point of a kernel table by the same functions.

#include "schedules/library/product.h"
#include "schedules/rung.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith::library {

/// Steps of the tutorials that a rung takes without asking.
struct MatrixSteps {
  bool persistent = false;  ///< with as many blocks as the GPU executes at one time
  bool of_units = false;    ///< always with tiles that matrix units read themselves
  bool roles = false;       ///< four warps fill the tiles
  bool bulk = false;        ///< one of their threads starts bulk copies, if the target has them
  bool stores = false;      ///< blocks compute tiles in waves, and write whole rows of them
  bool clusters = false;    ///< two blocks form a cluster, and copy halves of tiles for each other
  bool bulk_stores = false; ///< a unit of the multiprocessor writes the rows, if the target has it
};

/// The tiles of a product of M x K and K x N matrices, which are stored as the shape says. The candidates
/// depend on the shape and on earlier choices.
MatrixTiles choose_matrix_tiles(const Shape &shape, DType dtype, const Target &target, Knobs &knobs,
                                MatrixSteps steps = {});
/// `persistent`: with as many blocks as the GPU holds at the same time, each of which computes tiles one after
/// the other.
RegisterTiles choose_register_tiles(const Shape &shape, DType dtype, const Target &target, Knobs &knobs,
                                    bool persistent = false);
/// With four warps that fill the tiles, which the others multiply.
RegisterTiles choose_register_tiles_with_roles(const Shape &shape, DType dtype, const Target &target,
                                               Knobs &knobs);

/// The shape, if `part` is not empty with the size `Shape::part`: a multiple of the extent of the tile along k.
/// Its usual value gives as many parts as `Shape::parts_of_run` says, or, if this is 0, as many as all
/// multiprocessors have blocks for.
Shape with_size_of_part(const Shape &shape, const std::string &part, const std::array<std::int64_t, 3> &tile,
                        const Target &target);

/// The form of tiles for a shape whose rows of A and B do not all start at multiples of 16 bytes.
std::optional<Variant> matrix_variant(const Shape &shape, DType dtype);
/// The same for rows of A, B and C that do not allow accesses of 4 elements.
std::optional<Variant> register_variant(const Shape &shape, DType dtype);

/// A small result needs small tiles, so that there are enough blocks for all multiprocessors. A size that is
/// known only at launch may be small.
bool is_small(const Shape &shape);
/// The largest group of at most `most` tiles that has no more rows of tiles than the result. If M is known only
/// at launch, 1: the blocks of a group that begins in the last rows would need guards.
std::int64_t rows_of_tiles(const Shape &shape, const MatrixTiles &tiles, std::int64_t most);

/// Chooses the number of blocks that share a tile of a product, and how their parts are added. Each block has
/// two tiles of `depth` along k or more, or any number if K is known only at launch. Then 0 stands for a number
/// that is known only at launch, too.
void choose_parts(RegisterTiles &tiles, const Shape &shape, std::int64_t depth, Knobs &knobs);
void choose_parts(MatrixTiles &tiles, const Shape &shape, std::int64_t depth, Knobs &knobs);

} // namespace nestsmith::library
