#pragma once
/// Temporaries that keep the whole tiles of their loops, also where a tile runs past the end of an axis.

#include "dsl/ir/program.h"

#include <set>
#include <utility>

namespace nestsmith {

/// Dimensions of buffers that are tiles of a contraction or of lanes.
///
/// A contraction is a sum of products of two loads, such as a product of matrices. It reads each element of its
/// operands many times, in its innermost loops. So its operands and its result are worth padding to whole
/// tiles: fill_tails then removes the guards of these loops. Vectorized and tensorized loops execute whole
/// tiles only. A dimension belongs to such a tile if a block of one of these kinds indexes it by an axis alone,
/// or if a copy connects it with a dimension that does. Of a fragment that a contraction reads, windows such as
/// s + w belong to tiles, too. The results of other sums are whole tiles in registers.
/// The layouts of fragments and swizzled arrays hold whole tiles, too.
///
/// In every other dimension, a box ends where the guards of the accesses and the buffer end, and lowering does
/// not pad it to more than this.
class WholeTiles {
public:
  explicit WholeTiles(const Stmt &root);
  bool contains(const Buffer &buffer, std::size_t dimension) const;

private:
  using Dimension = std::pair<Buffer, std::size_t>;
  std::set<Dimension> dimensions_;
};

} // namespace nestsmith
