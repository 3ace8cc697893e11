/// Tests the requirements of primitives on blocks and buffers. Each test violates one requirement.

#include "dsl/ir/printer.h"
#include "tests/dsl/support.h"

namespace nestsmith {
namespace {

using test::chain;
using test::contains;
using test::expect_refused;
using test::gemm;
using test::product;

TEST(CacheReadRefuses, BufferThatIsNotRead) {
  Schedule s(gemm(8, 5, 4));
  BlockRef ab = s.block("AB"), c = s.block("C");
  expect_refused(s, "cache_read.reads", [&] { s.cache_read(ab, "D", Scope::shared); },
                 "block AB does not read 'D'; it reads AB, A, B", {"AB"});
  expect_refused(s, "cache_read.reads", [&] { s.cache_read(c, "A", Scope::shared); },
                 "block C does not read 'A'; it reads AB, C", {"C"});
}

TEST(CacheReadRefuses, GlobalCopyOfATile) {
  Schedule s(gemm(8, 5, 4));
  BlockRef ab = s.block("AB");
  s.cache_read(ab, "A", Scope::shared);
  expect_refused(s, "cache_read.scope", [&] { s.cache_read(ab, "A_shared", Scope::global); },
                 "got the scope global for a copy of A_shared, which is shared, expected shared, local or warp",
                 {});
}

TEST(CacheReadRefuses, BufferThatTheReaderWrites) {
  Schedule s(gemm(8, 5, 4));
  BlockRef ab = s.block("AB");
  expect_refused(s, "cache_read.unwritten", [&] { s.cache_read(ab, "AB", Scope::shared); },
                 "block AB also writes AB, so a copy made before it would be stale; use cache_write", {"AB"});
}

TEST(CacheReadRefuses, BufferThatTheReaderUpdatesUnderAMask) {
  Schedule s(gemm(8, 5, 4));
  BlockRef c = s.block("C");
  expect_refused(s, "cache_read.unwritten", [&] { s.cache_read(c, "C", Scope::shared); },
                 "block C also writes C, so a copy made before it would be stale; use cache_write", {"C"});
}

/// A sum reads the elements that it has written before.
TEST(CacheReadRefuses, BufferOfASumInRegisters) {
  Schedule s(gemm(8, 5, 4));
  expect_refused(s, "cache_read.unwritten", [&] { s.cache_read(s.block("AB"), "AB", Scope::local); },
                 "block AB also writes AB", {"AB"});
}

/// alpha*AB + beta*C reads each element of C where it overwrites it, so registers may hold a copy of it.
TEST(CacheRead, OfABlockThatUpdatesInPlace) {
  Schedule s(gemm(8, 5, 4));
  BlockRef c = s.block("C");
  auto [i_outer, i_inner] = s.split<2>(s.loops(c)[0], {infer, 3});
  BlockRef copy = s.cache_read(c, "C", Scope::local);
  EXPECT_TRUE(test::same_meaning(s)) << "the copy of the whole array precedes the block";
  s.compute_at(copy, i_outer);
  s.unroll(s.loops_below(copy, i_outer)[0]);
  EXPECT_TRUE(test::contains(print(s.program()), "beta*C_local[i, j]"));
  EXPECT_TRUE(test::same_meaning(s));
}

TEST(CacheReadRefuses, BufferThatIsNotCompleteBefore) {
  Schedule s(gemm(8, 5, 4));
  BlockRef c = s.block("C");
  s.reverse_compute_at(c, s.loop("i"));
  expect_refused(s, "cache_read.before", [&] { s.cache_read(c, "AB", Scope::local); },
                 "block AB writes AB in the nest in which C reads it, so the copy would precede the writes; "
                 "use cache_read before moving the blocks into one nest",
                 {"AB", "C"});
}

TEST(CacheWriteRefuses, GlobalScope) {
  Schedule s(gemm(8, 5, 4));
  BlockRef ab = s.block("AB");
  expect_refused(s, "cache_write.scope", [&] { s.cache_write(ab, Scope::global); },
                 "got the scope global, expected shared, local or warp", {});
}

TEST(CacheWriteRefuses, ReductionOfAnUpdatedParameter) {
  Workload w("sums");
  Tensor x = w.placeholder("X", {4, 8}), y = w.inout("Y", {4});
  Reduce k = reduce_axis("k", 8);
  w.update(y, {"i"}, [&](const std::vector<Expr> &at) -> Definition { return sum(x(at[0], k), k); });
  Schedule s(w.output());
  BlockRef block = s.block("Y");
  s.decompose_reduction(block, s.loops(block)[1]);
  expect_refused(
      s, "cache_write.pure", [&] { s.cache_write(block, Scope::local); },
      "Y is an inout parameter, and block Y is a reduction or reads other elements than the one that it "
      "writes, so the cache would not hold their old values; compute the update in a stage of its own",
      {"Y"});
}

TEST(CacheWrite, HoldsTheSumsOfAnUpdatedParameter) {
  Workload w("sums");
  Tensor x = w.placeholder("X", {4, 8}), y = w.inout("Y", {4});
  Reduce k = reduce_axis("k", 8);
  w.update(y, {"i"}, [&](const std::vector<Expr> &at) -> Definition { return sum(x(at[0], k), k); });
  Schedule s(w.output());
  BlockRef block = s.block("Y"), stored = s.cache_write(block, Scope::local);
  s.reverse_compute_at(stored, s.loops(block)[0]);
  EXPECT_TRUE(test::same_meaning(s));
}

/// The block goes on to read the parameter, and the cache holds new values.
TEST(CacheWrite, HoldsNewValuesOfAnUpdatedParameter) {
  Schedule s(gemm(8, 5, 4));
  BlockRef c = s.block("C"), back = s.cache_write(c, Scope::shared);
  EXPECT_TRUE(test::same_meaning(s));
  EXPECT_TRUE(contains(print(s.program()), "C_shared[i, j] = alpha*AB[i, j] + beta*(C[i, j]"))
      << print(s.program());
  s.bind(s.loops(back)[0], Axis::block_x);
}

TEST(CacheWriteRefuses, WriterInAnotherNest) {
  Schedule s(product(8, 5, 4));
  BlockRef c = s.block("C");
  s.decompose_reduction(c, s.loop("i"));
  expect_refused(s, "cache_write.writers", [&] { s.cache_write(c, Scope::local); },
                 "block C_init also writes C, in another nest, and would bypass the cache; use cache_write "
                 "before decompose_reduction",
                 {"C", "C_init"});
}

TEST(CacheWriteRefuses, ReaderInTheSameNest) {
  Schedule s(gemm(8, 5, 4));
  BlockRef ab = s.block("AB");
  s.reverse_compute_at(s.block("C"), s.loop("i"));
  expect_refused(s, "cache_write.readers", [&] { s.cache_write(ab, Scope::local); },
                 "block C reads AB in the same nest, before the cache is copied back; use cache_write before "
                 "moving the blocks into one nest",
                 {"C"});
}

TEST(SetScopeRefuses, Parameter) {
  Schedule s(gemm(8, 5, 4));
  BlockRef c = s.block("C");
  expect_refused(
      s, "set_scope.temporary", [&] { s.set_scope(c, Scope::local); },
      "block C writes C, a parameter in global memory; use cache_write to compute it in local memory", {"C"});
}

TEST(ComputeAtRefuses, Parameter) {
  Schedule s(gemm(8, 5, 4));
  BlockRef c = s.block("C");
  Loop i = s.loop("i");
  expect_refused(s, "compute_at.temporary", [&] { s.compute_at(c, i); },
                 "block C writes C, a parameter that must be computed in full; use compute_at on a temporary",
                 {"C"});
}

TEST(ComputeAtRefuses, SumWhoseInitStandsAlone) {
  Schedule s(gemm(8, 5, 4));
  BlockRef ab = s.block("AB");
  s.decompose_reduction(ab, s.loop("k"));
  Loop at = s.loop("C_i");
  expect_refused(s, "compute_at.whole", [&] { s.compute_at(ab, at); },
                 "AB has separate blocks for init and update, which would have to move together; use "
                 "compute_at before decompose_reduction",
                 {"AB"});
}

TEST(ComputeAtRefuses, LoopThatDoesNotEncloseTheReaders) {
  Schedule s(chain(8, 5));
  BlockRef t = s.block("T"), u = s.block("U");
  Loop own = s.loop("i"), last = s.loop("Y_i");
  expect_refused(s, "compute_at.encloses", [&] { s.compute_at(t, own); },
                 "block T is already below i; name a loop of a reader", {"i", "T"});
  expect_refused(s, "compute_at.encloses", [&] { s.compute_at(t, last); },
                 "block U reads T but is not below Y_i; choose a loop that encloses every reader",
                 {"Y_i", "U"});
  s.compute_at(u, last);
  s.compute_at(t, last);
  EXPECT_TRUE(test::same_meaning(s));
}

TEST(ComputeAtRefuses, StageThatNothingReads) {
  Workload w("dead");
  Tensor x = w.placeholder("X", {4}, DType::u32);
  w.compute("T", {4}, {"i"}, [&](Expr i) { return x(i) + 1; });
  Tensor y = w.compute("Y", {4}, {"i"}, [&](Expr i) { return x(i) * 2; });
  Schedule s(w.output({y}));
  BlockRef t = s.block("T");
  Loop at = s.loop("Y_i");
  expect_refused(s, "compute_at.read", [&] { s.compute_at(t, at); },
                 "no block reads T, so there is no reader to move the producer to; leave it in place", {"T"});
}

TEST(ComputeAtRefuses, NestWithABoundLoop) {
  Schedule s(gemm(8, 5, 4));
  BlockRef tile = s.cache_read(s.block("AB"), "A", Scope::shared);
  Loop row = s.loops(tile)[0];
  s.bind(row, Axis::thread_x);
  Loop k = s.loop("k");
  expect_refused(s, "compute_at.serial", [&] { s.compute_at(tile, k); },
                 "the loop " + s.name(row) +
                     " of block A_shared is bound to threadIdx.x, which would be lost because this directive "
                     "rebuilds the loops; bind and unroll afterwards",
                 {s.name(row)});

  Schedule t(gemm(8, 5, 4));
  BlockRef other = t.cache_read(t.block("AB"), "A", Scope::shared);
  t.unroll(t.loops(other)[1]);
  Loop at = t.loop("k");
  expect_refused(t, "compute_at.serial", [&] { t.compute_at(other, at); },
                 "of block A_shared is unrolled, which would be lost because this directive rebuilds the loops",
                 {t.name(t.loops(other)[1])});
}

TEST(ComputeAtRefuses, InputThatIsNotComplete) {
  Schedule s(chain(8, 5));
  BlockRef u = s.block("U");
  s.reverse_compute_at(u, s.loop("i"));
  Loop last = s.loop("Y_i");
  expect_refused(s, "compute_at.inputs", [&] { s.compute_at(u, last); },
                 "block U reads T, which T computes in the same nest, below i; move T first", {"T", "U"});
}

TEST(ComputeAtRefuses, InputOfAllThreadsThatEachThreadMakes) {
  // The box of a shared U has the elements that all threads read, but each thread computes only its part of T.
  Schedule s(chain(8, 5));
  BlockRef u = s.block("U"), y = s.block("Y");
  Loop i = s.loop("i");
  s.set_scope(u, Scope::shared);
  s.reverse_compute_at(u, i);
  s.reverse_compute_at(y, i);
  s.bind(i, Axis::thread_x);
  Loop at = s.loops(y)[1];
  expect_refused(s, "compute_at.inputs", [&] { s.compute_at(u, at); },
                 "block U reads T, which T computes in the same nest, below i; move T first", {"T", "U"});
}

/// Y[i] is the sum of T[i + r]*W[r] over r. In iteration r, a tile of T_shared is copied from T_local, which
/// has exactly the elements of this tile.
struct Pieces {
  Schedule s;
  BlockRef shared, local;
  Pieces() : s(program()) {
    s.reorder({s.loop("r"), s.loop("Y_i")});
    shared = s.cache_read(s.block("Y"), "T", Scope::shared);
    s.compute_at(shared, s.loop("r"));
  }
  void bring_local() {
    local = s.cache_read(shared, "T", Scope::local);
    s.compute_at(local, s.loop("r"));
  }

private:
  static Program program() {
    Workload w("convolution");
    Tensor x = w.placeholder("X", {8}, DType::u32), f = w.placeholder("W", {3}, DType::u32);
    Tensor t = w.compute("T", {8}, {"i"}, [&](Expr i) { return x(i) + 1; });
    Reduce r = reduce_axis("r", 3);
    Tensor y = w.compute("Y", {5}, {"i"}, [&](Expr i) { return sum(t(i + r) * f(r), r); });
    return w.output({y});
  }
};

TEST(ComputeAtRefuses, TailsPastThePieceThatIsThere) {
  Pieces p;
  p.bring_local();
  Loop tile = p.s.split(p.s.loop("Y_i"), {infer, 4})[0];
  expect_refused(
      p.s, "compute_at.pieces", [&] { p.s.compute_at(p.shared, tile); },
      "block T_shared would read 8 elements of T_local from index r in dimension 0, but T_local produces only "
      "5 from index r in each iteration of r; move T_shared to Y_i_outer before moving T_local below r",
      {"T_shared", "T_local"});

  Pieces before; // the remedy that the message names
  before.s.compute_at(before.shared, before.s.split(before.s.loop("Y_i"), {infer, 4})[0]);
  before.bring_local();
  EXPECT_TRUE(test::same_meaning(before.s));

  Pieces whole; // without a tail
  whole.bring_local();
  whole.s.compute_at(whole.shared, whole.s.split(whole.s.loop("Y_i"), {infer, 1})[0]);
  EXPECT_TRUE(test::same_meaning(whole.s));
}

TEST(ReverseComputeAtRefuses, BlockThatDoesNotFollowTheLoop) {
  Schedule s(chain(8, 5));
  BlockRef t = s.block("T"), u = s.block("U"), y = s.block("Y");
  Loop first = s.loop("i"), middle = s.loop("U_i");
  expect_refused(s, "reverse_compute_at.reads", [&] { s.reverse_compute_at(y, first); },
                 "block Y reads no temporary that is written below i; choose a loop of its producer",
                 {"i", "Y"});
  expect_refused(s, "reverse_compute_at.reads", [&] { s.reverse_compute_at(t, middle); },
                 "block T reads no temporary that is written below U_i", {"U_i", "T"});
  expect_refused(s, "reverse_compute_at.reads", [&] { s.reverse_compute_at(u, middle); },
                 "block U is already below U_i; name a loop of a producer", {"U_i", "U"});
}

TEST(ReverseComputeAtRefuses, NestWithABoundLoop) {
  Schedule s(gemm(8, 5, 4));
  BlockRef c = s.block("C");
  s.bind(s.loop("C_j"), Axis::thread_x);
  Loop i = s.loop("i");
  expect_refused(s, "reverse_compute_at.serial", [&] { s.reverse_compute_at(c, i); },
                 "the loop C_j of block C is bound to threadIdx.x, which would be lost because this directive "
                 "rebuilds the loops",
                 {"C_j"});
}

TEST(ReverseComputeAtRefuses, PartialSum) {
  Schedule s(gemm(8, 5, 4));
  BlockRef ab = s.block("AB"), c = s.block("C");
  Loop k = s.loop("k"), i = s.loop("i"), j = s.loop("j");
  s.reorder({k, i, j});
  for (Loop at : {k, i, j})
    expect_refused(s, "reverse_compute_at.complete", [&] { s.reverse_compute_at(c, at); },
                   "block AB sums over k, so AB holds a partial sum inside it; choose a loop outside of k",
                   {"k", "AB"});
  s.decompose_reduction(ab, k);
  expect_refused(s, "reverse_compute_at.complete", [&] { s.reverse_compute_at(c, k); },
                 "block AB_init also writes AB but is not below k; choose a loop that encloses every writer",
                 {"k", "AB_init"});
}

TEST(ReverseComputeAtRefuses, ReadElsewhereThanAtItsOwnAxes) {
  auto refused = [](const std::function<Tensor(Workload &, const Tensor &)> &reader) {
    Workload w("rows");
    Tensor x = w.placeholder("X", {5, 5}, DType::u32);
    Tensor t = w.compute("T", {5, 5}, {"i", "j"}, [&](Expr i, Expr j) { return x(i, j) + 1; });
    Tensor y = reader(w, t);
    Schedule s(w.output({y}));
    BlockRef r = s.block("Y");
    Loop i = s.loop("i");
    expect_refused(s, "reverse_compute_at.identity", [&] { s.reverse_compute_at(r, i); },
                   "block Y reads T so that the elements that it can compute in one iteration of i are not a "
                   "box of its axes; use compute_at on the producer",
                   {"Y"});
  };
  refused([](Workload &w, const Tensor &t) {
    Reduce i = reduce_axis("r", 5); // the sum is over the rows, and each iteration produces one row
    return w.compute("Y", {5}, {"j"}, [&](Expr j) { return sum(t(i, j), i); });
  });
  refused([](Workload &w, const Tensor &t) {
    return w.compute("Y", {4, 5}, {"i", "j"}, [&](Expr i, Expr j) { return t(i + 1, j) + t(i, j); });
  });
  refused([](Workload &w, const Tensor &t) {
    Reduce j = reduce_axis("r", 5); // the sum is in one of the iterations
    return w.compute("Y", {5}, {"i"}, [&](Expr) { return sum(t(2, j), j); });
  });
  refused([](Workload &w, const Tensor &t) {
    return w.compute("Y", {2, 5}, {"i", "j"}, [&](Expr i, Expr j) { return t(i * 2 + 1, j); });
  });
  refused([](Workload &w, const Tensor &t) {
    return w.compute("Y", {5, 5}, {"i", "j"}, [&](Expr i, Expr j) { return t(4 - i, j); });
  });
  refused(
      [](Workload &w, const Tensor &t) { return w.compute("Y", {5}, {"i"}, [&](Expr i) { return t(i, i); }); });
  refused([](Workload &w, const Tensor &t) {
    return w.compute("Y", {2, 3, 5}, {"a", "b", "j"}, [&](Expr a, Expr b, Expr j) { return t(a * 2 + b, j); });
  });
  refused([](Workload &w, const Tensor &t) {
    return w.compute("Y", {5, 5}, {"i", "j"}, [&](Expr i, Expr j) { return t(i, j) + t(j, i); });
  });
}

/// Y has eight columns. It reads the first six from T, and the others are 0.
Schedule six_columns(std::int64_t columns) {
  Workload w("masked");
  Tensor x = w.placeholder("X", {4, 8}, DType::u32);
  Tensor t = w.compute("T", {4, columns}, {"i", "j"}, [&](Expr i, Expr j) { return x(i, j) + 1; });
  Tensor y = w.compute("Y", {4, 8}, {"i", "j"}, [&](Expr i, Expr j) { return t.where(j < 6, i, j); });
  return Schedule(w.output({y}));
}

TEST(ReverseComputeAtRefuses, LoopsThatProduceLessThanTheReaderComputes) {
  std::string message = "produce only a part of T, so block Y would not compute all of its 8 elements along j";
  Schedule shape = six_columns(6), mask = six_columns(8);
  BlockRef y = shape.block("Y");
  Loop j = shape.loop("j");
  expect_refused(shape, "reverse_compute_at.covers", [&] { shape.reverse_compute_at(y, j); }, message, {"j"});
  mask.compute_at(mask.block("T"), mask.loop("Y_i"));
  y = mask.block("Y"), j = mask.loops(mask.block("T")).back();
  expect_refused(mask, "reverse_compute_at.covers", [&] { mask.reverse_compute_at(y, j); }, message, {});
}

/// T has `made` elements and Y has `read` elements. Y is 0 past the end of T.
Schedule masked_past_the_end(const Expr &made, const Expr &read, Workload &w) {
  Tensor x = w.placeholder("X", {made}, DType::u32);
  Tensor t = w.compute("T", {made}, {"i"}, [&](Expr i) -> Definition { return x(i) + 1; });
  Tensor y = w.compute("Y", {read}, {"i"}, [&](Expr i) -> Definition { return t.where(i < made, i); });
  return Schedule(w.output({y}));
}

TEST(ReverseComputeAtRefuses, SizesForWhichTheLoopsMayProduceLess) {
  for (int which : {0, 1, 2}) {
    Workload w("sizes");
    Expr m = w.size("M"), other = which == 0 ? w.size("N") : which == 1 ? (m + 1) / 2 : m + 1;
    Schedule s = which == 2 ? masked_past_the_end(m, other, w) : masked_past_the_end(other, m, w);
    BlockRef y = s.block("Y");
    Loop i = s.loops(s.block("T"))[0];
    expect_refused(s, "reverse_compute_at.covers", [&] { s.reverse_compute_at(y, i); },
                   "produce only a part of T, so block Y would not compute all of its", {s.name(i)});
  }
}

TEST(ReverseComputeAtRefuses, IterationsThatShareElements) {
  Schedule s(gemm(8, 5, 4));
  auto [outer, inner] = s.split(s.fuse(s.loop("i"), s.loop("j")), {infer, 7});
  (void)outer;
  BlockRef c = s.block("C");
  expect_refused(s, "reverse_compute_at.partition", [&, at = inner] { s.reverse_compute_at(c, at); },
                 "the iterations of i_j_inner and of the loops around it do not produce disjoint boxes of AB, "
                 "so block C would run more than once for some elements; choose a loop whose iterations each "
                 "complete a separate tile",
                 {"i_j_inner", "C"});
}

TEST(ReverseComputeAtRefuses, OtherInputThatComesLater) {
  Workload w("two");
  Tensor x = w.placeholder("X", {4, 5}, DType::u32);
  Tensor t = w.compute("T", {4, 5}, {"i", "j"}, [&](Expr i, Expr j) { return x(i, j) + 1; });
  Tensor u = w.compute("U", {4, 5}, {"i", "j"}, [&](Expr i, Expr j) { return x(i, j) * 2; });
  Tensor y = w.compute("Y", {4, 5}, {"i", "j"}, [&](Expr i, Expr j) { return t(i, j) + u(i, j); });
  Schedule s(w.output({y}));
  BlockRef r = s.block("Y");
  Loop first = s.loop("i");
  expect_refused(s, "reverse_compute_at.inputs", [&] { s.reverse_compute_at(r, first); },
                 "block Y also reads U, which U writes after the start of i; move U there first", {"i", "U"});
  s.reverse_compute_at(r, s.loop("U_i"));
  EXPECT_TRUE(test::same_meaning(s));
}

TEST(ReverseComputeAtRefuses, OtherInputThatIsMadeRowByRow) {
  Workload w("transposed");
  Tensor x = w.placeholder("X", {4, 4}, DType::u32);
  Tensor t = w.compute("T", {4, 4}, {"i", "j"}, [&](Expr i, Expr j) { return x(i, j) + 1; });
  Tensor u = w.compute("U", {4, 4}, {"i", "j"}, [&](Expr i, Expr j) { return t(i, j) * 2; });
  Tensor y = w.compute("Y", {4, 4}, {"i", "j"}, [&](Expr i, Expr j) { return u(i, j) + t(j, i); });
  Schedule s(w.output({y}));
  s.reverse_compute_at(s.block("U"), s.loop("i"));
  BlockRef r = s.block("Y");
  Loop column = s.loops(s.block("U"))[2];
  expect_refused(s, "reverse_compute_at.inputs", [&] { s.reverse_compute_at(r, column); },
                 "block Y also reads T, which T writes after the start of " + s.name(column) +
                     "; move T there first",
                 {s.name(column), "T"});
}

TEST(DecomposeReductionRefuses, BlockWithoutAnInit) {
  Schedule s(gemm(8, 5, 4));
  BlockRef ab = s.block("AB"), c = s.block("C");
  Loop k = s.loop("k"), i = s.loop("C_i");
  expect_refused(s, "decompose_reduction.init", [&] { s.decompose_reduction(c, i); },
                 "block C has no init, expected a sum that is not yet decomposed", {"C"});
  s.decompose_reduction(ab, k);
  expect_refused(s, "decompose_reduction.init", [&] { s.decompose_reduction(ab, k); }, "block AB has no init",
                 {"AB"});
}

TEST(DecomposeReductionRefuses, LoopOfAnotherBlock) {
  Schedule s(gemm(8, 5, 4));
  BlockRef ab = s.block("AB");
  Loop other = s.loop("C_i");
  expect_refused(s, "decompose_reduction.encloses", [&] { s.decompose_reduction(ab, other); },
                 "the loop C_i does not enclose block AB; name a loop around the block", {"C_i", "AB"});
}

TEST(DecomposeReductionRefuses, LoopInsideASum) {
  Schedule s(gemm(8, 5, 4));
  BlockRef ab = s.block("AB");
  Loop k = s.loop("k"), i = s.loop("i");
  s.reorder({k, i});
  expect_refused(s, "decompose_reduction.outermost", [&] { s.decompose_reduction(ab, i); },
                 "block AB sums over k, a loop outside of i, so the init would run again in each iteration of "
                 "the outer loop; decompose at k",
                 {"k", "i"});
}

TEST(DecomposeReductionRefuses, LoopThatRepeatsTheSum) {
  Workload w("broadcast");
  Tensor x = w.placeholder("X", {4, 3}, DType::u32), z = w.placeholder("Z", {5}, DType::u32);
  Reduce k = reduce_axis("k", 3);
  Tensor t = w.compute("T", {4}, {"i"}, [&](Expr i) { return sum(x(i, k), k); });
  Tensor y = w.compute("Y", {4, 5}, {"i", "l"}, [&](Expr i, Expr l) { return t(i) * z(l); });
  Schedule s(w.output({y}));
  BlockRef sums = s.block("T");
  Loop row = s.loop("Y_i"), l = s.loop("l");
  s.compute_at(sums, l);
  for (Loop at : {row, l})
    expect_refused(s, "decompose_reduction.once", [&] { s.decompose_reduction(sums, at); },
                   "block T is recomputed in each iteration of l, and without its init would add to the same "
                   "elements again; decompose at a loop inside of l",
                   {"l", "T"});
  Schedule fused = s;
  Loop both = fused.fuse(row, l);
  expect_refused(fused, "decompose_reduction.once", [&] { fused.decompose_reduction(sums, both); },
                 "block T is recomputed in each iteration of Y_i_l", {"Y_i_l"});
  s.decompose_reduction(sums, s.loops(sums).back());
  EXPECT_TRUE(test::same_meaning(s));
}

/// The copy has the elements that T reads at its axes.
TEST(ShareCache, NeedsACopyOfAllElements) {
  Workload w("part");
  Tensor x = w.placeholder("X", {9}, DType::u32);
  Tensor t = w.compute("T", {4}, {"i"}, [&](Expr i) { return x(i) + x(i + 5); });
  Schedule s(w.output({t}));
  BlockRef copy = s.reindex_cache_read(s.block("T"), "X", Scope::local);
  expect_refused(s, "share_cache.whole", [&] { s.share_cache(s.block("T"), copy); },
                 "copies only a part of X, which T may read beyond it; give the block that cache_read returned",
                 {});
}

/// The init of T sets the elements that Y reads, but the loops of the copy of X would sum all of T.
TEST(ReverseComputeAt, NeedsAnInitOfAllElements) {
  Workload w("part");
  Tensor x = w.placeholder("X", {20, 6}, DType::u32);
  Reduce k = reduce_axis("k", 6);
  Tensor t = w.compute("T", {20}, {"i"}, [&](Expr i) { return sum(x(i, k), k); });
  Tensor y = w.compute("Y", {8}, {"i"}, [&](Expr i) { return t(i + 4); });
  Schedule s(w.output({y}));
  Loop i = s.loops(s.block("Y"))[0];
  s.compute_at(s.block("T"), i);
  s.decompose_reduction(s.block("T"), i);
  BlockRef copy = s.cache_read(s.block("T"), "X", Scope::local);
  Loop row = s.loops(copy)[0];
  expect_refused(s, "reverse_compute_at.covers", [&] { s.reverse_compute_at(s.block("T"), row); },
                 "block T_init sets only a part of T, but block T would then sum all of its elements; use "
                 "reverse_compute_at before decompose_reduction",
                 {"T", "T_init"});
}

} // namespace
} // namespace nestsmith
