/// Tests the requirements of primitives on layouts and launches. Each test violates one requirement.

#include "tests/dsl/support.h"

namespace nestsmith {
namespace {

using test::contains;
using test::expect_refused;
using test::gemm;
using test::product;

/// A product with a tile of B in shared memory.
struct SharedTile {
  Schedule s = Schedule(product(64, 64, 64));
  BlockRef tile = s.cache_read(s.block("C"), "B", Scope::shared);
};

TEST(TransformLayoutRefuses, Parameter) {
  Schedule s(product(8, 5, 4));
  expect_refused(s, "transform_layout.temporary", [&] { s.transform_layout(s.block("C"), "i, j -> j, i"); },
                 "block C writes C, a parameter whose layout the caller fixes", {"C"});
}

TEST(TransformLayoutRefuses, GlobalMemory) {
  Schedule s(gemm(8, 5, 4));
  expect_refused(s, "transform_layout.scope", [&] { s.transform_layout(s.block("AB"), "i, j -> j, i"); },
                 "AB is global, expected shared, local or warp; use set_scope first", {"AB"});
}

TEST(TransformLayoutRefuses, WrongRank) {
  SharedTile made;
  Schedule &s = made.s;
  BlockRef tile = made.tile;
  expect_refused(s, "transform_layout.rank", [&] { s.transform_layout(tile, "i -> i"); },
                 "the map takes 1 indices, but B_shared is stored by 2", {"B_shared"});
  s.transform_layout(tile, "k, j -> k//4, j, k%4");
  expect_refused(s, "transform_layout.rank", [&] { s.transform_layout(tile, "k, j -> j, k"); },
                 "the map takes 2 indices, but B_shared is stored by 3", {"B_shared"});
}

TEST(TransformLayoutRefuses, ReplicaOfALayout) {
  Schedule s(test::gemm(32, 8, 8));
  auto AB = s.block("AB");
  s.set_scope(AB, Scope::warp);
  s.transform_layout(AB, "i, j -> i, j");
  expect_refused(s, "transform_layout.rank", [&] { s.transform_layout(AB, "i, j, r -> r, i, j"); },
                 "the map takes 3 indices, but AB is stored by 2; the replica is an index of the first map",
                 {"AB"});
}

TEST(TransformLayoutRefuses, PaddedOrSwizzled) {
  SharedTile padded, swizzled;
  padded.s.storage_align(padded.tile, 0, 2, 1);
  expect_refused(padded.s, "transform_layout.first",
                 [&] { padded.s.transform_layout(padded.tile, "k, j -> j, k"); },
                 "B_shared is already padded, which depends on the order of dimensions that transform_layout "
                 "would change; use transform_layout first",
                 {"B_shared"});
  swizzled.s.swizzle(swizzled.tile, 5, 0, 5);
  expect_refused(swizzled.s, "transform_layout.first",
                 [&] { swizzled.s.transform_layout(swizzled.tile, "k, j -> j, k"); },
                 "B_shared is already swizzled", {"B_shared"});
}

TEST(TransformLayoutRefuses, MapThatIsNotInvertible) {
  SharedTile made;
  Schedule &s = made.s;
  BlockRef tile = made.tile;
  expect_refused(s, "transform_layout.invertible", [&] { s.transform_layout(tile, "k, j -> k*8 + j"); },
                 "the layout is not invertible over the 64 x 64 elements of B_shared: (0, 8) and (1, 0) both "
                 "map to (8); keep the remainder of each division, as in \"i -> i//4, i%4\"",
                 {"B_shared"});
  expect_refused(s, "transform_layout.invertible", [&] { s.transform_layout(tile, "k, j -> k//2, j"); },
                 "(0, 0) and (1, 0) both map to (0, 0)", {"B_shared"});
  // After compute_at, the tile has 64 x 8 elements.
  auto [j_outer, j_inner] = s.split(s.loop("j"), {infer, 8});
  (void)j_inner;
  s.reorder({j_outer, s.loop("i")});
  s.compute_at(tile, j_outer);
  s.transform_layout(tile, "k, j -> k*8 + j");
}

TEST(StorageAlignRefuses, Parameter) {
  Schedule s(product(8, 5, 4));
  expect_refused(s, "storage_align.temporary", [&] { s.storage_align(s.block("C"), 0, 2, 1); },
                 "block C writes C, a parameter whose layout the caller fixes", {"C"});
}

TEST(StorageAlignRefuses, LocalMemory) {
  Schedule s(gemm(8, 5, 4));
  s.set_scope(s.block("AB"), Scope::local);
  expect_refused(
      s, "storage_align.shared", [&] { s.storage_align(s.block("AB"), 0, 2, 1); },
      "AB is in local memory, but padding applies to shared memory only; use set_scope or cache_read first",
      {"AB"});
}

TEST(StorageAlignRefuses, InnermostDimension) {
  SharedTile made;
  Schedule &s = made.s;
  BlockRef tile = made.tile;
  for (std::int64_t dim : {-1, 1, 2})
    expect_refused(
        s, "storage_align.dim", [&] { s.storage_align(tile, dim, 2, 1); },
        "got the dimension " + std::to_string(dim) +
            ", expected one of the 1 outer dimensions of B_shared, because the innermost has stride 1",
        {"B_shared"});
}

TEST(StorageAlignRefuses, NumbersThatAreNoStride) {
  SharedTile made;
  Schedule &s = made.s;
  BlockRef tile = made.tile;
  for (auto [factor, offset] : {std::pair<std::int64_t, std::int64_t>{0, 0},
                                {-3, -4},
                                {32, 32},
                                {32, -1},
                                {65537, 1},
                                {std::int64_t{1} << 62, 1}})
    expect_refused(s, "storage_align.numbers", [&, f = factor, o = offset] { s.storage_align(tile, 0, f, o); },
                   "got the stride " + std::to_string(offset) + " modulo " + std::to_string(factor) +
                       ", expected a factor from 1 to 65536 and an offset below it",
                   {"B_shared"});
}

TEST(StorageAlignRefuses, Swizzled) {
  SharedTile made;
  Schedule &s = made.s;
  BlockRef tile = made.tile;
  s.swizzle(tile, 5, 0, 5);
  expect_refused(s, "storage_align.first", [&] { s.storage_align(tile, 0, 2, 1); },
                 "B_shared is already swizzled, and padding would change the offsets that the swizzle "
                 "permutes; use storage_align before swizzle",
                 {"B_shared"});
}

TEST(SwizzleRefuses, Parameter) {
  Schedule s(product(8, 5, 4));
  expect_refused(s, "swizzle.temporary", [&] { s.swizzle(s.block("C"), 3, 2, 3); },
                 "block C writes C, a parameter whose layout the caller fixes", {"C"});
}

TEST(SwizzleRefuses, LocalMemory) {
  Schedule s(gemm(8, 5, 4));
  s.set_scope(s.block("AB"), Scope::local);
  expect_refused(s, "swizzle.shared", [&] { s.swizzle(s.block("AB"), 3, 2, 3); },
                 "AB is in local memory, but a swizzle applies to shared memory only", {"AB"});
}

TEST(SwizzleRefuses, BitsThatOverlap) {
  SharedTile made;
  Schedule &s = made.s;
  BlockRef tile = made.tile;
  std::int64_t huge = std::int64_t{1} << 62;
  for (auto [bits, base, shift] : std::vector<std::array<std::int64_t, 3>>{
           {0, 2, 3}, {-1, 2, 3}, {3, -1, 3}, {3, 2, 2}, {3, 2, -3}, {9, 9, 9}, {huge, huge, huge}})
    expect_refused(s, "swizzle.numbers", [&, b = bits, m = base, x = shift] { s.swizzle(tile, b, m, x); },
                   "expected bits >= 1, base >= 0, shift >= bits (else a bit would be XORed into itself) and "
                   "their sum at most 24",
                   {"B_shared"});
}

TEST(SwizzleRefuses, Twice) {
  SharedTile made;
  Schedule &s = made.s;
  BlockRef tile = made.tile;
  s.swizzle(tile, 3, 2, 3);
  expect_refused(s, "swizzle.once", [&] { s.swizzle(tile, 3, 2, 3); },
                 "B_shared is already swizzled (swizzled 3, 2, 3); use one swizzle", {"B_shared"});
}

TEST(SetScopeRefuses, LayoutForAnotherMemory) {
  SharedTile made;
  Schedule &s = made.s;
  BlockRef tile = made.tile;
  s.storage_align(tile, 0, 2, 1);
  expect_refused(s, "set_scope.layout", [&] { s.set_scope(tile, Scope::local); },
                 "B_shared has a layout for shared memory (stride 0 padded to 1 mod 2); use set_scope before "
                 "storage_align",
                 {"B_shared"});
  s.set_scope(tile, Scope::shared);
}

TEST(LaunchBoundsRefuses, MoreBlocksThanAnSmHolds) {
  Schedule s(product(8, 5, 4));
  for (std::int64_t blocks : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{33}, std::int64_t{1} << 62})
    expect_refused(s, "launch_bounds.count", [&] { s.launch_bounds(blocks); },
                   "got " + std::to_string(blocks) + " blocks on an SM, expected 1 to 32, the limit of sm_80",
                   {});
}

TEST(LaunchBoundsRefuses, MoreThreadsThanAnSmHolds) {
  Schedule s(product(1024, 5, 4));
  s.bind(s.loop("i"), Axis::thread_x);
  expect_refused(s, "launch_bounds.threads", [&] { s.launch_bounds(3); },
                 "3 blocks of 1024 threads are 3072 threads, but an SM of sm_80 holds at most 2048; request at "
                 "most 2 blocks",
                 {});
  s.launch_bounds(2);
  EXPECT_EQ(s.program().min_blocks, 2);
  EXPECT_TRUE(contains(print(s.program()), "at least 2 blocks on an SM\n"));
}

TEST(Layouts, AreShownAndKeepTheMeaning) {
  SharedTile made;
  Schedule &s = made.s;
  BlockRef tile = made.tile;
  s.transform_layout(tile, [](Expr k, Expr j) { return std::vector<Expr>{j, k}; });
  s.storage_align(tile, 0, 32, 2);
  s.storage_align(tile, 0, 32, 1); // the last call replaces the earlier one
  s.swizzle(tile, 2, 0, 2);
  EXPECT_TRUE(contains(print(s.program()),
                       "shared B_shared: u32[64, 64], stored i, j -> j, i, stride 0 padded to "
                       "1 mod 32, swizzled 2, 0, 2\n"));
  EXPECT_TRUE(test::same_meaning(s));
  EXPECT_EQ(to_cpp(s.trace()[1]), "s.transform_layout(B_shared, \"i, j -> j, i\");");
  EXPECT_EQ(to_cpp(s.trace()[2]), "s.storage_align(B_shared, 0, 32, 2);");
}

} // namespace
} // namespace nestsmith
