#include "schedules/library/product.h"

#include "schedules/library/accesses.h"
#include "schedules/library/attempt.h"
#include "schedules/library/chosen_tiles.h"
#include "schedules/library/contraction.h"
#include "schedules/library/fragments.h"
#include "schedules/library/program.h"

#include "dsl/expr/error.h"
#include "dsl/expr/expr_text.h"
#include "dsl/hardware/intrinsics.h"

#include <algorithm>
#include <array>
#include <exception>
#include <fmt/format.h>
#include <variant>
#include <vector>

namespace nestsmith::library {

namespace {

/// Whether matrix instructions of the target multiply elements of this dtype to terms of the sum. u32 stands in
/// for f32, which is no type of theirs.
bool has_units(const Block &sum, DType dtype, const Target &target) {
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

/// The same for the terms, if each is the product of two elements.
bool units_multiply(const Block &sum, const Target &target) {
  const auto loads = factors_of_product(sum);
  return loads && (*loads)[0]->buffer->dtype == (*loads)[1]->buffer->dtype &&
         has_units(sum, (*loads)[0]->buffer->dtype, target);
}

/// Why threads compute the terms of a sum, although matrix instructions multiply the type of an operand; empty
/// if they do not.
std::string reason_of_terms(const Schedule &s, BlockRef block, const Contraction &c) {
  const Block &sum = block_of(s, block);
  const std::optional<Expr> term = term_of_sum(sum);
  const DType dtype = c.operands[0].dtype, second = c.operands[1].dtype;
  auto multiplies = [&](DType type) { return has_units(sum, type, s.target()); };
  if (term && dtype != second && (multiplies(dtype) || multiplies(second)))
    return fmt::format(
        "library::product: block {}: got operands of {} and {}, expected two of one type for matrix "
        "units; threads multiply them in registers. Let a stage of the computation cast one of them "
        "to the type of the other, or both to one that has the values of both",
        Schedule::name(block), name(dtype), name(second));
  if (!term || factors_of_product(sum) || dtype != second || !multiplies(dtype))
    return "";
  return fmt::format(
      "library::product: block {}: got the terms {}, expected products of two elements of {} for "
      "matrix units; threads compute them in registers. Apply a factor to the sum, and a condition "
      "to the mask of an operand",
      Schedule::name(block), to_string(*term), name(dtype));
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
    const std::string without_tiles = why_no_product(s, sum);
    const Reduction shared = reduction(s, sum);
    Product made;
    made.without_tiles = without_tiles;
    made.sum = shared.sum;
    made.results = {shared.result};
    made.blocks = shared.blocks;
    if (!shared.threads.empty())
      made.threads = shared.threads.back();
    if (!shared.steps.empty())
      made.k_outer = shared.steps.back();
    if (shared.elements)
      made.k_inner = *shared.elements;
    return made;
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
  std::string without_units = units ? "" : reason_of_terms(s, sum, c);
  std::exception_ptr refusal; // of the last tiles for the units that the target has
  for (std::size_t n = 0;; ++n) {
    const bool last = n + 1 == list.size();
    try {
      Product made = std::visit([&](const auto &tiles) { return product(s, sum, tiles); }, list[n]);
      if (!units || std::holds_alternative<RegisterTiles>(list[n]))
        made.without_units = without_units;
      return made;
    } catch (const UserError &error) { // other tiles may be legal, such as smaller ones
      if (!last || !units)
        refusal = std::current_exception();
      if (units)
        without_units = first_line(error);
    }
    if (last)
      std::rethrow_exception(refusal);
  }
}

} // namespace nestsmith::library
