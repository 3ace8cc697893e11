#include "schedules/library/packing.h"

#include "schedules/library/accesses.h"
#include "schedules/library/program.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace nestsmith::library {

namespace {

using Loads = std::vector<const Load *>;

/// Whether the axis counts rows or columns: not all elements of the terms depend on it.
bool is_of_one_side(const IterVar &axis, const Loads &operands) {
  return !axis.is_summed() && std::ranges::any_of(operands, [&](const Load *operand) {
    return std::ranges::none_of(operand->indices, [&](const Expr &e) { return uses(e, axis.var); });
  });
}

/// Whether the operand is a parameter whose indices are axes, the last of them a reduction axis, and one of
/// them an axis of rows or columns.
bool is_stored_along_k(const Block &sum, const Load &operand, const Loads &operands) {
  if (operand.buffer->role != Role::input || operand.mask.exists())
    return false;
  bool along_k = false, rows = false;
  for (const Expr &index : operand.indices) {
    const Var *var = index.as<Var>();
    const auto axis = var ? std::ranges::find(sum.iters, *var, &IterVar::var) : sum.iters.end();
    if (axis == sum.iters.end())
      return false;
    along_k = axis->is_summed();
    rows = rows || is_of_one_side(*axis, operands);
  }
  return along_k && rows;
}

/// Reorders the loops around the sum, and its axes as the loops.
void reorder_axes(Schedule &s, BlockRef sum, const std::vector<Loop> &loops) {
  s.reorder(loops);
  s.axes_from_loops(sum);
}

} // namespace

void pack_operands(Schedule &s, BlockRef sum) {
  const Block block = block_of(s, sum);
  Loads operands = loads_of(block);
  std::erase_if(operands, [&](const Load *access) { return access->buffer == block.body.buffer; });
  std::vector<std::string> packed;
  Loads distinct;
  std::set<Buffer> left; // a copy is that of the first read of the array
  for (const Load *operand : operands) {
    if (std::ranges::any_of(distinct, [&](const Load *other) { return is_same_access(*operand, *other); }))
      continue;
    distinct.push_back(operand);
    if (!left.contains(operand->buffer) && is_stored_along_k(block, *operand, operands))
      packed.push_back(operand->buffer->name);
    else
      left.insert(operand->buffer);
  }
  if (packed.empty())
    return;
  const std::vector<Loop> loops = s.loops(sum);
  std::vector<Loop> k_first = loops;
  std::ranges::stable_partition(k_first, [&](const Loop &loop) {
    return std::ranges::none_of(block.iters, [&](const IterVar &axis) {
      return uses(axis.binding, loop.var) && is_of_one_side(axis, operands);
    });
  });
  reorder_axes(s, sum, k_first); // the dimensions of a copy are the axes of the sum, in their order
  for (const std::string &operand : packed)
    transpose(s, s.reindex_cache_read(sum, operand, Scope::global));
  reorder_axes(s, sum, loops);
}

} // namespace nestsmith::library
