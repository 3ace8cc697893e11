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

Expr replace_loads(const Expr &e, const Buffer &buffer, const std::function<Expr(const Load &)> &f) {
  std::vector<std::pair<Expr, Expr>> replaced; // equal loads become one value
  return rebuild(e, [&](const Expr &node) {
    const auto *access = node.as<Load>();
    if (!access || access->buffer != buffer)
      return node;
    for (const auto &[known, value] : replaced)
      if (same(known, node))
        return value;
    return replaced.emplace_back(node, f(*access)).second;
  });
}

/// Puts the loads of `e` under a mask. Their values do not matter where the mask is false.
static Expr protect(const Expr &e, const Expr &mask) {
  return rebuild(e, [&](const Expr &node) {
    const auto *access = node.as<Load>();
    if (!access)
      return node;
    return load(access->buffer, access->indices, access->mask.exists() ? mask && access->mask : mask,
                access->fill.exists() ? access->fill : constant(access->buffer->dtype, 0));
  });
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
