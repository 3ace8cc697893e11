/// Operands that a kernel of their own copies, so that they are stored as the tiles of a product are read.

#include "codegen/cuda.h"
#include "lowering/lower.h"
#include "schedules/library/packing.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"
#include "tests/schedules/role_products.h"
#include "tests/schedules/rung.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using library::RegisterTiles;
using test::contains;

/// 16 x 64 results in tiles that bulk copies fill.
RegisterTiles packed(std::int64_t even_places = 0) {
  RegisterTiles tiles = test::register_tiles(true);
  tiles.packed = true;
  tiles.even_places = even_places;
  return tiles;
}

std::size_t bulk_copies(const Schedule &s) {
  return static_cast<std::size_t>(
      std::ranges::count_if(s.trace(), [](const Directive &d) { return d.op == "bulk_copy"; }));
}

/// The arrays of the program that a schedule made.
std::vector<std::string> copies_of(const Schedule &s) {
  std::vector<std::string> names;
  for (const Block *block : blocks_of(s.program().body))
    if (block->body.buffer->scope == Scope::global && contains(block->body.buffer->name, "_global"))
      names.push_back(block->body.buffer->name);
  return names;
}

TEST(Packing, CopiesTheOperandThatIsStoredAlongK) {
  const Schedule s = test::product_of({48, 64, 40}, DType::f32, packed());
  EXPECT_EQ(copies_of(s), std::vector<std::string>{"A_global"});
  EXPECT_EQ(bulk_copies(s), 2U);
  const kernel::Plan plan = lower(s);
  ASSERT_EQ(plan.kernels.size(), 2U);
  const std::string text = cuda_kernels(plan);
  EXPECT_TRUE(contains(text, "A_global[")) << text;
  EXPECT_TRUE(contains(text, "&A_global_map")) << text;
  EXPECT_TRUE(contains(text, "&B_map")) << text;
}

TEST(Packing, IsRight) {
  for (const Shape &shape :
       {Shape{48, 64, 40}, Shape{52, 60, 37}, Shape{16, 64, 8}, Shape{4, 4, 1}, Shape{20, 132, 7}}) {
    SCOPED_TRACE(shape[0]);
    test::expect_right(test::product_of(shape, DType::u32, packed()));
    test::expect_right(test::product_of(shape, DType::f32, packed()));
  }
}

/// Rows of the copy that are no whole vectors allow no bulk copies. Its tiles are filled by other copies.
TEST(Packing, IsRightForAnyNumberOfRows) {
  const Schedule s = test::product_of({47, 61, 19}, DType::f32, packed());
  EXPECT_EQ(copies_of(s), std::vector<std::string>{"A_global"});
  EXPECT_EQ(bulk_copies(s), 0U);
  test::expect_right(s);
}

/// Both parts of the rows read one copy.
TEST(Packing, IsSharedByTheTilesOfAnEvenTail) {
  const Schedule s = test::product_of({16 * 7, 64, 8 * 48}, DType::u32, packed(4));
  EXPECT_EQ(copies_of(s), std::vector<std::string>{"A_global"});
  EXPECT_TRUE(std::ranges::any_of(s.trace(), [](const Directive &d) { return d.op == "share_launch"; }));
  EXPECT_EQ(lower(s).kernels.size(), 2U);
  test::expect_right(s);
}

/// S[b, i, j] = sum over k, l of X[b, i, k, l] * W[b, j, k, l]: both operands, each with the batch first.
TEST(Packing, KeepsBatchesAndTheOrderOfSeveralAxes) {
  Workload w("batches");
  Tensor x = w.placeholder("X", {2, 20, 3, 8}, DType::u32), y = w.placeholder("W", {2, 68, 3, 8}, DType::u32);
  Reduce k = reduce_axis("k", 3), l = reduce_axis("l", 8);
  Tensor out = w.compute("S", {2, 20, 68}, {"b", "i", "j"}, [&](Expr b, Expr i, Expr j) {
    return sum(x(b, i, k, l) * y(b, j, k, l), {k, l});
  });
  Schedule s(w.output({out}), make_target("sm_90a"));
  library::product(s, s.block("S"), packed());
  EXPECT_EQ(copies_of(s), (std::vector<std::string>{"X_global", "W_global"}));
  EXPECT_EQ(bulk_copies(s), 2U);
  test::expect_right(s);
}

/// The batch of a linear layer counts rows. A tile has one dimension for both, which refuses bulk copies of X.
TEST(Packing, LeavesOperandsOfWhichBulkCopiesAreRefused) {
  Workload w("linear");
  Tensor x = w.placeholder("X", {3, 20, 40}, DType::u32), y = w.placeholder("W", {40, 64}, DType::u32);
  Reduce k = reduce_axis("k", 40);
  Tensor out = w.compute("S", {3, 20, 64}, {"b", "i", "j"},
                         [&](Expr b, Expr i, Expr j) { return sum(x(b, i, k) * y(k, j), k); });
  Schedule s(w.output({out}), make_target("sm_90a"));
  library::product(s, s.block("S"), packed());
  EXPECT_EQ(copies_of(s), std::vector<std::string>{});
  EXPECT_EQ(bulk_copies(s), 1U);
  test::expect_right(s);
}

/// A copy would gain nothing, or an index of it is no axis.
TEST(Packing, LeavesOtherOperands) {
  Workload w("others");
  Tensor x = w.placeholder("X", {40, 48}, DType::u32), y = w.placeholder("W", {128, 40}, DType::u32);
  Reduce k = reduce_axis("k", 40);
  Tensor out =
      w.compute("S", {48, 64}, {"i", "j"}, [&](Expr i, Expr j) { return sum(x(k, i) * y(j * 2, k), k); });
  Schedule s(w.output({out}), make_target("sm_90a"));
  library::product(s, s.block("S"), packed());
  EXPECT_EQ(copies_of(s), std::vector<std::string>{});
  test::expect_right(s);
  RegisterTiles without_bulk = packed();
  without_bulk.load.bulk = false;
  EXPECT_EQ(copies_of(test::product_of({48, 64, 40}, DType::u32, without_bulk)), std::vector<std::string>{});
}

/// An element that occurs twice has one copy. The elements of one array get a copy each.
TEST(Packing, CopiesEachElementOnce) {
  Workload w("twice");
  Tensor a = w.placeholder("A", {48, 40}, DType::f32), b = w.placeholder("B", {40, 64}, DType::f32);
  Reduce k = reduce_axis("k", 40);
  Schedule leaky(w.output({w.compute("S", {48, 64}, {"i", "j"},
                                     [&](Expr i, Expr j) {
                                       return sum(select(a(i, k) < 0.0, a(i, k) * 0.5, a(i, k)) * b(k, j), k);
                                     })}),
                 make_target("sm_90a"));
  library::product(leaky, leaky.block("S"), packed());
  EXPECT_EQ(copies_of(leaky), std::vector<std::string>{"A_global"});
  test::expect_right(leaky);
  Workload gram("gram");
  Tensor x = gram.placeholder("X", {64, 40}, DType::u32);
  Schedule s(gram.output({gram.compute("S", {64, 64}, {"i", "j"},
                                       [&](Expr i, Expr j) { return sum(x(i, k) * x(j, k), k); })}),
             make_target("sm_90a"));
  library::product(s, s.block("S"), packed());
  EXPECT_EQ(copies_of(s).size(), 2U);
  test::expect_right(s);
}

/// The first read of an array decides: X[i//2, k] is no matrix, so X[j, k] stays, too.
TEST(Packing, LeavesAnArrayWhoseFirstReadIsNoMatrix) {
  Workload w("halves");
  Tensor x = w.placeholder("X", {64, 40}, DType::u32);
  Reduce k = reduce_axis("k", 40);
  Schedule s(w.output({w.compute("S", {64, 64}, {"i", "j"},
                                 [&](Expr i, Expr j) { return sum(x(floordiv(i, 2), k) * x(j, k), k); })}),
             make_target("sm_90a"));
  library::product(s, s.block("S"), packed());
  EXPECT_EQ(copies_of(s), std::vector<std::string>{});
  test::expect_right(s);
}

TEST(Packing, IsAKnobOfProductsWhoseRowsAllowIt) {
  auto asks = [](const Shape &shape, const std::string &point) {
    Knobs knobs(parse_knobs(point));
    test::rung("fast/gemm").build(shape, DType::f32, make_target("sm_90a"), knobs);
    return std::ranges::any_of(knobs.asked(), [](const Knob &knob) { return knob.name == "packed"; });
  };
  EXPECT_TRUE(asks({512, 512, 64}, "roles=true,bulk=true"));
  EXPECT_FALSE(asks({510, 512, 64}, "roles=true,bulk=true"));
  EXPECT_FALSE(asks({512, 512, 64}, "roles=true,bulk=false"));
  EXPECT_FALSE(asks({512, 512, 64}, "roles=false"));
}

} // namespace
} // namespace nestsmith
