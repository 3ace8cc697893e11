#include "dsl/primitives/inline.h"

#include <algorithm>

namespace nestsmith {

bool is_plain(const Block &block, const Buffer &buffer, const std::vector<Expr> &indices) {
  if (indices.size() != block.iters.size())
    return false;
  return std::all_of(block.iters.begin(), block.iters.end(), [&](const IterVar &iter) {
    std::size_t found = indices.size(), times = 0;
    for (std::size_t d = 0; d < indices.size(); ++d)
      if (const Var *var = indices[d].as<Var>(); var && *var == iter.var) {
        found = d;
        ++times;
      }
    return times == 1 && iter.kind == IterKind::spatial && same(iter.extent, buffer->shape[found]);
  });
}

Expr with_values(const Expr &e, const Values &values) {
  return substitute(e, [&](const Var &var) {
    auto it = values.find(var);
    return it == values.end() ? Expr() : it->second;
  });
}

Expr replace_loads(const Expr &e, const Buffer &buffer, const std::function<Expr(const Load &)> &f) {
  if (!e.exists())
    return e;
  Expr result = map_children(e, [&](const Expr &child) { return replace_loads(child, buffer, f); });
  const auto *access = result.as<Load>();
  return access && access->buffer == buffer ? f(*access) : result;
}

/// The loads of `e` under a mask, whatever they give where it does not hold.
static Expr protect(const Expr &e, const Expr &mask) {
  Expr result = map_children(e, [&](const Expr &child) { return protect(child, mask); });
  const auto *access = result.as<Load>();
  if (!access)
    return result;
  return load(access->buffer, access->indices, access->mask.exists() ? mask && access->mask : mask,
              access->fill.exists() ? access->fill : constant(access->buffer->dtype, 0));
}

Expr masked(const Expr &e, const Expr &mask, const Expr &fill) {
  if (!mask.exists())
    return e;
  if (const auto *access = e.as<Load>(); access && !access->mask.exists())
    return load(access->buffer, access->indices, mask, fill);
  return select(mask, protect(e, mask), fill);
}

const Block *writer_after(const Stmt &root, const Buffer &buffer, const BlockId &after) {
  bool passed = false;
  for (const Block *block : blocks_of(root)) {
    if (passed && block->body.buffer == buffer)
      return block;
    passed = passed || block->id == after;
  }
  return nullptr;
}

} // namespace nestsmith
