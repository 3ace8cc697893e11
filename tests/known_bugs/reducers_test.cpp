/// Seeds bugs in the kernels of reductions: a wrong identity, a minimum for a maximum, a comparison that also
/// holds for equal elements, and a forgotten rescaling. Each mutant must be reported by the check, or be
/// equivalent.

#include "lowering/lower.h"
#include "runtime/check/check.h"
#include "runtime/check/sim_executor.h"
#include "tests/dsl/support.h"
#include "tests/mutation/seed.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace nestsmith {
namespace {

using mutation::Chooser;
using mutation::SeedPlace;

constexpr std::int64_t terms = 3; ///< of each reduction

struct ReducerBug {
  std::string name;
  mutation::ExprBug apply;
};

/// Replaces one constant by 0.
ReducerBug zero_for(double identity) {
  return {fmt::format("0 for {}", identity), [identity](const Expr &e, const mutation::Spot &spot) {
            const auto *number = e.as<FloatImm>();
            bool fits = number && number->value == identity &&
                        (spot.place == SeedPlace::value || spot.place == SeedPlace::fill);
            return fits ? std::vector{constant(e.dtype(), 0)} : std::vector<Expr>{};
          }};
}

ReducerBug one_for_zero() {
  return {"1 for 0", [](const Expr &e, const mutation::Spot &spot) {
            const auto *number = e.as<FloatImm>();
            bool fits = number && number->value == 0 &&
                        (spot.place == SeedPlace::value || spot.place == SeedPlace::fill);
            return fits ? std::vector{constant(e.dtype(), 1)} : std::vector<Expr>{};
          }};
}

/// Replaces one operator on data.
ReducerBug other_op(const std::string &name, BinaryOp from, BinaryOp to) {
  return {name, [from, to](const Expr &e, const mutation::Spot &) {
            const auto *node = e.as<Binary>();
            bool fits = node && node->op == from && is_float(node->a.dtype());
            return fits ? std::vector{binary(to, node->a, node->b)} : std::vector<Expr>{};
          }};
}

enum class ReductionForm : std::uint8_t { tiles, lanes };

/// Y[i] reduces row i of X; of an argmax or argmin, Y is the value and At the index.
Schedule reduced_rows(const std::string &reducer, ReductionForm form, std::int64_t rows) {
  Workload w("rows");
  Tensor x = w.placeholder("X", {rows, terms}, DType::f32);
  Reduce k = reduce_axis("k", terms);
  bool index = reducer.starts_with("arg");
  Tensor r = w.compute("R", {rows}, {"i"}, [&](Expr i) -> Definition {
    if (index)
      return reducer == "argmax" ? argmax_over(x(i, k), k) : argmin_over(x(i, k), k);
    return reduce(*std::ranges::find(reducers, reducer, [](Reducer each) { return name(each); }), x(i, k), k);
  });
  std::vector<Result> results;
  for (const char *name : {"value", "index"})
    if (index)
      results.push_back(w.compute(std::string("Of_") + name, {rows}, {"i"},
                                  [&](Expr i) -> Definition { return part(r(i), name); }));
  Schedule s(w.output(index ? results : std::vector<Result>{r}));
  BlockRef block = s.block("R");
  Loop row = s.loops(block)[0];
  if (form == ReductionForm::lanes) {
    s.bind(row, Axis::block_x);
    s.reduce_across(s.split<2>(s.loops(block).back(), {infer, 32})[1], Axis::thread_x);
  } else {
    s.split<2>(s.loops(block).back(), {infer, 2});
    s.bind(row, Axis::block_x);
  }
  for (const char *reader : {"Of_value", "Of_index"})
    if (index)
      s.bind(s.loops(s.block(reader))[0], Axis::block_x);
  return s;
}

/// Applies the bug at its place with this number. The flag tells whether there is such a place.
std::pair<kernel::Plan, bool> mutant(const Schedule &s, const ReducerBug &bug, int place, std::string &where) {
  kernel::Plan plan = lower(s);
  Chooser chooser(place);
  for (kernel::Kernel &kernel : plan.kernels)
    mutation::on_exprs(kernel, chooser, bug.apply);
  where = chooser.where();
  return {std::move(plan), place < chooser.seen()};
}

/// A row for each sequence of these values. A maximum, a minimum and their indices depend only on how the terms
/// compare with each other, with the identities and with 0. The rows have each such order. So a mutant that
/// changes no row changes the result of no input without NaN. A mutant of a sum or product must not be
/// equivalent.
Array all_rows() {
  const float values[] = {-INFINITY, -3, -2, -1, 0, 1, 2, 3, INFINITY};
  std::int64_t rows = 1;
  for (std::int64_t n = 0; n < terms; ++n)
    rows *= std::ssize(values);
  Array x(DType::f32, {rows, terms});
  for (std::int64_t at = 0; at < x.size(); ++at) {
    std::int64_t digits = at / terms;
    for (std::int64_t n = 0; n < at % terms; ++n)
      digits /= std::ssize(values);
    x.set(at, Scalar::of(DType::f32, values[digits % std::ssize(values)]));
  }
  return x;
}

std::vector<Array> results_of(const kernel::Plan &plan, const Array &x) {
  std::vector<Array> arrays;
  for (const Buffer &param : plan.params)
    arrays.emplace_back(param->dtype, constant_shape(param));
  arrays.front() = x;
  SimExecutor simulator;
  simulator.run(plan, arrays, {});
  return arrays;
}

/// Whether all numbers are equal. All NaN are equal.
bool same_results(const std::vector<Array> &a, const std::vector<Array> &b) {
  for (std::size_t n = 0; n < a.size(); ++n)
    for (std::int64_t at = 0; at < a[n].size(); ++at) {
      double x = a[n].at(at).to_double(), y = b[n].at(at).to_double();
      if (x != y && !(std::isnan(x) && std::isnan(y)))
        return false;
    }
  return true;
}

struct SeededReducer {
  std::string reducer;
  ReducerBug bug;
  int tiles, lanes; ///< mutants that the check must report in each schedule
};

/// The largest element of each row of X, and the sum of exp of the differences from it, in one pass.
Schedule sums_of_exp(ReductionForm form, std::int64_t rows, std::int64_t columns) {
  Workload w("rows");
  Tensor x = w.placeholder("X", {rows, columns}, DType::f32);
  Reduce k = reduce_axis("k", columns);
  Tensor r = w.compute("R", {rows}, {"i"}, [&](Expr i) { return sum_of_exp_over(x(i, k), k); });
  Tensor y = w.compute("Y", {rows}, {"i"}, [&](Expr i) -> Definition { return part(r(i), "sum"); });
  Schedule s(w.output({y}));
  BlockRef block = s.block("R");
  s.bind(s.loops(block)[0], Axis::block_x);
  if (form == ReductionForm::lanes)
    s.reduce_across(s.split<2>(s.loops(block).back(), {infer, 64})[1], Axis::thread_x);
  else
    s.rfactor(s.split<2>(s.loops(block).back(), {infer, 4})[0]);
  s.bind(s.loops(s.block("Y"))[0], Axis::block_x);
  return s;
}

/// Forgets the factor by which a sum of exp is rescaled to a larger maximum.
ReducerBug no_rescaling() {
  return {"no rescaling", [](const Expr &e, const mutation::Spot &) {
            const auto *node = e.as<Binary>();
            bool fits = node && node->op == BinaryOp::mul && is_float(node->a.dtype());
            return fits ? std::vector{node->a} : std::vector<Expr>{};
          }};
}

/// Numbers from 0 to 3, whose largest is at each place of a row in turn.
Array small_rows(std::int64_t rows, std::int64_t columns) {
  Array x(DType::f32, {rows, columns});
  for (std::int64_t at = 0; at < x.size(); ++at) {
    std::int64_t row = at / columns, column = at % columns;
    x.set(at, Scalar::of(DType::f32, column == row * 7 % columns ? 3.0F : static_cast<float>(at * 5 % 8) / 4));
  }
  return x;
}

/// Whether each sum is the same up to the roundings.
bool same_sums(const std::vector<Array> &a, const std::vector<Array> &b) {
  for (std::int64_t at = 0; at < a.back().size(); ++at) {
    double x = a.back().at(at).to_double(), y = b.back().at(at).to_double();
    if (!(std::abs(x - y) < 1e-5 * std::abs(x)))
      return false;
  }
  return true;
}

/// Residues, in which exp(x) * exp(y) is exp(x + y), tell the sums apart. A forgotten factor changes nothing
/// only if the sum is that of no terms, or of the larger maximum.
TEST(SeededReducers, AForgottenRescalingIsFoundByResidues) {
  SimExecutor simulator;
  for (ReductionForm form : {ReductionForm::tiles, ReductionForm::lanes}) {
    std::int64_t rows = 40, columns = form == ReductionForm::lanes ? 150 : 13;
    Schedule s = sums_of_exp(form, rows, columns);
    const Array x = small_rows(rows, columns);
    const std::vector<Array> expected = results_of(lower(s), x);
    std::string where, list;
    int reported = 0, places = 0;
    Checker checker;
    for (;; ++places) {
      auto [wrong, exists] = mutant(s, no_rescaling(), places, where);
      if (!exists)
        break;
      bool same = same_sums(results_of(wrong, x), expected);
      CheckResult result = checker.check(s.source(), wrong, simulator);
      ASSERT_NE(result.find(CheckRun::residue_ring), nullptr);
      EXPECT_EQ(result.find(CheckRun::residue_ring)->passed, same) << where;
      EXPECT_EQ(result.passed, same) << where;
      reported += !same;
      list += fmt::format("{} {}\n", same ? "equivalent" : "reported", where);
    }
    EXPECT_GE(reported, form == ReductionForm::lanes ? 10 : 3) << list;
    EXPECT_LT(places - reported, reported) << list;
  }
}

/// The check reports each mutant that is not equivalent, and no mutant that is.
TEST(SeededReducers, AreReportedUnlessTheyAreEquivalent) {
  const std::vector<SeededReducer> cases = {
      {"max", zero_for(-INFINITY), 1, 1},
      {"min", zero_for(INFINITY), 1, 1},
      {"product", zero_for(1), 1, 1},
      {"sum", one_for_zero(), 1, 1},
      {"argmax", zero_for(-INFINITY), 1, 1},
      {"argmin", zero_for(INFINITY), 1, 1},
      {"max", other_op("min for max", BinaryOp::max, BinaryOp::min), 1, 2},
      {"min", other_op("max for min", BinaryOp::min, BinaryOp::max), 1, 2},
      {"argmax", other_op("<= for <", BinaryOp::lt, BinaryOp::le), 1, 5},
      {"argmin", other_op("<= for <", BinaryOp::lt, BinaryOp::le), 1, 5},
  };
  const Array x = all_rows();
  SimExecutor simulator;
  for (const auto &[reducer, bug, in_tiles, in_lanes] : cases)
    for (ReductionForm form : {ReductionForm::tiles, ReductionForm::lanes}) {
      Schedule every = reduced_rows(reducer, form, x.shape()[0]), few = reduced_rows(reducer, form, 40);
      std::vector<Array> expected = results_of(lower(every), x);
      int reported = 0;
      std::string where, list;
      for (int place = 0;; ++place) {
        auto [wrong, exists] = mutant(few, bug, place, where);
        if (!exists)
          break;
        CheckResult result =
            Checker().check(few.source(), wrong, simulator, {.to_first = true, .infinite = true});
        auto [wrong_for_all, in_both] = mutant(every, bug, place, where);
        ASSERT_TRUE(in_both);
        bool same = same_results(results_of(wrong_for_all, x), expected);
        EXPECT_EQ(result.passed, same) << reducer << ", " << bug.name << ": " << where;
        bool compares = reducer != "sum" && reducer != "product";
        EXPECT_TRUE(compares || !same) << reducer << ", " << bug.name << ": " << where;
        reported += !same;
        list += fmt::format("{} {}\n", same ? "equivalent" : "reported", where);
      }
      EXPECT_GE(reported, form == ReductionForm::lanes ? in_lanes : in_tiles)
          << reducer << ", " << bug.name << "\n"
          << list;
    }
}

} // namespace
} // namespace nestsmith
