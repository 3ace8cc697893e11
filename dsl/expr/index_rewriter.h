#pragma once
/// The implementation of dsl/expr/simplify.h: rewrites one expression under fixed bounds.

#include "dsl/expr/shared_results.h"
#include "dsl/expr/simplify.h"

#include <initializer_list>
#include <llvm/ADT/SmallVector.h>
#include <set>

namespace nestsmith {

/// A linear form under construction. A form of up to four terms needs no heap allocation.
struct LinearForm {
  llvm::SmallVector<Term, 4> terms;
  std::int64_t constant = 0;

  LinearForm() = default;
  LinearForm(std::initializer_list<Term> list, std::int64_t plus) : terms(list), constant(plus) {}
  explicit LinearForm(const Linear &linear)
      : terms(linear.terms.begin(), linear.terms.end()), constant(linear.constant) {}
};

Expr to_expr(const LinearForm &form, DType dtype = DType::i64);

/// Returns the number that a size is stated to be a multiple of, and 1 for any other expression. M is
/// represented as unit * (M // unit), so that divisions by divisors of the unit are exact. `to_expr` converts
/// it back to M.
/// [rule.size.unit] M = u*(M//u) where u > 0, M % u = 0
std::int64_t unit_of(const Expr &e);
bool is_whole_size(const Digit &digit);
/// The same product with the smallest divisor.
Term in_lowest_terms(Term term);

/// Returns a * b for positive a and b, or none if `dtype` cannot represent the product.
std::optional<std::int64_t> product_in(DType dtype, std::int64_t a, std::int64_t b);

/// Rewrites one expression under fixed bounds. Each rule is written beside its code, with a name in brackets.
/// The rules are about integers without overflow. tests/proofs/rule.h reads each rule from these comments and
/// proves it.
///
/// Integer data wraps around at 2^32 or 2^64 (`ExprNode::data`). A linear form is equal to its expression
/// modulo this power, so sums and multiples by constants may be rewritten. The rules for order and division
/// hold only for values that do not wrap (`may_wrap`).
///
/// These rules maintain a linear form:
/// [rule.linear.collect] k*x + l*x = (k + l)*x
/// [rule.linear.scale] f*(k*x + n) = (f*k)*x + f*n
/// For integer data, the rules below and the comparison for equality hold for words of any width:
/// [rule.data.collect] k*x + l*x = (k + l)*x
/// [rule.data.scale] f*(k*x + n) = (f*k)*x + f*n
/// [rule.data.subtract] x - y = x + (0 - 1)*y
/// [rule.data.equal] x = y where x - y = 0
/// [rule.data.unequal] x != y where x - y != 0
class IndexRewriter {
public:
  explicit IndexRewriter(const Bounds &bounds) : bounds_(bounds) {}

  LinearForm linearize(const Expr &e);
  Expr simplify(const Expr &e);

  std::optional<bool> decide(const Binary &comparison); ///< of index arithmetic or data
  std::optional<Range> range(const Expr &e);
  std::optional<Range> range(const LinearForm &linear);
  std::optional<LinearForm> at_ends(const LinearForm &x);
  bool depends_on_sizes(const LinearForm &x) const;

private:
  // ---- linear forms (simplify_linear.cpp)

  LinearForm linearize_term(const Expr &e);
  std::optional<LinearForm> linearize_bits(const Expr &e, const Binary &op); ///< simplify_bits.cpp
  LinearForm rest_of(const Expr &e);
  static void reduce_to_i32(LinearForm &linear);
  std::optional<Range> range_of_difference(const LinearForm &a, const LinearForm &b);
  static bool has_data(const LinearForm &x);
  bool may_wrap(const LinearForm &x);
  void gather(const Expr &e, std::int64_t factor, LinearForm &into);
  void gather_operand(const Expr &e, std::int64_t factor, LinearForm &into);
  LinearForm atom(Expr e) { return {{{1, {interned(std::move(e)), 1, 0}}}, 0}; }
  Expr interned(Expr e);
  LinearForm scale(LinearForm linear, std::int64_t factor);
  LinearForm sum(LinearForm a, const LinearForm &b, std::int64_t sign);
  void add(LinearForm &linear, Term term);
  void add(LinearForm &linear, const LinearForm &more, std::int64_t factor);
  void add(LinearForm &linear, LinearForm &&more, std::int64_t factor);
  void merge(LinearForm &linear);
  bool merge(LinearForm &linear, std::size_t low, std::size_t high);
  bool merge_by_size(LinearForm &linear);
  std::optional<Expr> with_remainder(const Term &term, const Term &multiple, const Expr &quotient,
                                     const Expr &size);
  std::optional<Expr> with_multiple(const Term &term, const Term &multiple, const Expr &quotient,
                                    const Expr &size);
  static bool same_digit(const Digit &a, const Digit &b);

  // ---- ranges (simplify_ranges.cpp)

  std::optional<Range> interval(const LinearForm &linear);
  std::optional<Range> range(const Digit &digit);
  static std::optional<Range> range(const Digit &digit, std::optional<Range> of_base);
  std::optional<Range> base_range(const Expr &base);
  std::optional<Range> binary_range(const Expr &base, const Binary &op);
  std::optional<std::int64_t> highest_constant(const LinearForm &x);
  std::optional<LinearForm> at_end(const Term &term);
  LinearForm without_divisions(const LinearForm &x, int sign);
  std::optional<LinearForm> without_multiple(const Term &term);
  bool is_positive(const Expr &e);

  // ---- division and modulo (simplify_divisions.cpp)

  static std::pair<LinearForm, LinearForm> split(const LinearForm &x, std::int64_t c);
  std::pair<LinearForm, LinearForm> split(const LinearForm &x, const LinearForm &y);
  std::optional<LinearForm> divide(const Binary &e);
  LinearForm divide(const LinearForm &x, std::int64_t c);
  LinearForm divide_rest(const LinearForm &rest, std::int64_t c);
  LinearForm modulo(const LinearForm &x, std::int64_t c);
  LinearForm modulo_rest(LinearForm rest, std::int64_t c);
  std::optional<std::pair<LinearForm, LinearForm>> common_factor(const LinearForm &x, std::int64_t c,
                                                                 std::int64_t &factor);
  LinearForm digit_of(const LinearForm &rest, std::int64_t div, std::int64_t mod);
  LinearForm one(Digit digit);
  static bool has_quotient(const LinearForm &x, std::int64_t c);

  /// Returns the range of an operand. The result is cached and reported to the `AnswerWatcher`.
  std::optional<Range> operand_range(const Expr &e);
  Expr simplify_node(const Expr &e);

  const Bounds &bounds_;
  struct Before {
    bool operator()(const Expr &a, const Expr &b) const { return order(a, b) < 0; }
  };
  std::set<Expr, Before> interned_;
  static constexpr std::uint64_t least_kept = 16; ///< nodes
  SharedResults<Expr, least_kept> simplified_;
  SharedResults<LinearForm, least_kept> linear_;
  SharedResults<std::optional<Range>, least_kept> ranges_, base_ranges_;
};

} // namespace nestsmith
