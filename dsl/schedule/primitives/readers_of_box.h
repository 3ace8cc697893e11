#pragma once
/// Support for reverse_compute_at: the instances of a block that read a box of elements.

#include "dsl/schedule/primitives/edit.h"

namespace nestsmith {

/// Whether a box may contain a part of each reduction of the block: one that combines its terms by atomics has
/// no init, and no order.
bool takes_parts(const Block &block);

/// Instances of a block: a box of its spatial axes, or of all axes if it `takes_parts`. The box is empty unless
/// `zeros`, expressions of loops, are 0.
struct Instances {
  Region box;
  std::vector<Expr> zeros;
};

/// Instances of `consumer` among which are all that read one of the elements `made` of `link`. The spans use
/// loops of which `bounds` are the ranges. None if these instances are not known to be a box, or if the box
/// does not contain all of a sum of which it may not contain a part.
std::optional<Instances> readers_of_box(const Block &consumer, const Buffer &link, const Region &made,
                                        const Bounds &bounds);

} // namespace nestsmith
