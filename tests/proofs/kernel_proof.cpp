/// Walks a lowered kernel and proves its claims.

#include "tests/proofs/kernel_proof.h"

#include "dsl/expr/conjuncts.h"
#include "dsl/hardware/intrinsics.h"
#include "dsl/ir/printer.h"
#include "tests/proofs/channels.h"
#include "tests/proofs/translate.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <set>
#include <utility>

namespace nestsmith::proofs {

namespace {

using kernel::Allocation, kernel::Arrive, kernel::Assumption, kernel::Declare, kernel::If, kernel::Kernel,
    kernel::Loop, kernel::Seq, kernel::SizeParameter, kernel::Stmt, kernel::Store, kernel::ThreadIndex;

template <class T> Formula fits_in(const Poly &p) {
  return all(
      {less_equal(Poly(std::numeric_limits<T>::min()), p), less_equal(p, Poly(std::numeric_limits<T>::max()))});
}
Formula fits(const Poly &p, DType dtype) {
  return dtype == DType::i32 ? fits_in<std::int32_t>(p) : fits_in<std::int64_t>(p);
}

class Walker {
public:
  Walker(const Kernel &kernel, bool flat)
      : kernel_(kernel), flat_(flat), data_(kernel.scalars.begin(), kernel.scalars.end()),
        translator_(prover_) {}

  Proof run() {
    for (const SizeParameter &size : kernel_.sizes)
      translator_.set(size.var, translator_.define(size.size));
    for (const Assumption &assumption : kernel_.assumptions)
      prover_.assume(translator_.condition(assumption.holds));
    for (const ThreadIndex &index : kernel_.indices) {
      Poly value = translator_.define(index.var, index.range());
      prover_.assume(all({less_equal(Poly(0), value), less(value, translator_.integer(index.extent))}));
      claim(Claim::width, fits(value, index.var->dtype), std::string(nestsmith::name(index.axis)));
    }
    if (flat_)
      check_arena();
    check(kernel_.body);
    ask();
    return std::move(result_);
  }

private:
  void claim(Claim kind, const Formula &formula, const std::string &where) {
    if (!flat_ && kind != Claim::dimensions)
      return;
    open_[static_cast<std::size_t>(kind)].push_back(
        {formula, fmt::format("{}: {} in `{}`", kernel_.name, proofs::name(kind), where)});
  }

  /// Proves the open claims before the known facts change.
  void ask() {
    for (std::size_t n = 0; n < claims; ++n)
      if (std::vector<Proof::Question> questions = std::exchange(open_[n], {}); !questions.empty())
        result_.ask(prover_, static_cast<Claim>(n), questions);
  }

  // ---- statements

  void check(const Stmt &stmt) {
    visit(stmt,
          Overloaded{
              [&](const Declare &x) {
                check(x.value);
                if (is_data(x.value))
                  data_.insert(x.var);
                if (is_index(x.var->dtype) && x.var->lanes == 1)
                  translator_.set(x.var, translator_.integer(x.value));
              },
              [&](const Loop &x) {
                check(x.extent);
                ask();
                Prover::Scope scope(prover_);
                Poly extent = translator_.integer(x.extent);
                auto count = as_int(x.extent);
                Poly value = count ? translator_.define(x.var, {0, *count - 1}) : translator_.define(x.var);
                claim(Claim::width, fits(extent, x.var->dtype),
                      x.var->name + " < " + nestsmith::to_string(x.extent));
                prover_.assume(all({less_equal(Poly(0), value), less(value, extent)}));
                check(x.body);
                ask();
              },
              [&](const If &x) {
                check(x.condition);
                Formula condition = translator_.condition(x.condition);
                under(condition, [&] { check(x.body); });
                if (x.otherwise)
                  under(negate(condition), [&] { check(x.otherwise); });
              },
              [&](const Seq &x) {
                for (const Stmt &child : x.stmts)
                  check(child);
              },
              [&](const Store &x) {
                if (prover_.contradictory())
                  result_.unreached.push_back(fmt::format("{}: no thread stores {}: what is known there is "
                                                          "contradictory",
                                                          kernel_.name, x.buffer->name));
                if (x.count.exists())
                  check_part(x);
                else
                  check(x.value);
                check_access(x.buffer, x.indices, x.lanes);
              },
              [&](const kernel::Call &x) {
                for (std::size_t n = 0; n < x.places.size(); ++n) {
                  const auto &[buffer, offset] = x.places[n];
                  const Operand &operand = x.intrinsic.get().operands[n];
                  std::int64_t count = elements_per_lane(operand);
                  check_access(buffer, {offset}, operand.as<Rows>() ? static_cast<int>(count) : 1);
                  if (!operand.as<Rows>()) // also check the last register
                    check_access(buffer, {offset + int_imm(count - 1, offset.dtype())}, 1);
                }
              },
              [&](const kernel::BulkCopy &x) { // the host checks the map, and elements outside are zeros
                for (const auto *list : {&x.indices, &x.start})
                  for (const Expr &e : *list)
                    check(e);
                if (x.fill)
                  check(x.fill->number);
                if (!flat_)
                  return check_access(x.tile, x.indices, 1);
                const std::int64_t last = kernel_.maps[x.map].elements() - 1;
                for (std::int64_t element : {std::int64_t{0}, last})
                  check_access(x.tile, {x.indices[0] + int_imm(element, x.indices[0].dtype())}, 1);
              },
              [&](const kernel::Sync &x) {
                for (const Expr *operand : x.uses())
                  check(*operand);
                if (const auto *arrive = kernel::as<Arrive>(stmt))
                  check_access(arrive->counters, {arrive->index}, 1);
                if (x.declares())
                  data_.insert(x.declares());
              },
          });
  }

  template <class F> void under(const Formula &condition, const F &f) {
    ask();
    Prover::Scope scope(prover_);
    prover_.assume(condition);
    f();
    ask();
  }

  // ---- expressions

  void check(const Expr &e) {
    if (!e.exists())
      return;
    if (const auto *op = e.as<Binary>();

        op && is_logical(op->op)) { // the right operand is evaluated only if the left one does not decide
      check(op->a);
      Formula left = translator_.condition(op->a);
      return under(op->op == BinaryOp::logical_and ? left : negate(left), [&] { check(op->b); });
    }
    if (const auto *choice = e.as<Select>(); choice && choice->branches) {
      check(choice->condition);
      Formula condition = translator_.condition(choice->condition);
      under(condition, [&] { check(choice->when_true); });
      return under(negate(condition), [&] { check(choice->when_false); });
    }
    if (const auto *access = e.as<Load>()) {
      check(access->mask);
      if (access->mask.exists())
        under(translator_.condition(access->mask), [&] {
          std::vector<Expr> indices;
          for (const Expr &index : access->indices)
            indices.push_back(where_true(access->mask, index));
          check_access(access->buffer, indices, access->lanes);
        });
      else
        check_access(access->buffer, access->indices, access->lanes);
      return check(access->fill);
    }
    for_each_child(e, [&](const Expr &child) { check(child); });
    if (is_index(e.dtype()) && !is_data(e))
      check_arithmetic(e);
  }

  /// A copy of a part of a vector: the elements that it reads are in bounds, and the vector is aligned.
  void check_part(const Store &x) {
    const auto &source = *x.value.as<Load>();
    check(source.mask);
    check(x.count);
    const Poly count = translator_.integer(x.count);
    under(all({translator_.condition(source.mask), less(Poly(0), count)}), [&] {
      std::vector<Expr> indices;
      for (const Expr &index : source.indices)
        indices.push_back(where_true(source.mask, index));
      check_access(source.buffer, indices, source.lanes, count);
    });
    check(source.fill);
  }

  /// The index where the mask is true: there, min(x, n) is x if the mask requires x < n (the pass
  /// narrow_indices). Products with min(x, n) are too hard for Z3.
  static Expr where_true(const Expr &mask, const Expr &index) {
    const auto *bound = index.as<Binary>();
    auto requires_less = [&](const Expr &condition) {
      const auto *op = condition.as<Binary>();
      return op && op->op == BinaryOp::lt && same(op->a, bound->a) && same(op->b, bound->b);
    };
    if (bound && bound->op == BinaryOp::min && std::ranges::any_of(conjuncts_of(mask), requires_less))
      return bound->a;
    return map_children(index, [&](const Expr &child) { return where_true(mask, child); });
  }

  /// Whether the expression contains data. Integer data is allowed to wrap around.
  bool is_data(const Expr &e) const {
    bool found = false;
    walk(e, [&](const Expr &node) {
      const Var *var = node.as<Var>();
      found = found || node.as<Load>() || node.as<Lane>() || (var && data_.count(*var) > 0);
    });
    return found;
  }

  void check_arithmetic(const Expr &e) {
    std::string text = nestsmith::to_string(e);
    if (const auto *conversion = e.as<Cast>(); conversion && is_index(conversion->a.dtype()))
      return claim(Claim::width, fits(translator_.integer(conversion->a), e.dtype()), text);
    const auto *op = e.as<Binary>();
    if (!op)
      return;
    if (op->op == BinaryOp::floordiv || op->op == BinaryOp::floormod)
      claim(Claim::division,
            all({at_least_0(translator_.integer(op->a)), less_equal(Poly(1), translator_.integer(op->b))}),
            text);
    claim(Claim::width, fits(translator_.integer(e), e.dtype()), text);
    if (op->op != BinaryOp::add)
      return;
    std::vector<Poly> added; // a + (b + c - d) is printed without parentheses, and C adds from left to right
    note_terms(op->b, added);
    Poly sum = translator_.integer(op->a);
    for (std::size_t n = 0; n + 1 < added.size(); ++n)
      claim(Claim::width, fits(sum += added[n], e.dtype()), text);
  }

  void note_terms(const Expr &e, std::vector<Poly> &terms) {
    const auto *op = e.as<Binary>();
    if (!op || (op->op != BinaryOp::add && op->op != BinaryOp::sub))
      return terms.push_back(translator_.integer(e));
    note_terms(op->a, terms);
    if (op->op == BinaryOp::add)
      return note_terms(op->b, terms);
    terms.push_back(-translator_.integer(op->b));
  }

  void check_access(const Buffer &buffer, const std::vector<Expr> &indices, int lanes) {
    check_access(buffer, indices, lanes, Poly(lanes));
  }
  /// `count`: the number of the lanes that are accessed, the first ones.
  void check_access(const Buffer &buffer, const std::vector<Expr> &indices, int lanes, const Poly &count) {
    ask();
    Prover::Scope scope(prover_);
    bool element = flat_ && buffer->scope == Scope::global && is_element(*buffer, indices.front(), count);
    for (const Expr &index : indices)
      check(index);
    if (!flat_)
      return check_dimensions(*buffer, indices);
    Poly offset = translator_.integer(indices.front());
    Expr elements = buffer->role == Role::temporary && buffer->scope != Scope::global ? buffer->shape.front()
                                                                                      : span_of(*buffer);
    std::string text = fmt::format("{}[{}]", buffer->name, nestsmith::to_string(indices.front()));
    if (lanes > 1)
      text.insert(text.size() - 1, fmt::format(" +: {}", lanes));
    Formula bounds = all({at_least_0(offset), less_equal(offset + count, translator_.integer(elements))});
    if (element)
      bounds = truth(true);
    else if (buffer->scope == Scope::global)
      assume_rows(*buffer, indices.front());
    claim(Claim::in_bounds, bounds, text);
    if (lanes > 1)
      claim(Claim::aligned,
            all({equal(prover_.remainder(offset, Poly(lanes)), Poly(0)), truth(starts_aligned(buffer, lanes))}),
            text);
    ask();
  }

  void check_dimensions(const BufferNode &buffer, const std::vector<Expr> &indices) {
    for (std::size_t d = 0; d < indices.size(); ++d) {
      Poly index = translator_.integer(indices[d]);
      claim(Claim::dimensions, all({at_least_0(index), less(index, translator_.integer(buffer.shape[d]))}),
            fmt::format("{} of {}[{}]", nestsmith::to_string(indices[d]), buffer.name, d));
    }
  }

  /// Whether the offset is written as ((i*J + j)*K + k) and each index is proved to be in its dimension. Then
  /// the offset is in the array. Used for three dimensions or more, because products of several sizes are too
  /// hard for Z3. Then also assumes the bounds of i, of i*J + j and so on, which follow.
  bool is_element(const BufferNode &buffer, const Expr &offset, const Poly &lanes) {
    if (buffer.shape.size() < 3 || buffer.strides)
      return false;
    std::vector<Formula> exist;
    std::vector<Poly> indices_of;      // of the dimensions, the last one first
    std::vector<Expr> left = {offset}; // a sum
    for (std::size_t d = buffer.shape.size(); d-- > 0;) {
      Poly extent = translator_.integer(buffer.shape[d]), index;
      std::vector<Expr> rows;
      for (const Expr &part : std::exchange(left, {}))
        divide(part, extent, d > 0, rows, index);
      bool last = d + 1 == buffer.shape.size();
      exist.push_back(all({at_least_0(index), less_equal(index + (last ? lanes : Poly(1)), extent)}));
      indices_of.push_back(index);
      left = rows;
    }
    if (!prover_.prove(all(exist)).proved())
      return false;
    Poly rows = indices_of.back(), count = translator_.integer(buffer.shape[0]);
    for (std::size_t d = 1; d < buffer.shape.size(); ++d) {
      Poly extent = translator_.integer(buffer.shape[d]);
      prover_.assume(all({at_least_0(rows * extent), less_equal(rows * extent, count * extent - extent)}));
      rows = rows * extent + indices_of[buffer.shape.size() - 1 - d];
      count = count * extent;
      prover_.assume(all({at_least_0(rows), less(rows, count)}));
    }
    return true;
  }

  /// Adds the terms x*extent of a sum to `rows`, as x, and the others to `rest`.
  void divide(const Expr &sum, const Poly &extent, bool divides, std::vector<Expr> &rows, Poly &rest) {
    if (const auto *wide = sum.as<Cast>(); wide && is_index(wide->a.dtype()))
      return divide(wide->a, extent, divides, rows, rest);
    const auto *op = sum.as<Binary>();
    if (op && (op->op == BinaryOp::add || op->op == BinaryOp::sub)) {
      divide(op->a, extent, divides, rows, rest);
      bool adds = op->op == BinaryOp::add;
      return adds ? divide(op->b, extent, divides, rows, rest) : void(rest += -translator_.integer(op->b));
    }
    if (divides && op && op->op == BinaryOp::mul && translator_.integer(op->b) == extent)
      rows.push_back(op->a);
    else
      rest += translator_.integer(sum);
  }

  /// For each product row * stride in an offset, assumes that the row exists if this can be proved. This helps
  /// Z3 with products.
  void assume_rows(const BufferNode &buffer, const Expr &offset) {
    std::vector<Expr> strides = strides_of(buffer);
    walk(offset, [&](const Expr &node) {
      const auto *op = node.as<Binary>();
      if (!op || op->op != BinaryOp::mul || as_int(op->a) || as_int(op->b))
        return;
      Poly row = translator_.integer(op->a), stride = translator_.integer(op->b);
      for (std::size_t d = 0; d < strides.size(); ++d) {
        Formula exists = less(row, translator_.integer(buffer.shape[d]));
        if (translator_.integer(strides[d]) == stride && prover_.prove(exists).proved())
          prover_.assume(exists);
      }
    });
  }

  /// Whether the array starts at a multiple of the bytes of the vector.
  bool starts_aligned(const Buffer &buffer, int lanes) const {
    std::int64_t bytes = std::int64_t{lanes} * byte_size(buffer->dtype);
    for (const Allocation &allocation : kernel_.shared)
      if (allocation.buffer == buffer)
        return allocation.byte_offset % bytes == 0 && allocation.alignment % bytes == 0;
    auto it = kernel_.aligned.find(buffer);
    return it != kernel_.aligned.end() && it->second % bytes == 0;
  }

  void check_arena() {
    std::int64_t end = 0;
    for (const Allocation &allocation : kernel_.shared) {
      std::int64_t bytes =
          as_int(allocation.buffer->shape.front()).value() * byte_size(allocation.buffer->dtype);
      std::int64_t own_end = allocation.byte_offset + bytes;
      if (allocation.tenancy) { // the kernel verifier checks the lifetimes
        const Allocation &host = kernel_.shared.at(allocation.tenancy->host);
        std::int64_t host_bytes = as_int(host.buffer->shape.front()).value() * byte_size(host.buffer->dtype);
        claim(Claim::arena,
              truth(!host.tenancy && host.byte_offset <= allocation.byte_offset &&
                    own_end <= host.byte_offset + host_bytes),
              allocation.buffer->name);
        continue;
      }
      claim(Claim::arena, truth(end <= allocation.byte_offset && own_end <= kernel_.shared_bytes),
            allocation.buffer->name);
      end = own_end;
    }
  }

  const Kernel &kernel_;
  bool flat_;          ///< accesses use one offset instead of an index per dimension
  std::set<Var> data_; ///< variables that are data and not indices
  Prover prover_;
  Translator translator_;
  std::array<std::vector<Proof::Question>, claims> open_;
  Proof result_;
};

} // namespace

Proof prove(const kernel::Kernel &kernel) {
  Proof result = Walker(kernel, true).run();
  result.add(prove_channels(kernel));
  return result;
}

Proof prove_dimensions(const kernel::Kernel &kernel) { return Walker(kernel, false).run(); }

Proof prove(const kernel::Plan &plan) {
  Proof result;
  for (const kernel::Kernel &kernel : plan.kernels)
    result.add(prove(kernel));
  return result;
}

} // namespace nestsmith::proofs
