#pragma once
/// The table of the intrinsics (dsl/ir/intrinsic.h), and which lane holds which element of an operand. The
/// table is open: a program may register its own intrinsics.

#include "dsl/ir/intrinsic.h"

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

/// Adds an intrinsic to the table and returns the entry, which lives as long as the program. Several intrinsics
/// of one name must differ in the dtypes of their operands. Throws UserError (usage) if the declaration is
/// malformed.
const Intrinsic &register_intrinsic(Intrinsic intrinsic);

/// The table, in the order of registration.
std::vector<const Intrinsic *> all_intrinsics();
/// The intrinsics of this name whose result has this dtype. "warp_NAME" is also the reduction over the lanes by
/// the reducer NAME of the program (dsl/hardware/lane_reductions.h), which is not in the table.
std::vector<const Intrinsic *> find_intrinsics(std::string_view name, DType result);
bool is_intrinsic(std::string_view name);
/// The signatures of up to three intrinsics whose names are most like `name`. Of equal names, those whose
/// result has this dtype are first.
std::vector<std::string> similar_intrinsics(std::string_view name, DType result);

/// Where a lane holds or supplies an element of an operand: its register, or the position after its address.
struct Spot {
  std::int64_t lane, at;
  auto operator<=>(const Spot &) const = default;
};
/// The f32 registers of an array as operands of an asm statement that updates them, in lines of 8:
/// `"+f"(c[0]), "+f"(c[1]), …`.
std::string updated_registers(std::string_view array, std::int64_t count);
/// Whether matrix units read an operand from a tile themselves (`InTile`).
bool reads_tiles(const Intrinsic &intrinsic);
/// The first element of 16 consecutive bytes of an operand in a tile.
struct ChunkOfTile {
  Expr row, column;
};
/// Matrix units read a tile for all lanes. As a model, each lane reads chunks of 16 bytes, such that no lanes
/// that read together have a bank conflict: the chunk number n of a lane.
ChunkOfTile chunk_of_tile(const Operand &operand, const Expr &lane, std::int64_t n);
/// For each element of the formal buffer, in row-major order: the lanes that hold or supply it. The operand
/// must not be passed by value.
std::vector<std::vector<Spot>> spots_of(const Operand &operand);
/// Whether several lanes hold an element in registers.
bool is_replicated(const Operand &operand);
/// The number of elements that one lane holds or supplies, of an operand of a registered intrinsic.
std::int64_t elements_per_lane(const Operand &operand);

} // namespace nestsmith
