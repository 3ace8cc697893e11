#pragma once
/// Bulk copies of boxes between global and shared memory (`cp.async.bulk.tensor`, the tensor memory
/// accelerator), and the requirements on the blocks that use them.
///
/// One thread issues a bulk copy, and a unit of the SM copies the box. The host describes the array in global
/// memory by a *tensor map*: its extents, its strides, and the box. The tile in shared memory has the box in
/// row-major order, or with a swizzle of its rows.
///
/// To the tile: what lies outside of the array is filled with zeros. The bytes that arrive count for an event
/// of a channel (dsl/ir/roles.h), so a role has these copies. From the tile (a *bulk store*): what lies outside
/// of the array is not written. The first lane of each warp issues the copies of its warp, and waits for those
/// that still read the tile before it is overwritten.
///
/// Source: PTX ISA, "Tensors" and "cp.async.bulk.tensor"; CUDA Driver API, cuTensorMapEncodeTiled.

#include "dsl/ir/allocation.h"
#include "dsl/ir/program.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace nestsmith {

/// Limits of a box, and the multiple of bytes for rows and strides.
inline constexpr std::int64_t most_box_extent = 256, most_box_rank = 5, bulk_alignment = 16;

/// The multiple of bytes at which a box with this swizzle (`CopiedBox`) starts in shared memory.
constexpr std::int64_t box_alignment(std::int64_t swizzle) { return swizzle == 0 ? 128 : 8 * swizzle; }

/// The box that one bulk copy of a block moves.
struct CopiedBox {
  std::vector<Var> loops;            ///< whose iterations it replaces, outermost first
  std::vector<std::int64_t> extents; ///< in elements, of each dimension of the source
  std::int64_t swizzle = 0;          ///< bytes of a row, 32, 64 or 128, whose pieces are exchanged; 0: none
};

/// The first part of the mask of the access that may be false inside of its array, where no bulk copy has
/// zeros; null if there is none. `bounds` are those of the variables of the access.
Expr excluded_inside(const Load &access, const Bounds &bounds);

/// Whether the bulk copies of the block go from the tile to global memory.
bool is_bulk_store(const Block &block);
/// The tile of a block with `bulk`; null for a store that is no longer a copy (see `bulk_obligation`), because
/// the computation of the tile was inlined into it.
Buffer tile_of_bulk(const Block &block);

/// The box of a block with `bulk`: of the loops below the pipelined loop or, of a bulk store, below the loops
/// that are bound, the innermost ones, as many as fit in one. If there is no box, a message that states the
/// actual and the expected value, and the remedy. `filled` is the program after `with_filled_tails`.
std::variant<CopiedBox, std::string> copied_box(Placements &filled, const Block &block);

/// Why the block cannot be a bulk store; empty if it can: it copies single elements from shared to global
/// memory.
std::string store_breach(const Block &block);

/// Whether a bulk copy of the program fills the tile or stores it, and the multiple of bytes at which such a
/// tile starts.
bool is_bulk_tile(const Program &program, const Buffer &tile);
std::int64_t alignment_of_bulk_tile(const BufferNode &tile);

/// The requirements that depend on the final schedule. For a block with `bulk`, a message if one does not hold:
/// the block still is a copy, its nest is a box, and it has a role, or is below a loop that is bound to warps.
std::optional<std::string> bulk_obligation(Placements &filled, const Block &block);

} // namespace nestsmith
