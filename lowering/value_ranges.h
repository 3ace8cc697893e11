#pragma once
/// Ranges of the values in a kernel whose indices have their widths. The pass narrow_indices chooses signed
/// arithmetic by these ranges, and the verifier of finished kernels checks it.

#include "dsl/expr/simplify.h"
#include "lowering/kernel.h"

#include <llvm/ADT/DenseSet.h>
#include <map>

namespace nestsmith::kernel {

class ValueRanges {
public:
  /// Knows the sizes, the indices of threads and blocks, and the scalars of the kernel.
  explicit ValueRanges(const Kernel &kernel);

  /// Introduces the variables of statements, in the order of execution.
  void define(const Declare &declare);
  void define(const Loop &loop);

  /// The range of the value of `e`, where index arithmetic does not overflow.
  std::optional<Range> range(const Expr &e) const { return range_of(widened(e), bounds_); }
  /// The range of a - b, with the values of declared variables in their place.
  std::optional<Range> distance(const Expr &a, const Expr &b) const {
    return range_of(resolved(a) - resolved(b), bounds_);
  }
  /// Whether `e` is proved to be a multiple of the divisor, with the values of declared variables in their
  /// place.
  bool is_multiple_of(const Expr &e, std::int64_t divisor) const;
  /// Whether `e` is a sum, difference, product or conversion in i32 of index arithmetic that is not proved to
  /// fit. The results of other operations fit if their operands do.
  bool may_exceed_i32(const Expr &e) const;
  /// Whether the value may wrap around: it depends on a value from memory, on a scalar parameter, on a
  /// conversion from another type than i32 and i64, or on a call that is no division of integers.
  bool is_data(const Expr &e) const;
  /// Whether `e` is a signed sum, difference or product of data that is not proved to stay in the range of its
  /// type.
  bool may_overflow(const Expr &e) const;
  /// Whether `e` is a floor division or modulo of i32 or i64, or a shift, whose operands are not proved to be
  /// those for which C++ has the same result.
  bool is_other_in_cpp(const Expr &e) const;
  /// Whether the amount of a shift is proved to be from 0 to the width of the type, exclusively.
  bool shifts_within(const Binary &op) const;

private:
  void add(const Var &var);
  std::optional<Range> rough(const Expr &e) const;
  Expr widened(const Expr &e) const;
  Expr in_place(const nestsmith::Call &made) const;
  Expr resolved(const Expr &e) const;

  std::map<Var, Var> wide_;    ///< the 64-bit variable in `bounds_` for each variable
  std::map<Var, Expr> values_; ///< of the declared variables in `bounds_` that are no data
  llvm::DenseSet<const Symbol *> data_;
  Bounds bounds_;
};

/// The body of the kernel. Sums, products, divisions and shifts that are not proved to have the results of
/// dsl/expr/ops.h in C++ are expressed in terms that C++ defines for all values (lowering/data_arithmetic.h).
/// Passes that rewrite expressions call this, because less is known of an operand that became a call, unsigned
/// arithmetic or a variable.
Stmt with_defined_results(const Kernel &kernel);
/// Gives the kernel another body, with defined results. Does nothing if it has this body.
void replace_body(Kernel &kernel, Stmt body);

} // namespace nestsmith::kernel
