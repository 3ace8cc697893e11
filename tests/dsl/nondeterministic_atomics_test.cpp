/// Tests nondeterministic_atomics: the init in a nest of its own, the loops that threads may share after it,
/// the refusals and the obligations.

#include "dsl/expr/math.h"
#include "dsl/ir/atomics.h"
#include "dsl/schedule/trace.h"
#include "tests/dsl/support.h"

#include <fmt/format.h>
#include <tuple>

namespace nestsmith {
namespace {

using test::contains;
using test::expect_refused;
using test::gemm;
using test::product;

/// y[i] is the reduction of row i of X.
Program reduced_rows(std::int64_t m, std::int64_t n, DType dtype, Reducer reducer = Reducer::sum) {
  Workload w("reduced_rows");
  Tensor x = w.placeholder("X", {m, n}, dtype);
  Reduce k = reduce_axis("k", n);
  Tensor y =
      w.compute("y", {m}, {"i"}, [&](const Expr &i) -> Definition { return reduce(reducer, x(i, k), k); });
  return w.output({y});
}

std::string all_owed(const Schedule &s) {
  std::string all;
  for (const Obligation &owed : s.obligations())
    all += owed.message + "\n";
  return all;
}

TEST(NondeterministicAtomics, MoveTheInitToTheStartAndChangeNothing) {
  Schedule s(product(5, 4, 7));
  BlockRef init = s.nondeterministic_atomics(s.block("C"));
  EXPECT_EQ(print(s.program()), "product(A: u32[5, 7], B: u32[7, 4], out C: u32[5, 4]):\n"
                                "for i_init < 5:\n"
                                "  for j_init < 4:\n"
                                "    block C_init(i = i_init, j = j_init):\n"
                                "      C[i, j] = 0\n"
                                "for i < 5:\n"
                                "  for j < 4:\n"
                                "    for k < 7:\n"
                                "      block C(i = i, j = j, sum k = k) by atomics:\n"
                                "        C[i, j] = C[i, j] + A[i, k]*B[k, j]\n");
  EXPECT_EQ(Schedule::name(init), "C_init");
  EXPECT_TRUE(s.obligations().empty());
  EXPECT_TRUE(test::same_meaning(s));
  EXPECT_TRUE(nondeterministic_results(s.program()).empty()) << "a sum of u32 has no roundings";
  EXPECT_TRUE(contains(test::trace_text(s), "auto C_init = s.nondeterministic_atomics(C);\n"))
      << test::trace_text(s);
  TraceFile file = parse_trace(to_json(trace_file(s, {5, 4, 7}, DType::u32)), "t.json");
  EXPECT_EQ(print(replay(file, product(5, 4, 7), Target{}, "t.json").program()), print(s.program()));
}

TEST(NondeterministicAtomics, LetBlocksAndThreadsShareAReduction) {
  Schedule s(product(5, 4, 70));
  BlockRef C = s.block("C");
  s.nondeterministic_atomics(C, named("zero"));
  auto [i, j, k] = s.loops<3>(C);
  auto [block, warp, lane] = s.split<3>(k, {infer, 2, 8});
  s.bind(i, Axis::block_y);
  s.bind(block, Axis::block_x);
  s.bind(warp, Axis::thread_y);
  s.bind(lane, Axis::thread_x);
  EXPECT_EQ(all_owed(s), "");
  EXPECT_TRUE(test::same_meaning(s));
}

/// Each iteration of a part of the reduction adds its own partial sum, also where the parts are a tail.
TEST(NondeterministicAtomics, LetAPartialSumBeAddedWhereItIsComplete) {
  for (std::int64_t n : {1, 15, 16, 17, 31}) {
    Schedule s(reduced_rows(3, n, DType::f32));
    BlockRef y = s.block("y");
    auto [i, k] = s.loops<2>(y);
    auto [part, inner] = s.split<2>(k, {infer, 4}, named("part", "inner"));
    BlockRef partial = s.rfactor(part);
    s.set_scope(partial, Scope::local);
    s.bind(part, Axis::block_x);
    s.bind(i, Axis::thread_x);
    s.bind(s.loops(s.nondeterministic_atomics(y))[0], Axis::thread_x);
    s.reverse_compute_at(y, part);
    EXPECT_EQ(all_owed(s), "");
    EXPECT_TRUE(test::same_meaning(s)) << n;
    EXPECT_TRUE(contains(print(s.program()), "by atomics:\n          y[i] = y[i] + y_rf[part, i]"))
        << print(s.program());
  }
}

TEST(NondeterministicAtomics, AreReportedForSumsThatRound) {
  for (auto [dtype, reducer, rounds] : {std::tuple(DType::f32, Reducer(Reducer::sum), true),
                                        {DType::f64, Reducer::sum, true},
                                        {DType::i32, Reducer::sum, false},
                                        {DType::u32, Reducer::max, false},
                                        {DType::i32, Reducer::min, false}}) {
    Schedule s(reduced_rows(2, 3, dtype, reducer));
    s.nondeterministic_atomics(s.block("y"));
    EXPECT_TRUE(test::same_meaning(s));
    EXPECT_EQ(nondeterministic_results(s.program()),
              rounds ? std::vector<std::string>{fmt::format(
                           "not deterministic: block y adds to y ({}) by atomics in any order, so its "
                           "roundings differ from run to run",
                           name(dtype))}
                     : std::vector<std::string>{});
  }
}

// ---- obligations

TEST(NondeterministicAtomics, OweALoopOnEachAxisSoThatNoTermCountsTwice) {
  Schedule s(gemm(8, 6, 16));
  auto [i, j, k] = s.loops<3>(s.block("AB"));
  s.nondeterministic_atomics(s.block("AB"));
  BlockRef partner = s.cache_read(s.block("AB"), "A", Scope::shared);
  s.compute_at(partner, j);
  s.bind(i, Axis::block_x);
  s.bind(s.loops(partner).back(), Axis::thread_x);
  EXPECT_TRUE(contains(all_owed(s),
                       "block AB combines the same terms with AB by atomics for several of the 16 "
                       "indices of threadIdx.x, so they would count more than once; bind one of its "
                       "loops to threadIdx.x, also one of one iteration"))
      << all_owed(s);
  s.bind(k, Axis::thread_x);
  EXPECT_EQ(all_owed(s), "");
}

TEST(NondeterministicAtomics, OweAResultInGlobalMemory) {
  Schedule s(gemm(8, 6, 16));
  BlockRef AB = s.block("AB");
  s.nondeterministic_atomics(AB);
  s.set_scope(AB, Scope::local);
  EXPECT_TRUE(contains(all_owed(s), "block AB combines its terms by atomics in local memory, expected global "
                                    "memory; use set_scope to move AB there"))
      << all_owed(s);
}

/// Z[i] is a sum of products of T[i], and Y[i] reads it.
TEST(NondeterministicAtomics, OweThatNoOtherThreadOfTheKernelReadsTheResult) {
  for (bool shared : {false, true}) {
    Workload w("read_in_nest");
    Tensor x = w.placeholder("X", {4, 3}, DType::u32), z = w.inout("Z", {4}, DType::u32);
    Tensor t = w.compute("T", {4}, {"i"}, [&](const Expr &i) -> Definition { return x(i, 0) + 1; });
    Reduce k = reduce_axis("k", 3);
    w.update(z, {"i"},
             [&](const std::vector<Expr> &at) -> Definition { return sum(x(at[0], k) * t(at[0]), k); });
    Tensor y = w.compute("Y", {4}, {"i"}, [&](const Expr &i) -> Definition { return t(i) + z(i); });
    Schedule s(w.output({y}));
    BlockRef T = s.block("T"), Z = s.block("Z");
    s.nondeterministic_atomics(Z);
    Loop i = s.loops(T)[0];
    s.reverse_compute_at(Z, i);
    s.reverse_compute_at(s.block("Y"), i);
    s.set_scope(T, Scope::local);
    s.bind(i, Axis::block_x);
    if (shared)
      s.bind(s.loops(Z).back(), Axis::block_y);
    EXPECT_EQ(contains(all_owed(s), "block Y reads an element of Z that block Z writes at another index of "
                                    "blockIdx.y, in the same kernel, where nothing orders the two"),
              shared)
        << all_owed(s) << print(s.program());
    EXPECT_EQ(s.obligations().empty(), !shared) << all_owed(s);
  }
}

// ---- refusals

TEST(NondeterministicAtomicsRefuse, AReductionWithoutInit) {
  Schedule s(product(5, 4, 7));
  BlockRef C = s.block("C");
  s.decompose_reduction(C, s.loops(C)[0]);
  expect_refused(s, "nondeterministic_atomics.init", [&] { s.nondeterministic_atomics(C); },
                 "block C has no init, expected a reduction that is not yet decomposed", {"C"});
}

TEST(NondeterministicAtomicsRefuse, AReducerWithoutAtomicOperation) {
  for (auto [dtype, reducer, text] : {std::tuple(DType::f32, Reducer(Reducer::max), "max to elements of f32"),
                                      {DType::u32, Reducer::product, "product to elements of u32"}}) {
    Schedule s(reduced_rows(2, 3, dtype, reducer));
    expect_refused(s, "nondeterministic_atomics.reducer", [&] { s.nondeterministic_atomics(s.block("y")); },
                   fmt::format("block y reduces by {}, expected a sum of f32, f64, i32 or u32, or a max or min "
                               "of i32 or u32",
                               text),
                   {"y"});
  }
}

TEST(NondeterministicAtomicsRefuse, AReaderInTheSameNest) {
  Schedule s(gemm(8, 6, 16));
  BlockRef AB = s.block("AB");
  s.reverse_compute_at(s.block("C"), s.loops(AB)[1]);
  expect_refused(s, "nondeterministic_atomics.alone", [&] { s.nondeterministic_atomics(AB); },
                 "block C reads AB in the nest of AB, where other threads may still update it", {"C", "AB"});
  Schedule later(gemm(8, 6, 16));
  AB = later.block("AB");
  later.nondeterministic_atomics(AB);
  expect_refused(later, "reverse_compute_at.complete",
                 [&] { later.reverse_compute_at(later.block("C"), later.loops(AB)[1]); },
                 "block AB_init also writes AB but is not below j", {"j", "AB_init"});
}

TEST(NondeterministicAtomicsRefuse, AReductionThatIsComputedAgain) {
  Schedule s(test::broadcast(4, 3, 5));
  s.compute_at(s.block("T"), s.loops(s.block("Y"))[1]);
  expect_refused(s, "nondeterministic_atomics.alone", [&] { s.nondeterministic_atomics(s.block("T")); },
                 "block Y reads T in the nest of T", {"Y", "T"});
  // The loop of another nest around the reduction.
  Program twice = reduced_rows(4, 3, DType::u32);
  twice.body = make_for({make_var("again"), Expr(2), Serial{}, twice.body});
  Schedule again(twice);
  expect_refused(
      again, "nondeterministic_atomics.once", [&] { again.nondeterministic_atomics(again.block("y")); },
      "block y is recomputed in each iteration of again, and by atomics would add to the same elements "
      "again",
      {"again", "y"});
}

TEST(NondeterministicAtomicsRefuse, AParameterThatAnEarlierBlockReads) {
  Workload w("in_place");
  Tensor x = w.placeholder("X", {4, 3}, DType::u32), z = w.inout("Z", {4}, DType::u32);
  Tensor t = w.compute("T", {4}, {"i"}, [&](Expr i) { return z(i) * 2; });
  Reduce k = reduce_axis("k", 3);
  w.update(z, {"i"}, [&](const std::vector<Expr> &at) -> Definition { return sum(x(at[0], k), k); });
  Program program = w.output({t});
  Schedule s(program);
  expect_refused(s, "nondeterministic_atomics.order", [&] { s.nondeterministic_atomics(s.block("Z")); },
                 "block T reads Z, and block Z writes it later", {"T", "Z"});
}

TEST(NondeterministicAtomicsRefuse, LanesOfVectors) {
  Schedule s(product(4, 8, 6, DType::f32));
  auto [i, j, k] = s.loops<3>(s.block("C"));
  s.nondeterministic_atomics(s.block("C"));
  Loop lanes = s.split<2>(j, {infer, 4})[1];
  s.reorder({k, lanes});
  expect_refused(s, "any.atomics", [&] { s.vectorize(lanes); },
                 "block C combines its terms by atomics, and the loop j_inner around it is vectorized, but a "
                 "thread makes one atomic operation at a time; unroll j_inner instead",
                 {"j_inner", "C"});
  s.unroll(lanes);
  EXPECT_TRUE(test::same_meaning(s));
}

TEST(NondeterministicAtomicsRefuse, TheCombinationOfAPartWithoutThem) {
  Schedule s(reduced_rows(3, 16, DType::f32));
  BlockRef y = s.block("y");
  Loop part = s.split<2>(s.loops(y)[1], {4, 4})[0];
  s.rfactor(part);
  expect_refused(s, "reverse_compute_at.identity", [&] { s.reverse_compute_at(y, part); }, "block y reads y_rf",
                 {"y"});
  expect_refused(s, "bind.spatial", [&] { s.bind(s.loops(y).back(), Axis::block_x); },
                 "use nondeterministic_atomics", {"ax_k_outer", "y"});
  s.nondeterministic_atomics(y);
  s.bind(s.loops(y).back(), Axis::block_x);
}

} // namespace
} // namespace nestsmith
