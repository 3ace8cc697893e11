#include "schedules/library/product.h"

#include "schedules/library/fragments.h"

#include "dsl/expr/error.h"
#include "dsl/hardware/intrinsics.h"

#include <algorithm>
#include <optional>
#include <string>

namespace nestsmith::library {

namespace {

/// The size of the result, as far as it is known.
struct Extents {
  std::int64_t elements = 1; ///< of the result, with its batch
  bool known = true;
};

Extents extents_of(const Block &sum) {
  Extents extents;
  for (const IterVar &iter : sum.iters) {
    if (iter.is_summed())
      continue;
    auto extent = as_int(iter.extent);
    extents.known = extents.known && extent.has_value();
    extents.elements *= extent.value_or(1);
  }
  return extents;
}

/// Whether matrix instructions of the target multiply the terms. u16 stands in for f16 and bf16 in ring mode.
/// u32 stands in for f32, which is no such type.
bool has_instruction(const Block &sum, const Target &target) {
  std::optional<DType> dtype;
  for (const Load *access : loads_of(sum))
    if (access->buffer != sum.body.buffer)
      dtype = access->buffer->dtype;
  if (any_node(sum.body.value, [](const Expr &node) { return node.dtype() == DType::tf32; }))
    dtype = DType::tf32;
  if (!dtype || *dtype == DType::u32)
    return false;
  if (*dtype != DType::u16 && std::ranges::find(matrix_dtypes, *dtype) == matrix_dtypes.end())
    return false;
  if (term_of_sum(sum) == std::nullopt || byte_size(sum.body.buffer->dtype) != 4)
    return false;
  auto multiplies = [&](const Intrinsic *intrinsic) {
    return std::ranges::any_of(intrinsic->operands, [&](const nestsmith::Operand &operand) {
      return operand.formal->dtype == *dtype && (!intrinsic->feature || target.arch.has(*intrinsic->feature));
    });
  };
  return std::ranges::any_of(find_intrinsics(instruction_for(*dtype).name, sum.body.buffer->dtype), multiplies);
}

/// Blocks that fill the multiprocessors of a large GPU about once.
constexpr std::int64_t enough_blocks = 132;

MatrixTiles matrix_tiles(const Extents &extents, const Target &target) {
  MatrixTiles tiles;
  tiles.ahead = tiles.joined = tiles.late = tiles.snake = true;
  tiles.steps = 2;
  tiles.stages = target.arch.has(Feature::cp_async) ? 3 : 1;
  const bool large = extents.known && extents.elements >= enough_blocks * 128 * 256;
  tiles.warps = large ? Grid{2, 4} : Grid{2, 2};
  tiles.results = large                                                           ? Grid{64, 64}
                  : extents.elements >= enough_blocks * 128 * 64                  ? Grid{64, 32}
                  : !extents.known || extents.elements >= enough_blocks * 64 * 64 ? Grid{32, 32}
                                                                                  : Grid{16, 16};
  return tiles;
}

RegisterTiles register_tiles(const Extents &extents, std::int64_t bytes) {
  RegisterTiles tiles;
  tiles.k = 8;
  if (extents.known && extents.elements < enough_blocks * 64 * 128)
    tiles.results = {4, 4};
  if (extents.known && extents.elements < enough_blocks * 32 * 64)
    tiles.warps = {1, 1};
  if (bytes > 4)
    tiles.results = {4, 4};
  tiles.stages = 3;
  return tiles;
}

} // namespace

Product product(Schedule &s, BlockRef sum) {
  const Block *block = find_block(s.program().body, s.block(Schedule::name(sum)).id);
  Extents extents = extents_of(*block);
  if (has_instruction(*block, s.target()))
    return product(s, sum, matrix_tiles(extents, s.target()));
  return product(s, sum, register_tiles(extents, byte_size(block->body.buffer->dtype)));
}

} // namespace nestsmith::library
