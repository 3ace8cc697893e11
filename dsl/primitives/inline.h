#pragma once
/// Support for compute_inline and reverse_compute_inline: substitution of expressions for loads.

#include "dsl/primitives/edit.h"

#include <functional>
#include <map>

namespace nestsmith {

/// Whether `indices` are the axes of the block, each used once, and each with the same extent as the dimension
/// that it indexes. Then each instance of the block corresponds to exactly one element of the buffer.
bool is_plain(const Block &block, const Buffer &buffer, const std::vector<Expr> &indices);

using Values = std::map<Var, Expr>;

/// Replaces each load of `buffer` by f(load), innermost loads first.
Expr replace_loads(const Expr &e, const Buffer &buffer, const std::function<Expr(const Load &)> &f);

/// An expression with the value `e` if `mask` is true, and `fill` otherwise. It does not access memory if the
/// mask is false. A null mask is always true.
Expr masked(const Expr &e, const Expr &mask, const Expr &fill);

/// The first block after `after` in program order that writes the buffer, or null.
const Block *writer_after(const Stmt &root, const Buffer &buffer, const BlockId &after);

} // namespace nestsmith
