#include "dsl/ir/last_block.h"

#include <algorithm>

namespace nestsmith {

bool LastBlock::is_after(const Block &block) const {
  return std::ranges::any_of(after, [&](const Block *other) { return other->id == block.id; });
}

std::optional<LastBlock> find_last_block(const Stmt &nest) {
  std::optional<LastBlock> found;
  walk(nest, [&](const Stmt &stmt) {
    const auto *loop = as<For>(stmt);
    if (loop && loop->last_block())
      found = LastBlock{loop, {}};
    const auto *seq = as<Seq>(stmt);
    if (!seq)
      return true;
    bool after = false;
    for (const Stmt &child : seq->stmts) {
      if (after)
        for (const Block *block : blocks_of(child))
          found->after.push_back(block);
      const auto *marked = as<For>(child);
      if (marked && marked->last_block()) {
        found = LastBlock{marked, {}};
        after = true;
      }
    }
    return !after;
  });
  return found;
}

} // namespace nestsmith
