/// Tests cut: the parts of a loop, their blocks and temporaries, the meaning at every point, and refusals.

#include "tests/dsl/affine_rows.h"
#include "tests/dsl/support.h"

#include <fmt/format.h>

namespace nestsmith {
namespace {

using test::contains;
using test::expect_refused;
using test::product;
using test::same_meaning;

std::string names_of(const std::vector<BlockRef> &blocks) {
  std::string names;
  for (BlockRef block : blocks)
    names += (names.empty() ? "" : " ") + Schedule::name(block);
  return names;
}

TEST(Cut, MakesConsecutiveLoops) {
  Schedule s(product(2, 3, 10));
  auto [first, middle, last] = s.cut(s.loop("k"), {3, -2});
  EXPECT_EQ(s.name(first) + " " + s.name(middle) + " " + s.name(last), "k_part0 k_part1 k_part2");
  EXPECT_EQ("\n" + print(s.program().body), R"(
for i < 2:
  for j < 3:
    for k_part0 < 3:
      block C(i = i, j = j, sum k = k_part0):
        init C[i, j] = 0
        C[i, j] = C[i, j] + A[i, k]*B[k, j]
    for k_part1 < 5:
      block C_part1(i = i, j = j, sum k = k_part1 + 3):
        C[i, j] = C[i, j] + A[i, k]*B[k, j]
    for k_part2 < 2:
      block C_part2(i = i, j = j, sum k = k_part2 + 8):
        C[i, j] = C[i, j] + A[i, k]*B[k, j]
)");
  EXPECT_EQ(names_of(s.blocks_below(middle)), "C_part1");
  EXPECT_EQ(names_of(s.blocks_below(s.loop("i"))), "C C_part1 C_part2");
  EXPECT_TRUE(same_meaning(s));
}

TEST(Cut, KeepsTheMeaningAtEveryPointOfEveryLoop) {
  for (auto [m, n, k] : {std::array{2, 3, 5}, std::array{5, 2, 3}, std::array{3, 7, 2}})
    for (const char *name : {"i", "j", "k", "k_outer", "k_inner"}) {
      Schedule whole(product(m, n, k));
      if (std::string_view(name).size() > 1) {
        auto [outer, inner] = whole.split(whole.loop("k"), {infer, 2});
        whole.reorder({outer, whole.loop("i"), inner});
      }
      for (std::int64_t point = 1; point < whole.extent(whole.loop(name)); ++point) {
        Schedule s = whole;
        auto parts = s.cut(s.loop(name), {point});
        EXPECT_TRUE(same_meaning(s)) << name << " " << point;
        for (Loop part : parts) // a part is a loop as any other
          if (s.extent(part) % 2 == 0)
            s.split(part, {infer, 2});
        EXPECT_TRUE(same_meaning(s)) << name << " " << point;
      }
    }
}

TEST(Cut, OfAPartIsAnotherCut) {
  Schedule s(product(4, 3, 9));
  auto [head, rest] = s.cut(s.loop("k"), {4});
  s.cut(rest, {1, 3});
  s.cut(s.loop("i"), {-1});
  EXPECT_EQ(names_of(s.blocks_below(s.loop("i_part1"))),
            "C_part1_1 C_part1_part1_1 C_part1_part1_part1 C_part1_part2_part1");
  EXPECT_TRUE(same_meaning(s));
}

/// The terms keep their order, which a reducer that is not commutative shows.
TEST(Cut, KeepsTheOrderOfTheTerms) {
  for (std::int64_t point : {1, 3, 4}) {
    Schedule s(test::affine_rows(3, 24));
    Loop outer = s.split<2>(s.loops(s.block("all")).back(), {infer, 4})[0];
    auto [head, tail] = s.cut(outer, {point});
    EXPECT_TRUE(same_meaning(s)) << point;
    expect_refused(s, "any.order",
                   [&, tail = tail] {
                     s.reorder({s.loops_below(s.block("all_part1"), tail).front(), tail});
                   },
                   "block all_part1 combines its terms by composed, which is not commutative", {"all_part1"});
  }
  Schedule planes(test::affine_planes(3, 4, 6));
  planes.cut(planes.loops(planes.block("all")).back(), {2, -1});
  planes.cut(planes.loops(planes.block("all"))[1], {1});
  EXPECT_TRUE(same_meaning(planes));
}

/// A tile that only the loop uses is another one in each part. So a part can be pipelined by itself.
TEST(Cut, GivesEachPartTilesOfItsOwn) {
  Schedule s(test::gemm(5, 6, 22));
  BlockRef AB = s.block("AB");
  s.set_scope(AB, Scope::local);
  Loop k_outer = s.split(s.loop("k"), {infer, 4})[0];
  for (const char *operand : {"A", "B"})
    s.compute_at(s.cache_read(AB, operand, Scope::shared), k_outer);
  s.reverse_compute_at(s.block("C"), s.loop("j"));
  auto [whole, edge] = s.cut(k_outer, {5});
  EXPECT_EQ(names_of(s.blocks_below(edge)), "A_shared_part1 B_shared_part1 AB_part1");
  std::string text = print(s.program());
  EXPECT_TRUE(contains(text, "shared A_shared_part1: u32[5, 22]")) << text;
  EXPECT_TRUE(contains(text, "where k < 22")) << text;
  EXPECT_FALSE(contains(print(s.program().body).substr(0, text.find("for k_outer_part1")), "init_part"))
      << text;
  s.double_buffer(whole);
  EXPECT_TRUE(same_meaning(s));
  EXPECT_EQ(test::owed(s), "");
  TraceFile file = parse_trace(to_json(trace_file(s, {5, 6, 22}, DType::u32)), "t.json");
  EXPECT_EQ(print(replay(file, test::gemm(5, 6, 22), Target{}, "t.json").program()), print(s.program()));
  EXPECT_TRUE(contains(trace_to_cpp(s), "auto [k_outer_part0, k_outer_part1] = s.cut(k_outer, {5});"))
      << trace_to_cpp(s);
}

TEST(Cut, PrintsAPointFromTheEndAsANumber) {
  Schedule s(product(4, 3, 9));
  s.cut(s.loop("k"), {1, -1});
  EXPECT_EQ(trace_to_cpp(s), "auto k = s.loop(\"k\");\n"
                             "auto [k_part0, k_part1, k_part2] = s.cut(k, {1, -1});\n");
}

TEST(Cut, CopiesThePipelineOfALoopBelow) {
  Schedule s(test::gemm(6, 6, 12));
  BlockRef AB = s.block("AB");
  Loop k_outer = s.split(s.loop("k"), {infer, 4})[0];
  s.compute_at(s.cache_read(AB, "A", Scope::shared), k_outer);
  s.double_buffer(k_outer);
  Loop i = s.loops(AB).front();
  s.cut(i, {4});
  EXPECT_TRUE(same_meaning(s));
  EXPECT_TRUE(contains(print(s.program()), "for k_outer_part1 < 3 pipelined")) << print(s.program());
  expect_refused(s, "cut.serial", [&] { s.cut(k_outer, {1}); }, "the loop k_outer is pipelined", {"k_outer"});
  expect_refused(s, "cut.pipeline", [&] { s.cut(s.loop("k_inner"), {1}); },
                 "the loop k_outer around k_inner is pipelined, and its stages name the blocks below k_inner; "
                 "cut k_inner before it",
                 {"k_outer", "k_inner"});
}

/// An init may be a block of its own before or after the cut.
TEST(Cut, TakesADecomposedSum) {
  for (bool before : {false, true})
    for (const char *name : {"j", "k"}) {
      Schedule s(product(4, 5, 6));
      s.reorder({s.loop("k"), s.loop("j")});
      if (before)
        s.decompose_reduction(s.block("C"), s.loop("k"));
      s.cut(s.loop(name), {2});
      for (const char *block : {"C", "C_part1"})
        if (find_block(s.program().body, s.block(block).id)->init)
          s.decompose_reduction(s.block(block), s.loops(s.block(block))[1]);
      EXPECT_TRUE(same_meaning(s)) << name << before;
    }
}

/// A reader after the loop sees the whole sum, and moves into no part of it.
TEST(Cut, ReadersFollowTheLastPart) {
  Schedule s(test::gemm(6, 5, 8));
  auto [head, tail] = s.cut(s.loop("k"), {3});
  expect_refused(s, "reverse_compute_at.complete",
                 [&, head = head] { s.reverse_compute_at(s.block("C"), head); },
                 "block AB sums over k_part0, so AB holds a partial sum inside it", {"k_part0"});
  expect_refused(s, "reverse_compute_at.complete",
                 [&, tail = tail] { s.reverse_compute_at(s.block("C"), tail); },
                 "block AB also writes AB but is not below k_part1", {"k_part1"});
  s.reverse_compute_at(s.block("C"), s.loop("j"));
  EXPECT_TRUE(same_meaning(s));

  Schedule chain(test::chain(6, 7));
  auto [above, below] = chain.cut(chain.loop("i"), {2});
  expect_refused(chain, "compute_inline.elementwise", [&] { chain.compute_inline(chain.block("T")); }, "T",
                 {"T"});
  expect_refused(chain, "compute_at.whole", [&] { chain.compute_at(chain.block("T"), chain.loop("U_i")); }, "T",
                 {"T"});
  expect_refused(chain, "reverse_compute_at.complete",
                 [&, below = below] { chain.reverse_compute_at(chain.block("U"), below); },
                 "block T also writes T but is not below i_part1", {"i_part1"});
  EXPECT_TRUE(same_meaning(chain));
}

/// New loops would compute the elements of all parts.
TEST(ReverseComputeAtRefuses, APart) {
  Schedule s(test::chain(6, 7));
  s.cut(s.loop("U_i"), {2});
  for (const char *part : {"U", "U_part1"})
    expect_refused(
        s, "reverse_compute_at.part", [&] { s.reverse_compute_at(s.block(part), s.loop("i")); },
        fmt::format(
            "block {} is one of the parts that cut made, beside {}, but reverse_compute_at would compute the "
            "elements of all parts; use reverse_compute_at before cut",
            part, part == std::string("U") ? "U_part1" : "U"),
        {part});
}

/// The producer has all elements, and the part has only some of them.
TEST(ReverseComputeInlineRefuses, APart) {
  Schedule s(test::chain(6, 7));
  s.cut(s.loop("U_i"), {2});
  s.cache_read(s.block("U_part1"), "T", Scope::local);
  expect_refused(s, "reverse_compute_inline.part", [&] { s.reverse_compute_inline(s.block("U_part1")); },
                 "block U_part1 is one of the parts that cut made, beside U, but reverse_compute_inline would "
                 "compute the elements of all parts; use reverse_compute_inline before cut",
                 {"U_part1"});
  EXPECT_TRUE(same_meaning(s));
}

/// State a minimum of the size, so that each part has an iteration at every size.
TEST(Cut, OfALoopOfUnknownExtent) {
  Workload w("sums");
  Expr n = w.size("N", {.min = 40});
  Tensor x = w.placeholder("X", {n, Expr(8)}, DType::u32);
  Schedule s(w.output({w.compute("Y", {n}, {"i"}, [&](Expr i) -> Definition { return x(i, 3) + 1; })}));
  auto [outer, inner] = s.split(s.loop("i"), {infer, 16});
  auto [whole, edge] = s.cut(outer, {-1});
  std::string text = print(s.program());
  EXPECT_TRUE(contains(text, "for i_outer_part0 < (N + 15)//16 - 1:")) << text;
  EXPECT_TRUE(contains(text, "for i_outer_part1 < 1:")) << text;
  EXPECT_FALSE(contains(text.substr(0, text.find("i_outer_part1")), "where")) << text;
  expect_refused(
      s, "cut.points", [&, whole = whole] { s.cut(whole, {2}); },
      "the point 2 is not inside of the loop i_outer_part0 for all sizes: the number of iterations is "
      "(N + 15)//16 - 1, which depends on sizes; choose points from 1 on and below it, or negative ones "
      "that count from the end, or state a larger minimum of the size",
      {"i_outer_part0"});
  s.cut(whole, {1});
}

TEST(CutRefuses, PointsThatAreNotInside) {
  Schedule s(product(4, 3, 9));
  Loop k = s.loop("k");
  for (std::int64_t point : {std::int64_t{0}, std::int64_t{9}, std::int64_t{-9}, std::int64_t{40}, INT64_MIN})
    expect_refused(
        s, "cut.points", [&] { s.cut(k, {point}); },
        fmt::format("the point {} is not inside of the loop k for all sizes: the number of iterations "
                    "is 9; choose points from 1 on and below it",
                    point),
        {"k"});
  for (std::vector<std::int64_t> points : {std::vector<std::int64_t>{3, 3}, {5, 2}, {-2, 4}})
    expect_refused(s, "cut.points", [&] { s.cut(k, points); },
                   fmt::format("the point {} is not after the point {} for all sizes", points[1], points[0]),
                   {"k"});
  expect_refused(s, "cut.points", [&] { s.cut(k, std::vector<std::int64_t>()); },
                 "got 0 points, expected 1 to 15", {"k"});
}

TEST(CutRefuses, ALoopThatIsNotSerial) {
  Schedule s(product(4, 3, 9));
  s.bind(s.loop("i"), Axis::thread_x);
  s.unroll(s.loop("k"));
  expect_refused(s, "cut.serial", [&] { s.cut(s.loop("i"), {1}); },
                 "the loop i is bound to threadIdx.x, expected a serial loop", {"i"});
  expect_refused(s, "cut.serial", [&] { s.cut(s.loop("k"), {1}); }, "the loop k is unrolled", {"k"});
}

/// The fused loop begins a sum in the middle of a part.
TEST(CutRefuses, TheInitOfALoopOfElementsAndTerms) {
  Schedule s(product(4, 3, 6));
  s.reorder({s.loop("i"), s.loop("k"), s.loop("j")});
  s.reorder({s.loop("j"), s.loop("k")});
  Loop both = s.fuse(s.loop("j"), s.loop("k"));
  expect_refused(s, "cut.init", [&] { s.cut(both, {8}); },
                 "block C sums over j_k, and in a later part of j_k its init would set elements again that an "
                 "earlier part may have begun; use decompose_reduction first",
                 {"j_k", "C"});
  s.decompose_reduction(s.block("C"), both);
  s.cut(both, {8});
  EXPECT_TRUE(same_meaning(s));
}

/// Loops that run backwards in the odd iterations of another one are copied with it.
TEST(Cut, CopiesLoopsThatRunBackwards) {
  Schedule s(product(4, 3, 6));
  s.reorder({s.loop("k"), s.loop("i"), s.loop("j")});
  Loop i = s.loop("i"), j = s.loop("j");
  s.unroll(i);
  s.unroll(j);
  s.snake(i, j);
  s.cut(s.loop("k"), {2});
  EXPECT_TRUE(contains(print(s.program()), "for j_part1 < 3 unrolled backwards in odd i_part1:"))
      << print(s.program());
  EXPECT_TRUE(same_meaning(s));
}

} // namespace
} // namespace nestsmith
