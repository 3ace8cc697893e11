#pragma once
/// The effect of an expression on the accuracy of its operands.

#include "dsl/program.h"
#include "dsl/shared_results.h"
#include "lowering/plan.h"

#include <cstdint>
#include <map>

namespace nestsmith {

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

/// The operations that round on all ways from the operands to the value: a shared node is on several. At most
/// 2^40, which is far more than any error bound allows.
std::int64_t count_operations(const Expr &e, SharedResults<std::int64_t> &counted);

struct Reference;

/// The largest `Intrinsic::rounding_scale` of the plan's calls, and at least 1.
std::int64_t rounding_scale(const kernel::Plan &plan);
/// The roundings of a kernel whose sums round `scale` times for each addition. A call that sums fewer terms
/// than its extent still rounds as one with two more terms.
std::int64_t roundings_of(const Reference &reference, std::int64_t scale);

} // namespace nestsmith
