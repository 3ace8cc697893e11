#pragma once
/// Support for cache_read: a copy of a buffer that takes over the masks of its reads.

#include "dsl/ir/region.h"

#include <optional>
#include <vector>

namespace nestsmith {

/// A copy whose element at the axes is `buffer[axes + begin]` where `mask` holds, otherwise `fill`. It has the
/// elements of the buffer, and those outside of the buffer that a block reads under a mask.
struct PaddedCopy {
  std::vector<Expr> begin; ///< in each dimension, the index of the first element in the buffer: at most 0
  std::vector<Expr> shape; ///< of the copy
  std::vector<Var> axes;   ///< of the block that copies
  Expr mask, fill;         ///< use the axes; null if the copy needs no mask

  /// The element of the copy that has the value of this read of the reader.
  std::vector<Expr> indices(const Load &access) const;
};

/// The copy from which the block can read `buffer` without masks. `axes` are the names of the axes of the copy.
///
/// There is one if the mask and the fill of each read are functions of the element, if all fills are equal, and
/// if each mask holds wherever the others hold, for the elements that its read accesses. None otherwise: then a
/// copy of the elements of the buffer is right, which the block reads under the masks that it has.
std::optional<PaddedCopy> padded_copy(const Block &reader, const Buffer &buffer,
                                      const std::vector<std::string> &axes);

} // namespace nestsmith
