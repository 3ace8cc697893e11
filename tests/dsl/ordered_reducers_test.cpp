/// Tests reducers that are not commutative: their laws, and that each directive keeps the order of the terms.
#include "dsl/ir/printer.h"
#include "dsl/ir/reducer.h"
#include "tests/dsl/affine_rows.h"
#include "tests/dsl/support.h"

#include <gmock/gmock.h>

namespace nestsmith {
namespace {

using test::affine_planes;
using test::affine_rows;
using test::composed;
using test::expect_refused;
using test::expect_user_error;
using test::same_meaning;

TEST(OrderedReducers, AreDeclared) {
  EXPECT_FALSE(is_commutative(composed()));
  EXPECT_TRUE(is_commutative(argmax(DType::f32)) && is_commutative(Reducer::sum));
  auto last = [](const Expr &, const Expr &b) { return b; };
  expect_user_error(
      [&] { define_reducer("last_of_all", constant(DType::u32, 0), last, {.commutative = false}); },
      ExitCode::usage, "does not keep 1: with the identity 0 as the second operand, it is 0");
  auto first = [](const Expr &a, const Expr &b) { return select(equal(a, Expr(0)), b, a); };
  expect_user_error([&] { define_reducer("first_of_all", constant(DType::i32, 0), first); }, ExitCode::usage,
                    "declare it with {.commutative = false}, so that a schedule keeps the order of the terms");
  EXPECT_NO_THROW(define_reducer("first_of_all", constant(DType::i32, 0), first, {.commutative = false}));
  expect_user_error(
      [&] {
        define_reducer("difference", constant(DType::u32, 0), std::minus<Expr>(), {.commutative = false});
      },
      ExitCode::usage, "does not keep 4294967295: combined with the identity 0, it is 1");
  expect_user_error(
      [&] {
        define_reducer("composed", composed().definition()->identity, [](const Expr &a, const Expr &b) {
          return tuple(
              {{"scale", part(a, "scale") * part(b, "scale")}, {"shift", part(a, "shift") + part(b, "shift")}});
        });
      },
      ExitCode::usage, "is defined twice in different ways");
}

TEST(OrderedReducers, TheSecondOperandMayBeTheIdentity) {
  Expr none = tuple({{"value", constant(DType::i32, 0)}, {"any", false}});
  auto latest = [](const Expr &a, const Expr &b) {
    return tuple({{"value", part(b, "value")}, {"any", part(a, "any") || part(b, "any")}});
  };
  expect_user_error([&] { define_reducer("latest", none, latest, {.commutative = false}); }, ExitCode::usage,
                    "does not keep (1, 0): with the identity (0, 0) as the second operand, it is (0, 0)");
}

TEST(OrderedReducers, KeepTheirOrderInEverySchedule) {
  for (auto [m, n] : {std::pair(5, 24), std::pair(3, 7), std::pair(2, 1), std::pair(4, 31)}) {
    Schedule s(affine_rows(m, n));
    auto [outer, inner] = s.split<2>(s.loops(s.block("all")).back(), {infer, 4});
    auto [inner_high, inner_low] = s.split<2>(inner, {2, 2});
    BlockRef parts = s.rfactor(outer);
    s.unroll(s.fuse(inner_high, inner_low));
    s.bind(s.loops(parts).front(), Axis::thread_x);
    EXPECT_TRUE(same_meaning(s));
  }
  Schedule planes(affine_planes(4, 6, 10));
  std::vector<Loop> loops = planes.loops(planes.block("all"));
  auto [high, low] = planes.split<2>(planes.fuse(loops[1], loops[2]), {infer, 12});
  planes.rfactor(high);
  planes.reorder(
      {low, planes.loops(planes.block("all_rf")).front()}); // another loop than those of the reduction
  EXPECT_TRUE(same_meaning(planes));
}

TEST(OrderedReducers, RefuseAnotherOrderOfLoops) {
  Schedule s(affine_rows(5, 24));
  auto [outer, inner] = s.split<2>(s.loops(s.block("all")).back(), {infer, 4});
  expect_refused(
      s, "any.order",
      [&, outer = outer, inner = inner] {
        s.reorder({inner, outer});
      },
      "block all combines its terms by composed, which is not commutative, in the order of k; with k_outer "
      "inside of k_inner another order results; keep k_outer outside of k_inner",
      {"all", "k_outer", "k_inner"});
  s.reorder({outer, s.loops(s.block("all")).front(), inner}); // the loop over rows may be anywhere
  EXPECT_TRUE(same_meaning(s));
}

TEST(OrderedReducers, RefuseAnotherOrderOfAxes) {
  Schedule s(affine_planes(3, 6, 10));
  std::vector<Loop> loops = s.loops(s.block("all"));
  expect_refused(s, "any.order",
                 [&] {
                   s.reorder({loops[2], loops[1]});
                 },
                 "in the order of k, l; with k inside of l", {});
  auto [high, low] = s.split<2>(s.fuse(loops[1], loops[2]), {infer, 12});
  s.decompose_reduction(s.block("all"), high);
  expect_refused(s, "any.order",
                 [&, high = high, low = low] {
                   s.reorder({low, high});
                 },
                 "in the order of k, l", {});
}

/// The order of commutative reducers is free, as before.
TEST(OrderedReducers, OthersMayBeReordered) {
  Workload w("sums");
  Tensor x = w.placeholder("X", {3, 24}, DType::u32);
  Reduce k = reduce_axis("k", 24);
  Schedule s(w.output({w.compute("Y", {3}, {"i"}, [&](Expr i) { return sum(x(i, k), k); })}));
  auto [outer, inner] = s.split<2>(s.loops(s.block("Y")).back(), {infer, 4});
  s.reorder({inner, outer});
  EXPECT_TRUE(same_meaning(s));
}

TEST(RfactorRefuses, PartsThatAreNoContiguousRanges) {
  Schedule s(affine_rows(5, 24));
  Loop inner = s.split<2>(s.loops(s.block("all")).back(), {infer, 4})[1];
  expect_refused(s, "rfactor.order", [&] { s.rfactor(inner); },
                 "composed is not commutative and block all also reduces over k_outer, which is outside of "
                 "k_inner, so the "
                 "terms of one iteration of k_inner are no contiguous range; use rfactor on k_outer",
                 {"k_outer", "k_inner", "all"});
}

} // namespace
} // namespace nestsmith
