/// Tests the model of the caches on kernels whose traffic is known in advance.

#include "runtime/model/cache.h"
#include "runtime/model/count.h"
#include "runtime/model/traffic.h"
#include "tests/runtime/sim/gemm_kernels.h"

#include <gtest/gtest.h>

namespace nestsmith::model {
namespace {

using sim::at;
using sim::GemmShape;
using sim::KernelBuilder;
using sim::naive_gemm;
using sim::shared_gemm;

constexpr std::int64_t kib = 1024;

TrafficResult traffic_of(const kernel::Kernel &kernel, const MemorySystem &system,
                         const TrafficOptions &options = {}) {
  return traffic(kernel, {}, count(kernel, {}), system, options);
}

/// Returns a kernel that executes out[i] = in[i] `passes` times.
kernel::Kernel copy(std::int64_t elements, std::int64_t passes = 1) {
  KernelBuilder b("copy");
  Buffer in = b.param("in", elements), out = b.param("out", elements, Role::output);
  Expr bx = b.axis(Axis::block_x, "bx", elements / 256), tx = b.axis(Axis::thread_x, "tx", 256);
  b.loop("pass", passes, [&](Expr) { b.store(out, bx * 256 + tx, at(in, bx * 256 + tx)); });
  return b.build();
}

TEST(ACache, KeepsWhatWasUsedLast) {
  Cache cache(16 * 128); // the cache has one set
  for (std::uint64_t line = 0; line < 16; ++line)
    EXPECT_EQ(cache.load(line, 0xF), 0u);
  EXPECT_EQ(cache.load(0, 0x3), 0x3u);
  EXPECT_EQ(cache.load(16, 0x1), 0u) << "takes the place of line 1, which was not used for longest";
  EXPECT_EQ(cache.load(0, 0xF), 0xFu);
  EXPECT_EQ(cache.load(16, 0xF), 0x1u) << "of a line it has one sector";
  EXPECT_EQ(cache.load(1, 0xF), 0u);
}

TEST(ACache, KnowsWhatMemoryDoesNotHaveYet) {
  Cache cache(64 * kib);
  EXPECT_EQ(cache.load(5, 0xF), 0u);
  EXPECT_EQ(cache.store(5, 0x1), 0u);
  EXPECT_EQ(cache.store(5, 0x3), 0x1u);
}

TEST(ACache, OfNothingHoldsNothing) {
  Cache cache(0);
  EXPECT_EQ(cache.load(1, 0xF), 0u);
  EXPECT_EQ(cache.load(1, 0xF), 0u);
}

TEST(Traffic, OfACopyIsEachSectorOnce) {
  Traffic t =
      traffic_of(copy(64 * kib), {.sms = 4, .blocks_per_sm = 2, .l1_bytes = 64 * kib, .l2_bytes = 4096 * kib})
          .traffic;
  constexpr std::uint64_t sectors = 64 * kib * 4 / 32;
  EXPECT_EQ(t.l1_sectors, sectors);
  EXPECT_EQ(t.l1_hits, 0u);
  EXPECT_EQ(t.l2_reads, sectors);
  EXPECT_EQ(t.dram_reads, sectors);
  EXPECT_EQ(t.l2_writes, sectors);
  EXPECT_EQ(t.dram_writes, sectors);
  EXPECT_EQ(t.dram_bytes(), 2u * 64 * kib * 4);
}

TEST(Traffic, ThatIsRepeatedComesFromTheCaches) {
  constexpr std::uint64_t sectors = 64 * kib * 4 / 32;
  MemorySystem system{.sms = 4, .blocks_per_sm = 2, .l1_bytes = 64 * kib, .l2_bytes = 4096 * kib};
  Traffic t = traffic_of(copy(64 * kib, 3), system).traffic;
  EXPECT_EQ(t.l1_sectors, 3 * sectors);
  EXPECT_EQ(t.l1_hits, 2 * sectors);
  EXPECT_EQ(t.dram_reads, sectors);
  EXPECT_EQ(t.l2_writes, 3 * sectors) << "stores go through L1";
  EXPECT_EQ(t.dram_writes, sectors);
  system.l1_bytes = 0;
  t = traffic_of(copy(64 * kib, 3), system).traffic;
  EXPECT_EQ(t.l1_hits, 0u);
  EXPECT_EQ(t.l2_read_hits, 2 * sectors);
  EXPECT_EQ(t.dram_reads, sectors);
  system.l2_bytes = 0;
  t = traffic_of(copy(64 * kib, 3), system).traffic;
  EXPECT_EQ(t.dram_reads, 3 * sectors);
  EXPECT_EQ(t.dram_writes, 3 * sectors);
}

TEST(Traffic, OfNaiveAndCoalescedProductsIsTheSameInDram) {
  GemmShape s{128, 128, 128};
  MemorySystem system{.sms = 8, .blocks_per_sm = 2, .l1_bytes = 128 * kib, .l2_bytes = 4096 * kib};
  Traffic naive = traffic_of(naive_gemm(s), system).traffic,
          coalesced = traffic_of(naive_gemm(s, true), system).traffic;
  EXPECT_EQ(naive.dram_reads, 2u * 128 * 128 * 4 / 32);
  EXPECT_EQ(coalesced.dram_reads, naive.dram_reads);
  EXPECT_GT(naive.l1_sectors, 6 * coalesced.l1_sectors);
}

TEST(Traffic, ThatIsFollowedInPartIsNearTheWhole) {
  GemmShape s{256, 256, 256};
  MemorySystem system{.sms = 4, .blocks_per_sm = 1, .l1_bytes = 32 * kib, .l2_bytes = 128 * kib};
  for (const kernel::Kernel &kernel : {naive_gemm(s), naive_gemm(s, true), shared_gemm(s)}) {
    TrafficResult whole = traffic_of(kernel, system, {.max_requests = ~std::uint64_t{0}});
    std::uint64_t all = 0;
    for (const AccessCounts &access : count(kernel, {}).accesses)
      if (access.buffer->scope == Scope::global)
        all += access.requests + access.lines / 32;
    TrafficResult part = traffic_of(kernel, system, {.max_requests = all / 3});
    EXPECT_EQ(whole.followed * whole.followed_blocks, 1);
    EXPECT_NEAR(part.followed * part.followed_blocks, 1.0 / 3, 0.01);
    auto near = [](std::uint64_t a, std::uint64_t b) {
      EXPECT_NEAR(static_cast<double>(a) / static_cast<double>(b), 1, 0.25) << a << " of " << b;
    };
    EXPECT_EQ(part.traffic.l1_sectors, whole.traffic.l1_sectors) << "it is known from the counts";
    near(part.traffic.l2_reads, whole.traffic.l2_reads);
    near(part.traffic.dram_reads, whole.traffic.dram_reads);
  }
}

} // namespace
} // namespace nestsmith::model
