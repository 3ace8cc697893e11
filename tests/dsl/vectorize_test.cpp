/// Tests vectorize: the resulting program, the refusals and the obligations.

#include "dsl/hardware/vector_access.h"
#include "tests/dsl/support.h"

#include <limits>
#include <utility>

namespace nestsmith {
namespace {

using test::chain;
using test::contains;
using test::expect_refused;
using test::gemm;
using test::product;

/// C = A*B. Each step of 8 of k copies a tile of 8 rows of A to shared memory in groups of 4.
struct VectorTile {
  Schedule s;
  BlockRef tile;
  Loop lanes;
  explicit VectorTile(std::int64_t m, std::int64_t n, std::int64_t k) : s(product(m, n, k)) {
    auto C = s.block("C");
    auto [i_outer, i_inner] = s.split(s.loop("i"), {infer, 8});
    auto [k_outer, k_inner] = s.split(s.loop("k"), {infer, 8});
    s.reorder({i_outer, k_outer, i_inner, s.loop("j"), k_inner});
    tile = s.cache_read(C, "A", Scope::shared);
    s.compute_at(tile, k_outer);
    lanes = s.split(s.loops(tile).back(), {infer, 4})[1];
  }
};

TEST(Vectorize, IsPrintedAndKeepsTheMeaning) {
  VectorTile t(16, 5, 24);
  t.s.vectorize(t.lanes);
  EXPECT_TRUE(contains(print(t.s.program()), "for ax_A_k_inner < 4 vectorized:\n")) << print(t.s.program());
  EXPECT_EQ(to_cpp(t.s.trace().back()), "s.vectorize(ax_A_k_inner);");
  EXPECT_TRUE(test::same_meaning(t.s));
  EXPECT_TRUE(t.s.obligations().empty()) << t.s.obligations()[0].message;
}

TEST(VectorizeRefuses, LoopThatIsNotSerial) {
  VectorTile t(16, 5, 24);
  t.s.vectorize(t.lanes);
  expect_refused(t.s, "vectorize.serial", [&] { t.s.vectorize(t.lanes); },
                 "is vectorized, expected a serial loop", {t.s.name(t.lanes)});
  expect_refused(t.s, "unroll.serial", [&] { t.s.unroll(t.lanes); }, "do this before it is vectorized",
                 {t.s.name(t.lanes)});
}

TEST(VectorizeRefuses, WidthsThatNoVectorHas) {
  for (std::int64_t lanes : {3, 8}) {
    Schedule s(chain(6, 24));
    Loop inner = s.split(s.loop("j"), {infer, lanes})[1];
    expect_refused(
        s, "vectorize.width", [&] { s.vectorize(inner); },
        "iterations, and a vector of u32 has 2 or 4 elements; split it so that the inner part has 4 iterations",
        {"j_inner"});
  }
}

/// y = x, converted from `in` to `out`.
Schedule converted(DType in, DType out, std::int64_t lanes) {
  Workload w("store");
  Tensor x = w.placeholder("x", {48}, in);
  Tensor y = w.compute("y", {48}, {"i"}, [&](Expr i) { return cast(out, cast(DType::f32, x(i))); });
  Schedule s(w.output({y}));
  s.split(s.loop("i"), {infer, lanes});
  return s;
}

TEST(Vectorize, ElementsOfTwoBytes) {
  for (std::int64_t lanes : {2, 4, 8}) {
    Schedule s = converted(DType::f16, DType::bf16, lanes);
    s.vectorize(s.loop("i_inner"));
    EXPECT_TRUE(s.obligations().empty());
  }
}

TEST(VectorizeRefuses, WidthsThatNoVectorOfTwoBytesHas) {
  for (std::int64_t lanes : {3, 16}) {
    Schedule s = converted(DType::f16, DType::bf16, lanes);
    expect_refused(s, "vectorize.width", [&] { s.vectorize(s.loop("i_inner")); },
                   "the loop i_inner has " + std::to_string(lanes) +
                       " iterations, and a vector of bf16 has 2, 4 or 8 elements; split it so that the inner "
                       "part has 8 iterations",
                   {"i_inner"});
  }
  Schedule reads = converted(DType::f32, DType::f16, 8), writes = converted(DType::f16, DType::f32, 8);
  expect_refused(reads, "vectorize.width", [&] { reads.vectorize(reads.loop("i_inner")); },
                 "block y reads x in vectors of 8 elements of f32, but a vector of this type has 2 or 4 "
                 "elements; leave the loop serial",
                 {"i_inner", "y"});
  expect_refused(writes, "vectorize.width", [&] { writes.vectorize(writes.loop("i_inner")); },
                 "and a vector of f32 has 2 or 4 elements", {"i_inner"});
}

TEST(VectorizeRefuses, ElementsOfTwoBytesThatAreNotAligned) {
  Workload w("shifted");
  Tensor x = w.placeholder("x", {3, 20}, DType::f16);
  Tensor y = w.compute("y", {3, 16}, {"i", "j"}, [&](Expr i, Expr j) -> Definition { return x(i, j + 4); });
  Schedule s(w.output({y}));
  Loop eight = s.split(s.loop("j"), {infer, 8})[1];
  expect_refused(s, "vectorize.aligned", [&] { s.vectorize(eight); },
                 "which is not always a multiple of 8: rows of 20 elements are not aligned to it; use a scalar "
                 "loop for this shape",
                 {"j_inner", "y"});
  s.vectorize(s.split(eight, {infer, 4})[1]);
}

TEST(VectorizeRefuses, LoopsWithMoreBelow) {
  Schedule s(chain(4, 8));
  expect_refused(s, "vectorize.innermost", [&] { s.vectorize(s.loop("i")); },
                 "the loop i contains other loops or several blocks, but a vectorized loop is the innermost "
                 "loop of a single block; reorder or split so that i is innermost",
                 {"i"});
}

TEST(VectorizeRefuses, LanesThatShareAnElement) {
  Schedule s(product(4, 4, 4));
  expect_refused(s, "vectorize.spatial", [&] { s.vectorize(s.loop("k")); },
                 "the iterations of k do not write distinct elements of C, as the lanes of a vector must",
                 {"k", "C"});
}

TEST(VectorizeRefuses, ParametersAlongTheirRows) {
  Schedule s(chain(8, 12));
  Loop lanes = s.split(s.loop("i"), {infer, 4})[1];
  s.reorder({s.loop("j"), lanes});
  expect_refused(
      s, "vectorize.contiguous", [&] { s.vectorize(lanes); },
      "block T reads X with a stride of 12 along i_inner, expected contiguous elements; vectorize the "
      "loop over its last dimension",
      {"i_inner", "T"});
}

TEST(VectorizeRefuses, Registers) {
  Schedule s(chain(8, 4));
  s.set_scope(s.block("T"), Scope::local);
  s.set_scope(s.block("U"), Scope::local);
  Loop j = s.loops(s.block("U")).back();
  expect_refused(s, "vectorize.memory", [&] { s.vectorize(j); },
                 "block U accesses registers only, and vector accesses need memory; unroll U_j instead",
                 {"U_j", "U"});
}

TEST(VectorizeRefuses, GuardsThatSplitAVector) {
  VectorTile t(16, 5, 1023);
  expect_refused(t.s, "vectorize.uniform", [&] { t.s.vectorize(t.lanes); },
                 "block A_shared has the guard A_k < 1023, which may differ between the 4 lanes of "
                 "ax_A_k_inner that start at A_k = ",
                 {t.s.name(t.lanes), "A_shared"});
  expect_refused(t.s, "vectorize.uniform", [&] { t.s.vectorize(t.lanes); },
                 "the bound 1023 and each start must be multiples of 4; use a scalar loop for this shape", {});
}

/// The sum x + 2^63 - 1 wraps around, so the mask is true exactly if x > 0. The difference of its sides is
/// constant without wrap-around.
TEST(VectorizeRefuses, MasksOnDataThatDifferBetweenLanes) {
  Workload w("wraps");
  Tensor x = w.placeholder("X", {8, 16}, DType::i64), z = w.placeholder("Z", {8}, DType::u32);
  Tensor y = w.compute("Y", {8, 16}, {"i", "j"}, [&](Expr i, Expr j) {
    return z.where(x(i, j) + std::numeric_limits<std::int64_t>::max() < x(i, j), i);
  });
  Schedule s(w.output({y}));
  Loop lanes = s.split(s.loop("j"), {infer, 4})[1];
  expect_refused(
      s, "vectorize.uniform", [&] { s.vectorize(lanes); },
      "block Y reads under the mask X[i, j] + 9223372036854775807 < X[i, j], which may differ between "
      "the 4 lanes of j_inner; vectorize another loop",
      {"j_inner", "Y"});
}

/// The proof must not depend on the form of the condition, because lowering does not simplify indices of data.
TEST(Uniform, IsAConditionOnDataThatAllLanesRead) {
  Workload w("data");
  Tensor x = w.placeholder("X", {8}, DType::u32);
  Var outer = make_var("outer"), lane = make_var("lane");
  Bounds bounds;
  bounds.set_extent(outer, 8);
  bounds.set_extent(lane, 4);
  Expr i = Expr(outer) * 4 + Expr(lane);
  EXPECT_TRUE(is_uniform(x(i / 4) <= x(i / 4), lane, 4, bounds));
  EXPECT_TRUE(is_uniform(x(i / 8) < x(i / 4) && x(outer) <= x(0), lane, 4, bounds));
  EXPECT_FALSE(is_uniform(x(i / 2) < x(i / 4), lane, 4, bounds));
  EXPECT_FALSE(is_uniform(x(i) - 1 < x(i), lane, 4, bounds));
}

TEST(VectorizeRefuses, ParametersThatAreNotAligned) {
  Workload w("window");
  Tensor x = w.placeholder("X", {8, 13}, DType::u32);
  Tensor y = w.compute("Y", {8, 12}, {"i", "j"}, [&](Expr i, Expr j) { return x(i, j) + 1; });
  Schedule s(w.output({y}));
  Loop lanes = s.split(s.loop("j"), {infer, 4})[1];
  expect_refused(
      s, "vectorize.aligned", [&] { s.vectorize(lanes); },
      "block Y reads X in vectors of 4 elements from the offset i*13 + j_outer*4, which is not always a "
      "multiple of 4: rows of 13 elements are not aligned to it; use a scalar loop for this shape",
      {"j_inner", "Y"});
}

TEST(VectorizeRefuses, StartsThatAreNotAligned) {
  Workload w("shifted");
  Tensor x = w.placeholder("X", {8, 16}, DType::u32);
  Tensor y = w.compute("Y", {8, 12}, {"i", "j"}, [&](Expr i, Expr j) { return x(i, j + 1) * 3; });
  Schedule s(w.output({y}));
  Loop lanes = s.split(s.loop("j"), {infer, 4})[1];
  expect_refused(s, "vectorize.aligned", [&] { s.vectorize(lanes); },
                 "from the offset i*16 + j_outer*4 + 1, which is not always a multiple of 4", {"j_inner", "Y"});
}

/// Returns the obligation on the loop of this name, or "" if there is none.
std::string owed(const Schedule &s, const std::string &loop, const std::string &by) {
  for (const Obligation &owed : s.obligations())
    if (owed.culprit == loop) {
      EXPECT_EQ(to_cpp(s.trace()[owed.directive - 1]), by);
      return owed.message;
    }
  return "";
}

/// Rows of 8 elements start at multiples of 4. With a padding to 9 elements they do not, and to 12 elements
/// they do.
TEST(VectorizeOwes, AlignmentOfTilesThatALaterLayoutDecides) {
  for (auto [offset, aligned] : {std::pair{1, false}, std::pair{2, false}, std::pair{4, true}}) {
    VectorTile t(16, 5, 24);
    t.s.vectorize(t.lanes);
    t.s.storage_align(t.tile, 0, 8, offset);
    std::string message = owed(t.s, t.s.name(t.lanes), "s.vectorize(ax_A_k_inner);");
    if (aligned)
      EXPECT_EQ(message, "");
    else
      EXPECT_TRUE(
          contains(message, "block A_shared writes A_shared in vectors of 4 elements from the offset ") &&
          contains(message, "which is not always a multiple of 4; pad A_shared or change its layout so "
                            "that its rows are aligned to it, or leave ax_A_k_inner serial"))
          << message;
  }
}

/// The swizzle uses bits that the index does not have, so it changes nothing. Rows of 9 elements are not
/// aligned.
TEST(VectorizeOwes, AlignmentOfTilesThatASwizzleLeavesAsTheyAre) {
  VectorTile t(16, 5, 24);
  Loop rows = t.s.loops(t.tile)[2];
  t.s.split(rows, {infer, 8}); // a loop of one iteration must not hide the misalignment
  t.s.vectorize(t.lanes);
  t.s.storage_align(t.tile, 0, 8, 1);
  t.s.swizzle(t.tile, 1, 3, 5);
  std::string message = owed(t.s, t.s.name(t.lanes), "s.vectorize(ax_A_k_inner);");
  EXPECT_TRUE(contains(message, "block A_shared writes A_shared in vectors of 4 elements from the offset "
                                "ax_A_i_inner*9 + ax_A_k_outer*4, which is not always a multiple of 4"))
      << message;
}

TEST(VectorizeOwes, NothingWhereASwizzleKeepsNeighbours) {
  for (std::int64_t base : {0, 1, 2}) {
    VectorTile t(16, 5, 24);
    t.s.vectorize(t.lanes);
    t.s.swizzle(t.tile, 2, base, 3);
    // A is loaded by vectors for each base. With base 2, the tile is also stored by vectors.
    EXPECT_EQ(owed(t.s, t.s.name(t.lanes), ""), "");
    EXPECT_TRUE(test::same_meaning(t.s));
  }
}

TEST(VectorizeOwes, NothingWhereATileIsTransposed) {
  VectorTile t(16, 5, 24);
  t.s.transform_layout(t.tile, "i, k -> k, i");
  t.s.vectorize(t.lanes);
  EXPECT_EQ(owed(t.s, t.s.name(t.lanes), ""), "");
}

TEST(VectorizeOwes, SomethingContiguous) {
  // The lanes are not contiguous along the rows of a tile. A later layout could change this.
  Schedule s(chain(16, 16));
  auto T = s.block("T"), U = s.block("U");
  s.set_scope(T, Scope::shared);
  s.set_scope(U, Scope::local);
  Loop i = s.loops(U)[0], j = s.loops(U)[1];
  auto [outer, lanes] = s.split(i, {infer, 4});
  s.reorder({outer, j, lanes});
  s.compute_at(T, outer);
  s.vectorize(lanes);
  EXPECT_EQ(owed(s, s.name(lanes), "s.vectorize(U_i_inner);"),
            "no memory access of block U is contiguous along U_i_inner, so there is no vector; lay out a tile "
            "along the loop with transform_layout, or leave the loop serial");
  s.transform_layout(T, "i, j -> j, i");
  EXPECT_EQ(owed(s, s.name(lanes), ""), "");
}

TEST(Vectorize, KeepsItsOneBlock) {
  Schedule s(chain(8, 4));
  s.vectorize(s.loop("j"));
  expect_refused(s, "any.lanes", [&] { s.reverse_compute_at(s.block("U"), s.loop("j")); },
                 "the loop j is vectorized and must contain exactly one block, but this directive would add "
                 "loops or blocks below it; apply it before j is vectorized, or choose a loop outside of j",
                 {"j"});
}

} // namespace
} // namespace nestsmith
