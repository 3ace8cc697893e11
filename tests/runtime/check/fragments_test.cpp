/// Tests fragments in schedules: registers that an intrinsic reads as words, and copies that several lanes
/// hold.

#include "dsl/ir/tensor.h"
#include "tests/runtime/check/right.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using test::expect_right;
using testing::AllOf;
using testing::HasSubstr;

std::string owed_by(const Schedule &s) {
  std::string all;
  for (const Obligation &obligation : s.obligations())
    all += obligation.message + "\n";
  return all;
}

// ---- registers that an intrinsic reads as words

/// Returns the product of 16 x K and K x 8 elements by one warp. It loads all of A to one fragment with this
/// layout. Step k of the product starts at register `step`*k of a lane.
Schedule one_warp(std::int64_t columns, std::int64_t step) {
  Workload w("one_warp");
  Tensor a = w.placeholder("A", {16, columns}, DType::f16), b = w.placeholder("B", {columns, 8}, DType::f16);
  Reduce k = reduce_axis("k", columns);
  Tensor c = w.compute("C", {16, 8}, {"i", "j"}, [&](Expr i, Expr j) {
    return sum(cast(DType::f32, a(i, k)) * cast(DType::f32, b(k, j)), k);
  });
  Schedule s(w.output({c}));
  auto C = s.block("C");
  auto out = s.cache_write(C, Scope::warp);
  s.transform_layout(C, "i, j -> i%8*4 + j%8//2, i%16//8, j%2");
  auto [i, j, kk] = s.loops<3>(C);
  auto [i_outer, i_inner] = s.split(i, {infer, 16});
  auto [k_outer, k_inner] = s.split(kk, {infer, 16});
  s.reorder({i_outer, k_outer, i_inner, j, k_inner});
  s.bind(i_outer, Axis::warp);
  auto A = s.cache_read(C, "A", Scope::warp), B = s.cache_read(C, "B", Scope::warp);
  s.transform_layout(A, "i, k -> i%8*4 + k%8//2, k//16*" + std::to_string(step) +
                            " + k%16//8*4 + i%16//8*2 + k%2");
  s.transform_layout(B, "k, j -> j%8*4 + k%8//2, k//8, k%2");
  for (BlockRef block : {A, B})
    s.compute_at(block, i_outer);
  s.reverse_compute_at(out, i_outer);
  auto rows = s.loops_below(A, i_outer), columns_of_b = s.loops_below(B, i_outer);
  auto by_lanes = [&](Loop row, Loop column, std::int64_t in_word) {
    auto [row_outer, row_lane] = s.split(row, {infer, 8});
    auto [word, lane, in] = s.split(column, {infer, 4, in_word});
    s.reorder({row_lane, lane, row_outer, word, in});
    s.bind(s.fuse(row_lane, lane), Axis::lane);
  };
  by_lanes(rows[0], rows[1], 2);
  by_lanes(columns_of_b[1], columns_of_b[0], 2);
  auto init = s.loops_below(s.decompose_reduction(C, k_outer), i_outer), results = s.loops_below(out, i_outer);
  by_lanes(init[0], init[1], 2);
  by_lanes(results[0], results[1], 2);
  s.tensorize(i_inner, "mma_m16n8k16");
  return s;
}

TEST(FragmentWords, StartAtRegistersThatTheIntrinsicCanTake) {
  for (std::int64_t columns : {16, 32, 48})
    for (std::int64_t step : {8, 10, 12}) {
      Schedule s = one_warp(columns, step);
      ASSERT_EQ(owed_by(s), "") << columns << " " << step;
      expect_right(s);
    }
  expect_right(one_warp(16, 9)); // one step, at register 0
}

TEST(FragmentWords, OweRegistersThatStartAWord) {
  for (std::int64_t step : {9, 11, 13})
    EXPECT_THAT(
        owed_by(one_warp(32, step)),
        AllOf(HasSubstr("starts the operand a of the call of mma_m16n8k16 at i_inner at register k_outer*" +
                        std::to_string(step) + ", which is not always a multiple of 2 elements (4 bytes)"),
              HasSubstr("use transform_layout with the map \"i, j -> i%8*4 + j//2%4, j//16, j//8%2*4 + ")));
  EXPECT_THROW((void)lower(one_warp(32, 9)), UserError);
}

// ---- copies that several lanes hold

struct Copies {
  std::string layout = "a, b, r -> r, b"; ///< every lane has a copy
  std::int64_t columns = 32;              ///< of T
  bool by_lanes = true;                   ///< whether the loop over the columns of T is bound to lanes
};

/// Y[i, j] = T[i, read(j)], where T = 2*X is a fragment.
Schedule copied(const Copies &x, const std::function<Expr(Expr)> &read, std::int64_t rows = 3) {
  Workload w("copied");
  Tensor X = w.placeholder("X", {rows, x.columns});
  Tensor T = w.compute("T", {rows, x.columns}, {"a", "b"}, [&](Expr a, Expr b) { return X(a, b) * 2; });
  Tensor Y = w.compute("Y", {rows, 32}, {"i", "j"}, [&](Expr i, Expr j) { return T(i, read(j)); });
  Schedule s(w.output({Y}));
  auto [i, j] = s.loops<2>(s.block("Y"));
  auto block = s.block("T");
  s.set_scope(block, Scope::warp);
  s.compute_at(block, i);
  s.bind(i, Axis::block_x);
  s.bind(j, Axis::lane);
  if (x.by_lanes)
    s.bind(s.split(s.loops_below(block, i).back(), {infer, 32})[1], Axis::lane);
  s.transform_layout(block, x.layout);
  return s;
}

TEST(Replicas, AreReadByTheLanesThatWroteThem) {
  EXPECT_EQ(owed_by(copied({}, [](const Expr &j) { return j; })), "");
  expect_right(copied({}, [](const Expr &j) { return j; }));
  // Every lane writes all of its copies, so every read is correct.
  for (std::int64_t columns : {1, 7, 32})
    for (const auto &read :
         std::vector<std::function<Expr(Expr)>>{[=](const Expr &j) { return floormod(j, columns); },
                                                [=](const Expr &j) { return floormod(31 - j, columns); }}) {
      Schedule s = copied({.columns = columns, .by_lanes = false}, read);
      ASSERT_EQ(owed_by(s), "") << columns;
      expect_right(s);
    }
}

TEST(Replicas, OweTheLanesThatReadThem) {
  EXPECT_THAT(
      owed_by(copied({}, [](const Expr &j) { return 31 - j; })),
      HasSubstr("32 lanes have copies of each element of T, and block Y reads the copy of element (0, 0) "
                "in lane 31, but block T writes this element in lane 0 only; leave the loops of T serial, "
                "so that every lane writes its copy, or split and bind the loops of T and Y so that each "
                "lane reads only what it wrote"));
  for (std::int64_t columns : {1, 5, 16, 31})
    EXPECT_THAT(owed_by(copied({.columns = columns}, [=](const Expr &j) { return floormod(j, columns); })),
                HasSubstr("block T writes this element in lane 0 only"))
        << columns;
  EXPECT_THAT(owed_by(copied({}, [](const Expr &j) { return floordiv(j, 2); })), HasSubstr("reads the copy"));
}

/// T[i, b] is the sum of 4 elements. The init and the update run in every lane, or in lane b only.
Schedule sums(bool update_by_lanes, bool init_by_lanes, const std::function<Expr(Expr)> &read) {
  Workload w("sums");
  Tensor X = w.placeholder("X", {3, 32, 4});
  Reduce k = reduce_axis("k", 4);
  Tensor T = w.compute("T", {3, 32}, {"a", "b"}, [&](Expr a, Expr b) { return sum(X(a, b, k), k); });
  Tensor Y = w.compute("Y", {3, 32}, {"i", "j"}, [&](Expr i, Expr j) { return T(i, read(j)); });
  Schedule s(w.output({Y}));
  auto [i, j] = s.loops<2>(s.block("Y"));
  auto block = s.block("T");
  s.set_scope(block, Scope::warp);
  s.compute_at(block, i);
  s.bind(i, Axis::block_x);
  s.bind(j, Axis::lane);
  auto loops = s.loops_below(block, i);
  s.reorder({loops[loops.size() - 1], loops[loops.size() - 2]});
  auto init = s.decompose_reduction(block, s.loops_below(block, i)[loops.size() - 2]);
  if (update_by_lanes)
    s.bind(s.loops_below(block, i).back(), Axis::lane);
  if (init_by_lanes)
    s.bind(s.loops_below(init, i).back(), Axis::lane);
  s.transform_layout(block, "a, b, r -> r, b");
  return s;
}

TEST(Replicas, OfSumsAreWrittenByTheInitAndTheUpdate) {
  auto own = [](const Expr &j) { return j; };
  auto other = [](const Expr &j) { return 31 - j; };
  for (bool init_by_lanes : {false, true}) {
    EXPECT_EQ(owed_by(sums(true, init_by_lanes, own)), "");
    expect_right(sums(true, init_by_lanes, own));
    // The other lanes have only executed the init, or nothing.
    EXPECT_THAT(owed_by(sums(true, init_by_lanes, other)),
                HasSubstr("block Y reads the copy of element (0, 0)"));
  }
  EXPECT_EQ(owed_by(sums(false, false, other)), "");
  expect_right(sums(false, false, other));
  EXPECT_THAT(
      owed_by(sums(false, true, own)),
      HasSubstr("block T reads the copy of element (0, 0) in lane 1, but block T_init writes this element "
                "in lane 0 only"));
}

/// warp_sum adds to a total in each lane, so the init must run in each lane.
TEST(Replicas, OfTotalsAreInitialisedInEachLane) {
  for (bool init_by_lanes : {false, true}) {
    Workload w("totals");
    Tensor X = w.placeholder("X", {64, 64});
    Reduce k = reduce_axis("k", 64);
    Schedule s(w.output({w.compute("Y", {64}, {"i"}, [&](Expr i) { return sum(X(i, k), k); })}));
    auto Y = s.block("Y"), out = s.cache_write(Y, Scope::warp);
    auto [rows, kk] = s.loops<2>(Y);
    auto [i_outer, i] = s.split(rows, {infer, 32});
    auto [step, lane] = s.split(kk, {infer, 32});
    auto fragment = s.cache_read(Y, "X", Scope::warp);
    s.compute_at(fragment, step);
    s.transform_layout(fragment, "i, k -> k%32, i");
    s.bind(s.loops_below(fragment, step).back(), Axis::lane);
    s.transform_layout(Y, "i, r -> r, i");
    s.reverse_compute_at(out, i_outer);
    s.bind(i_outer, Axis::block_x);
    s.bind(s.loops_below(out, i_outer).back(), Axis::lane);
    auto init = s.decompose_reduction(Y, i);
    if (init_by_lanes)
      s.bind(s.loops_below(init, i_outer).back(), Axis::lane);
    s.tensorize(lane, "warp_sum");
    if (init_by_lanes) {
      EXPECT_THAT(owed_by(s),
                  HasSubstr("block Y reads the copy of element (0) in lane 1, but block Y_init writes "
                            "this element in lane 0 only"));
    } else {
      EXPECT_EQ(owed_by(s), "");
      expect_right(s);
    }
  }
}

} // namespace
} // namespace nestsmith
