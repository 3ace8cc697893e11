/// Tests the boxes of temporaries. A box ends where the guards of the accesses and the buffer end. Only tiles
/// of contractions stay whole.

#include "dsl/ir/allocation.h"
#include "dsl/ir/ceilings.h"
#include "dsl/ir/fill_tails.h"
#include "tests/dsl/support.h"

#include <functional>
#include <random>

namespace nestsmith {
namespace {

using test::same_meaning;

/// Returns a schedule of T = 3*X and Y[i] = read(T, i) for i < n.
Schedule elementwise(std::int64_t elements, std::int64_t n,
                     const std::function<Expr(const Tensor &, Expr)> &read) {
  Workload w("elementwise");
  Tensor x = w.placeholder("X", {elements}, DType::u32);
  Tensor t = w.compute("T", {elements}, {"i"}, [&](Expr i) -> Definition { return x(i) * 3; });
  Tensor y = w.compute("Y", {n}, {"i"}, [&](Expr i) -> Definition { return read(t, i); });
  return Schedule(w.output({y}));
}

std::int64_t extent_of(const Schedule &s, const char *block) {
  return s.extent(s.loops(s.block(block)).back());
}

/// Splits the loop of Y by `tile` and moves T to the outer loop. Returns the extent of the loop of T.
std::int64_t box_after_split(Schedule s, std::int64_t tile) {
  Loop outer = s.split(s.loops(s.block("Y"))[0], {infer, tile})[0];
  s.compute_at(s.block("T"), outer);
  EXPECT_TRUE(same_meaning(s));
  return extent_of(s, "T");
}

/// Returns the number of elements that lowering allocates for the temporary that the block writes.
std::int64_t allocated(const Schedule &s, const char *block) {
  Program filled = with_filled_tails(s.program());
  for (const Block *x : blocks_of(filled.body))
    if (x->id->name == block)
      return place(filled, x->body.buffer).elements;
  return 0;
}

TEST(GuardedBoxes, EndWhereTheGuardOfTheReaderEnds) {
  for (std::int64_t n : {1, 2, 4, 5, 31, 32, 33}) {
    std::int64_t needed = std::min<std::int64_t>(n, 32);
    EXPECT_EQ(box_after_split(elementwise(n, n, [](const Tensor &t, Expr i) { return t(i); }), 32), needed)
        << n;
    auto halves = [n](const Tensor &t, Expr i) { return t(i) + t(i + Expr(n)); };
    if (n < 32) {
      EXPECT_EQ(box_after_split(elementwise(2 * n, n, halves), 32), 2 * n) << n;
    }
  }
}

TEST(GuardedBoxes, FollowStridesQuotientsAndSumsOfLoops) {
  auto strided = [](const Tensor &t, Expr i) { return t(i * 2); };
  EXPECT_EQ(box_after_split(elementwise(40, 5, strided), 32), 5); // one loop over the elements that Y reads
  auto pairs = [](const Tensor &t, Expr i) { return t(i * 2) + t(i * 2 + 1); };
  EXPECT_LE(box_after_split(elementwise(40, 5, pairs), 32), 10);
  auto quotient = [](const Tensor &t, Expr i) { return t(floordiv(i, Expr(4))); };
  EXPECT_EQ(box_after_split(elementwise(40, 10, quotient), 64), 3);
  auto remainder = [](const Tensor &t, Expr i) { return t(floormod(i, Expr(16))); };
  EXPECT_EQ(box_after_split(elementwise(40, 10, remainder), 64), 10);
  auto masked = [](const Tensor &t, Expr i) { return t.where(i < 3, i + 1); };
  EXPECT_EQ(box_after_split(elementwise(40, 10, masked), 64), 3);
}

TEST(GuardedBoxes, EndAtTheGuardOfASum) {
  Workload w("sum");
  Tensor x = w.placeholder("X", {3, 8}, DType::u32);
  Tensor t = w.compute("T", {3, 8}, {"i", "k"}, [&](Expr i, Expr at) { return x(i, at) * 3; });
  Reduce k = reduce_axis("k", 8);
  Tensor y = w.compute("Y", {3}, {"i"}, [&](Expr i) { return sum(t(i, k), k); });
  Schedule s(w.output({y}));
  Loop outer = s.split(s.loops(s.block("Y"))[1], {infer, 256})[0];
  s.compute_at(s.block("T"), outer);
  EXPECT_TRUE(same_meaning(s));
  EXPECT_EQ(extent_of(s, "T"), 8);
  s.set_scope(s.block("T"), Scope::shared);
  EXPECT_EQ(allocated(s, "T"), 8);
}

/// The init of a sum executes even if the guard of the sum is false, so each partial sum needs an element.
TEST(GuardedBoxes, KeepPartialSumsOfNoTerm) {
  Workload w("sum");
  Tensor x = w.placeholder("X", {3, 8}, DType::u32);
  Reduce k = reduce_axis("k", 8);
  Tensor y = w.compute("Y", {3}, {"i"}, [&](Expr i) { return sum(x(i, k), k); });
  Schedule s(w.output({y}));
  BlockRef part = s.rfactor(s.split(s.loops(s.block("Y"))[1], {infer, 32})[1]);
  s.compute_at(part, s.loops(s.block("Y"))[0]);
  s.set_scope(part, Scope::shared);
  EXPECT_TRUE(same_meaning(s));
  EXPECT_EQ(allocated(s, "Y_rf"), 32);
}

TEST(GuardedBoxes, EndAtAGuardOfFusedLoops) {
  Workload w("fused");
  Tensor x = w.placeholder("X", {2, 4}, DType::u32);
  Tensor t = w.compute("T", {2, 4}, {"i", "j"}, [&](Expr i, Expr j) { return x(i, j) * 3; });
  Tensor y = w.compute("Y", {2, 4}, {"i", "j"}, [&](Expr i, Expr j) { return t(1 - i, j) + t(i, 3 - j); });
  Schedule s(w.output({y}));
  auto loops = s.loops(s.block("Y"));
  Loop outer = s.split(s.fuse(loops[0], loops[1]), {infer, 256})[0];
  s.compute_at(s.block("T"), outer);
  EXPECT_TRUE(same_meaning(s));
  auto box = s.loops(s.block("T"));
  EXPECT_EQ(s.extent(box[box.size() - 2]), 2);
  EXPECT_EQ(s.extent(box[box.size() - 1]), 4);
  s.set_scope(s.block("T"), Scope::shared);
  EXPECT_EQ(allocated(s, "T"), 8);
}

TEST(GuardedBoxes, DoNotDependOnTheOrderOfBindAndSetScope) {
  for (int how = 0; how < 4; ++how) {
    const std::int64_t n = 4096;
    auto near = [&](const Tensor &t, Expr i) {
      return t.where(1 <= i, i - 1) + t(i) + t.where(i < n - 1, i + 1);
    };
    Schedule s = elementwise(n, n, near);
    Loop outer = s.split(s.loops(s.block("Y"))[0], {infer, 256})[0];
    BlockRef t = s.block("T");
    if (how != 1)
      s.bind(outer, Axis::block_x);
    if (how == 2)
      s.set_scope(t, Scope::shared);
    s.compute_at(t, outer);
    if (how != 2 && how != 3)
      s.set_scope(t, Scope::shared);
    if (how == 1)
      s.bind(outer, Axis::block_x);
    EXPECT_EQ(extent_of(s, "T"), 258) << how;
    EXPECT_TRUE(same_meaning(s));
    bool owes = !s.obligations().empty(); // in global memory, several blocks write the same elements
    EXPECT_EQ(owes, how == 3) << how;
  }
}

/// Y reads from both ends, in either order. The distance of the two boxes is not known.
TEST(GuardedBoxes, AllocateWhatIsNeededForThreadsPastTheEnd) {
  for (const char *kind : {"compute", "cache", "turned cache"})
    for (std::int64_t n : {1, 2, 7, 255, 256}) {
      Workload w("small");
      Tensor x = w.placeholder("X", {n}, DType::u32);
      Tensor t = w.compute("T", {n}, {"i"}, [&](Expr i) { return x(i) * 3; });
      Tensor y = w.compute("Y", {n}, {"i"}, [&](Expr i) {
        Expr turned = t(Expr(n - 1) - i);
        return std::string_view(kind) == "turned cache" ? x(i) + turned : turned + x(i);
      });
      Schedule s(w.output({y}));
      auto [block, thread] = s.split(s.loops(s.block("Y"))[0], {infer, 256});
      bool cached = std::string_view(kind) != "compute";
      BlockRef moved = cached ? s.cache_read(s.block("Y"), "X", Scope::shared) : s.block("T");
      if (cached)
        s.compute_inline(s.block("T"));
      s.compute_at(moved, block);
      s.set_scope(moved, Scope::shared);
      EXPECT_EQ(extent_of(s, moved.id->name.c_str()), n);
      s.bind(s.split(s.loops(moved).back(), {infer, 256})[1], Axis::thread_x);
      s.bind(block, Axis::block_x);
      s.bind(thread, Axis::thread_x);
      EXPECT_TRUE(same_meaning(s));
      EXPECT_TRUE(s.obligations().empty());
      EXPECT_EQ(allocated(s, moved.id->name.c_str()), n) << kind << " " << n;
    }
}

/// The operands and the result of a matrix product keep whole tiles, so the inner loops need no guards.
TEST(GuardedBoxes, KeepTheTilesOfContractions) {
  Schedule s(test::product(5, 7, 3));
  BlockRef c = s.block("C");
  BlockRef out = s.cache_write(c, Scope::local);
  auto loops = s.loops(c);
  auto [io, ii] = s.split(loops[0], {infer, 16});
  auto [jo, ji] = s.split(loops[1], {infer, 16});
  auto [ko, ki] = s.split(loops[2], {infer, 8});
  s.reorder({io, jo, ko, ii, ji, ki});
  BlockRef a = s.cache_read(c, "A", Scope::shared);
  s.compute_at(a, ko);
  s.reverse_compute_at(out, jo);
  EXPECT_TRUE(same_meaning(s));
  EXPECT_EQ(allocated(s, a.id->name.c_str()), 16 * 8);
  EXPECT_EQ(allocated(s, "C"), 16 * 16);
  EXPECT_EQ(extent_of(s, out.id->name.c_str()), 16);
}

/// The result of any other sum keeps whole tiles only in registers, where they make the guards of the sum
/// unnecessary.
TEST(GuardedBoxes, KeepTheTilesOfSumsInRegistersOnly) {
  for (Scope scope : {Scope::local, Scope::shared}) {
    Workload w("rows");
    Tensor x = w.placeholder("X", {3, 8}, DType::u32);
    Reduce k = reduce_axis("k", 8);
    Tensor t = w.compute("T", {3}, {"i"}, [&](Expr i) { return sum(x(i, k), k); });
    Tensor y = w.compute("Y", {3}, {"i"}, [&](Expr i) { return t(i) + 1; });
    Schedule s(w.output({y}));
    s.set_scope(s.block("T"), scope);
    Loop outer = s.split(s.loops(s.block("T"))[0], {infer, 4})[0];
    s.reverse_compute_at(s.block("Y"), outer);
    EXPECT_TRUE(same_meaning(s));
    EXPECT_EQ(allocated(s, "T"), scope == Scope::local ? 4 : 3);
  }
}

TEST(GuardedBoxes, EndTheReaderThatMovesToAProducer) {
  for (std::int64_t n : {1, 2, 5, 31, 32, 33}) {
    Schedule s = elementwise(n, n, [](const Tensor &t, Expr i) { return t(i); });
    Loop outer = s.split(s.loops(s.block("T"))[0], {infer, 32})[0];
    s.reverse_compute_at(s.block("Y"), outer);
    EXPECT_TRUE(same_meaning(s));
    EXPECT_EQ(extent_of(s, "Y"), std::min<std::int64_t>(n, 32)) << n;
  }
  Schedule slice = elementwise(12, 5, [](const Tensor &t, Expr i) { return t(i); });
  Loop outer = slice.split(slice.loops(slice.block("T"))[0], {infer, 32})[0];
  slice.reverse_compute_at(slice.block("Y"), outer);
  EXPECT_TRUE(same_meaning(slice));
  EXPECT_EQ(extent_of(slice, "Y"), 5);
}

/// The loops cover the axis more than once, so the guard cuts the tile.
TEST(GuardedBoxes, MoveAReaderToATileThatIsCut) {
  Schedule s = elementwise(5, 5, [](const Tensor &t, Expr i) { return t(i); });
  Loop outer = s.split(s.loops(s.block("T"))[0], {2, 2, 4})[0];
  s.reverse_compute_at(s.block("Y"), outer);
  EXPECT_TRUE(same_meaning(s));
}

/// Compares the bound with the values of the variables for which the conditions are true.
TEST(GuardedBoxes, BoundsHoldForAllValues) {
  std::mt19937 random(7);
  auto any = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  int tight = 0, cases = 0;
  for (int n = 0; n < 300; ++n) {
    std::vector<Var> vars{make_var("x"), make_var("y"), make_var("z")};
    Bounds bounds;
    for (const Var &var : vars)
      bounds.set(var, {0, any(0, 6)});
    auto sum = [&] {
      Expr e = 0;
      for (const Var &var : vars)
        e = e + Expr(any(-1, 3)) * Expr(var);
      std::int64_t kind = any(0, 3), divisor = any(2, 4);
      return simplify(kind == 0   ? floordiv(e, Expr(divisor))
                      : kind == 1 ? floormod(e, Expr(divisor)) + e
                                  : e,
                      bounds);
    };
    Expr wanted = sum();
    std::vector<Expr> conditions{sum(), sum()};
    std::vector<Ceiling> ceilings;
    for (const Expr &e : conditions)
      ceilings.push_back({linearize(e, bounds), any(0, 8)});
    auto bound = highest_below(linearize(wanted, bounds), ceilings, bounds);
    std::optional<std::int64_t> greatest;
    auto last = [&](int v) { return bounds.find(vars[static_cast<std::size_t>(v)])->high; };
    for (std::int64_t x = 0; x <= last(0); ++x)
      for (std::int64_t y = 0; y <= last(1); ++y)
        for (std::int64_t z = 0; z <= last(2); ++z) {
          auto value = [&](const Expr &e) {
            return as_int(simplify(substitute(e,
                                              [&](const Var &var) {
                                                return var == vars[0]   ? Expr(x)
                                                       : var == vars[1] ? Expr(y)
                                                                        : Expr(z);
                                              })))
                .value();
          };
          bool holds = true;
          for (std::size_t c = 0; c < conditions.size(); ++c)
            holds = holds && value(conditions[c]) <= ceilings[c].most;
          if (holds)
            greatest = std::max(greatest.value_or(value(wanted)), value(wanted));
        }
    if (!greatest || !bound)
      continue;
    EXPECT_LE(*greatest, *bound) << to_string(wanted);
    ++cases;
    tight += *greatest == *bound;
  }
  EXPECT_GT(cases, 200);
  EXPECT_GT(tight, cases / 4);
}

} // namespace
} // namespace nestsmith
