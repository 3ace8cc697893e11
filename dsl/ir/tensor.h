#pragma once
/// The front end: tensors, and computations over them.
///
///   Workload w("gemm");
///   Tensor A = w.placeholder("A", {M, K}), B = w.placeholder("B", {K, N});
///   Reduce k = reduce_axis("k", K);
///   Tensor C = w.compute("C", {M, N}, {"i", "j"}, [&](Expr i, Expr j) { return sum(A(i, k) * B(k, j), k); });
///   Program p = w.output(C);
///
/// A stage may reduce by another reducer (dsl/ir/reducer.h): `max_over(A(i, k), k)` is the maximum of a row. If
/// it reduces to tuples, later stages read their parts:
///
///   Tensor best = w.compute("best", {M}, {"i"}, [&](Expr i) { return argmax_over(A(i, k), k); });
///   Tensor index = w.compute("index", {M}, {"i"}, [&](Expr i) { return part(best(i), "index"); });

#include "dsl/ir/program.h"

#include <functional>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

namespace nestsmith {

class Workload;

/// A reduction axis, for use inside `sum`, `product_over`, `max_over`, `min_over` and `reduce`.
class Reduce {
public:
  operator Expr() const { return Expr(var_); }
  const Var &var() const { return var_; }
  const Expr &extent() const { return extent_; }

private:
  friend Reduce reduce_axis(std::string name, Expr extent);
  Reduce(Var var, Expr extent) : var_(std::move(var)), extent_(std::move(extent)) {}
  Var var_;
  Expr extent_;
};
Reduce reduce_axis(std::string name, Expr extent);

/// The right-hand side of a `compute`: an expression, or its reduction over axes.
struct Definition {
  Expr value;
  std::vector<Reduce> axes; ///< empty: not a reduction
  Reducer reducer = Reducer::sum;

  Definition(Expr value) : value(std::move(value)) {}
  Definition(Expr value, std::vector<Reduce> axes, Reducer reducer = Reducer::sum)
      : value(std::move(value)), axes(std::move(axes)), reducer(reducer) {}
};
/// The sum, the product, the maximum and the minimum of `value` over the axes. The maximum and the minimum of
/// floating-point numbers ignore NaN.
Definition sum(Expr value, std::vector<Reduce> axes);
Definition product_over(Expr value, std::vector<Reduce> axes);
Definition max_over(Expr value, std::vector<Reduce> axes);
Definition min_over(Expr value, std::vector<Reduce> axes);
Definition reduce(Reducer reducer, Expr value, std::vector<Reduce> axes);
/// The largest and the smallest value over the axis, with its index, as a tuple (value, index: i32): see
/// `argmax` in dsl/ir/reducer.h.
Definition argmax_over(Expr value, const Reduce &axis);
Definition argmin_over(Expr value, const Reduce &axis);
/// The mean of a value of f32 or f64 over the axis and its variance, as a tuple (count, mean, squares): see
/// `moments`.
Definition moments_over(Expr value, const Reduce &axis);
/// The largest value of f32 or f64 over the axis and the sum of exp(value - largest), as a tuple (largest,
/// sum): see `sum_of_exp`.
Definition sum_of_exp_over(Expr value, const Reduce &axis);
inline Definition reduce(Reducer reducer, Expr value, const Reduce &axis) {
  return reduce(reducer, std::move(value), std::vector{axis});
}
inline Definition sum(Expr value, const Reduce &axis) { return sum(std::move(value), std::vector{axis}); }
inline Definition product_over(Expr value, const Reduce &axis) {
  return product_over(std::move(value), std::vector{axis});
}
inline Definition max_over(Expr value, const Reduce &axis) {
  return max_over(std::move(value), std::vector{axis});
}
inline Definition min_over(Expr value, const Reduce &axis) {
  return min_over(std::move(value), std::vector{axis});
}

// A reduction is the whole value of a stage. With these operators, 2 * sum(…) gets a short error of the
// compiler.
template <class T>
concept Summand = std::is_convertible_v<T, Expr> || std::is_same_v<T, Definition>;
template <class A, class B>
concept UsesSum = (std::is_same_v<A, Definition> && Summand<B>) ||
                  (std::is_same_v<B, Definition> && Summand<A>);
template <class> inline constexpr bool whole_stage = false;
template <class A, class B>
requires UsesSum<A, B> Definition operator+(const A &, const B &) {
  static_assert(whole_stage<A>,
                "a reduction is the whole value of a stage: define it alone, and read it in the next stage");
  return Expr();
}
template <class A, class B>
requires UsesSum<A, B> Definition operator-(const A &, const B &) {
  static_assert(whole_stage<A>,
                "a reduction is the whole value of a stage: define it alone, and read it in the next stage");
  return Expr();
}
template <class A, class B>
requires UsesSum<A, B> Definition operator*(const A &, const B &) {
  static_assert(whole_stage<A>,
                "a reduction is the whole value of a stage: define it alone, and read it in the next stage");
  return Expr();
}
template <class A, class B>
requires UsesSum<A, B> Definition operator/(const A &, const B &) {
  static_assert(whole_stage<A>,
                "a reduction is the whole value of a stage: define it alone, and read it in the next stage");
  return Expr();
}

class Tensor {
public:
  explicit Tensor(Buffer buffer) : buffer_(std::move(buffer)) {}
  const Buffer &buffer() const { return buffer_; }

  /// The element at `index`. An index of i32, such as an element of an array of i32, is converted to i64.
  template <class... Index> Expr operator()(Index &&...index) const {
    return load(buffer_, {Expr(std::forward<Index>(index))...});
  }
  /// The element at `index` if `mask` is true, otherwise 0. If the mask is false, memory is not accessed.
  template <class... Index> Expr where(Expr mask, Index &&...index) const {
    return where_else(std::move(mask), 0, std::forward<Index>(index)...);
  }
  /// The same with another value than 0 if the mask is false, such as -infinity for the terms of a maximum. It
  /// is converted to the dtype of the tensor: integers are exact up to 2^53.
  template <class... Index> Expr where_else(Expr mask, double fill, Index &&...index) const {
    return load(buffer_, {Expr(std::forward<Index>(index))...}, std::move(mask),
                constant(buffer_->dtype, fill));
  }

private:
  Buffer buffer_;
};

/// Storage of a tensor in the caller's memory. `leading` is the leading dimension, the stride between rows in
/// elements: a size or a constant that is not smaller than the length of a row.
struct Stored {
  Expr leading = {}; ///< null: rows without gaps
};

/// An output stage and its storage.
struct Result {
  Result(Tensor tensor, Stored stored = {}) : tensor(std::move(tensor)), stored(std::move(stored)) {}
  Tensor tensor;
  Stored stored;
};

/// Collects the stages of one computation. The functions throw UserError (usage) for an extent below 1, for a
/// name that is taken or is not an identifier, for an access with the wrong number of indices, for a tensor of
/// another workload, for a variable of another stage or workload, and for a floor division of signed data.
class Workload {
public:
  explicit Workload(std::string name);

  /// Declares a size: an extent or a leading dimension that the caller passes at launch. One kernel then
  /// supports all values that `stated` allows. The launcher checks the value.
  Expr size(std::string name, Size stated = {});

  Tensor placeholder(std::string name, std::vector<Expr> shape, DType dtype = DType::f32,
                     const Stored &stored = {});
  /// An array that the computation reads and then overwrites, such as C in C = alpha*A*B + beta*C.
  Tensor inout(std::string name, std::vector<Expr> shape, DType dtype = DType::f32, const Stored &stored = {});
  /// A scalar parameter.
  Expr scalar(std::string name, DType dtype = DType::f32);

  /// Defines a stage: `element` returns the value of one element, for each index in `shape`. `axes` are the
  /// names of the loops. A stage becomes a block with the name of the stage. If the stage is a reduction, the
  /// block also has an init, which sets the element to the identity of the reducer. `where` is the line of the
  /// caller's source that defines the stage, for `emit --line-info`.
  Tensor compute(std::string name, std::vector<Expr> shape, std::vector<std::string> axes,
                 const std::function<Definition(const std::vector<Expr> &)> &element,
                 Where where = Where::current());
  Tensor compute(std::string name, std::vector<Expr> shape, std::vector<std::string> axes,
                 const std::function<Definition(Expr)> &element, Where where = Where::current());
  Tensor compute(std::string name, std::vector<Expr> shape, std::vector<std::string> axes,
                 const std::function<Definition(Expr, Expr)> &element, Where where = Where::current());
  Tensor compute(std::string name, std::vector<Expr> shape, std::vector<std::string> axes,
                 const std::function<Definition(Expr, Expr, Expr)> &element, Where where = Where::current());
  /// Defines a stage that overwrites an inout tensor. The new value of an element may depend on the old value
  /// of the same element, but not on the old values of other elements.
  void update(const Tensor &target, std::vector<std::string> axes,
              const std::function<Definition(const std::vector<Expr> &)> &element,
              Where where = Where::current());

  /// The program that computes the inout tensors and `outputs`. All other stages are temporaries. They are in
  /// global memory, unless a schedule changes their scope.
  Program output(std::vector<Result> outputs = {}) const;

private:
  Stmt stage(const std::string &name, const Buffer &buffer, const std::vector<std::string> &axes,
             const std::function<Definition(const std::vector<Expr> &)> &element, Where where);
  void claim(const std::string &name, const std::vector<Expr> &shape);
  void check_sizes(const std::string &whose, const Expr &extent) const;
  void check_origin(const std::string &stage, const Definition &definition,
                    const std::vector<Expr> &indices) const;
  std::shared_ptr<const std::vector<Expr>> strides(const std::string &name, const std::vector<Expr> &shape,
                                                   const Stored &stored) const;

  std::string name_;
  std::vector<std::string> names_;
  std::vector<Buffer> inputs_, inouts_;
  std::vector<Var> scalars_, sizes_;
  std::vector<Stmt> stages_;
};

} // namespace nestsmith
