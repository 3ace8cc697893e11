/// Hand-made kernels of roles, channels, bulk copies, bulk stores, matrix units that read tiles, and early
/// launches. Each kernel is right, or has one fault, which the simulator must report by its name and its place.

#include "runtime/sim/channels.h"
#include "tests/runtime/sim/kernel_builder.h"
#include "tests/runtime/sim/one_call.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <optional>

namespace nestsmith::sim {
namespace {

using kernel::Event;
using testing::HasSubstr;

/// A kernel, and what the simulator says of it.
struct Case {
  const char *name;
  std::function<kernel::Kernel()> build;
  std::optional<ErrorKind> kind = {}; ///< none: the kernel is right
  const char *says = "";
};

/// The value that a right kernel writes to Y[i], where X[i] is i.
double value_of(std::string_view kernel, std::int64_t i) {
  if (kernel == "ring")
    return static_cast<double>(i / 32 * 32 + 31 - i % 32);
  if (kernel == "stores")
    return static_cast<double>(i / 64 + 31 - i % 32);
  return static_cast<double>(kernel == "own" ? 63 - i : i);
}

// ---- a ring of slots: warp 1 fills tiles of 32 elements, warp 0 copies them in reverse ----------------------

/// How the tiles are filled.
enum class By : std::uint8_t { copies, stores, bulk };

/// The numbers of a ring. A right one has `slots` slots, and `shift` is 0 everywhere.
struct Ring {
  By by = By::copies;
  std::int64_t fills = 5, slots = 2;
  bool awaits_filled = true, awaits_freed = true, signals_filled = true, signals_freed = true, fences = true;
  bool fills_early = false;   ///< signals a fill before its copies
  bool frees_early = false;   ///< signals that a slot is free before the last read
  std::int64_t filled = 0;    ///< more arrivals that fill a slot,
  std::int64_t freed = 0;     ///< and that free it
  std::int64_t awaited = 0;   ///< warp 0 awaits the fill that is so much later,
  std::int64_t freed_for = 0; ///< and warp 1 the free slot of such a fill
  std::int64_t read = 0;      ///< warp 0 reads the slot that is so much later
  std::int64_t bytes = 0;     ///< more bytes are announced than are copied
  std::int64_t last = 0;      ///< warp 0 uses so many fills less
  bool part_of_warp = false;  ///< half of warp 1 signals

  kernel::Kernel build() const {
    KernelBuilder b("ring");
    const Buffer x = b.param("X", 32 * fills), y = b.param("Y", 32 * fills, Role::output),
                 tile = b.shared("tile", 32 * slots);
    const Expr t = b.axis(Axis::thread_x, "t", 64), lane = floormod(t, number(32));
    b.roles({0, 1}, 2);
    const std::int64_t arrivals = by == By::bulk ? 1 : 32;
    const std::size_t channel = b.channel(
        {.tiles = {tile}, .role = 1, .slots = slots, .filled = arrivals + filled, .freed = 1 + freed});
    const std::size_t map = by == By::bulk ? b.map(x, 32) : 0;
    auto slot = [&](const Expr &k) { return floormod(k, number(slots)) * number(32); };
    auto uses = [&](const Expr &k) {
      if (awaits_filled)
        b.sync(kernel::Await{channel, Event::filled, k + number(awaited)});
      auto free = [&] {
        if (by == By::bulk && fences)
          b.sync(kernel::Fence{});
        if (signals_freed)
          b.sync(kernel::Signal{.channel = channel, .event = Event::freed, .number = k});
      };
      if (frees_early)
        free();
      b.store(y, k * number(32) + lane, at(tile, slot(k + number(read)) + (number(31) - lane)));
      if (!frees_early)
        free();
    };
    auto makes = [&](const Expr &k) {
      if (awaits_freed)
        b.sync(kernel::Await{channel, Event::freed, k + number(freed_for)});
      auto fill = [&] {
        auto signal = [&] {
          b.sync(kernel::Signal{.channel = channel,
                                .event = Event::filled,
                                .number = k,
                                .copies = by == By::copies,
                                .stores = by == By::stores,
                                .bulk_bytes = by == By::bulk ? 128 + bytes : 0});
        };
        if (signals_filled && part_of_warp)
          b.when(lane < number(16), signal);
        else if (signals_filled)
          signal();
      };
      if (fills_early)
        fill();
      if (by == By::bulk)
        b.bulk({map, x, tile, {slot(k)}, {k * number(32)}, kernel::BulkCopy::Fill{channel, k}});
      else if (by == By::copies)
        b.copy_async(tile, slot(k) + lane, at(x, k * number(32) + lane));
      else
        b.store(tile, slot(k) + lane, at(x, k * number(32) + lane));
      if (!fills_early)
        fill();
    };
    b.each_role(t, {[&] { b.loop("k", Expr(fills - last), uses); }, [&] { b.loop("m", Expr(fills), makes); }});
    return b.build();
  }
};

std::function<kernel::Kernel()> ring(const Ring &numbers) {
  return [numbers] { return numbers.build(); };
}

/// With another value for one number.
template <class T> Ring with(T Ring::*member, T value, By by = By::copies) {
  Ring ring{.by = by};
  ring.*member = value;
  return ring;
}

// ---- bulk stores: each of two warps fills a tile twice, and its first lane stores it ------------------------

struct Stores {
  bool fences = true, first_barrier = true, second_barrier = true, waits = true, waits_at_end = true;
  bool commits = true;
  std::int64_t pending = 0;
  bool of_other_warp = false; ///< the tile that the other warp has filled
  std::int64_t beyond = 0;    ///< the array ends so many elements before the last box

  kernel::Kernel build() const {
    KernelBuilder b("stores");
    const Buffer y = b.param("Y", 2 * 64 - beyond, Role::output), tile = b.shared("tile", 64);
    const Expr t = b.axis(Axis::thread_x, "t", 64), lane = floormod(t, number(32)),
               warp = floordiv(t, number(32));
    const std::size_t map = b.map(y, 32);
    auto wait = [&](std::int64_t left) {
      b.sync(kernel::Wait{left, {{kernel::Hazard::Kind::write_after_read, tile, y}}, kernel::Queue::stores});
    };
    b.loop("n", Expr(2), [&](const Expr &n) {
      if (waits)
        wait(pending);
      if (first_barrier)
        b.sync_warp();
      b.store(tile, warp * number(32) + (number(31) - lane), cast(DType::f32, n + lane));
      if (fences)
        b.sync(kernel::Fence{});
      if (second_barrier)
        b.sync_warp();
      const Expr of = of_other_warp ? number(1) - warp : warp;
      b.bulk({map, y, tile, {of * number(32)}, {(n * number(2) + of) * number(32)}});
      if (commits)
        b.sync(kernel::Commit{{y}, kernel::Queue::stores});
    });
    if (waits_at_end)
      wait(0);
    return b.build();
  }
};

std::function<kernel::Kernel()> stores(const Stores &numbers) {
  return [numbers] { return numbers.build(); };
}

// ---- a role of two warps with a barrier of its own, beside one that fills tiles
// ------------------------------

struct OwnBarrier {
  bool barrier = true, of_block = false, in_one_warp = false;

  kernel::Kernel build() const {
    KernelBuilder b("own");
    const Buffer y = b.param("Y", 64, Role::output), own = b.shared("own", 64);
    const Expr t = b.axis(Axis::thread_x, "t", 96);
    b.roles({0, 2}, 3);
    b.channel({.tiles = {own}, .role = 1, .filled = 32, .freed = 2}); // which nothing fills
    auto sync = [&] {
      b.sync(of_block ? kernel::Barrier{kernel::SyncScope::block}
                      : kernel::Barrier{kernel::SyncScope::role, {}, 0});
    };
    b.each_role(t, {[&] {
                      b.store(own, t, cast(DType::f32, t));
                      if (barrier && in_one_warp)
                        b.when(t < number(32), sync);
                      else if (barrier)
                        sync();
                      b.store(y, t, at(own, number(63) - t));
                    },
                    [&] { b.let("idle", number(0)); }});
    return b.build();
  }
};

std::function<kernel::Kernel()> own(const OwnBarrier &numbers) {
  return [numbers] { return numbers.build(); };
}

// ---- an early launch
// ------------------------------------------------------------------------------------------

/// Y = X, after the kernel before has ended; `where`: 0 nowhere, 1 first, 2 between the load and the store, 3
/// in half of the warps, 4 in each branch that stores. `only`: the parameters that this kernel shares with the
/// kernel before; empty: all.
std::function<kernel::Kernel()> early(int where, std::vector<std::string> only = {}) {
  return [where, only = std::move(only)] {
    KernelBuilder b("early");
    const Buffer x = b.param("X", 64), y = b.param("Y", 64, Role::output);
    const Expr t = b.axis(Axis::thread_x, "t", 64);
    std::vector<Buffer> awaited;
    for (const Buffer &param : {x, y})
      if (std::ranges::find(only, param->name) != only.end())
        awaited.push_back(param);
    b.launch_early(awaited);
    auto await = [&] { b.sync(kernel::AwaitKernel{}); };
    if (where == 1)
      await();
    if (where == 3)
      b.when(t < number(32), await);
    const Expr loaded = b.let("loaded", at(x, t));
    if (where == 2)
      await();
    if (where == 4) {
      for (const Expr &half : {t < number(32), t >= number(32)})
        b.when(half, [&] {
          await();
          b.store(y, t, loaded);
        });
      return b.build();
    }
    b.store(y, t, loaded);
    return b.build();
  };
}

// ---- a tile that matrix units read --------------------------------------------------------------------------

/// Four warps fill the tiles of one call of `wgmma` by ordinary stores, and wait for the call.
struct Units {
  bool fence = true, barrier = true, begin = true, wait = true, overwrite_early = false;

  kernel::Kernel build() const {
    KernelBuilder b("units");
    const Intrinsic &call = intrinsic("wgmma_m64n64k16", DType::f32, DType::bf16);
    const Buffer y = b.param("Y", 128 * 32, Role::output), a = b.shared("A_tile", 64 * 64, DType::bf16),
                 b_tile = b.shared("B_tile", 64 * 64, DType::bf16), sums = b.local("sums", 32);
    const Expr t = b.axis(Axis::thread_x, "t", 128), warp = floordiv(t, number(32));
    auto fill = [&] {
      b.loop("n", Expr(32), [&](const Expr &n) {
        for (const Buffer &tile : {a, b_tile})
          b.store(tile, n * number(128) + t, cast(DType::bf16, floormod(t, number(3))));
      });
    };
    fill();
    b.loop(
        "z", Expr(32), [&](const Expr &n) { b.store(sums, n, 0.0f); }, kernel::Unrolled{});
    if (fence)
      b.sync(kernel::Fence{});
    if (barrier)
      b.sync_block();
    if (begin)
      b.sync(kernel::Begin{});
    b.call(call, {{sums, number(0)}, {a, warp * number(16 * 64)}, {b_tile, number(0)}});
    b.sync(kernel::Commit{{sums}, kernel::Queue::calls});
    if (overwrite_early)
      fill();
    if (wait)
      b.sync(kernel::Wait{0, {}, kernel::Queue::calls, {sums}});
    b.loop(
        "w", Expr(32), [&](const Expr &n) { b.store(y, n * number(128) + t, at(sums, n)); },
        kernel::Unrolled{});
    return b.build();
  }
};

std::function<kernel::Kernel()> units(const Units &numbers) {
  return [numbers] { return numbers.build(); };
}

/// A faulty kernel may await a fill before the first one.
TEST(ChannelEvents, OfNegativeFillsAreThoseOfTheirSlots) {
  DecodedKernel decoded;
  decoded.channels.emplace_back().slots = 3;
  Channels channels(decoded, 1);
  for (bool freed : {false, true}) {
    EXPECT_EQ(&channels.event(0, freed, -1), &channels.event(0, freed, 2));
    EXPECT_EQ(&channels.event(0, freed, -6), &channels.event(0, freed, 0));
  }
}

const std::vector<Case> &cases() {
  using enum ErrorKind;
  static const std::vector<Case> all = {
      {"Copies", ring({})},
      {"CopiesOfOneFill", ring(with(&Ring::fills, std::int64_t{1}))},
      {"CopiesOfAsManyFillsAsSlots", ring(with(&Ring::fills, std::int64_t{2}))},
      {"CopiesInThreeSlots", ring(with(&Ring::slots, std::int64_t{3}))},
      {"CopiesInOneSlot", ring(with(&Ring::slots, std::int64_t{1}))},
      {"Stores", ring({.by = By::stores})},
      {"BulkCopies", ring({.by = By::bulk})},
      {"BulkCopiesInThreeSlots", ring(with(&Ring::slots, std::int64_t{3}, By::bulk))},
      {"ReadWithoutAwait", ring(with(&Ring::awaits_filled, false)), race, "tile["},
      {"ReadOfStoresWithoutAwait", ring(with(&Ring::awaits_filled, false, By::stores)), race, "tile["},
      {"ReadOfBulkCopiesWithoutAwait", ring(with(&Ring::awaits_filled, false, By::bulk)), race, "tile["},
      {"RefilledWithoutAwait", ring(with(&Ring::awaits_freed, false)), race, "tile["},
      {"RefilledInBulkWithoutAwait", ring(with(&Ring::awaits_freed, false, By::bulk)), race, "tile["},
      {"NeverFilled", ring(with(&Ring::signals_filled, false)), deadlock, "warp 0 (threads (0, 0, 0)"},
      {"NeverFreed", ring(with(&Ring::signals_freed, false)), deadlock, "warp 1 (threads (32, 0, 0)"},
      {"SignalledBeforeTheStores", ring(with(&Ring::fills_early, true, By::stores)), race, "tile["},
      {"FreedBeforeTheRead", ring(with(&Ring::frees_early, true)), race, "tile["},
      {"FilledByTooFew", ring(with(&Ring::filled, std::int64_t{1})), deadlock, "is deadlocked"},
      {"FilledByTooMany", ring(with(&Ring::filled, std::int64_t{-1})), deadlock, "needs 31 more arrivals"},
      {"FreedByTooFew", ring(with(&Ring::freed, std::int64_t{1})), deadlock, "is deadlocked"},
      {"AwaitsTheNextFill", ring(with(&Ring::awaited, std::int64_t{1})), deadlock, "await filled"},
      {"AwaitsTheFillBefore", ring(with(&Ring::awaited, std::int64_t{-2})), race, "tile["},
      {"AwaitsTheWrongFreeSlot", ring(with(&Ring::freed_for, std::int64_t{-2})), race, "tile["},
      {"AwaitsAFreeSlotTooLate", ring(with(&Ring::freed_for, std::int64_t{2})), deadlock, "await freed"},
      {"ReadsTheOtherSlot", ring(with(&Ring::read, std::int64_t{1})), race, "tile["},
      {"AnnouncesTooManyBytes", ring(with(&Ring::bytes, std::int64_t{16}, By::bulk)), deadlock,
       "announces 144 bytes"},
      {"AnnouncesTooFewBytes", ring(with(&Ring::bytes, std::int64_t{-16}, By::bulk)), deadlock,
       "announces 112 bytes"},
      {"FreedWithoutAFence", ring(with(&Ring::fences, false, By::bulk)), unfenced, "overwrites tile"},
      {"HalfOfAWarpSignals", ring(with(&Ring::part_of_warp, true)), divergent_barrier, "signal filled"},
      {"StoredInBulk", stores({})},
      {"StoredInBulkAtTheEdge", stores({.beyond = 5})},
      {"StoredWithoutAFence", stores({.fences = false}), unfenced, "a bulk store reads tile"},
      {"StoredBeforeTheWrites", stores({.second_barrier = false}), race, "tile["},
      {"OverwrittenAfterTheWait", stores({.first_barrier = false}), race, "tile["},
      {"OverwrittenWithoutAWait", stores({.waits = false}), in_flight, "is overwritten while a bulk store"},
      {"OverwrittenAfterAWeakWait", stores({.pending = 1}), in_flight, "is overwritten while a bulk store"},
      {"StoredAtTheEnd", stores({.waits_at_end = false}), in_flight, "still reads tile at the end"},
      {"StoredWithoutACommit", stores({.commits = false}), in_flight, "still reads tile at the end"},
      {"StoredFromAnotherWarp", stores({.of_other_warp = true}), race, "tile["},
      {"ABarrierOfARole", own({})},
      {"NoBarrierOfARole", own({.barrier = false}), race, "own["},
      {"ABarrierOfTheBlockInARole", own({.of_block = true}), deadlock,
       "threads that have finished never arrive"},
      {"ABarrierOfOneWarpOfARole", own({.in_one_warp = true}), race, "own["},
      {"StartedEarly", early(1)},
      {"StartedEarlyWithoutAnAwait", early(0), race, "before it awaits the kernel before it"},
      {"StartedEarlyWithALoadBefore", early(2), race, "loads X in"},
      {"StartedEarlyWithAnAwaitOfHalf", early(3), race, "before it awaits the kernel before it"},
      {"StartedEarlyBesideTheKernelBefore", early(2, {"Y"})},
      {"StartedEarlyBesideTheWriterOfX", early(2, {"X"}), race, "loads X in"},
      {"StartedEarlyWithAnAwaitInTheBranch", early(4, {"Y"})},
      {"StartedEarlyWithoutAnAwaitInTheBranch", early(0, {"Y"}), race, "updates Y in"},
      {"UnitsThatReadTiles", units({})},
      {"UnitsWithoutAFence", units({.fence = false}), unfenced, "the matrix units read A_tile"},
      {"UnitsWithoutABarrier", units({.barrier = false}), race, "A_tile["},
      {"UnitsWithoutABegin", units({.begin = false}), unfenced, "since its last fence for calls"},
      {"UnitsWithoutAWait", units({.wait = false}), in_flight, "sums"},
      {"UnitsWhoseTilesAreOverwritten", units({.overwrite_early = true}), race, "A_tile["},
  };
  return all;
}

class HandMade : public testing::TestWithParam<std::size_t> {};

TEST_P(HandMade, IsJudgedRightly) {
  const Case &test = cases()[GetParam()];
  const kernel::Kernel kernel = test.build();
  std::vector<Array> arrays;
  for (const Buffer &buffer : kernel.params) {
    Array &array = arrays.emplace_back(buffer->dtype, std::vector{*as_int(buffer->shape[0])});
    for (std::int64_t i = 0; buffer->name == "X" && i < *as_int(buffer->shape[0]); ++i)
      array.view<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i);
  }
  std::vector<Argument> arguments;
  for (Array &array : arrays)
    arguments.push_back({&array});
  const Result result = run(kernel, arguments, {}, {.max_diagnostics = 20});
  if (!test.kind) {
    ASSERT_TRUE(result.good()) << result.diagnostics.front().message;
    const auto y = arrays.back().view<float>();
    for (std::size_t i = 0; kernel.name != "units" && i < y.size(); ++i)
      EXPECT_EQ(y[i], value_of(kernel.name, static_cast<std::int64_t>(i))) << i;
    return;
  }
  std::string messages;
  bool found = false;
  for (const Diagnostic &diagnostic : result.diagnostics) {
    messages += fmt::format("{}: {}\n", name(diagnostic.kind), diagnostic.message);
    found = found || (diagnostic.kind == *test.kind && diagnostic.message.find(test.says) != std::string::npos);
  }
  EXPECT_TRUE(found) << "expected " << name(*test.kind) << ": …" << test.says << "…\n" << messages;
}

INSTANTIATE_TEST_SUITE_P(Kernels, HandMade, testing::Range<std::size_t>(0, cases().size()),
                         [](const auto &info) { return std::string(cases()[info.param].name); });

} // namespace
} // namespace nestsmith::sim
