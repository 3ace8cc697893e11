#pragma once
/// Origins: the parts of a program from which a statement of a kernel, or a line of a text, was made. Lowering
/// keeps them, so that a line of CUDA leads back to a loop or a block, and from there to a directive.

#include "dsl/ir/program.h"

#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace nestsmith {

/// The init of a block.
struct InitOf {
  BlockId block;
  bool operator==(const InitOf &) const = default;
};

/// A loop, a block, the init of a block, or a buffer.
using OriginPart = std::variant<Var, BlockId, InitOf, Buffer>;
/// Parts in the order in which they are named, without duplicates. Null: none.
using Origin = std::shared_ptr<const std::vector<OriginPart>>;

Origin origin_of(std::vector<OriginPart> parts);
Origin origin_of(const std::vector<const For *> &loops);
Origin origin_of(const std::vector<const Block *> &blocks);
Origin joined(const std::vector<Origin> &origins);
/// The block. If lowering made the block for an init, the init.
OriginPart part_of(const BlockId &block);

/// A text, and the origin of each of its lines.
struct TracedText {
  std::string text;
  std::vector<Origin> lines;
};

} // namespace nestsmith
