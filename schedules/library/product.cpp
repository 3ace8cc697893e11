#include "schedules/library/product.h"

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

/// Whether matrix instructions of the target multiply the terms. u16 stands in for f16 and bf16 in ring mode.
/// u32 stands in for f32, which is no such type.
bool has_instruction(const Block &sum, const Target &target) {
  auto loads = factors_of_product(sum);
  if (!loads || (*loads)[0]->buffer->dtype != (*loads)[1]->buffer->dtype)
    return false;
  DType dtype = (*loads)[0]->buffer->dtype;
  if (any_node(sum.body.value, [](const Expr &node) { return node.dtype() == DType::tf32; }))
    dtype = DType::tf32;
  if (dtype == DType::u32 ||
      (dtype != DType::u16 && std::ranges::find(matrix_dtypes, dtype) == matrix_dtypes.end()))
    return false;
  const DType stored = dtype == DType::tf32 ? DType::f32 : dtype;
  auto multiplies = [&](const Intrinsic *intrinsic) {
    return std::ranges::any_of(intrinsic->operands, [&](const nestsmith::Operand &operand) {
      return operand.formal->dtype == stored && (!intrinsic->feature || target.arch.has(*intrinsic->feature));
    });
  };
  return std::ranges::any_of(find_intrinsics(instruction_for(dtype).name, sum.body.buffer->dtype), multiplies);
}

} // namespace

Product product(Schedule &s, BlockRef sum) {
  if (!is_product_of_matrices(s, sum)) {
    reduction(s, sum);
    return {.sum = sum, .results = {}, .tiles = {}, .blocks = {}, .threads = {}, .k_outer = {}, .k_inner = {}};
  }
  const bool units =
      has_instruction(*find_block(s.program().body, s.block(Schedule::name(sum)).id), s.target());
  Schedule copy = s;
  const Contraction c = contraction(copy, sum, Scope::local);
  std::vector<AnyTiles> list = chosen_tiles(copy, c, units);
  if (units) // fragments do not take every term that registers take
    list.emplace_back(usual_register_tiles(copy, c));
  std::exception_ptr refusal; // of the last tiles for the units that the target has
  const std::size_t owed = s.obligations().size();
  for (std::size_t n = 0;; ++n) {
    const bool last = n + 1 == list.size();
    Schedule attempt = s;
    try {
      Product made = std::visit([&](const auto &tiles) { return product(attempt, sum, tiles); }, list[n]);
      if (attempt.obligations().size() <= owed) {
        s = std::move(attempt);
        return made;
      }
      throw UserError(ExitCode::illegal_schedule,
                      fmt::format("library::product: block {} has no schedule that can be lowered: {}",
                                  Schedule::name(sum), attempt.obligations().back().message));
    } catch (const UserError &) { // other tiles may be legal, such as smaller ones
      if (!last || !units)
        refusal = std::current_exception();
    }
    if (last)
      std::rethrow_exception(refusal);
  }
}

} // namespace nestsmith::library
