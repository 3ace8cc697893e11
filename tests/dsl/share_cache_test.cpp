/// Tests `share_cache`: a copy of a buffer with several readers.
#include "tests/dsl/rows.h"
#include "tests/dsl/support.h"

namespace nestsmith {
namespace {

using test::centered;
using test::chain;
using test::contains;
using test::expect_refused;

TEST(ShareCache, IsReadByBothBlocks) {
  Schedule s(centered(3, 5));
  BlockRef copy = s.cache_read(s.block("T"), "X", Scope::local);
  s.share_cache(s.block("Y"), copy);
  EXPECT_TRUE(contains(print(s.program()), "Y[i, j] = X_local[i, j] + T[i]"));
}

TEST(ShareCacheRefuses, ABlockThatIsNoCopy) {
  Schedule s(chain(4, 6));
  BlockRef t = s.block("T"), y = s.block("Y");
  expect_refused(
      s, "share_cache.copy", [&] { s.share_cache(y, t); },
      "block T does not fill its buffer with the elements of another, each at its place and without a mask; "
      "give the block that cache_read returned",
      {"T"});
}

TEST(ShareCacheRefuses, AReaderOfOtherBuffers) {
  Schedule s(chain(4, 6));
  BlockRef copy = s.cache_read(s.block("T"), "X", Scope::local);
  expect_refused(s, "share_cache.reads", [&] { s.share_cache(s.block("Y"), copy); },
                 "block Y does not read X, expected a block that only reads it", {"Y"});
}

TEST(ShareCacheRefuses, AnIncompleteCopy) {
  Schedule s(centered(6, 5));
  BlockRef copy = s.cache_read(s.block("T"), "X", Scope::local);
  s.compute_at(copy, s.loops(s.block("T"))[0]);
  expect_refused(
      s, "share_cache.whole", [&] { s.share_cache(s.block("Y"), copy); },
      "X_local is not in a nest of its own before the nest of Y, so it may lack elements that Y reads; use "
      "share_cache before compute_at of X_local",
      {"X_local", "Y"});
}

TEST(ShareCacheRefuses, AReaderBeforeTheCopy) {
  Schedule s(centered(6, 5));
  BlockRef copy = s.cache_read(s.block("Y"), "X", Scope::local);
  expect_refused(s, "share_cache.whole", [&] { s.share_cache(s.block("T"), copy); },
                 "X_local is not in a nest of its own before the nest of T", {"X_local", "T"});
}

TEST(ShareCacheRefuses, ABufferThatIsWrittenAfterTheCopy) {
  Workload w("stale");
  Tensor c = w.inout("C", {4}, DType::u32);
  Tensor t = w.compute("T", {4}, {"i"}, [&](Expr i) { return c(i) + 1; });
  w.update(c, {"i"}, [&](const std::vector<Expr> &i) -> Definition { return c(i[0]) * 2; });
  Tensor y = w.compute("Y", {4}, {"i"}, [&](Expr i) { return c(i) + t(i); });
  Schedule s(w.output({y}));
  BlockRef copy = s.cache_read(s.block("T"), "C", Scope::local);
  expect_refused(s, "share_cache.stale", [&] { s.share_cache(s.block("Y"), copy); },
                 "block C writes C between C_local and Y, so the copy may be stale; use cache_read for Y",
                 {"C", "Y"});
  expect_refused(s, "share_cache.reads", [&] { s.share_cache(s.block("C"), copy); },
                 "block C writes C, expected a block that only reads it", {"C"});
}

} // namespace
} // namespace nestsmith
