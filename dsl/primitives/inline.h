#pragma once
/// What compute_inline and reverse_compute_inline share: expressions in the place of loads.

#include "dsl/primitives/edit.h"

#include <functional>
#include <map>

namespace nestsmith {

/// Whether `indices` are the axes of the block, each once and each as long as the dimension that it indexes:
/// each instance has an element of its own, and each element an instance.
bool is_plain(const Block &block, const Buffer &buffer, const std::vector<Expr> &indices);

using Values = std::map<Var, Expr>;
Expr with_values(const Expr &e, const Values &values);

/// Puts f(load) in the place of each load of `buffer`; indices, masks and fills inside are done before.
Expr replace_loads(const Expr &e, const Buffer &buffer, const std::function<Expr(const Load &)> &f);

/// `e` where `mask` holds, else `fill`: memory is not touched where it does not. A null mask means always.
Expr masked(const Expr &e, const Expr &mask, const Expr &fill);

/// Whether a block after `after` in program order writes the buffer, other than `except`; it is named, else
/// null.
const Block *writer_after(const Stmt &root, const Buffer &buffer, const BlockId &after);

} // namespace nestsmith
