#include "dsl/ir/origin.h"

#include <algorithm>

namespace nestsmith {

Origin origin_of(std::vector<OriginPart> parts) {
  std::vector<OriginPart> distinct;
  for (OriginPart &part : parts)
    if (std::ranges::find(distinct, part) == distinct.end())
      distinct.push_back(std::move(part));
  return distinct.empty() ? nullptr : std::make_shared<const std::vector<OriginPart>>(std::move(distinct));
}

Origin origin_of(const std::vector<const For *> &loops) {
  std::vector<OriginPart> parts;
  for (const For *loop : loops)
    parts.emplace_back(loop->var);
  return origin_of(std::move(parts));
}

Origin origin_of(const std::vector<const Block *> &blocks) {
  std::vector<OriginPart> parts;
  for (const Block *block : blocks)
    parts.push_back(part_of(block->id));
  return origin_of(std::move(parts));
}

Origin joined(const std::vector<Origin> &origins) {
  std::vector<OriginPart> parts;
  for (const Origin &origin : origins)
    if (origin)
      parts.insert(parts.end(), origin->begin(), origin->end());
  return origin_of(std::move(parts));
}

OriginPart part_of(const BlockId &block) {
  return block->init_of ? OriginPart(InitOf{block->init_of}) : OriginPart(block);
}

} // namespace nestsmith
