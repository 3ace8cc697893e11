#include "dsl/ir/whole_tiles.h"

#include "dsl/ir/layout.h"

#include <algorithm>
#include <vector>

namespace nestsmith {

namespace {

/// Whether the block is a sum of products of two different loads.
bool is_contraction(const Block &block) {
  auto term = term_of_sum(block);
  if (!term)
    return false;
  std::vector<Expr> loads;
  walk(*term, [&](const Expr &node) {
    if (node.as<Load>() && std::ranges::none_of(loads, [&](const Expr &x) { return same(x, node); }))
      loads.push_back(node);
  });
  return loads.size() > 1;
}

/// The load of a block that copies elements and may convert them; null for any other block.
const Load *copied(const Block &block) {
  Expr value = block.body.value;
  while (const auto *conversion = value.as<Cast>())
    value = conversion->a;
  return block.init ? nullptr : value.as<Load>();
}

} // namespace

bool WholeTiles::contains(const Buffer &buffer, std::size_t dimension) const {
  bool swizzled = buffer->layout && buffer->layout->swizzle;
  return buffer->scope == Scope::warp || swizzled || dimensions_.count({buffer, dimension}) > 0;
}

WholeTiles::WholeTiles(const Stmt &root) {
  std::vector<std::pair<Dimension, Dimension>> links;
  auto add = [&](const Buffer &buffer, const std::vector<Expr> &indices, auto &&is_whole) {
    for (std::size_t d = 0; d < indices.size(); ++d)
      if (const Var *axis = indices[d].as<Var>(); axis && buffer->role == Role::temporary && is_whole(*axis))
        dimensions_.insert({buffer, d});
  };
  std::vector<const Block *> sums; // whose results are in registers
  std::vector<const For *> lanes;  // the loops over lanes around the current block
  auto visit_block = [&](const Block &block) {
    bool contraction = is_contraction(block);
    auto is_whole = [&](const Var &axis) {
      auto iter = std::ranges::find(block.iters, axis, &IterVar::var);
      return contraction || (iter != block.iters.end() && std::ranges::any_of(lanes, [&](const For *loop) {
                               return uses(iter->binding, loop->var);
                             }));
    };
    add(block.body.buffer, block.body.indices, is_whole);
    for (const Load *access : loads_of(block)) {
      add(access->buffer, access->indices, is_whole);
      if (contraction && access->buffer->scope == Scope::warp) // also windows, such as s + w of a convolution
        for (std::size_t d = 0; d < access->indices.size(); ++d)
          dimensions_.insert({access->buffer, d});
    }
    if (block.body.buffer->scope == Scope::local && block.reduces())
      sums.push_back(&block);
    if (const Load *from = copied(block))
      for (std::size_t d = 0; d < from->indices.size(); ++d)
        for (std::size_t e = 0; e < block.body.indices.size(); ++e)
          if (from->indices[d].as<Var>() && same(from->indices[d], block.body.indices[e]))
            links.push_back({{from->buffer, d}, {block.body.buffer, e}});
  };
  auto visit_all = [&](const Stmt &stmt, auto &&self) -> void {
    const auto *loop = as<For>(stmt);
    if (const auto *block = as<Block>(stmt))
      return visit_block(*block);
    if (const auto *seq = as<Seq>(stmt)) {
      for (const Stmt &child : seq->stmts)
        self(child, self);
      return;
    }
    if (loop->over_lanes())
      lanes.push_back(loop);
    self(loop->body, self);
    if (loop->over_lanes())
      lanes.pop_back();
  };
  visit_all(root, visit_all);
  // A copy connects two temporaries in both directions. A parameter connects nothing.
  std::erase_if(links, [](const auto &link) {
    return link.first.first->role != Role::temporary || link.second.first->role != Role::temporary;
  });
  for (bool grown = true; grown;) {
    grown = false;
    for (const auto &[from, to] : links)
      if (dimensions_.count(from) != dimensions_.count(to)) {
        dimensions_.insert({from, to});
        grown = true;
      }
  }
  // Any sum in registers is worth a whole tile, but its copies in memory are not.
  for (const Block *sum : sums)
    add(sum->body.buffer, sum->body.indices, [](const Var &) { return true; });
}

} // namespace nestsmith
