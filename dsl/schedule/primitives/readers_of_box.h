#pragma once
/// Support for reverse_compute_at: the instances of a block that read a box of elements.

#include "dsl/schedule/primitives/edit.h"

namespace nestsmith {

/// Instances of a block: a box of its spatial axes, which is empty unless `zeros`, expressions of loops, are 0.
struct Instances {
  Region box;
  std::vector<Expr> zeros;
};

/// Instances of `consumer` among which are all that read one of the elements `made` of `link`. The spans use
/// loops of which `bounds` are the ranges. None if these instances are not known to be a box, or if the box
/// does not contain all of a sum.
std::optional<Instances> readers_of_box(const Block &consumer, const Buffer &link, const Region &made,
                                        const Bounds &bounds);

} // namespace nestsmith
