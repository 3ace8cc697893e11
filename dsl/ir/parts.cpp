#include "dsl/ir/parts.h"

namespace nestsmith {

const BlockSymbol *whole_of(const BlockId &id) {
  const BlockId &updated = id->init_of ? id->init_of : id;
  return updated->part_of ? updated->part_of.get() : updated.get();
}

const Block *other_part(const Stmt &root, const Block &block) {
  for (const Block *other : blocks_of(root))
    if (other->id != block.id && whole_of(other->id) == whole_of(block.id) &&
        other->reduces() == block.reduces())
      return other;
  return nullptr;
}

} // namespace nestsmith
