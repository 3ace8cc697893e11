#pragma once
/// The digits of loop variables in the bindings of axes, and whether they give each element once.

#include "dsl/expr/simplify.h"
#include "dsl/ir/program.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace nestsmith {

/// A digit of a loop variable in a binding: scale * (var // div % extent). `div` and `extent` are constants or
/// expressions of sizes.
struct LoopDigit {
  Var var;
  Expr div, extent;
  std::int64_t scale;
};
/// The binding as a sum of digits. Returns none if the binding is not quasi-affine.
std::optional<std::vector<LoopDigit>> loop_digits(const Expr &binding, const Bounds &bounds);

/// Whether the loops produce every combination of the bindings' values exactly once. This is the case if the
/// digits of each binding form a mixed-radix number without gaps, and if each digit of each loop occurs in
/// exactly one binding. Loops of extent 1 are ignored.
bool bijective(const std::vector<Expr> &bindings, const std::vector<const For *> &loops, const Bounds &bounds);

} // namespace nestsmith
