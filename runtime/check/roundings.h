#pragma once
/// The effect of an expression on the accuracy of its operands.

#include "dsl/expr/shared_results.h"
#include "dsl/ir/program.h"
#include "lowering/plan.h"

#include <cstdint>
#include <map>

namespace nestsmith {

/// The number of fraction bits of a number that needs too many.
inline constexpr int endless_fraction = 24;

/// The number of bits after the binary point, at most `endless_fraction`.
int fraction_bits(double value);

/// Bits after the binary point of an expression of integers.
class FractionBits {
public:
  /// `of` has those of the stages that it reads, and `quotients` those of the divisions.
  FractionBits(const std::map<const BufferNode *, int> &of, const std::map<const ExprNode *, int> &quotients)
      : of_(of), quotients_(quotients) {}
  int operator()(const Expr &e) {
    return known_(e, [&] { return bits_of(e); });
  }

private:
  int bits_of(const Expr &e);

  const std::map<const BufferNode *, int> &of_;
  const std::map<const ExprNode *, int> &quotients_;
  SharedResults<int> known_;
};

/// The largest `Intrinsic::rounding_scale` of the plan's calls, and at least 1.
std::int64_t rounding_scale(const kernel::Plan &plan);

} // namespace nestsmith
