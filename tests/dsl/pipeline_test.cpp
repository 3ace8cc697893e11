/// Tests pipeline, double_buffer and partition: the annotations, the meaning of the program, which stays the
/// same, and the refusals. tests/lowering and tests/runtime/sim test the kernels.

#include "dsl/ir/pipeline.h"
#include "dsl/schedule/trace.h"

#include "dsl/ir/allocation.h"
#include "tests/dsl/support.h"

namespace nestsmith {
namespace {

using test::contains;
using test::expect_refused;
using test::gemm;

/// C = alpha*A*B + beta*C. The sum is in tiles of 4, which are copied to shared memory in each iteration of
/// k_outer.
struct PipelinedTiles {
  Schedule s;
  BlockRef AB, A, B;
  Loop k_outer;

  explicit PipelinedTiles(std::int64_t k = 12) : s(gemm(5, 6, k)) {
    AB = s.block("AB");
    s.set_scope(AB, Scope::local);
    auto [i, j, whole] = s.loops<3>(AB);
    k_outer = s.split(whole, {infer, 4})[0];
    A = s.cache_read(AB, "A", Scope::shared);
    B = s.cache_read(AB, "B", Scope::shared);
    for (BlockRef tile : {A, B})
      s.compute_at(tile, k_outer);
  }
  /// Copies the tile of A to registers before shared memory.
  BlockRef through_registers() {
    BlockRef local = s.cache_read(A, "A", Scope::local);
    s.compute_at(local, k_outer);
    return local;
  }
};

TEST(Pipeline, IsPrintedAndChangesNothing) {
  PipelinedTiles t;
  BlockRef local = t.through_registers();
  t.s.pipeline(t.k_outer, {{local, 0, 0}, {t.A, 0, 3}, {t.B, 0, 1}, {t.AB, 1, 2}});
  EXPECT_TRUE(contains(print(t.s.program()),
                       "for k_outer < 3 pipelined [A_local: 0, B_shared: 0, AB: 1, A_shared: 0]:"))
      << print(t.s.program());
  EXPECT_TRUE(test::same_meaning(t.s));
  EXPECT_EQ(to_cpp(t.s.trace().back()),
            "s.pipeline(k_outer, {{A_local, 0, 0}, {A_shared, 0, 3}, {B_shared, 0, 1}, {AB, 1, 2}});");
}

TEST(Pipeline, ReplaysFromJson) {
  PipelinedTiles t;
  t.s.pipeline(t.k_outer, {{t.A, 0, 0}, {t.B, 1, 1}, {t.AB, 2, 2}});
  TraceFile file = parse_trace(to_json(trace_file(t.s, {5, 6, 12}, DType::u32)), "t.json");
  Schedule again = replay(file, gemm(5, 6, 12), Target{}, "t.json");
  EXPECT_EQ(again.trace(), t.s.trace());
  EXPECT_EQ(print(again.program()), print(t.s.program()));
}

TEST(Pipeline, BrokenJsonIsNoTrace) {
  PipelinedTiles t;
  t.s.double_buffer(t.k_outer);
  for (const char *stages :
       {"[{\"block\": \"AB\", \"stage\": 0}]", "[1]", "[{\"block\": 1, \"stage\": 0, \"order\": 0}]"})
    test::expect_user_error(
        [&] {
          parse_trace(
              std::string(R"({"nestsmith_trace": 1, "workload": "gemm", "target": "sm_80", "dtype": "f32",
                     "shape": [5, 6, 12], "directives": [{"op": "pipeline", "args": [{"stages": )") +
                  stages + "}]}]}",
              "t.json");
        },
        ExitCode::usage, "a stage is not of the form");
}

TEST(Pipeline, GivesSharedTilesACopyForEachStageBetween) {
  PipelinedTiles t;
  auto slots = [&](const char *block) {
    return place(t.s.program(), find_block(t.s.program().body, t.s.block(block).id)->body.buffer).slots.count;
  };
  EXPECT_EQ(slots("A_shared"), 1);
  t.s.pipeline(t.k_outer, {{t.A, 0, 0}, {t.B, 1, 1}, {t.AB, 2, 2}});
  EXPECT_EQ(slots("A_shared"), 3);
  EXPECT_EQ(slots("B_shared"), 2);
  EXPECT_EQ(slots("AB"), 1);
}

TEST(Pipeline, NeedsNoMoreCopiesThanIterations) {
  for (std::int64_t k : {1, 4, 5, 8}) {
    PipelinedTiles t(k);
    t.s.pipeline(t.k_outer, {{t.A, 0, 0}, {t.B, 1, 1}, {t.AB, 2, 2}});
    Buffer tile = find_block(t.s.program().body, t.A.id)->body.buffer;
    EXPECT_EQ(place(t.s.program(), tile).slots.count, (k + 3) / 4);
  }
}

TEST(Pipeline, KeepsItsStagesThroughLaterDirectives) {
  PipelinedTiles t;
  t.s.double_buffer(t.k_outer);
  t.s.unroll(t.s.loops(t.AB).back());
  auto loops = t.s.loops(t.A);
  t.s.fuse(loops[loops.size() - 2], loops.back());
  t.s.decompose_reduction(t.AB, t.k_outer);
  EXPECT_TRUE(contains(print(t.s.program()), "pipelined [A_shared: 0, B_shared: 0, AB: 1]"));
  EXPECT_TRUE(test::same_meaning(t.s));
}

TEST(DoubleBuffer, LoadsFirstAndStoresLast) {
  PipelinedTiles t;
  t.through_registers();
  t.s.double_buffer(t.k_outer);
  EXPECT_TRUE(contains(print(t.s.program()), "pipelined [A_local: 0, B_shared: 0, AB: 1, A_shared: 0]"))
      << print(t.s.program());
  EXPECT_TRUE(test::same_meaning(t.s));
}

TEST(PipelineRefuses, LoopThatIsNotSerial) {
  PipelinedTiles t;
  t.s.double_buffer(t.k_outer);
  expect_refused(t.s, "pipeline.serial",
                 [&] {
                   t.s.pipeline(t.k_outer, {{t.A, 0, 0}, {t.B, 0, 1}, {t.AB, 1, 2}});
                 },
                 "the loop k_outer is pipelined, expected a serial loop", {"k_outer"});
  Loop i = t.s.loop("i");
  t.s.bind(i, Axis::block_x);
  expect_refused(t.s, "pipeline.serial",
                 [&] {
                   t.s.pipeline(i, {{t.A, 0, 0}, {t.B, 0, 1}, {t.AB, 1, 2}});
                 },
                 "the loop i is bound to blockIdx.x, expected a serial loop", {"i"});
}

TEST(PipelineRefuses, BlocksThatAreNotThoseBelow) {
  PipelinedTiles t;
  expect_refused(t.s, "pipeline.blocks",
                 [&] {
                   t.s.pipeline(t.k_outer, {{t.A, 0, 0}, {t.AB, 1, 1}});
                 },
                 "block B_shared is below k_outer but has no stage; name every block below the loop once",
                 {"B_shared", "k_outer"});
  expect_refused(t.s, "pipeline.blocks",
                 [&] {
                   t.s.pipeline(t.k_outer, {{t.A, 0, 0}, {t.A, 0, 1}, {t.B, 0, 1}, {t.AB, 1, 2}});
                 },
                 "block A_shared is named twice", {"A_shared"});
  BlockRef C = t.s.block("C");
  expect_refused(t.s, "pipeline.blocks",
                 [&] {
                   t.s.pipeline(t.k_outer, {{t.A, 0, 0}, {t.B, 0, 1}, {t.AB, 1, 2}, {C, 2, 3}});
                 },
                 "block C reads AB, which AB sums over k_outer: it is complete only after the last iteration, "
                 "so C does not belong to the loop; keep it after the loop and out of the pipeline",
                 {"C", "AB", "k_outer"});
  Loop k_inner = t.s.loops(t.AB).back();
  expect_refused(t.s, "pipeline.blocks",
                 [&] {
                   t.s.pipeline(k_inner, {{t.A, 0, 0}, {t.AB, 1, 1}});
                 },
                 "block A_shared is not below k_inner; name only the blocks below the loop", {"A_shared"});
}

TEST(PipelineRefuses, LoopOfOneNest) {
  PipelinedTiles t;
  Loop k_inner = t.s.loops(t.AB).back();
  expect_refused(t.s, "pipeline.nests",
                 [&] {
                   t.s.pipeline(k_inner, {{t.AB, 0, 0}});
                 },
                 "the body of k_inner is one nest, expected at least 2 that can overlap", {"k_inner"});
}

TEST(PipelineRefuses, BlocksOfOneNestApart) {
  Schedule s(gemm(5, 6, 12));
  BlockRef AB = s.block("AB");
  auto [k_outer, k_inner] = s.split(s.loops(AB).back(), {infer, 4});
  BlockRef A = s.cache_read(AB, "A", Scope::shared), fragment = s.cache_read(AB, "A_shared", Scope::local);
  s.compute_at(fragment, k_inner);
  s.compute_at(A, k_outer);
  expect_refused(s, "pipeline.together",
                 [&, k = k_outer] {
                   s.pipeline(k, {{A, 0, 0}, {fragment, 0, 1}, {AB, 1, 2}});
                 },
                 "the blocks A_shared_local and AB share a nest below k_outer, so they run together, but have "
                 "the stages 0 and 1 and the orders 1 and 2; give both the same stage and order",
                 {"A_shared_local", "AB"});
}

TEST(PipelineRefuses, StagesWithAGap) {
  PipelinedTiles t;
  expect_refused(t.s, "pipeline.stages",
                 [&] {
                   t.s.pipeline(t.k_outer, {{t.A, 0, 0}, {t.B, 0, 1}, {t.AB, 2, 2}});
                 },
                 "got the stage 2, but no nest has the stage 1; number the stages from 0 without a gap: the 3 "
                 "nests below k_outer have at most 3 stages",
                 {"k_outer"});
  expect_refused(t.s, "pipeline.stages",
                 [&] {
                   t.s.pipeline(t.k_outer, {{t.A, -1, 0}, {t.B, 0, 1}, {t.AB, 1, 2}});
                 },
                 "got the stage -1, but no nest has the stage 0", {"k_outer"});
  expect_refused(t.s, "pipeline.stages",
                 [&] {
                   t.s.pipeline(t.k_outer, {{t.A, 0, 0}, {t.B, 0, 1}, {t.AB, 0, 2}});
                 },
                 "all blocks below k_outer have stage 0, so nothing would overlap", {"k_outer"});
}

/// The refusal of a gap names the way to make one more stage.
TEST(Pipeline, HasAsManyStagesAsNests) {
  PipelinedTiles t;
  expect_refused(t.s, "pipeline.stages",
                 [&] {
                   t.s.pipeline(t.k_outer, {{t.A, 0, 0}, {t.B, 0, 1}, {t.AB, 3, 2}});
                 },
                 "fetch a tile through registers with cache_read(…, Scope::local) and compute_at, and give the "
                 "nest that reads the registers the next stage and a lower order",
                 {"k_outer"});
  BlockRef local = t.through_registers();
  t.s.pipeline(t.k_outer, {{t.A, 2, 0}, {local, 1, 1}, {t.B, 0, 2}, {t.AB, 3, 3}});
  EXPECT_TRUE(test::same_meaning(t.s));
}

TEST(PipelineRefuses, OrdersThatAreNoPermutation) {
  PipelinedTiles t;
  for (std::int64_t order : {0, 3, -1})
    expect_refused(t.s, "pipeline.orders",
                   [&] {
                     t.s.pipeline(t.k_outer, {{t.A, 0, 0}, {t.B, 0, order}, {t.AB, 1, 2}});
                   },
                   "the 3 nests below k_outer have the order " + std::to_string(order) +
                       " twice or out of range, expected each number from 0 to 2 once",
                   {"B_shared"});
}

TEST(PipelineRefuses, OrderThatBreaksADependence) {
  PipelinedTiles t;
  expect_refused(t.s, "pipeline.order",
                 [&] {
                   t.s.pipeline(t.k_outer, {{t.A, 1, 0}, {t.B, 0, 1}, {t.AB, 0, 2}});
                 },
                 "block A_shared writes A_shared in the iteration k_outer = 0 before block AB reads it in "
                 "k_outer = 0, but stage 1, order 0 against stage 0, order 2 would reverse the two; give AB a "
                 "later stage, or the same stage and a later order",
                 {"A_shared", "AB"});
  expect_refused(t.s, "pipeline.order",
                 [&] {
                   t.s.pipeline(t.k_outer, {{t.A, 0, 2}, {t.B, 1, 1}, {t.AB, 0, 0}});
                 },
                 "stage 0, order 2 against stage 0, order 0 would reverse the two", {"A_shared", "AB"});
}

/// for k < 4: T[i] = X[k, i]; S[i] += T[i]; Y[k, i] = S[i]. The loop of the sum contains its write-back.
struct RunningSum {
  Schedule s;
  RunningSum() : s(make()) {}

  static Program make() {
    auto buffer = [](const char *name, std::vector<Expr> shape, Scope scope, Role role) {
      return std::make_shared<const BufferNode>(BufferNode{name, DType::u32, std::move(shape), scope, role});
    };
    Buffer X = buffer("X", {4, 3}, Scope::global, Role::input),
           Y = buffer("Y", {4, 3}, Scope::global, Role::output);
    Buffer T = buffer("T", {4, 3}, Scope::shared, Role::temporary);
    Buffer S = buffer("S", {3}, Scope::local, Role::temporary);
    Var k = make_var("k");
    auto nest = [&](const char *name, bool sums, const std::function<Store(Expr, Expr)> &store) {
      Var i = make_var(std::string("i_") + name), row = make_var("row"), column = make_var("column");
      Block block;
      block.id = std::make_shared<const BlockSymbol>(BlockSymbol{name});
      block.iters = {{row, Expr(4), sums ? IterKind::reduction : IterKind::spatial, Expr(k)},
                     {column, Expr(3), IterKind::spatial, Expr(i)}};
      block.body = store(row, column);
      if (sums)
        block.init = Store{S, {column}, constant(DType::u32, 0)};
      return make_for({i, Expr(3), Serial{}, make_block(block)});
    };
    Stmt body = make_seq({
        nest("T", false,
             [&](Expr r, Expr c) {
               return Store{T, {r, c}, load(X, {r, c})};
             }),
        nest("S", true,
             [&](Expr r, Expr c) {
               return Store{S, {c}, load(S, {c}) + load(T, {r, c})};
             }),
        nest("Y", false,
             [&](Expr r, Expr c) {
               return Store{Y, {r, c}, load(S, {c})};
             }),
    });
    return {"running_sum", {X, Y}, {}, make_for({k, Expr(4), Serial{}, body})};
  }
};

TEST(PipelineRefuses, WriteBackInsideThePipelinedLoop) {
  RunningSum r;
  r.s.decompose_reduction(r.s.block("S"), r.s.loop("k"));
  Loop k = r.s.loop("k");
  BlockRef T = r.s.block("T"), S = r.s.block("S"), Y = r.s.block("Y");
  expect_refused(
      r.s, "pipeline.carried",
      [&] {
        r.s.pipeline(k, {{T, 0, 0}, {S, 1, 1}, {Y, 2, 2}});
      },
      "block Y reads S in the iteration k = 0 before block S writes it in k = 1, but stage 2, order 2 against "
      "stage 1, order 1 would reverse the two; S is shared by all iterations: give both the same stage",
      {"Y", "S"});
  r.s.pipeline(k, {{T, 0, 0}, {S, 1, 1}, {Y, 1, 2}});
  EXPECT_TRUE(test::same_meaning(r.s));
}

TEST(PipelineRefuses, RegistersIndexedByTheIteration) {
  PipelinedTiles t;
  BlockRef local = t.through_registers();
  expect_refused(t.s, "pipeline.registers",
                 [&] {
                   t.s.pipeline(t.k_outer, {{local, 0, 0}, {t.B, 0, 1}, {t.A, 1, 2}, {t.AB, 1, 3}});
                 },
                 "A_local is local and would need 2 copies, selected by k_outer, but registers have no dynamic "
                 "index; order its readers before its writers and one stage apart, use the same stage, or "
                 "unroll k_outer before pipeline",
                 {"k_outer"});
  Schedule readers_first = t.s;
  readers_first.pipeline(t.k_outer, {{t.A, 1, 0}, {local, 0, 1}, {t.B, 0, 2}, {t.AB, 1, 3}});
  t.s.unroll(t.k_outer);
  t.s.pipeline(t.k_outer, {{local, 0, 0}, {t.B, 0, 1}, {t.A, 1, 2}, {t.AB, 1, 3}});
}

TEST(PipelineRefuses, LaterDirectivesThatBreakIt) {
  PipelinedTiles t;
  t.s.double_buffer(t.k_outer);
  expect_refused(t.s, "split.serial",
                 [&] {
                   t.s.split(t.k_outer, {infer, 2});
                 },
                 "the loop k_outer is pipelined, expected a serial loop; do this before it is pipelined",
                 {"k_outer"});
  BlockRef local = t.s.cache_read(t.A, "A", Scope::local);
  expect_refused(t.s, "pipeline.blocks", [&] { t.s.compute_at(local, t.k_outer); },
                 "block A_local is below k_outer but has no stage; name every block below the loop once, and "
                 "move blocks there before pipeline",
                 {"A_local", "k_outer"});
}

TEST(DoubleBufferRefuses, LoopThatIsNotSerial) {
  PipelinedTiles t;
  t.s.double_buffer(t.k_outer);
  expect_refused(t.s, "double_buffer.serial", [&] { t.s.double_buffer(t.k_outer); },
                 "the loop k_outer is pipelined, expected a serial loop", {"k_outer"});
}

TEST(DoubleBufferRefuses, LoopWithoutSharedTiles) {
  PipelinedTiles t;
  Loop i = t.s.loops(t.AB).front(), k_inner = t.s.loops(t.AB).back();
  for (Loop loop : {i, k_inner})
    expect_refused(t.s, "double_buffer.tiles", [&] { t.s.double_buffer(loop); },
                   "no nest below " + t.s.name(loop) + " writes a shared tile that another nest reads",
                   {t.s.name(loop)});
}

TEST(Partition, IsPrintedAndChangesNothing) {
  PipelinedTiles t(11);
  t.s.partition(t.k_outer);
  EXPECT_TRUE(contains(print(t.s.program()), "for k_outer < 3 partitioned:")) << print(t.s.program());
  EXPECT_TRUE(test::same_meaning(t.s));
  TraceFile file = parse_trace(to_json(trace_file(t.s, {5, 6, 11}, DType::u32)), "t.json");
  EXPECT_EQ(print(replay(file, gemm(5, 6, 11), Target{}, "t.json").program()), print(t.s.program()));
}

TEST(PartitionRefuses, LoopsOfThreadsAndUnrolledOnes) {
  Schedule s(gemm(7, 6, 11));
  auto [i, j, k] = s.loops<3>(s.block("AB"));
  auto [outer, inner] = s.split(i, {infer, 4});
  s.bind(inner, Axis::thread_x);
  s.split(k, {infer, 4});
  Loop k_outer = s.loop("k_outer");
  expect_refused(
      s, "partition.kind", [&, x = inner] { s.partition(x); },
      "the loop i_inner is bound to threadIdx.x, and all threads of a block share one version of the code",
      {"i_inner"});
  s.partition(k_outer);
  expect_refused(s, "partition.kind", [&] { s.partition(k_outer); }, "the loop k_outer is already partitioned",
                 {"k_outer"});
  expect_refused(s, "unroll.serial", [&] { s.unroll(k_outer); },
                 "the loop k_outer is partitioned, expected a serial loop", {"k_outer"});
  s.unroll(outer);
  expect_refused(s, "partition.kind", [&, x = outer] { s.partition(x); }, "the loop i_outer is unrolled",
                 {"i_outer"});
}

TEST(PartitionRefuses, LoopThatGuardsNothing) {
  PipelinedTiles t(12);
  expect_refused(t.s, "partition.guarded", [&] { t.s.partition(t.k_outer); },
                 "no guard of a block below k_outer depends on it: all its tiles are full for this shape",
                 {"k_outer"});
}

/// Y reads X[i + 1] under a mask on the index, or X[i] under a mask on data.
Schedule masked_steps(bool on_memory) {
  Workload w("masked");
  Tensor x = w.placeholder("X", {16}, DType::u32);
  Tensor y = w.compute("Y", {16}, {"i"}, [&](Expr i) -> Definition {
    return on_memory ? x.where(x(i) < 5, i) : x.where(i + 1 < 16, i + 1);
  });
  Schedule s(w.output({y}));
  s.split<2>(s.loop("i"), {infer, 4});
  return s;
}

TEST(Partition, OfALoopOnWhichAMaskDepends) {
  Schedule s = masked_steps(false);
  s.partition(s.loop("i_outer"));
  EXPECT_TRUE(test::same_meaning(s));
}

TEST(PartitionRefuses, LoopOnWhichOnlyAMaskOnMemoryDepends) {
  Schedule s = masked_steps(true);
  expect_refused(s, "partition.guarded", [&] { s.partition(s.loop("i_outer")); },
                 "no guard of a block below i_outer depends on it: all its tiles are full for this shape, and "
                 "no mask there compares it; leave the partition out",
                 {"i_outer"});
}

} // namespace
} // namespace nestsmith
