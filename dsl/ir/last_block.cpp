#include "dsl/ir/last_block.h"

#include <algorithm>

namespace nestsmith {

bool LastBlock::is_after(const Block &block) const {
  return std::ranges::any_of(after, [&](const Block *other) { return other->id == block.id; });
}

bool LastBlock::is_one_along(Axis axis) const { return std::ranges::find(axes, axis) != axes.end(); }

std::vector<LastBlock> find_last_blocks(const Stmt &nest) {
  std::vector<LastBlock> found;
  auto add = [&](const For &loop, std::span<const Stmt> after) {
    for (LastBlock &outer : found)
      if (!after.empty())
        outer.axes.push_back(*loop.axis());
    found.push_back({&loop, {}, {*loop.axis()}});
    for (const Stmt &stmt : after)
      for (const Block *block : blocks_of(stmt))
        found.back().after.push_back(block);
  };
  walk(nest, [&](const Stmt &stmt) {
    if (const auto *seq = as<Seq>(stmt)) {
      std::span<const Stmt> stmts = seq->stmts;
      for (std::size_t n = 0; n < stmts.size(); ++n)
        if (const auto *loop = as<For>(stmts[n]); loop && loop->last_block())
          add(*loop, stmts.subspan(n + 1));
    } else if (const auto *loop = as<For>(stmt); loop && loop->last_block()) {
      if (std::ranges::none_of(found, [&](const LastBlock &last) { return last.loop == loop; }))
        add(*loop, {});
    }
    return true;
  });
  return found;
}

} // namespace nestsmith
