#pragma once
/// What a user writes: tensors, and computations over them.
///
///   Workload w("gemm");
///   Tensor A = w.placeholder("A", {M, K}), B = w.placeholder("B", {K, N});
///   Reduce k = reduce_axis("k", K);
///   Tensor C = w.compute("C", {M, N}, {"i", "j"}, [&](Expr i, Expr j) { return sum(A(i, k) * B(k, j), k); });
///   Program p = w.output(C);

#include "dsl/program.h"

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

namespace nestsmith {

class Workload;

/// A reduction axis, used inside `sum`.
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

/// The right-hand side of a `compute`: an expression, or the sum of one over reduction axes.
struct Definition {
  Expr value;
  std::vector<Reduce> axes; ///< empty: no reduction

  Definition(Expr value) : value(std::move(value)) {}
  Definition(Expr value, std::vector<Reduce> axes) : value(std::move(value)), axes(std::move(axes)) {}
};
Definition sum(Expr value, const Reduce &axis);
Definition sum(Expr value, std::vector<Reduce> axes);

class Tensor {
public:
  explicit Tensor(Buffer buffer) : buffer_(std::move(buffer)) {}
  const Buffer &buffer() const { return buffer_; }

  /// The element at these indices.
  template <class... Index> Expr operator()(Index &&...index) const {
    return load(buffer_, {Expr(std::forward<Index>(index))...});
  }
  /// The element where `mask` holds, else 0: memory is not touched where it does not.
  template <class... Index> Expr where(Expr mask, Index &&...index) const {
    return load(buffer_, {Expr(std::forward<Index>(index))...}, std::move(mask), constant(buffer_->dtype, 0));
  }

private:
  Buffer buffer_;
};

/// How the caller's memory holds a tensor. A size may be the leading dimension: elements from one row to the
/// next, at least the length of a row.
struct Stored {
  Expr leading = {}; ///< null: rows without gaps
};

/// A stage that is an output, and how it is stored.
struct Result {
  Result(Tensor tensor, Stored stored = {}) : tensor(std::move(tensor)), stored(std::move(stored)) {}
  Tensor tensor;
  Stored stored;
};

/// Collects the stages of one computation. Throws UserError (usage) on a shape that is not positive, a
/// name that is taken or is no identifier, an access of the wrong rank, a tensor or a variable that is not the
/// stage's or the workload's, and a division of signed data.
class Workload {
public:
  explicit Workload(std::string name);

  /// An extent, or a leading dimension, that the caller passes at launch: one kernel serves all that is stated
  /// of it. What is stated is checked at launch.
  Expr size(std::string name, Size stated = {});

  Tensor placeholder(std::string name, std::vector<Expr> shape, DType dtype = DType::f32,
                     const Stored &stored = {});
  /// An array that the computation reads and then overwrites: C in C = alpha*A*B + beta*C.
  Tensor inout(std::string name, std::vector<Expr> shape, DType dtype = DType::f32, const Stored &stored = {});
  /// A scalar parameter.
  Expr scalar(std::string name, DType dtype = DType::f32);

  /// A stage: one element for each index below `shape`. `axes` names the loops. Each stage is a block of
  /// its own name; a sum also has the init that zeroes it.
  Tensor compute(std::string name, std::vector<Expr> shape, std::vector<std::string> axes,
                 const std::function<Definition(const std::vector<Expr> &)> &element);
  Tensor compute(std::string name, std::vector<Expr> shape, std::vector<std::string> axes,
                 const std::function<Definition(Expr)> &element);
  Tensor compute(std::string name, std::vector<Expr> shape, std::vector<std::string> axes,
                 const std::function<Definition(Expr, Expr)> &element);
  Tensor compute(std::string name, std::vector<Expr> shape, std::vector<std::string> axes,
                 const std::function<Definition(Expr, Expr, Expr)> &element);
  /// Overwrites an inout tensor; each element may read only its own old value.
  void update(const Tensor &target, std::vector<std::string> axes,
              const std::function<Definition(const std::vector<Expr> &)> &element);

  /// The program that computes the inout tensors, or `outputs`. Stages in between are temporaries of
  /// scope global until the schedule gives them another.
  Program output(std::vector<Result> outputs = {}) const;

private:
  Stmt stage(const std::string &name, const Buffer &buffer, const std::vector<std::string> &axes,
             const std::function<Definition(const std::vector<Expr> &)> &element);
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
