#include "schedules/library/product.h"

#include "schedules/library/accesses.h"
#include "schedules/library/chosen_tiles.h"
#include "schedules/library/contraction.h"
#include "schedules/library/fragments.h"
#include "schedules/library/program.h"

#include "dsl/expr/error.h"
#include "dsl/hardware/intrinsics.h"

#include <algorithm>
#include <array>
#include <exception>
#include <fmt/format.h>
#include <variant>
#include <vector>

namespace nestsmith::library {

namespace {

/// Whether matrix instructions of the target multiply the terms. u32 stands in for f32, which is no type of
/// theirs.
bool units_multiply(const Block &sum, const Target &target) {
  auto loads = factors_of_product(sum);
  if (!loads || (*loads)[0]->buffer->dtype != (*loads)[1]->buffer->dtype)
    return false;
  DType dtype = (*loads)[0]->buffer->dtype;
  if (any_node(sum.body.value, [](const Expr &node) { return node.dtype() == DType::tf32; }))
    dtype = DType::tf32;
  if (dtype == DType::u32 || !has_instruction(dtype))
    return false;
  const DType stored = dtype == DType::tf32 ? DType::f32 : dtype;
  auto multiplies = [&](const Intrinsic *intrinsic) {
    return std::ranges::any_of(intrinsic->operands, [&](const nestsmith::Operand &operand) {
      return operand.formal->dtype == stored && (!intrinsic->feature || target.arch.has(*intrinsic->feature));
    });
  };
  return std::ranges::any_of(find_intrinsics(instruction_for(dtype).name, sum.body.buffer->dtype), multiplies);
}

/// Whether a block that reads the sum overwrites what the sum reads: other sums would still need it.
bool is_in_place(const Schedule &s, BlockRef handle) {
  const std::vector<const Block *> blocks = blocks_of(s.program().body);
  const Block &sum = block_of(s, handle);
  return std::ranges::any_of(blocks, [&](const Block *block) {
    return block->id != sum.id && reads(*block, sum.body.buffer) && reads(sum, block->body.buffer);
  });
}

} // namespace

Product product(Schedule &s, BlockRef sum) {
  if (!is_product_of_matrices(s, sum)) {
    reduction(s, sum);
    return {.sum = sum, .results = {}, .tiles = {}, .blocks = {}, .threads = {}, .k_outer = {}, .k_inner = {}};
  }
  const bool units = units_multiply(block_of(s, sum), s.target());
  Schedule copy = s;
  const bool apart = is_in_place(s, sum);
  const Contraction c = contraction(copy, sum, Scope::local, apart);
  std::vector<AnyTiles> list = chosen_tiles(copy, c, units);
  if (units) // fragments do not take every term that registers take
    list.emplace_back(usual_register_tiles(copy, c));
  for (AnyTiles &one : list)
    std::visit([&](auto &tiles) { tiles.apart = apart; }, one);
  std::exception_ptr refusal; // of the last tiles for the units that the target has
  for (std::size_t n = 0;; ++n) {
    const bool last = n + 1 == list.size();
    try {
      return std::visit([&](const auto &tiles) { return product(s, sum, tiles); }, list[n]);
    } catch (const UserError &) { // other tiles may be legal, such as smaller ones
      if (!last || !units)
        refusal = std::current_exception();
    }
    if (last)
      std::rethrow_exception(refusal);
  }
}

} // namespace nestsmith::library
