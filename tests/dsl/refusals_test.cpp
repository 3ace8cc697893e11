/// Tests the requirements of primitives on loops. Each test violates one requirement.

#include "dsl/schedule/trace.h"
#include "tests/dsl/support.h"

namespace nestsmith {
namespace {

using test::chain;
using test::contains;
using test::expect_refused;
using test::gemm;
using test::product;

Loop bound(Schedule &s, const std::string &name) {
  Loop loop = s.loop(name);
  s.bind(loop, Axis::thread_x);
  return loop;
}

Loop unrolled(Schedule &s, const std::string &name) {
  Loop loop = s.loop(name);
  s.unroll(loop);
  return loop;
}

TEST(SplitRefuses, LoopThatIsNotSerial) {
  Schedule s(product(8, 5, 4));
  Loop i = bound(s, "i"), k = unrolled(s, "k");
  expect_refused(s, "split.serial",
                 [&] {
                   s.split(i, {infer, 2});
                 },
                 "the loop i is bound to threadIdx.x, expected a serial loop; do this before it is bound",
                 {"i"});
  expect_refused(s, "split.serial",
                 [&] {
                   s.split(k, {infer, 2});
                 },
                 "the loop k is unrolled, expected a serial loop; do this before it is unrolled", {"k"});
}

TEST(SplitRefuses, FactorsThatAreNoFactors) {
  Schedule s(product(8, 5, 4));
  Loop i = s.loop("i");
  expect_refused(s, "split.factors", [&] { s.split(i, std::vector<std::int64_t>{}); },
                 "got no factor, expected at least one", {"i"});
  expect_refused(s, "split.factors",
                 [&] {
                   s.split(i, {infer, infer});
                 },
                 "got two factors to infer, expected at most one", {"i"});
  expect_refused(s, "split.factors",
                 [&] {
                   s.split(i, {infer, 0});
                 },
                 "got the factor 0, expected at least 1", {"i"});
  expect_refused(s, "split.factors",
                 [&] {
                   s.split(i, {infer, -4});
                 },
                 "got the factor -4, expected at least 1", {"i"});
  expect_refused(s, "split.factors",
                 [&] {
                   s.split(i, {infer, 65536, 65536});
                 },
                 "the product of the factors is larger than 2^31", {"i"});
  expect_refused(s, "split.factors",
                 [&] {
                   s.split(i, {infer, std::int64_t{1} << 62, 4});
                 },
                 "the product of the factors is larger than 2^31", {"i"});
}

TEST(SplitRefuses, FactorsThatMissIterations) {
  Schedule s(product(8, 5, 4));
  Loop i = s.loop("i");
  expect_refused(s, "split.covers",
                 [&] {
                   s.split(i, {3, 2});
                 },
                 "the factors give 6 iterations, but i has 8; use larger factors, or infer one of them", {"i"});
}

TEST(SplitRefuses, TailThatIsNotTheEndOfAnAxis) {
  Schedule s(product(8, 5, 8));
  auto [outer, inner] = s.split(s.loop("k"), {infer, 4});
  (void)outer;
  expect_refused(s, "split.tail",
                 [&, at = inner] {
                   s.split(at, {infer, 3});
                 },
                 "the factors give 6 iterations, but k_inner has 4, and it is not the outermost part of an "
                 "axis of the sum C: "
                 "the extra iterations would run twice; choose factors whose product is 4",
                 {"k_inner", "C"});
}

TEST(FuseRefuses, LoopThatIsNotSerial) {
  Schedule s(product(8, 5, 4));
  Loop i = s.loop("i"), j = bound(s, "j"), k = s.loop("k");
  expect_refused(s, "fuse.serial", [&] { s.fuse(i, j); },
                 "the loop j is bound to threadIdx.x, expected a serial loop", {"j"});
  expect_refused(s, "fuse.serial", [&] { s.fuse(j, k); },
                 "the loop j is bound to threadIdx.x, expected a serial loop", {"j"});
}

TEST(FuseRefuses, LoopsThatAreNotNested) {
  Schedule s(gemm(8, 5, 4));
  Loop i = s.loop("i"), j = s.loop("j"), k = s.loop("k"), other = s.loop("C_i");
  std::string reason = "make them adjacent with reorder, outer loop first";
  expect_refused(s, "fuse.nested", [&] { s.fuse(j, i); }, "the body of j is not exactly the loop i; " + reason,
                 {"i", "j"});
  expect_refused(s, "fuse.nested", [&] { s.fuse(i, k); }, "the body of i is not exactly the loop k; " + reason,
                 {"i", "k"});
  expect_refused(s, "fuse.nested", [&] { s.fuse(i, other); },
                 "the body of i is not exactly the loop C_i; name two loops of one nest", {"i", "C_i"});
  expect_refused(s, "fuse.nested", [&] { s.fuse(i, i); }, "the body of i is not exactly the loop i", {"i"});
  s.reverse_compute_at(s.block("C"), i);
  expect_refused(
      s, "fuse.nested", [&] { s.fuse(i, j); },
      "the body of i is not exactly the loop j; the body of i has other statements beside j: fuse the "
      "loops before moving blocks into their nest",
      {"i", "j"});
}

TEST(FuseRefuses, MoreIterationsThanCanBeCounted) {
  std::int64_t large = std::int64_t{1} << 22;
  Schedule s(product(large, large, large));
  Loop both = s.fuse(s.loop("i"), s.loop("j")), k = s.loop("k");
  expect_refused(s, "fuse.extent", [&] { s.fuse(both, k); },
                 "i_j and k have more than 2^60 iterations together; fuse fewer loops", {"i_j", "k"});
}

/// Each iteration j of Y computes S, a sum over k, again. The loop over j contains no other computation.
Schedule repeated_sum() {
  Workload w("repeated");
  Tensor A = w.placeholder("A", {2, 3});
  Reduce k = reduce_axis("k", 3);
  Tensor S = w.compute("S", {2}, {"i"}, [&](Expr i) { return sum(A(i, k), k); });
  Tensor Y = w.compute("Y", {2, 4}, {"i", "j"}, [&](Expr i, Expr) -> Definition { return S(i) * 2.0F; });
  Schedule s(w.output({Y}));
  s.compute_at(s.block("S"), s.loop("j"));
  auto value = s.block("Y");
  s.cache_write(value, Scope::local);
  s.compute_inline(value);
  return s;
}

TEST(ReorderRefuses, ASumAcrossALoopThatRepeatsIt) {
  Schedule s = repeated_sum();
  expect_refused(
      s, "reorder.repeated",
      [&] {
        s.reorder({s.loop("ax_k"), s.loop("j")});
      },
      "the loop j repeats all of block S, including its init, and ax_k is a loop of its sum; keep their order",
      {"j", "ax_k", "S"});
}

TEST(Obligations, ALoopThatSumsAndRepeatsIsNoPlaceForAnInit) {
  Schedule s = repeated_sum();
  s.fuse(s.loop("j"), s.fuse(s.loop("ax_i"), s.loop("ax_k")));
  bool said = false;
  for (const Obligation &one : s.obligations())
    said = said || test::contains(one.message, "block S sums over j_ax_i_ax_k and is recomputed in iterations "
                                               "of j_ax_i_ax_k, so there is no place for its init");
  EXPECT_TRUE(said);
}

TEST(ReorderRefuses, LoopsThatAreNotDistinct) {
  Schedule s(product(8, 5, 4));
  Loop i = s.loop("i"), j = s.loop("j");
  expect_refused(s, "reorder.distinct", [&] { s.reorder({}); }, "got 0 loops, expected at least 2", {});
  expect_refused(s, "reorder.distinct", [&] { s.reorder({i}); }, "got 1 loops, expected at least 2", {});
  expect_refused(s, "reorder.distinct",
                 [&] {
                   s.reorder({i, j, i});
                 },
                 "the loop i is named twice; name each loop once", {"i"});
}

TEST(ReorderRefuses, LoopsWithOtherStatementsBetween) {
  Schedule s(gemm(8, 5, 4));
  Loop i = s.loop("i"), j = s.loop("j"), k = s.loop("k");
  expect_refused(s, "reorder.chain",
                 [&, other = s.loop("C_i")] {
                   s.reorder({other, i});
                 },
                 "are in different nests; name loops of one nest", {"i", "C_i"});
  s.decompose_reduction(s.block("AB"), k);
  expect_refused(s, "reorder.chain",
                 [&] {
                   s.reorder({k, j});
                 },
                 "other statements between the loops j and k depend on their order (block AB_init)",
                 {"j", "k"});
  s.reorder({j, i});
  EXPECT_TRUE(test::same_meaning(s));
}

TEST(ReorderRefuses, LoopsThatPlaceAnInit) {
  Schedule s(product(3, 5, 4));
  Loop fused = s.fuse(s.loop("j"), s.loop("k"));
  auto [outer, inner] = s.split(fused, {2, infer});
  expect_refused(s, "reorder.init",
                 [&s, a = outer, b = inner] {
                   s.reorder({b, a});
                 },
                 "block C sums over an index that mixes j_k_outer and j_k_inner, and their order decides "
                 "whether its init runs first; keep the order, or use decompose_reduction before reorder",
                 {"j_k_outer", "j_k_inner", "C"});
  s.reorder({outer, s.loop("i")});
  EXPECT_TRUE(test::same_meaning(s));
}

TEST(ReorderRefuses, NothingOnceTheInitStandsAlone) {
  Schedule s(product(3, 5, 4));
  Loop fused = s.fuse(s.loop("j"), s.loop("k"));
  auto [outer, inner] = s.split(fused, {2, infer});
  s.decompose_reduction(s.block("C"), outer);
  s.reorder({inner, outer});
  EXPECT_TRUE(test::same_meaning(s));
}

TEST(UnrollRefuses, LoopThatIsNotSerial) {
  Schedule s(product(8, 5, 4));
  Loop i = bound(s, "i"), j = unrolled(s, "j");
  expect_refused(s, "unroll.serial", [&] { s.unroll(i); },
                 "the loop i is bound to threadIdx.x, expected a serial loop", {"i"});
  expect_refused(s, "unroll.serial", [&] { s.unroll(j); }, "the loop j is unrolled, expected a serial loop",
                 {"j"});
}

TEST(UnrollRefuses, LongLoop) {
  Schedule s(product(1025, 1024, 1));
  Loop i = s.loop("i"), j = s.loop("j");
  expect_refused(s, "unroll.extent", [&] { s.unroll(i); },
                 "the loop i has 1025 iterations, expected at most 1024; split it and unroll a part", {"i"});
  s.unroll(j);
}

TEST(UnrollBy, IsPrintedAndChangesNothing) {
  Schedule s(product(8, 5, 7));
  s.unroll_by(s.loop("k"), 4);
  EXPECT_TRUE(contains(print(s.program()), "for k < 7 unrolled by 4:")) << print(s.program());
  EXPECT_TRUE(test::same_meaning(s));
  TraceFile file = parse_trace(to_json(trace_file(s, {8, 5, 7}, DType::u32)), "t.json");
  EXPECT_EQ(print(replay(file, product(8, 5, 7), Target{}, "t.json").program()), print(s.program()));
}

TEST(UnrollByRefuses, LoopThatIsNotSerial) {
  Schedule s(product(8, 5, 4));
  Loop i = bound(s, "i"), j = unrolled(s, "j");
  expect_refused(s, "unroll_by.serial", [&] { s.unroll_by(i, 4); },
                 "the loop i is bound, expected a serial loop", {"i"});
  expect_refused(s, "unroll_by.serial", [&] { s.unroll_by(j, 4); },
                 "the loop j is unrolled, expected a serial loop", {"j"});
}

TEST(UnrollByRefuses, SecondNumberAndLaterSplit) {
  Schedule s(product(8, 5, 4));
  Loop k = s.loop("k");
  s.unroll_by(k, 4);
  expect_refused(s, "unroll_by.once", [&] { s.unroll_by(k, 2); },
                 "the loop k is already unrolled by 4; unroll it once", {"k"});
  expect_refused(
      s, "split.serial",
      [&] {
        s.split(k, {infer, 2});
      },
      "the loop k is unrolled by a number, expected a serial loop; do this before it is unrolled by a "
      "number",
      {"k"});
}

TEST(UnrollByRefuses, NumberOutOfRange) {
  Schedule s(product(8, 5, 4));
  Loop k = s.loop("k");
  expect_refused(s, "unroll_by.factor", [&] { s.unroll_by(k, 1); },
                 "the loop k cannot be unrolled by 1, expected a number from 2 to 1024; leave unroll_by out",
                 {"k"});
  expect_refused(
      s, "unroll_by.factor", [&] { s.unroll_by(k, 1025); },
      "the loop k cannot be unrolled by 1025, expected a number from 2 to 1024; a longer body does not fit "
      "in the instruction cache",
      {"k"});
}

TEST(BindRefuses, LoopThatIsNotSerial) {
  Schedule s(product(8, 5, 4));
  Loop i = bound(s, "i"), j = unrolled(s, "j");
  expect_refused(s, "bind.serial", [&] { s.bind(i, Axis::block_x); },
                 "the loop i is bound to threadIdx.x, expected a serial loop", {"i"});
  expect_refused(s, "bind.serial", [&] { s.bind(j, Axis::block_x); },
                 "the loop j is unrolled, expected a serial loop", {"j"});
}

TEST(BindRefuses, LoopThatIsSummedOver) {
  Schedule s(product(8, 5, 4));
  auto [outer, inner] = s.split(s.loop("k"), {infer, 2});
  for (Loop loop : {outer, inner}) {
    std::string name = s.name(loop);
    for (Axis axis : all_axes)
      expect_refused(s, "bind.spatial", [&] { s.bind(loop, axis); },
                     "block C reduces over " + name + ", so the iterations " + name + " = 0 and " + name +
                         " = 1 would update one element at the same time; let threads combine their results "
                         "with reduce_across, store partial results with rfactor, use "
                         "nondeterministic_atomics, bind a spatial loop, or keep " +
                         name + " serial",
                     {name, "C"});
  }
}

TEST(BindRefuses, ExtentsThatDisagree) {
  Schedule s(product(8, 5, 4));
  BlockRef copy = s.cache_read(s.block("C"), "A", Scope::shared);
  s.bind(s.loops(copy)[0], Axis::thread_x); // 8 threads, in the nest of the copy
  bound(s, "j");                            // 5 threads, in another nest
  Schedule other(product(8, 5, 4));
  other.compute_at(other.cache_read(other.block("C"), "A", Scope::shared), other.loop("i"));
  bound(other, "j");
  Loop again = other.loops(other.block("A_shared")).back();
  expect_refused(other, "bind.extent", [&] { other.bind(again, Axis::thread_x); },
                 "the loop " + other.name(again) +
                     " has 4 iterations, but j on threadIdx.x has 5; split it so that they agree",
                 {"j", other.name(again)});
}

TEST(BindRefuses, WhatTheTargetCannotHold) {
  Schedule s(product(70000, 1025, 1));
  Loop i = s.loop("i"), j = s.loop("j");
  expect_refused(s, "bind.limit", [&] { s.bind(j, Axis::thread_x); },
                 "the loop j has 1025 iterations, but threadIdx.x takes at most 1024; split it and bind a part",
                 {"j"});
  expect_refused(s, "bind.limit", [&] { s.bind(j, Axis::thread_z); }, "but threadIdx.z takes at most 64",
                 {"j"});
  expect_refused(s, "bind.limit", [&] { s.bind(i, Axis::block_y); }, "but blockIdx.y takes at most 65535",
                 {"i"});
  s.bind(i, Axis::block_x);

  Schedule many(product(64, 32, 1));
  many.bind(many.loop("j"), Axis::thread_x);
  Loop rows = many.loop("i");
  expect_refused(
      many, "bind.limit", [&] { many.bind(rows, Axis::thread_y); },
      "a block would have 2048 threads, but sm_80 takes at most 1024; split the loop i and bind a smaller part",
      {"i"});
}

/// A cluster has 1, 2, 4 or 8 blocks, which are those along blockIdx.z.
TEST(BindRefuses, LoopsThatAreNoCluster) {
  Schedule s(product(16, 8, 4), make_target("sm_90a"));
  Loop i = s.loop("i"), j = s.loop("j");
  auto [i_0, i_1] = s.split<2>(i, {infer, 3});
  auto [j_0, j_1] = s.split<2>(j, {infer, 2});
  expect_refused(
      s, "bind.cluster", [&] { s.bind(i_1, Axis::cluster); },
      "the loop i_inner has 3 iterations, but a cluster has 1, 2, 4 or 8 blocks; split it and bind a part",
      {"i_inner"});
  s.bind(i_0, Axis::block_z);
  expect_refused(
      s, "bind.cluster", [&] { s.bind(j_1, Axis::cluster); },
      "the loop i_outer is bound to blockIdx.z, and the blocks of a cluster are those along blockIdx.z",
      {"j_inner", "i_outer"});

  Schedule cluster_first(product(16, 8, 4), make_target("sm_90a"));
  auto [x_0, x_1] = cluster_first.split<2>(cluster_first.loop("i"), {infer, 2});
  cluster_first.bind(x_1, Axis::cluster);
  expect_refused(cluster_first, "bind.cluster",
                 [&] { cluster_first.bind(cluster_first.loop("j"), Axis::block_z); },
                 "is bound to cluster, and the blocks of a cluster are those along blockIdx.z", {"j"});

  Schedule ampere(product(16, 8, 4), make_target("sm_80"));
  auto [y_0, y_1] = ampere.split<2>(ampere.loop("i"), {infer, 2});
  expect_refused(ampere, "bind.cluster", [&] { ampere.bind(y_1, Axis::cluster); }, "clusters needs sm_90, ",
                 {});
}

TEST(BindRefuses, NestedLoopsOnOneAxis) {
  Schedule s(product(8, 8, 4));
  Loop i = s.loop("i"), j = s.loop("j");
  s.bind(i, Axis::block_x);
  expect_refused(
      s, "bind.nested", [&] { s.bind(j, Axis::block_x); },
      "the loops i and j are nested, and only a thread axis or cluster may be bound twice in a nest; bind one "
      "of them to another axis",
      {"i", "j"});

  Schedule inner_first(product(8, 8, 4));
  Loop row = inner_first.loop("i"), column = inner_first.loop("j");
  inner_first.bind(column, Axis::thread_x);
  expect_refused(inner_first, "bind.nested", [&] { inner_first.bind(row, Axis::thread_x); },
                 "block C uses both i and j, but a thread has one index on an axis, so the iterations with i "
                 "!= j would be lost; bind one of the loops to another axis",
                 {"i", "j", "C"});
}

TEST(AnyDirectiveRefuses, HandleThatIsGone) {
  Schedule s(product(8, 5, 4));
  Loop i = s.loop("i");
  s.split(i, {infer, 4});
  expect_refused(s, "any.handle", [&] { s.unroll(i); },
                 "the loop i is no longer in the program; a split, fuse or compute_at replaced it: use the "
                 "handles that the directive returned, or call loops() again",
                 {});
  Schedule stages(chain(8, 5));
  BlockRef t = stages.block("T");
  stages.compute_inline(t);
  expect_refused(stages, "any.handle", [&] { stages.set_scope(t, Scope::local); },
                 "the block T is no longer in the program; call block() again", {});
}

TEST(AnyDirectiveRefuses, HandleOfAnotherSchedule) {
  Schedule s(product(8, 5, 4)), other(product(8, 5, 4));
  Loop loop = other.loop("i");
  auto [outer, inner] = other.split(loop, {infer, 2}); // `loop` is refused although `other` no longer has it
  std::string message = " belongs to another schedule; take a handle of this one from ";
  for (Loop foreign : {loop, outer, inner, other.loop("k")}) {
    std::string text =
        "the loop " + other.name(foreign) + message + "loop(), loops(), or a directive that returns loops";
    expect_refused(s, "any.handle", [&] { s.bind(foreign, Axis::thread_x); }, text, {});
    expect_refused(s, "any.handle", [&] { s.fuse(s.loop("i"), foreign); }, text, {});
    expect_refused(s, "any.handle", [&] { s.reorder({foreign, s.loop("j")}); }, text, {});
    test::expect_user_error([&] { s.extent(foreign); }, ExitCode::illegal_schedule, text);
    test::expect_user_error([&] { s.loops_below(s.block("C"), foreign); }, ExitCode::illegal_schedule, text);
  }
  BlockRef block = other.block("C");
  std::string text = "the block C" + message + "block(), or a directive that returns a block";
  expect_refused(s, "any.handle", [&] { s.cache_write(block, Scope::local); }, text, {});
  expect_refused(s, "any.handle", [&] { s.cache_read(block, "A", Scope::shared); }, text, {});
  expect_refused(s, "any.handle", [&] { s.pipeline(s.loop("k"), {{block, 0, 0}}); }, text, {});
  test::expect_user_error([&] { s.loops(block); }, ExitCode::illegal_schedule, text);
  test::expect_user_error([&] { s.loops<3>(block); }, ExitCode::illegal_schedule, text);
  // A copy of a schedule accepts the handles of the original.
  Schedule copy = s;
  EXPECT_EQ(copy.extent(s.loop("i")), 8);
}

TEST(AnyDirectiveRefuses, HandleThatWasNeverSet) {
  Schedule s(product(8, 5, 4));
  std::string loop =
      "the handle of a loop is empty; take one from loop(), loops(), or a directive that returns loops";
  std::string block =
      "the handle of a block is empty; take one from block(), or a directive that returns a block";
  expect_refused(s, "any.handle", [&] { s.unroll(Loop()); }, loop, {});
  expect_refused(s, "any.handle", [&] { s.compute_at(s.block("C"), Loop()); }, loop, {});
  expect_refused(s, "any.handle", [&] { s.set_scope(BlockRef(), Scope::local); }, block, {});
  test::expect_user_error([&] { s.extent(Loop()); }, ExitCode::illegal_schedule, loop);
  test::expect_user_error([&] { s.loops_below(s.block("C"), Loop()); }, ExitCode::illegal_schedule, loop);
  test::expect_user_error([&] { s.loops(BlockRef()); }, ExitCode::illegal_schedule, block);
  EXPECT_EQ(s.name(Loop()), "(no loop)");
  EXPECT_EQ(s.name(BlockRef()), "(no block)");
}

TEST(Enums, ThatACastMadeAreRefused) {
  auto refused = [](const std::function<void()> &f, const std::string &message) {
    test::expect_user_error(f, ExitCode::usage, message);
  };
  auto dtype = static_cast<DType>(42);
  std::string dtypes =
      "the value 42 is not an enumerator of DType; use DType::boolean, i8, i16, i32, i64, u8, u16, "
      "u32, u64, f16, bf16, tf32, f32 or f64";
  refused([&] { Workload("w").placeholder("X", {4}, dtype); }, dtypes);
  refused([&] { Workload("w").inout("X", {4}, dtype); }, dtypes);
  refused([&] { Workload("w").scalar("x", dtype); }, dtypes);
  refused([&] { cast(dtype, Expr(1)); }, dtypes);
  refused([&] { constant(dtype, 1); }, dtypes);
  Schedule s(product(8, 5, 4));
  Loop i = s.loop("i");
  BlockRef c = s.block("C");
  for (int value : {9, 255})
    refused(
        [&] { s.bind(i, static_cast<Axis>(value)); },
        "the value " + std::to_string(value) +
            " is not an enumerator of Axis; use Axis::block_x, block_y, block_z, cluster, thread_x, thread_y, "
            "thread_z, warp or lane");
  auto scope = static_cast<Scope>(4);
  std::string scopes = "the value 4 is not an enumerator of Scope; use Scope::global, shared, local or warp";
  refused([&] { s.cache_read(c, "A", scope); }, scopes);
  refused([&] { s.cache_write(c, scope); }, scopes);
  refused([&] { s.set_scope(c, scope); }, scopes);
  EXPECT_EQ(s.trace().size(), 0U);
}

TEST(AnyDirectiveRefuses, NameThatIsUnknown) {
  Schedule s(gemm(8, 5, 4));
  test::expect_user_error([&] { s.loop("m"); }, ExitCode::illegal_schedule,
                          "there is no loop 'm'; the loops are i, j, k, C_i, C_j");
  test::expect_user_error(
      [&] { s.loops<2>(s.block("AB")); }, ExitCode::illegal_schedule,
      "block AB has 3 loops around it (i, j, k), got loops<2>; request as many loops as the block has");
  test::expect_user_error([&] { s.block("D"); }, ExitCode::illegal_schedule,
                          "there is no block 'D'; the blocks are AB, C");
}

TEST(AnyDirectiveRefuses, InWordsThatNameTheDirective) {
  Schedule s(product(8, 5, 4));
  Loop i = s.loop("i");
  try {
    s.split(i, {3, 2});
    FAIL();
  } catch (const ScheduleError &error) {
    EXPECT_EQ(error.directive(), "s.split(i, {3, 2})");
    EXPECT_EQ(error.what(), error.directive() + ": " + error.message() + "\n" + error.marked());
    EXPECT_EQ(error.marked(), "product(A: u32[8, 4], B: u32[4, 5], out C: u32[8, 5]):\n"
                              "  for i < 8:\n"
                              "  ^^^^^^^^^^\n"
                              "    for j < 5:\n"
                              "      for k < 4:\n"
                              "        block C(i = i, j = j, sum k = k):\n"
                              "          init C[i, j] = 0\n"
                              "          C[i, j] = C[i, j] + A[i, k]*B[k, j]\n");
  }
}

} // namespace
} // namespace nestsmith
