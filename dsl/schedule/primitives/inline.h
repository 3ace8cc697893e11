#pragma once
/// Support for compute_inline and reverse_compute_inline: substitution of expressions for loads.

#include "dsl/schedule/primitives/edit.h"

#include <functional>
#include <map>

namespace nestsmith {

/// Whether `indices` are the axes of the block, each used once, and each with the same extent as the dimension
/// that it indexes. Then each instance of the block corresponds to exactly one element of the buffer.
bool is_plain(const Block &block, const Buffer &buffer, const std::vector<Expr> &indices);

using Values = std::map<Var, Expr>;

/// The instance of a block that reads an element, in terms of the indices of the element.
struct Inverse {
  struct Condition { ///< 0 <= value < extent
    Expr value, extent;
  };
  Values axes;
  /// An instance reads the element only if these conditions hold and each axis is in its range.
  std::vector<Condition> conditions;
};
/// Inverts a read of `buffer` at `indices`, which are expressions of the axes of the block: slices, unit axes,
/// and reshapes, whose indices are mixed-radix numbers or their digits. Returns none if the read may be out of
/// bounds, or if several instances may read one element. `element` are the indices of the element.
std::optional<Inverse> invert(const Block &block, const Buffer &buffer, const std::vector<Expr> &indices,
                              const std::vector<Expr> &element);

/// Replaces each load of `buffer` by f(load), innermost loads first.
Expr replace_loads(const Expr &e, const Buffer &buffer, const std::function<Expr(const Load &)> &f);

/// An expression with the value `e` if `mask` is true, and `fill` otherwise. It does not access memory if the
/// mask is false. A null mask is always true.
Expr masked(const Expr &e, const Expr &mask, const Expr &fill);

/// The first block after `after` in program order that writes the buffer, or null.
const Block *writer_after(const Stmt &root, const Buffer &buffer, const BlockId &after);

} // namespace nestsmith
