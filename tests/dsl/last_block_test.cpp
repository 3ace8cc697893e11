/// Tests last_block: the mark in the program, the refusals and the obligations.

#include "dsl/ir/dependence.h"
#include "dsl/schedule/trace.h"
#include "tests/dsl/support.h"

namespace nestsmith {
namespace {

using test::contains;
using test::expect_refused;
using test::gemm;

/// A product in tiles of 4 x 4 with one thread per block. Four blocks share a tile, and each sums a part of k.
struct SplitK {
  Schedule s;
  BlockRef AB, C, partial;
  Loop i_block, j_block, part;

  explicit SplitK(std::int64_t k = 11) : s(gemm(7, 6, k)), AB(s.block("AB")), C(s.block("C")) {
    auto [i, j, l] = s.loops<3>(AB);
    auto [i_outer, j_outer, i_inner, j_inner] = s.tile(i, j, {4, 4});
    auto [outer, inner] = s.split(l, {4, infer});
    partial = s.rfactor(outer);
    s.reorder({i_outer, j_outer, outer, i_inner, j_inner, inner});
    i_block = i_outer;
    j_block = j_outer;
    part = outer;
  }
  void bind() {
    s.bind(i_block, Axis::block_y);
    s.bind(j_block, Axis::block_x);
    s.bind(part, Axis::block_z);
  }
  /// Moves the sum of the parts and the result below the loops of the tile, after the loop over the parts.
  void join() {
    s.reverse_compute_at(AB, j_block);
    s.set_scope(AB, Scope::local);
    s.reverse_compute_at(C, s.loops_below(AB, j_block)[1]);
  }
};

/// A sum in two levels: of six parts, the last block of each of three groups adds two, and the last of these
/// blocks adds the sums of the groups.
struct TwoLevels {
  Schedule s;
  BlockRef AB, C, of_group, partial;
  Loop i, group, part;

  TwoLevels() : s(gemm(7, 6, 20)), AB(s.block("AB")), C(s.block("C")) {
    auto [row, column, k] = s.loops<3>(AB);
    auto [outer, middle, inner] = s.split(k, {3, 2, infer});
    of_group = s.rfactor(outer);
    partial = s.rfactor(middle);
    s.reorder({row, outer, middle, column, inner});
    i = row, group = outer, part = middle;
    s.reverse_compute_at(of_group, group);
    s.reverse_compute_at(AB, i);
    s.set_scope(AB, Scope::local);
    s.reverse_compute_at(C, s.loops_below(AB, i)[0]);
    s.bind(i, Axis::block_x);
    s.bind(group, Axis::block_y);
    s.bind(part, Axis::block_z);
  }
};

/// Expects an obligation with this message. If `by` is not empty, this directive must have caused it.
void expect_owed(const Schedule &s, const std::string &message, const std::string &by = "") {
  std::string all;
  for (const Obligation &owed : s.obligations()) {
    all += owed.message + "\n";
    if (contains(owed.message, message) && !by.empty()) {
      EXPECT_EQ(to_cpp(s.trace().at(owed.directive - 1)), by);
    }
  }
  EXPECT_TRUE(contains(all, message)) << "expected " << message << "\ngot\n" << all << print(s.program());
}

TEST(LastBlock, IsPrintedAndChangesNothing) {
  SplitK t;
  t.bind();
  t.join();
  EXPECT_FALSE(t.s.obligations().empty());
  t.s.last_block(t.part);
  EXPECT_TRUE(contains(print(t.s.program()), "for k_outer < 4 in blockIdx.z then last block:"))
      << print(t.s.program());
  EXPECT_TRUE(t.s.obligations().empty()) << t.s.obligations().front().message;
  EXPECT_TRUE(test::same_meaning(t.s));
  EXPECT_TRUE(contains(test::trace_text(t.s), "s.last_block(k_outer);\n"));
  TraceFile file = parse_trace(to_json(trace_file(t.s, {7, 6, 11}, DType::u32)), "t.json");
  EXPECT_EQ(print(replay(file, gemm(7, 6, 11), Target{}, "t.json").program()), print(t.s.program()));
}

TEST(LastBlock, MayBeNested) {
  TwoLevels t;
  t.s.last_block(t.part);
  EXPECT_FALSE(t.s.obligations().empty()); // the sums of the groups are read in the kernel that writes them
  t.s.last_block(t.group);
  EXPECT_TRUE(t.s.obligations().empty()) << t.s.obligations().front().message << "\n" << print(t.s.program());
  EXPECT_TRUE(test::same_meaning(t.s));
  TwoLevels outer_first;
  outer_first.s.last_block(outer_first.group);
  EXPECT_FALSE(outer_first.s.obligations().empty()); // the parts are read in the kernel that writes them
  outer_first.s.last_block(outer_first.part);
  EXPECT_EQ(print(outer_first.s.program()), print(t.s.program()));
  EXPECT_TRUE(outer_first.s.obligations().empty());
}

TEST(LastBlock, MayBeMarkedBeforeItsReadersAreComplete) {
  SplitK t;
  t.bind();
  t.s.reverse_compute_at(t.AB, t.j_block);
  t.s.last_block(t.part);
  t.s.set_scope(t.AB, Scope::local);
  expect_owed(t.s, "AB is in local memory, which does not outlive its kernel");
  t.s.reverse_compute_at(t.C, t.s.loops_below(t.AB, t.j_block)[1]);
  EXPECT_TRUE(t.s.obligations().empty()) << t.s.obligations().front().message;
}

TEST(LastBlockRefuses, LoopsThatAreNotBoundToABlockAxis) {
  SplitK t;
  t.join();
  expect_refused(t.s, "last_block.axis", [&] { t.s.last_block(t.part); },
                 "the loop k_outer is serial, expected a loop that is bound to a block axis", {"k_outer"});
  t.s.bind(t.part, Axis::thread_x);
  expect_refused(t.s, "last_block.axis", [&] { t.s.last_block(t.part); },
                 "the loop k_outer is bound to threadIdx.x, expected a loop that is bound to a block axis",
                 {"k_outer"});
}

TEST(LastBlockRefuses, LoopsAroundItThatAreNotBlocks) {
  SplitK t;
  t.join();
  t.s.bind(t.part, Axis::block_z);
  expect_refused(t.s, "last_block.around", [&] { t.s.last_block(t.part); },
                 "the loop i_outer around k_outer is serial", {"i_outer", "k_outer"});
  t.s.bind(t.i_block, Axis::block_y);
  t.s.bind(t.j_block, Axis::thread_x);
  expect_refused(t.s, "last_block.around", [&] { t.s.last_block(t.part); },
                 "the loop j_outer around k_outer is bound to threadIdx.x", {"j_outer", "k_outer"});

  SplitK outermost;
  outermost.bind();
  expect_refused(outermost.s, "last_block.around", [&] { outermost.s.last_block(outermost.i_block); },
                 "no loop is around i_outer", {"i_outer"});
}

TEST(LastBlockRefuses, LoopsWithoutAStatementAfterThem) {
  SplitK t;
  t.bind();
  expect_refused(t.s, "last_block.after", [&] { t.s.last_block(t.part); },
                 "no statement follows k_outer in the loop j_outer, so the last block has nothing to execute",
                 {"k_outer"});
}

TEST(LastBlockRefuses, ASecondLoopOfTheNest) {
  SplitK t;
  t.bind();
  t.join();
  t.s.last_block(t.part);
  expect_refused(t.s, "last_block.once", [&] { t.s.last_block(t.part); },
                 "the loop k_outer already has a last block that continues", {"k_outer"});
}

TEST(LastBlockOwes, OtherLoopsOnBlockAxes) {
  SplitK t;
  t.s.reorder({t.part, t.j_block});
  t.s.bind(t.part, Axis::block_z);
  t.s.bind(t.i_block, Axis::block_y);
  t.s.reverse_compute_at(t.AB, t.i_block);
  t.s.last_block(t.part);
  t.s.bind(t.j_block, Axis::block_x);
  expect_owed(
      t.s, "the loop j_outer is bound to blockIdx.x, but it is not around k_outer, whose last block continues",
      "s.bind(j_outer, Axis::block_x);");
}

/// Returns a nest with a block for each column x. Along y, two blocks write T[p, x]. The last one of them reads
/// T[p, (x + shift) % 4].
Stmt nest_of_readers(std::int64_t shift) {
  auto buffer = [](const char *name, std::vector<Expr> shape, Role role) {
    return std::make_shared<const BufferNode>(
        BufferNode{name, DType::u32, std::move(shape), Scope::global, role});
  };
  Buffer X = buffer("X", {4}, Role::input), T = buffer("T", {2, 4}, Role::temporary),
         Y = buffer("Y", {4}, Role::output);
  Var x = make_var("x"), p = make_var("p"), part = make_var("part"), i = make_var("i"), j = make_var("j");
  auto id = [](const char *name) { return std::make_shared<const BlockSymbol>(BlockSymbol{name}); };
  Stmt writer = make_block({id("T"),
                            {{part, 2, IterKind::spatial, p}, {i, 4, IterKind::spatial, x}},
                            {},
                            {T, {part, i}, load(X, {i})}});
  Stmt reader = make_block({id("Y"),
                            {{j, 4, IterKind::spatial, floormod(Expr(x) + shift, 4)}},
                            {},
                            {Y, {j}, load(T, {Expr(0), j}) + load(T, {Expr(1), j})}});
  Stmt parts = make_for({p, 2, BoundTo{Axis::block_y, false, true}, writer});
  return make_for({x, 4, BoundTo{Axis::block_x}, make_seq({parts, reader})});
}

TEST(LastBlockOwes, ReadsOfWhatOtherBlocksOfTheSameCounterWroteOnly) {
  EXPECT_FALSE(unordered_accesses({}, nest_of_readers(0)));
  auto race = unordered_accesses({}, nest_of_readers(1));
  ASSERT_TRUE(race);
  EXPECT_EQ(race->buffer->name, "T");
  EXPECT_EQ(race->axis, Axis::block_x);
}

TEST(LastBlockOwes, SharedMemoryOfTheOtherBlocks) {
  SplitK t;
  t.bind();
  t.join();
  t.s.last_block(t.part);
  t.s.set_scope(t.partial, Scope::shared);
  expect_owed(t.s, "AB_rf is shared, one copy for each block, but it is used outside of the loop bound to "
                   "blockIdx.z");
}

/// A last block in another nest does not satisfy the requirement.
TEST(LastBlockRefuses, ALoopThatNothingFollowsBesideAMarkedNest) {
  Workload w("two");
  Tensor x = w.placeholder("X", {8, 8}, DType::u32);
  Tensor y = w.compute("Y", {8, 8}, {"i", "j"}, [&](Expr i, Expr j) { return x(i, j) * 2; });
  Reduce r = reduce_axis("r", 8);
  Tensor t = w.compute("T", {8}, {"m"}, [&](Expr m) { return sum(x(m, Expr(r)), r); });
  Schedule s(w.output({y, t}));
  BlockRef sums = s.block("T");
  auto [part, rest] = s.split(s.loop("r"), {4, infer});
  BlockRef parts = s.rfactor(part);
  s.reorder({s.loop("m"), part});
  Loop m = s.loops(parts).front(), i = s.loop("i"), j = s.loop("j");
  s.reverse_compute_at(sums, m);
  for (const Loop &loop : {m, i})
    s.bind(loop, Axis::block_y);
  for (const Loop &loop : {part, j})
    s.bind(loop, Axis::block_x);
  s.last_block(part);
  expect_refused(s, "last_block.after", [&] { s.last_block(j); }, "no statement follows j", {"j"});
}

} // namespace
} // namespace nestsmith
