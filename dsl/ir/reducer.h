#pragma once
/// Reducers: how a block combines the terms of its reduction axes into one element.
///
///   element = identity;  for each k: element = combine(element, term(k))
///
/// Each reducer is associative on the values that an element can have, so that a schedule may split the axes
/// and combine partial results of contiguous ranges. Each is commutative, too, so that a schedule may reorder
/// the axes, except a reducer that the program declares as not commutative. This holds up to roundings of
/// floating-point sums and products, and up to the sign of a zero of `max` and `min`.
///
/// `max` and `min` of floating-point numbers ignore a term that is NaN, as fmaxf and fminf do: the element
/// begins at an infinity, and a comparison with NaN is false. `max(element, term)` is `element < term ? term :
/// element`, and `min(term, element)` is `term < element ? term : element`. So an element is never NaN, and the
/// order of the terms does not matter.
///
/// `define_reducer` makes others. Their elements may be tuples, so that a stage reduces to several values at
/// once, such as the largest element of a row and its index:
///
///   Reducer latest = define_reducer("latest", tuple({{"time", -1}, {"event", 0}}), [](Expr a, Expr b) {
///     Expr later = part(b, "time") > part(a, "time") || (… && part(b, "event") > part(a, "event"));
///     return select(later, b, a);
///   });

#include "dsl/expr/expr.h"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace nestsmith {

/// A reducer that a program defines. It lives as long as the process.
struct OwnReducer {
  std::string name;
  Expr identity;    ///< a constant, or a tuple of constants; it has the dtype of the elements
  Function combine; ///< of two elements; `combine(a, b)` is a call of it
  bool commutative = true;
};

class Reducer {
public:
  enum Kind : std::uint8_t { sum, product, max, min, own };

  constexpr Reducer(Kind kind) : kind_(kind) {}
  constexpr explicit Reducer(const OwnReducer &own) : kind_(Kind::own), own_(&own) {}
  constexpr Kind kind() const { return kind_; }
  constexpr const OwnReducer *definition() const { return own_; } ///< null unless the kind is `own`
  constexpr bool operator==(const Reducer &) const = default;

private:
  Kind kind_;
  const OwnReducer *own_ = nullptr;
};
/// The reducers that need no definition.
inline constexpr std::array reducers = {Reducer::sum, Reducer::product, Reducer::max, Reducer::min};

/// Defines a reducer. `combine` returns the combination of two elements, and has no variables of its own. The
/// same definition gives the same reducer. Throws UserError (usage) for a name that is no identifier or that of
/// another reducer, for an identity that is not constant, for a result of another dtype than the identity, for
/// a combination that reads memory, and for a broken law.
///
/// An element is what terms make of the identity. For all terms t and elements a, b and c:
///
///   combine(a, t) = combine(a, combine(identity, t))
///   combine(identity, a) = a
///   combine(a, identity) = a
///   combine(a, b) = combine(b, a)                           unless `laws` says that it does not hold
///   combine(combine(a, b), c) = combine(a, combine(b, c))
///
/// A reducer that is not commutative, such as a product of matrices or a composition of functions, combines the
/// terms in the order of the axes: the last axis varies fastest, as in nested loops. Each directive that would
/// change this order is refused with [any.order].
///
/// The laws are tested for terms whose parts have ties, zeros of both signs, infinities, NaN and the ends of
/// their ranges. Values count as equal if both are NaN, if both are zeros, or up to a rounding error. A test on
/// some values is no proof: that the laws hold for all others is the user's promise.
struct ReducerLaws {
  bool commutative = true;
};
Reducer define_reducer(std::string name, const Expr &identity,
                       const std::function<Expr(Expr a, Expr b)> &combine, ReducerLaws laws = {});

/// The reducer that the program has defined with this name, of this dtype of the identity; null if there is
/// none.
const OwnReducer *find_own_reducer(std::string_view name, DType dtype);
/// Whether it has defined one for any dtype.
bool is_own_reducer(std::string_view name);

/// The largest element and its index, as a tuple (value, index: i32). NaN is larger than each number, and of
/// equal elements, the one with the lowest index counts. `dtype` is a type with arithmetic.
Reducer argmax(DType dtype);
/// The same for the smallest element. NaN is smaller than each number.
Reducer argmin(DType dtype);

/// The mean of the terms, as a tuple (count, mean, squares) of f32: `squares` is the sum of the squared
/// distances from the mean, so that squares / count is the variance. A term x is (1, x, 0). The sums of the
/// terms and of their squares would lose the digits that both have in common. Sources: Welford, "Note on a
/// Method for Calculating Corrected Sums of Squares and Products", 1962; for two partial results, Chan, Golub
/// and LeVeque, 1979.
Reducer moments(DType dtype = DType::f32);
/// The largest term, and the sum of exp(term - largest), as a tuple (largest, sum) of f32 or f64, in one pass
/// over the terms: the denominator of a softmax. A term x is (x, 1). Source: Milakov and Gimelshein, "Online
/// normalizer calculation for softmax", 2018.
Reducer sum_of_exp(DType dtype = DType::f32);

/// How the order in which the terms are combined affects a part of an element.
enum class OrderEffect : std::uint8_t {
  none,    ///< it does not: the part is exact, such as an integer or a maximum
  sum,     ///< the part is a sum of floating-point terms, whose roundings depend on the order
  product, ///< the same for a product
  unknown, ///< the combination rounds in another way, or reads a part that it rounds
};
/// For each part of an element of this dtype. Comparisons and selections do not round.
std::vector<OrderEffect> order_effects(Reducer reducer, DType dtype);

/// Whether a schedule may change the order of the terms.
bool is_commutative(Reducer reducer);

std::string_view name(Reducer reducer); ///< "sum"
/// One of `reducers`; none for any other name.
std::optional<Reducer> parse_reducer(std::string_view text);
/// Of one of `reducers`.
BinaryOp op_of(Reducer reducer);

/// The value that leaves each other value as it is: 0, 1, and for `max` the least value of the dtype, which is
/// -infinity for a floating-point number.
Expr identity_of(Reducer reducer, DType dtype);
/// The constant of dtype `from` that a conversion turns into `identity`: for 0, 1, and an infinity between
/// floating-point types. None for any other.
std::optional<Expr> before_cast(const Expr &identity, DType from);
/// Whether the term is the first operand of the operator.
bool has_term_first(Reducer reducer);
Expr combine(Reducer reducer, Expr element, Expr term);

} // namespace nestsmith
