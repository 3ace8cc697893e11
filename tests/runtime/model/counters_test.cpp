/// Tests the cost of single requests, and the counts of whole kernels.

#include "runtime/model/count.h"
#include "runtime/model/request_counter.h"
#include "runtime/sim/simulate.h"
#include "tests/runtime/model/equal_counters.h"
#include "tests/runtime/sim/gemm_kernels.h"

#include <gmock/gmock.h>

namespace nestsmith::model {
namespace {

using sim::Argument;
using sim::at;
using sim::GemmShape;
using sim::KernelBuilder;
using sim::naive_gemm;
using sim::Result;
using sim::shared_gemm;

/// Returns a request in which lane n accesses `first + n * stride`, in bytes.
WarpRequest strided(std::int64_t first, std::int64_t stride, std::uint32_t mask = ~0u) {
  WarpRequest request{.mask = mask};
  for (std::size_t lane = 0; lane < 32; ++lane)
    request.address[lane] = first + static_cast<std::int64_t>(lane) * stride;
  return request;
}

TEST(RequestCosts, OfGlobalMemoryAreItsDifferentSectorsAndLines) {
  auto sectors = [](const WarpRequest &r, std::int64_t bytes) { return cost(r, bytes, Scope::global).sectors; };
  auto lines = [](const WarpRequest &r, std::int64_t bytes) { return cost(r, bytes, Scope::global).lines; };
  EXPECT_EQ(sectors(strided(0, 4), 4), 4u) << "32 neighbours of 4 bytes";
  EXPECT_EQ(sectors(strided(4, 4), 4), 5u) << "not aligned to a sector";
  EXPECT_EQ(sectors(strided(-4, 4), 4), 5u);
  EXPECT_EQ(sectors(strided(0, 0), 4), 1u) << "one address";
  EXPECT_EQ(sectors(strided(0, 4096), 4), 32u) << "down a column";
  EXPECT_EQ(sectors(strided(0, 8), 4), 8u) << "every other element";
  EXPECT_EQ(sectors(strided(0, 16), 16), 16u) << "vectors of 4";
  EXPECT_EQ(sectors(strided(0, 2), 2), 2u) << "16-bit elements";
  EXPECT_EQ(sectors(strided(0, 4, 0xFF), 4), 1u) << "8 lanes";
  EXPECT_EQ(lines(strided(0, 4), 4), 1u);
  EXPECT_EQ(lines(strided(32, 4), 4), 2u);
  EXPECT_EQ(lines(strided(0, 4096), 4), 32u);
  EXPECT_EQ(lines(strided(0, 16), 16), 4u);
  EXPECT_EQ(cost(strided(0, 4), 4, Scope::global).wavefronts, 0u);
}

TEST(RequestCosts, OfSharedMemoryAreThePassesThroughItsBanks) {
  auto passes = [](const WarpRequest &r, std::int64_t bytes) {
    return cost(r, bytes, Scope::shared).wavefronts;
  };
  auto conflicts = [](const WarpRequest &r, std::int64_t bytes) {
    return cost(r, bytes, Scope::shared).conflicts;
  };
  EXPECT_EQ(passes(strided(0, 4), 4), 1u) << "a row";
  EXPECT_EQ(passes(strided(128, 0), 4), 1u) << "a broadcast";
  EXPECT_EQ(passes(strided(0, 128), 4), 32u) << "a column of rows of 32";
  EXPECT_EQ(conflicts(strided(0, 128), 4), 31u);
  EXPECT_EQ(passes(strided(0, 132), 4), 1u) << "the same with rows of 33";
  EXPECT_EQ(passes(strided(0, 8), 4), 2u) << "every other word";
  EXPECT_EQ(passes(strided(0, 128, 0x7), 4), 3u) << "only lanes that perform it count";
  EXPECT_EQ(passes(strided(0, 2), 2), 1u) << "two lanes in each word";
  EXPECT_EQ(passes(strided(0, 64), 2), 16u) << "rows of 32 elements of 16 bits";
  EXPECT_EQ(passes(strided(0, 8), 8), 2u) << "halves of the warp, no conflict";
  EXPECT_EQ(conflicts(strided(0, 8), 8), 0u);
  EXPECT_EQ(passes(strided(0, 16), 16), 4u) << "quarters of the warp, no conflict";
  EXPECT_EQ(conflicts(strided(0, 16), 16), 0u);
  EXPECT_EQ(passes(strided(0, 128), 16), 32u) << "vectors down a column";
  EXPECT_EQ(conflicts(strided(0, 128), 16), 28u);
  EXPECT_EQ(passes(strided(0, 16, 0xFF), 16), 1u) << "the first quarter alone";
  EXPECT_EQ(passes(strided(128, 0), 16), 2u) << "a broadcast of vectors: the quarters go two by two";
  EXPECT_EQ(passes(strided(128, 0), 8), 1u);
  auto grouped = [](std::int64_t lanes, std::int64_t bytes) {
    WarpRequest request{.mask = ~0u};
    for (std::int64_t lane = 0; lane < 32; ++lane)
      request.address[static_cast<std::size_t>(lane)] = lane / lanes * bytes;
    return request;
  };
  EXPECT_EQ(passes(grouped(2, 16), 16), 2u) << "neighbours share";
  EXPECT_EQ(passes(grouped(2, 8), 8), 1u);
  EXPECT_EQ(conflicts(grouped(4, 16), 16), 0u);
  EXPECT_EQ(cost(strided(0, 4), 4, Scope::shared).sectors, 0u);
}

/// Returns what the simulator counts while it executes the kernel with all checks.
Counters simulated(const kernel::Kernel &kernel, GemmShape s) {
  Array A(DType::f32, {s.M, s.K}), B(DType::f32, {s.K, s.N}), C(DType::f32, {s.M, s.N});
  const Argument arguments[] = {{&A}, {&B}, {&C}};
  RequestCounter counting(false);
  Result result = run(kernel, arguments, {}, {.observer = &counting});
  EXPECT_TRUE(result.good()) << result.diagnostics[0].message;
  return counting.counters.at(0);
}

struct Case {
  const char *name;
  GemmShape shape;
};
class Counted : public testing::TestWithParam<Case> {};

TEST_P(Counted, WithoutComputingAsMuchAsWhileComputing) {
  GemmShape s = GetParam().shape;
  for (const kernel::Kernel &kernel : {naive_gemm(s), naive_gemm(s, true), shared_gemm(s)})
    expect_equal(count(kernel, {}), simulated(kernel, s));
}

INSTANTIATE_TEST_SUITE_P(Shapes, Counted,
                         testing::Values(Case{"one", {1, 1, 1}}, Case{"full_tiles", {64, 96, 32}},
                                         Case{"odd", {33, 65, 31}}, Case{"primes", {37, 101, 53}},
                                         Case{"long", {32, 32, 1000}}),
                         [](const auto &info) { return info.param.name; });

TEST(CountedKernels, ReadDownColumnsOrAlongRows) {
  GemmShape s{64, 64, 64};
  auto ratios = [&](const kernel::Kernel &kernel) {
    Counters counters = count(kernel, {});
    EXPECT_EQ(counters.accesses.size(), 3u);
    return std::pair(counters.accesses[0].sectors_per_request(), counters.accesses[1].sectors_per_request());
  };
  EXPECT_EQ(ratios(naive_gemm(s)), std::pair(32.0, 1.0));
  EXPECT_EQ(ratios(naive_gemm(s, true)), std::pair(1.0, 4.0));
}

TEST(CountedKernels, MultiplyAddsAreThoseOfTheProduct) {
  Counters counters = count(shared_gemm({64, 64, 96}), {});
  EXPECT_EQ(counters.multiply_adds.threads, 64u * 64 * 96);
  EXPECT_EQ(counters.multiply_adds.warps, 64u * 64 * 96 / 32);
  EXPECT_EQ(counters.barriers.warps, 4u * 3 * 2 * 32) << "4 blocks, 3 tiles, 2 barriers, 32 warps";
  EXPECT_EQ(counters.total(Scope::shared, true).requests, 4u * 3 * 2 * 32);
  EXPECT_EQ(counters.total(Scope::shared, false).requests, 2 * counters.multiply_adds.warps);
}

TEST(CountedKernels, VectorsOfTwoByteElementsAreSingleRequests) {
  for (int lanes : {2, 4, 8}) {
    KernelBuilder b("copy");
    Buffer in = b.param("in", 32 * lanes, Role::input, DType::f16),
           out = b.param("out", 32 * lanes, Role::output, DType::f16),
           tile = b.shared("tile", 32 * lanes, DType::f16);
    Expr at = b.axis(Axis::thread_x, "tx", 32) * int_imm(lanes, DType::i32);
    b.store_vector(tile, at, b.let_vector("v", b.vector_at(in, at, lanes)));
    b.store_vector(out, at, b.let_vector("w", b.vector_at(tile, at, lanes)));
    Counters counters = count(b.build(), {});
    ASSERT_EQ(counters.accesses.size(), 4u);
    for (const AccessCounts &access : counters.accesses) {
      bool global = access.buffer->scope == Scope::global;
      EXPECT_EQ(access.requests, 1u);
      EXPECT_EQ(access.asked, static_cast<std::uint64_t>(64 * lanes));
      EXPECT_EQ(access.sectors, global ? static_cast<std::uint64_t>(2 * lanes) : 0u);
      EXPECT_EQ(access.wavefronts, global ? 0u : static_cast<std::uint64_t>(lanes / 2));
    }
  }
}

TEST(CountedKernels, FewBlocksStandForAll) {
  for (GemmShape s : {GemmShape{512, 768, 64}, GemmShape{500, 777, 33}})
    for (const kernel::Kernel &kernel : {naive_gemm(s), naive_gemm(s, true), shared_gemm(s)}) {
      Counters some = count(kernel, {}, {.max_blocks = 120});
      EXPECT_TRUE(some.sampled());
      EXPECT_LE(some.counted, 120u);
      expect_equal(some, count(kernel, {}), true);
    }
}

TEST(CountedKernels, DivergeWhereOnlySomeLanesTakeABranch) {
  KernelBuilder b("diverges");
  Buffer out = b.param("out", 64, Role::output, DType::f32);
  Expr tx = b.axis(Axis::thread_x, "tx", 64);
  b.when(tx < int_imm(40), [&] { b.store(out, tx, constant(DType::f32, 1)); });
  Counters counters = count(b.build(), {});
  EXPECT_EQ(counters.branches.warps, 2u);
  EXPECT_EQ(counters.divergent, 1u) << "the second warp";
  EXPECT_EQ(counters.accesses[0].requests, 2u);
  EXPECT_EQ(counters.accesses[0].threads, 40u);
  EXPECT_EQ(counters.accesses[0].sectors, 5u);
}

TEST(CountedKernels, WhoseConditionsDependOnDataSeeZeros) {
  KernelBuilder b("depends");
  Buffer in = b.param("in", 32, Role::input, DType::f32), out = b.param("out", 32, Role::output, DType::f32);
  Expr tx = b.axis(Axis::thread_x, "tx", 32);
  b.when(constant(DType::f32, -1) < at(in, tx), [&] { b.store(out, tx, constant(DType::f32, 1)); });
  Counters counters = count(b.build(), {});
  ASSERT_EQ(counters.accesses.size(), 2u);
  EXPECT_EQ(counters.accesses[0].requests, 1u);
  EXPECT_EQ(counters.accesses[1].threads, 32u);
}

/// Each thread sums `As[first + k]` in an unrolled loop of 8 iterations, with a barrier in each iteration if
/// `barrier` is true.
RequestSums merged_loads(const std::function<Expr(Expr)> &first, bool barrier = false) {
  KernelBuilder b("sums");
  Buffer out = b.param("out", 32, Role::output), As = b.shared("As", 1024), acc = b.local("acc", 1);
  Expr tx = b.axis(Axis::thread_x, "tx", 32);
  b.store(acc, 0, constant(DType::f32, 0));
  b.loop(
      "k", 8,
      [&](Expr k) {
        b.store(acc, 0, at(acc, 0) + at(As, first(tx) + k));
        if (barrier)
          b.sync_block();
      },
      kernel::Unrolled{});
  b.store(out, tx, at(acc, 0));
  return count(b.build(), {}).merged(Scope::shared, false);
}

TEST(MergedLoads, AreThoseOfNeighboursAtOnce) {
  auto all = [](Expr) { return Expr(int_imm(0)); };
  EXPECT_EQ(merged_loads(all).requests, 2u) << "8 elements in two vectors of 16 bytes";
  EXPECT_EQ(merged_loads(all).wavefronts, 4u);
  EXPECT_EQ(merged_loads([](Expr tx) { return tx * 8; }).requests, 2u);
  EXPECT_EQ(merged_loads([](Expr tx) { return tx * 2; }).requests, 4u) << "aligned to 8 bytes";
  EXPECT_EQ(merged_loads([](Expr tx) { return tx; }).requests, 8u) << "aligned to nothing";
  EXPECT_EQ(merged_loads([](Expr) { return Expr(int_imm(2)); }).requests, 3u) << "2, 4, 2 elements";
  EXPECT_EQ(merged_loads(all, true).requests, 8u) << "not across a barrier";
}

/// Each thread sums eight loads of an input at `address(k)`. If `stored`, the kernel also stores to the input.
RequestSums loads_of_an_input(const std::function<Expr(Expr)> &address, bool stored = false) {
  KernelBuilder b("sums");
  Buffer in = b.param("in", 64, Role::inout), out = b.param("out", 32, Role::output), acc = b.local("acc", 1);
  Expr tx = b.axis(Axis::thread_x, "tx", 32);
  b.store(acc, 0, constant(DType::f32, 0));
  b.loop(
      "k", 8, [&](Expr k) { b.store(acc, 0, at(acc, 0) + at(in, tx + address(k))); }, kernel::Unrolled{});
  b.store(stored ? in : out, tx, at(acc, 0));
  return count(b.build(), {}).merged(Scope::global, false);
}

TEST(MergedLoads, OfGlobalMemoryAreThoseOfOneAddress) {
  auto one = [](Expr) { return Expr(int_imm(8)); };
  EXPECT_EQ(loads_of_an_input(one).requests, 1u);
  EXPECT_EQ(loads_of_an_input(one, true).requests, 8u) << "a store may change the element";
  EXPECT_EQ(loads_of_an_input([](Expr k) { return k; }).requests, 8u) << "the alignment is not known";
}

TEST(FirstRequest, IsTheAddressOfEachLane) {
  kernel::Kernel kernel = naive_gemm({64, 64, 8});
  auto request = first_request(kernel, {}, 0);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->mask, ~0u);
  EXPECT_EQ(request->address[3], 3 * 8 * 4) << "row 3 of A";
  auto other = first_request(kernel, {}, 1, 2, 5);
  ASSERT_TRUE(other);
  EXPECT_EQ(other->address[7], (32 + 5) * 4) << "block (0, 1), warp 5: column 37 of B";
  EXPECT_FALSE(first_request(kernel, {}, 3)) << "there are 3 accesses";
}

/// Expects that `each_request` numbers the accesses of the kernel as `count` does.
void expect_equal_numbers(const kernel::Kernel &kernel) {
  Counters counters = count(kernel, {});
  std::vector<std::uint64_t> requests(counters.accesses.size());
  each_request(kernel, {}, 0, [&](const VisitedRequest &request) {
    EXPECT_LT(request.access, requests.size());
    if (request.access < requests.size())
      ++requests[request.access];
    return true;
  });
  for (std::size_t n = 0; n < requests.size(); ++n)
    EXPECT_EQ(requests[n], counters.accesses[n].requests) << "access " << n;
}

/// `count` unrolls the loop. In the only iteration for which the guard holds, the mask is false, so the load
/// makes no access.
TEST(EachRequest, HasTheNumbersOfTheCountsInALoopThatTheyUnroll) {
  KernelBuilder b("unrolled");
  Buffer in = b.param("in", 300), out = b.param("out", 32, Role::output);
  Expr tx = b.axis(Axis::thread_x, "tx", 32);
  b.loop("k", 200, [&](Expr k) {
    b.when(k < 1, [&] {
      b.store(out, tx, load(in, {k + tx - 1}, Expr(0) < k, constant(DType::f32, 0)) + at(in, tx));
    });
  });
  expect_equal_numbers(b.build());
}

/// The condition of a store and the mask of a load depend on loaded values.
TEST(EachRequest, HasTheNumbersOfTheCountsWhereTheyDependOnData) {
  KernelBuilder b("gather");
  Buffer limits = b.param("limits", 32, Role::input, DType::i32), in = b.param("in", 32),
         out = b.param("out", 32, Role::output);
  Expr tx = b.axis(Axis::thread_x, "tx", 32), limit = cast(DType::i64, at(limits, tx));
  b.store(out, tx, load(in, {limit}, limit < 5, constant(DType::f32, 0)));
  b.when(limit < 0, [&] { b.store(out, tx, at(in, tx) + at(in, Expr(31) - tx)); });
  expect_equal_numbers(b.build());
}

/// Returns what each warp of block 0 executes: "A k1" is a statement that writes A with k = 1.
std::vector<std::string> executed_by_warps(const kernel::Kernel &kernel) {
  std::vector<std::string> warps;
  each_statement(kernel, {}, 0, [&](const VisitedStatement &visited) {
    warps.resize(std::max<std::size_t>(warps.size(), visited.warp + 1));
    std::string &text = warps[visited.warp];
    text += (text.empty() ? "" : ", ") +
            (kernel::as<kernel::Barrier>(visited.stmt) ? "barrier" : kernel::written_by(visited.stmt)->name);
    for (const LoopValue &at : visited.loops)
      text += " " + at.loop->name + std::to_string(at.value);
  });
  return warps;
}

TEST(EachStatement, IsInProgramOrderWithTheLoopsAroundIt) {
  KernelBuilder b("tiles");
  Buffer in = b.param("in", 64), tile = b.shared("tile", 64), sum = b.local("sum", 1);
  Expr tx = b.axis(Axis::thread_x, "tx", 64);
  b.loop("k", 2, [&](Expr k) {
    b.when(tx < 32, [&] { b.store(tile, tx, at(in, tx)); });
    b.sync_block();
    b.loop("j", k + 1, [&](Expr j) { b.store(sum, 0, at(tile, tx) + at(in, j)); });
  });
  std::string rest = "barrier k0, sum k0 j0, ";
  EXPECT_THAT(executed_by_warps(b.build()),
              testing::ElementsAre("tile k0, " + rest + "tile k1, barrier k1, sum k1 j0, sum k1 j1",
                                   rest + "barrier k1, sum k1 j0, sum k1 j1"))
      << "no lane of warp 1 takes the branch";
}

/// The condition depends on loaded values, which are 0: the kernel is decoded twice, and the second time
/// counts.
TEST(EachStatement, ExecutesConditionsOnData) {
  KernelBuilder b("conditions");
  Buffer in = b.param("in", 32), out = b.param("out", 32, Role::output);
  Expr tx = b.axis(Axis::thread_x, "tx", 32);
  b.when(constant(DType::f32, 0) < at(in, tx), [&] { b.store(out, tx, at(in, tx)); });
  b.loop("k", 300, [&](Expr) { b.when(at(in, tx) < constant(DType::f32, 1), [&] { b.sync_warp(); }); });
  std::vector<std::string> warps = executed_by_warps(b.build());
  ASSERT_EQ(warps.size(), 1u);
  EXPECT_THAT(warps[0], testing::StartsWith("barrier k0, barrier k1, "));
  EXPECT_THAT(warps[0], testing::EndsWith(", barrier k299"));
}

} // namespace
} // namespace nestsmith::model
