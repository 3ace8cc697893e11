/// Tests shared arrays whose lifetimes do not overlap: their memory, barriers and certificates, and the
/// diagnostics of the simulator.

#include "lowering/passes.h"
#include "tests/runtime/check/broken_passes.h"
#include "tests/runtime/check/right.h"
#include "tests/runtime/sim/certificates.h"
#include "tests/runtime/sim/kernel_builder.h"
#include "tests/runtime/sim/stages.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>

namespace nestsmith {
namespace {

using sim::at;
using test::expect_right;
using test::scan;
using test::ScanForm;
using testing::HasSubstr;

int barriers_of(const kernel::Kernel &kernel) {
  int count = 0;
  kernel::walk(kernel.body,
               [&](const kernel::Stmt &stmt) { count += kernel::as<kernel::Barrier>(stmt) != nullptr; });
  return count;
}

/// Returns the kernel of the schedule with separate memory for each array.
kernel::Kernel apart(const Schedule &s) {
  Lowering changed(s, test::with_harm("extract", [](Unit &unit) {
                     for (kernel::Allocation &tile : unit.kernel().shared)
                       tile.tenancy.reset();
                   }));
  while (!changed.done())
    changed.step();
  return changed.plan().only();
}

TEST(SharedLifetimes, StagesOfAScanTakeTurnsInTwoArrays) {
  for (std::int64_t columns : {2, 3, 4, 5, 8, 31, 64, 65, 97}) {
    ScanForm form{.columns = columns};
    Schedule s = scan(form);
    expect_right(s);
    std::int64_t arrays = std::min(test::stages_of(form), 2), bytes = (4 * columns + 15) / 16 * 16;
    EXPECT_EQ(lower(s).shared_bytes(), (arrays - 1) * bytes + 4 * columns) << columns;
    EXPECT_EQ(barriers_of(lower(s).only()), barriers_of(apart(s))) << columns;
  }
}

TEST(SharedLifetimes, ElevenStagesOf16KilobytesNeedTwoArrays) {
  ScanForm form{.rows = 1, .columns = 2048, .threads = 256, .dtype = DType::i64};
  Schedule s = scan(form);
  expect_right(s);
  EXPECT_EQ(lower(s).shared_bytes(), 2 * 16384);
  EXPECT_EQ(lower(s).only().dynamic_shared_bytes(), 0);
}

/// In a loop over rows, the first stage of a row may overwrite the memory of the last stage of the preceding
/// row. No barrier must be added.
TEST(SharedLifetimes, AddNoBarrierToALoop) {
  for (std::int64_t columns : {8, 16, 32, 64}) {
    ScanForm form{.rows = 7, .columns = columns, .each = 3};
    Schedule s = scan(form);
    expect_right(s);
    EXPECT_EQ(barriers_of(lower(s).only()), barriers_of(apart(s))) << columns;
    int stages = test::stages_of(form);
    EXPECT_EQ(lower(s).shared_bytes(), 4 * columns * (stages == 3 ? 3 : stages % 2 == 0 ? 2 : 3)) << columns;
  }
}

TEST(SharedLifetimes, AddABarrierToALoopIfTheMemoryIsNeeded) {
  ScanForm form{.rows = 6, .columns = 32, .each = 3};
  Target target;
  target.shared_bytes_per_block = 2 * 128;
  Schedule s = scan(form, target);
  expect_right(s);
  EXPECT_EQ(lower(s).shared_bytes(), 2 * 128);
  EXPECT_EQ(barriers_of(lower(s).only()), barriers_of(apart(s)) + 1);
  target.shared_bytes_per_block = 2 * 128 - 4;
  EXPECT_THAT(
      scan(form, target).obligations().at(0).message,
      HasSubstr("a block needs 256 bytes of shared memory (T0 128, T1 128, T2 128 in the memory of T0"));
}

TEST(SharedLifetimes, CertifyTheBarriersBetweenTenants) {
  for (std::int64_t each : {1, 3})
    for (std::int64_t columns : {16, 32, 64}) {
      Schedule s = scan({.rows = 6, .columns = columns, .each = each});
      test::expect_certificates(s.source(), lower(s).only());
    }
  Target small;
  small.shared_bytes_per_block = 2 * 128;
  Schedule s = scan({.rows = 6, .columns = 32, .each = 3}, small);
  test::expect_certificates(s.source(), lower(s).only());
}

/// The elements of T0 and T1 have different types. T2 shares the memory of the larger array.
Schedule of_types(DType first, DType last, std::int64_t n) {
  Workload w("types");
  Tensor x = w.placeholder("X", {n}, first);
  Tensor a = w.compute("T0", {n}, {"j"}, [&](Expr j) -> Definition { return x(j); });
  Tensor b = w.compute("T1", {n}, {"j"}, [&](Expr j) -> Definition { return a(Expr(n - 1) - j); });
  Tensor c = w.compute("T2", {n}, {"j"}, [&](Expr j) -> Definition { return cast(last, b(j)); });
  Tensor d = w.compute("T3", {n}, {"j"}, [&](Expr j) -> Definition { return c(Expr(n - 1) - j); });
  Tensor y = w.compute("Y", {n}, {"j"}, [&](Expr j) -> Definition { return d(Expr(n - 1) - j); });
  Schedule s(w.output({y}));
  auto [whole, thread] = s.split<2>(s.loops(s.block("Y"))[0], {infer, n});
  s.bind(whole, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  test::stages_below(s, whole, 4, n);
  return s;
}

TEST(SharedLifetimes, OfElementsOfDifferentSizes) {
  for (auto [first, last] : {std::pair{DType::u32, DType::i64},
                             {DType::i64, DType::u32},
                             {DType::f32, DType::f16},
                             {DType::i32, DType::i8}})
    for (std::int64_t n : {33, 64, 97}) {
      Schedule s = of_types(first, last, n);
      expect_right(s);
      std::int64_t larger = std::max(byte_size(first), byte_size(last)) * n;
      EXPECT_EQ(lower(s).shared_bytes(), (larger + 15) / 16 * 16 + larger) << name(first) << name(last) << n;
    }
}

/// The form of a product through shared memory.
struct ProductForm {
  std::int64_t m, n, k;
  bool async = false, pipelined = false;
  std::int64_t each = 1; ///< tiles that a thread block computes one after the other
};

/// Y = 3*D, where D = A*B. The tiles of A, B and D have 4 x 4 elements each, and are in shared memory.
Schedule staged_product(const ProductForm &form, const Target &target = {}) {
  Workload w("staged");
  Tensor a = w.placeholder("A", {form.m, form.k}, DType::u32),
         b = w.placeholder("B", {form.k, form.n}, DType::u32);
  Reduce r = reduce_axis("k", form.k);
  std::vector<Expr> shape = {form.m, form.n};
  Tensor ab = w.compute("AB", shape, {"i", "j"}, [&](Expr i, Expr j) { return sum(a(i, r) * b(r, j), r); });
  Tensor d = w.compute("D", shape, {"i", "j"}, [&](Expr i, Expr j) -> Definition { return ab(i, j); });
  Tensor y = w.compute("Y", shape, {"i", "j"}, [&](Expr i, Expr j) -> Definition { return d(i, j) * 3; });
  Schedule s(w.output({y}), target);
  BlockRef AB = s.block("AB"), D = s.block("D"), Y = s.block("Y");
  s.set_scope(AB, Scope::local);
  auto [i, j, k] = s.loops<3>(AB);
  auto [i0, serial, i1] = s.split<3>(i, {infer, form.each, 4});
  auto [j0, j1] = s.split<2>(j, {infer, 4});
  Loop k0 = s.split<2>(k, {infer, 4})[0];
  s.reorder({i0, j0, serial, i1, j1, k0});
  s.bind(i0, Axis::block_y);
  s.bind(j0, Axis::block_x);
  Loop thread = s.fuse(i1, j1);
  s.bind(thread, Axis::thread_x);
  s.reverse_compute_at(D, thread);
  s.set_scope(D, Scope::shared);
  s.reverse_compute_at(Y, serial);
  auto below = s.loops_below(Y, serial);
  s.reorder({below[1], below[0]}); // so that elements are read by other threads than those that wrote them
  s.bind(s.fuse(below[1], below[0]), Axis::thread_x);
  std::vector<BlockRef> tiles;
  for (const char *operand : {"A", "B"}) {
    BlockRef tile = s.cache_read(AB, operand, Scope::shared);
    s.compute_at(tile, k0);
    auto own = s.loops_below(tile, k0);
    s.bind(s.fuse(own[0], own[1]), Axis::thread_x);
    if (form.async)
      s.async_copy(tile);
    tiles.push_back(tile);
  }
  if (form.pipelined)
    s.pipeline(k0, {{tiles[0], 0, 0}, {tiles[1], 0, 1}, {AB, 1, 2}});
  return s;
}

TEST(SharedLifetimes, AResultTakesTheMemoryOfTheTilesBeforeIt) {
  for (auto [m, n, k] : {std::array<std::int64_t, 3>{8, 8, 12}, {7, 9, 13}, {1, 1, 1}, {5, 17, 3}})
    for (bool async : {false, true})
      for (bool pipelined : {false, true}) {
        Schedule s = staged_product({m, n, k, async, pipelined});
        expect_right(s);
        kernel::Kernel kernel = lower(s).only();
        ASSERT_EQ(kernel.shared.size(), 3U);
        EXPECT_EQ(kernel.shared[2].tenancy, (Tenancy{0, 0, 64})) << kernel::print(kernel);
        EXPECT_LE(barriers_of(kernel), barriers_of(apart(s)) + 1) << kernel::print(kernel);
        if (!pipelined && m > 1) // in a pipeline, the threads that write D also wrote its elements of A
          test::expect_certificates(s.source(), kernel);
      }
}

/// With shared memory, the barriers of the loop over tiles would not suffice.
TEST(SharedLifetimes, TilesOfALoopOverTilesKeepTheirMemory) {
  for (bool async : {false, true})
    for (bool pipelined : {false, true}) {
      Schedule s = staged_product({16, 8, 12, async, pipelined, 2});
      expect_right(s);
      for (const kernel::Allocation &tile : lower(s).only().shared)
        EXPECT_FALSE(tile.tenancy) << tile.buffer->name;
    }
}

/// The copies to the tiles of the next iteration must start after all threads have read the result of this one.
TEST(SharedLifetimes, TilesOfALoopOverTilesShareMemoryIfTheyDoNotFit) {
  for (auto [m, n, k] : {std::array<std::int64_t, 3>{16, 8, 12}, {13, 9, 13}, {1, 1, 1}, {9, 5, 3}})
    for (bool async : {false, true})
      for (bool pipelined : {false, true}) {
        std::int64_t copies = pipelined && k > 4 ? 2 : 1;
        Target target;
        target.shared_bytes_per_block = 2 * copies * 64;
        Schedule s = staged_product({m, n, k, async, pipelined, 2}, target);
        expect_right(s);
        EXPECT_EQ(lower(s).only().shared[2].tenancy, (Tenancy{0, 0, 64}));
        target.shared_bytes_per_block -= 4;
        EXPECT_THAT(staged_product({m, n, k, async, pipelined, 2}, target).obligations().at(0).message,
                    HasSubstr("D 64 in the memory of A_shared), but sm_80 has"));
      }
}

/// Threads write s and read it in reverse. Then they write t, which is in the same memory, and read it in
/// reverse.
struct TwoPhases {
  bool barrier = true, stale = false, async = false, wait = true;

  sim::Result run() const {
    sim::KernelBuilder b("phases");
    Buffer x = b.param("x", 64), y = b.param("y", 64, Role::output), s = b.shared("s", 64),
           t = b.shared("t", 64);
    Buffer kept = b.local("kept", 1);
    Expr tid = b.axis(Axis::thread_x, "tid", 64), last = int_imm(63, DType::i32);
    if (async) {
      b.copy_async(s, tid, at(x, tid));
      b.commit();
      if (wait)
        b.wait(0);
    } else {
      b.store(s, tid, at(x, tid));
    }
    b.sync_block();
    if (wait)
      b.store(kept, int_imm(0, DType::i32), at(s, last - tid));
    if (barrier)
      b.sync_block();
    b.store(t, tid, wait ? at(kept, int_imm(0, DType::i32)) : Expr(1.0F));
    b.sync_block();
    b.store(y, tid, at(stale ? s : t, last - tid));
    if (!wait)
      b.wait(0);
    kernel::Kernel kernel = b.build();
    kernel.shared[1].byte_offset = 0;
    kernel.shared[1].tenancy = Tenancy{0, 0, 256};
    kernel.shared_bytes = 256;
    Array from(DType::f32, {64}), to(DType::f32, {64});
    const sim::Argument arguments[] = {{&from}, {&to}};
    return sim::run(kernel, arguments, {}, {});
  }
};

/// Returns the first diagnostic of this kind.
sim::Diagnostic finding(const sim::Result &result, sim::ErrorKind kind) {
  auto found = std::ranges::find(result.diagnostics, kind, &sim::Diagnostic::kind);
  return found == result.diagnostics.end() ? sim::Diagnostic{kind, "none"} : *found;
}

TEST(SharedLifetimes, TheSimulatorSeesOneLocation) {
  EXPECT_TRUE(TwoPhases{}.run().good());
  sim::Diagnostic race = finding(TwoPhases{.barrier = false}.run(), sim::ErrorKind::race);
  EXPECT_EQ(sim::shown(race.hazard), "write after read of t, read by kept, after s") << race.message;
}

TEST(SharedLifetimes, TheSimulatorFindsReadsOfOverwrittenArrays) {
  sim::Result stale = TwoPhases{.stale = true}.run();
  ASSERT_EQ(stale.diagnostics.size(), 1U);
  EXPECT_EQ(stale.diagnostics[0].kind, sim::ErrorKind::unwritten_read);
  EXPECT_THAT(stale.diagnostics[0].message,
              HasSubstr("in `y[tid] = s[63 - tid]`, which t, in the same memory, has "
                        "overwritten"));
}

TEST(SharedLifetimes, TheSimulatorFindsStoresToMemoryOfCopiesInFlight) {
  EXPECT_TRUE((TwoPhases{.async = true}.run().good()));
  sim::Result early = TwoPhases{.async = true, .wait = false}.run();
  EXPECT_THAT(finding(early, sim::ErrorKind::in_flight).message, HasSubstr("stores t[0] (shared)"));
}

} // namespace
} // namespace nestsmith
