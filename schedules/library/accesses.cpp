#include "schedules/library/accesses.h"

#include "dsl/expr/error.h"
#include "dsl/hardware/vector_access.h"

#include <algorithm>

namespace nestsmith::library {

const Block &block_of(const Schedule &s, const BlockRef &handle) {
  const Block *block = find_block(s.program().body, s.block(Schedule::name(handle)).id);
  internal_check(block != nullptr, "a handle of the schedule has no block");
  return *block;
}

const Var *neighbours(const std::vector<Expr> &indices, const std::vector<IterVar> &iters,
                      const Bounds &bounds) {
  for (const IterVar &iter : iters) {
    if (indices.empty() || !uses(indices.back(), iter.var))
      continue;
    auto motion = motion_along(indices.back(), iter.var, 2, bounds);
    bool elsewhere = std::any_of(indices.begin(), indices.end() - 1,
                                 [&](const Expr &index) { return uses(index, iter.var); });
    if (motion && motion->contiguous() && !elsewhere)
      return &iter.var;
  }
  return nullptr;
}

Bounds bounds_of(const Block &block) {
  Bounds bounds;
  for (const IterVar &iter : block.iters)
    bounds.set_extent(iter.var, iter.extent);
  return bounds;
}

/// `whole`: groups end at the end of the axis.
static std::int64_t multiple(const Buffer &buffer, const std::vector<Expr> &indices, const Expr &mask,
                             const IterVar &axis, std::int64_t most, const Bounds &bounds, bool whole) {
  auto used = [&](const Expr &e) { return e.exists() && uses(e, axis.var); };
  if (std::ranges::none_of(indices, used) && !used(mask))
    return 0;
  std::int64_t width = std::max<std::int64_t>(1, most);
  auto fits = [&](std::int64_t n) {
    if (n == 1)
      return true;
    auto motion = motion_along(indices.back(), axis.var, 2, bounds);
    Expr rest = substitute(indices.back(), {{axis.var, Expr(0)}});
    bool starts = motion && motion->contiguous() && is_multiple(rest, n, bounds);
    bool others = std::any_of(indices.begin(), indices.end() - 1, used) || used(mask);
    if (!starts || others || (whole && !is_multiple(axis.extent, n, bounds)))
      return false;
    for (std::size_t d = 1; d < indices.size(); ++d)
      if (!is_multiple(buffer->strides ? (*buffer->strides)[d - 1] : buffer->shape.back(), n, bounds))
        return false;
    return true;
  };
  while (!fits(width))
    width /= 2;
  return width;
}

std::int64_t multiple_of(const Buffer &buffer, const std::vector<Expr> &indices, const Expr &mask,
                         const IterVar &axis, std::int64_t most, const Bounds &bounds) {
  return multiple(buffer, indices, mask, axis, most, bounds, true);
}

std::int64_t multiple_of_starts(const Buffer &buffer, const std::vector<Expr> &indices, const Expr &mask,
                                const IterVar &axis, std::int64_t most, const Bounds &bounds) {
  return multiple(buffer, indices, mask, axis, most, bounds, false);
}

std::int64_t width_of(const Buffer &buffer, const std::vector<Expr> &indices, const Expr &mask,
                      const IterVar &axis, std::int64_t most, const Bounds &bounds) {
  return multiple_of(buffer, indices, mask, axis, std::min<std::int64_t>(most, 16 / byte_size(buffer->dtype)),
                     bounds);
}

std::int64_t width_of(const Block &block, const Var &axis) {
  Bounds bounds = bounds_of(block);
  auto iter = std::ranges::find(block.iters, axis, &IterVar::var);
  std::int64_t width = std::max<std::int64_t>(1, 16 / byte_size(block.body.buffer->dtype));
  width =
      std::max<std::int64_t>(1, width_of(block.body.buffer, block.body.indices, Expr(), *iter, width, bounds));
  for (const Load *access : loads_of(block))
    if (access->buffer->role != Role::temporary || access->buffer->scope == Scope::global)
      if (std::int64_t own = width_of(access->buffer, access->indices, access->mask, *iter, width, bounds))
        width = own;
  return width;
}

} // namespace nestsmith::library
