/// Tests that the claims about channels (tests/proofs/channels.h) are proved for the schedules of roles, and
/// refuted for kernels that are wrong.

#include "lowering/lower.h"
#include "tests/proofs/channels.h"
#include "tests/proofs/rungs.h"
#include "tests/schedules/role_products.h"
#include "tests/schedules/rung.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nestsmith::proofs {
namespace {

using test::product_of;
using test::register_tiles;
using test::rung;
using test::unit_tiles;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;

/// Each channel has claims about its slots and its arrivals, and with boxes about them.
void expect_proved(const kernel::Kernel &kernel, bool boxes) {
  ASSERT_FALSE(kernel.channels.empty());
  const Proof proof = prove_channels(kernel);
  EXPECT_THAT(proof.failures, IsEmpty());
  EXPECT_THAT(proof.unreached, IsEmpty());
  EXPECT_GT(proof.proved_of(Claim::slots), 0);
  EXPECT_GT(proof.proved_of(Claim::bytes), 0);
  EXPECT_EQ(proof.proved_of(Claim::boxes) > 0, boxes);
}

kernel::Kernel kernel_of(const char *name, const Shape &shape) {
  return lower(rung(name).build(shape, rung(name).dtype(), make_target("sm_90a"))).only();
}

/// A shape of this rank whose extents are known at launch.
Shape of_sizes(const Size &size, std::size_t rank = 3) {
  Shape shape(rank, 64);
  shape.stated = size;
  return shape;
}

/// 1000 x 776 results are several waves of tiles. Numbers of tiles along k: 1, slots - 1, slots, slots + 1, and
/// more.
TEST(Channels, OfRungsAreProved) {
  for (const char *name : {"hopper/bf16", "hopper/tma", "hopper/stores", "hopper/cluster"})
    for (std::int64_t k : {8, 192, 256, 320, 1000}) {
      SCOPED_TRACE(fmt::format("{}, k {}", name, k));
      expect_proved(kernel_of(name, {1000, 776, k}), std::string(name) != "hopper/bf16");
    }
  for (std::int64_t k : {1, 16, 32, 33, 48, 64, 1000})
    expect_proved(kernel_of("hopper/roles", {200, 300, k}), false);
}

TEST(Channels, AreProvedForAllSizes) {
  for (const char *name : {"hopper/roles", "hopper/bf16", "hopper/tma", "hopper/stores", "hopper/cluster"}) {
    SCOPED_TRACE(name);
    expect_proved(kernel_of(name, of_sizes({})), false);
    const Size wide = {.min = 128, .max = 32768, .multiple_of = 128};
    const bool boxes = std::string(name) != "hopper/roles" && std::string(name) != "hopper/bf16";
    expect_proved(kernel_of(name, of_sizes(wide)), boxes);
  }
}

TEST(Channels, OfJoinedPipelinesAreProved) {
  for (std::int64_t persistent : {0, 2})
    for (std::int64_t k : {1, 8, 16, 24, 32, 200}) {
      SCOPED_TRACE(fmt::format("persistent {}, k {}", persistent, k));
      library::RegisterTiles tiles = register_tiles();
      tiles.joined = true;
      tiles.persistent = persistent;
      expect_proved(lower(product_of({16 * 5, 64, k}, DType::f32, tiles)).only(), false);
    }
  library::RegisterTiles tiles = register_tiles();
  tiles.joined = true;
  tiles.width = 1;
  expect_proved(lower(product_of(of_sizes({}), DType::f32, tiles)).only(), false);
}

TEST(Channels, WithCallsInFlightAreProved) {
  for (std::int64_t k : {1, 64, 192, 256, 320, 520}) {
    library::MatrixTiles tiles = unit_tiles(k % 8 == 0);
    tiles.in_flight = 2, tiles.stages = 5;
    expect_proved(lower(product_of({67, 60, k}, DType::bf16, tiles)).only(), tiles.load.bulk);
  }
}

TEST(Channels, OfLargeClustersAreProved) {
  library::MatrixTiles tiles = unit_tiles(true);
  tiles.cluster = 4;
  const kernel::Kernel kernel = lower(product_of({64 * 4, 64, 320}, DType::f16, tiles)).only();
  EXPECT_EQ(kernel.cluster, 4);
  expect_proved(kernel, true);
}

/// Columns of a tile are in blocks, of which each has a box: in a loop, or by the blocks of a cluster.
TEST(Channels, OfTilesInAnyStorageAreProved) {
  for (bool a : {false, true})
    for (bool b : {false, true})
      for (std::int64_t cluster : {1, 2})
        for (std::int64_t persistent : {0, 4}) {
          Shape shape = {64 * 10, 136, 320};
          shape.transposed = {.a = a, .b = b};
          library::MatrixTiles tiles = unit_tiles(true);
          tiles.results = {16, 128};
          tiles.cluster = cluster, tiles.persistent = persistent;
          const kernel::Kernel kernel = lower(test::product_of_stored(shape, DType::bf16, tiles)).only();
          EXPECT_EQ(kernel.cluster, cluster);
          expect_proved(kernel, true);
        }
}

/// Two nests share a launch, so a thread block uses the channel for one of them.
TEST(Channels, OfSharedLaunchesAreProved) {
  for (std::int64_t persistent : {0, 4}) {
    library::RegisterTiles tiles = register_tiles();
    tiles.even_places = 4, tiles.persistent = persistent;
    library::MatrixTiles units = unit_tiles(true);
    units.even_places = 4, units.persistent = persistent;
    expect_proved(lower(product_of({16 * 5 - 3, 64, 8 * 32}, DType::f32, tiles)).only(), false);
    const kernel::Kernel kernel = lower(product_of({64 * 5 - 3, 64, 64 * 16}, DType::bf16, units)).only();
    EXPECT_THAT(kernel::print(kernel), HasSubstr("the other blocks execute the next nest"));
    expect_proved(kernel, true);
  }
}

/// Whole tiles, long parts and short parts have one loop in each role.
TEST(Channels, OfSharedCodeAreProved) {
  library::RegisterTiles tiles = register_tiles();
  tiles.even_places = 4;
  tiles.joined = tiles.last_k = true;
  for (std::int64_t m : {16 * 7, 16 * 7 - 3}) {
    const kernel::Kernel kernel = lower(product_of({m, 64, 8 * 64}, DType::f32, tiles)).only();
    EXPECT_THAT(kernel::print(kernel), HasSubstr("k_outer_end"));
    expect_proved(kernel, false);
  }
}

/// 4 warps fill the tile of A, and 2 the tile of B: each role has a channel.
TEST(Channels, OfTwoRolesAreProved) {
  for (std::int64_t k : {8, 16, 410}) {
    const kernel::Kernel kernel = lower(test::product_with_fetches({130, 70, k}, DType::f32, 4, 2)).only();
    EXPECT_EQ(kernel.channels.size(), 2U);
    expect_proved(kernel, false);
  }
}

// ---- seeded faults

/// The kernel after `change` has changed its statements of this kind.
template <class T> kernel::Kernel changed(kernel::Kernel kernel, const std::function<void(T &)> &change) {
  std::function<kernel::Stmt(const kernel::Stmt &)> visit = [&](const kernel::Stmt &stmt) {
    kernel::Stmt made = stmt;
    if (const auto *found = kernel::as<T>(stmt)) {
      T copy = *found;
      change(copy);
      made = kernel::make(std::move(copy), stmt->origin);
    }
    return kernel::map_children(made, visit);
  };
  kernel.body = visit(kernel.body);
  return kernel;
}

/// The kernel with this in place of each statement of the kind for which `wanted` holds; null: without them.
template <class T>
kernel::Kernel replaced(kernel::Kernel kernel, const std::function<bool(const T &)> &wanted,
                        const std::function<kernel::Stmt(const T &)> &by) {
  std::function<kernel::Stmt(const kernel::Stmt &)> visit = [&](const kernel::Stmt &stmt) {
    const auto *found = kernel::as<T>(stmt);
    return found && wanted(*found) ? by(*found) : kernel::map_children(stmt, visit);
  };
  kernel.body = visit(kernel.body);
  return kernel;
}

/// Only claims of this kind fail, one of them about this statement.
void expect_refuted(const kernel::Kernel &kernel, Claim claim, const std::string &where) {
  const Proof proof = prove_channels(kernel);
  EXPECT_THAT(proof.failures, Each(HasSubstr(std::string(name(claim)) + " in `")));
  EXPECT_THAT(proof.failures, Contains(testing::AllOf(HasSubstr(where), HasSubstr("refuted"))));
}

/// Two blocks of a cluster compute two waves of tiles, with six fills of four slots in each.
const kernel::Kernel &of_cluster() {
  static const kernel::Kernel made = kernel_of("hopper/cluster", {1000, 1552, 328});
  return made;
}
const kernel::Kernel &of_sizes() {
  static const kernel::Kernel made =
      kernel_of("hopper/tma", of_sizes({.min = 128, .max = 32768, .multiple_of = 128}));
  return made;
}
const kernel::Kernel &of_threads() {
  static const kernel::Kernel made = kernel_of("hopper/bf16", of_sizes({}));
  return made;
}

template <class T> void add(Expr &e, T by) { e = e + int_imm(by, e.dtype()); }

bool fills(const kernel::Loop &loop) {
  bool found = false;
  kernel::walk(loop.body, [&](const kernel::Stmt &stmt) {
    const auto *signal = kernel::as<kernel::Signal>(stmt);
    found = found || (signal && signal->event == kernel::Event::filled);
  });
  return found;
}
bool reads(const kernel::Loop &loop) {
  bool found = false;
  kernel::walk(loop.body, [&](const kernel::Stmt &stmt) {
    const auto *await = kernel::as<kernel::Await>(stmt);
    found = found || (await && await->event == kernel::Event::filled);
  });
  return found;
}

TEST(ChannelsThatAreWrong, ByOneRowOfBytes) {
  for (std::int64_t by : {-128, 128})
    for (const kernel::Kernel &kernel : {of_cluster(), of_sizes()})
      expect_refuted(changed<kernel::Signal>(kernel,
                                             [&](kernel::Signal &signal) {
                                               if (signal.bulk_bytes != 0)
                                                 signal.bulk_bytes += by;
                                             }),
                     Claim::bytes, "signal filled");
}

TEST(ChannelsThatAreWrong, ByOneArrival) {
  for (std::int64_t by : {-1, 1})
    for (const kernel::Kernel &kernel : {of_cluster(), of_sizes(), of_threads()}) {
      kernel::Kernel filled = kernel, freed = kernel;
      filled.channels[0].filled += by;
      expect_refuted(filled, Claim::bytes, "signal filled");
      freed.channels[0].freed += by;
      expect_refuted(freed, Claim::bytes, "signal freed");
    }
}

/// The signal counts copies, but the role stores, or the other way.
TEST(ChannelsThatAreWrong, ByTheKindOfArrivals) {
  expect_refuted(changed<kernel::Signal>(of_threads(),
                                         [](kernel::Signal &signal) {
                                           if (signal.event == kernel::Event::filled)
                                             std::swap(signal.copies, signal.stores);
                                         }),
                 Claim::bytes, "signal filled");
}

TEST(ChannelsThatAreWrong, ByANumberThatIsShifted) {
  using kernel::Event;
  for (std::int64_t by : {-1, 1})
    for (const kernel::Kernel &kernel : {of_cluster(), of_sizes(), of_threads()})
      for (Event event : {Event::filled, Event::freed}) {
        expect_refuted(changed<kernel::Await>(kernel,
                                              [&](kernel::Await &await) {
                                                if (await.event == event)
                                                  add(await.number, by);
                                              }),
                       Claim::slots, fmt::format("await {}", kernel::name(event)));
        expect_refuted(changed<kernel::Signal>(kernel,
                                               [&](kernel::Signal &signal) {
                                                 if (signal.event == event)
                                                   add(signal.number, by);
                                               }),
                       Claim::slots, fmt::format("signal {}", kernel::name(event)));
      }
  const kernel::Kernel wrong =
      changed<kernel::BulkCopy>(of_sizes(), [](kernel::BulkCopy &copy) { add(copy.fill->number, 1); });
  EXPECT_THAT(prove_channels(wrong).failures,
              testing::AllOf(Contains(HasSubstr("slots in `box of")), Contains(HasSubstr("boxes in `box of"))));
}

TEST(ChannelsThatAreWrong, ByOneIterationOfARole) {
  for (std::int64_t by : {-1, 1})
    for (const kernel::Kernel &kernel : {of_cluster(), of_sizes(), of_threads()})
      for (auto side : {fills, reads})
        expect_refuted(changed<kernel::Loop>(kernel,
                                             [&](kernel::Loop &loop) {
                                               if (side(loop))
                                                 add(loop.extent, by);
                                             }),
                       Claim::slots, "all of channel 0");
}

/// Where nothing frees a slot, each slot has one fill.
TEST(ChannelsThatAreWrong, ByMoreFillsThanSlots) {
  const kernel::Kernel once = kernel_of("hopper/tma", {64, 64, 192});
  expect_proved(once, true);
  const kernel::Kernel wrong = changed<kernel::Loop>(once, [](kernel::Loop &loop) {
    if (fills(loop) || reads(loop))
      add(loop.extent, 1);
  });
  EXPECT_THAT(prove_channels(wrong).failures, Contains(HasSubstr("slots in `all of channel 0`")));
}

/// One role computes a tile of the last wave that the other role skips.
TEST(ChannelsThatAreWrong, ByTheGuardOfOneRole) {
  auto guards = [](const kernel::If &branch) {
    return branch.purpose.kind == kernel::Purpose::Kind::with_terms;
  };
  int n = 0;
  for (int role : {0, 1}) {
    int seen = 0;
    expect_refuted(replaced<kernel::If>(
                       of_cluster(), [&](const kernel::If &branch) { return guards(branch) && seen++ == role; },
                       [&](const kernel::If &branch) {
                         ++n;
                         return branch.body;
                       }),
                   Claim::slots, "all of channel 0");
  }
  EXPECT_EQ(n, 2);
  int seen = 0;
  expect_refuted(changed<kernel::If>(of_cluster(),
                                     [&](kernel::If &branch) {
                                       if (guards(branch) && seen++ == 1)
                                         branch.condition = logical_not(branch.condition);
                                     }),
                 Claim::slots, "");
}

/// The blocks of a cluster execute the same fills, and the warps of a role.
TEST(ChannelsThatAreWrong, ByAGuardThatDiffersWithinARole) {
  for (const kernel::Kernel &kernel : {of_cluster(), of_threads()})
    for (const kernel::ThreadIndex &index : kernel.indices)
      if (is_thread(index.axis) || index.axis == Axis::block_z)
        expect_refuted(changed<kernel::If>(kernel,
                                           [&](kernel::If &branch) {
                                             if (branch.purpose.kind != kernel::Purpose::Kind::role)
                                               branch.condition = branch.condition && Expr(index.var) < 1000;
                                           }),
                       Claim::slots, "< 1000");
}

/// Every other iteration frees its slot.
TEST(ChannelsThatAreWrong, ByAGuardThatHoldsNowAndThen) {
  expect_refuted(changed<kernel::If>(of_sizes(),
                                     [](kernel::If &branch) {
                                       const auto *less = branch.condition.as<Binary>();
                                       if (branch.purpose.kind == kernel::Purpose::Kind::none && less)
                                         branch.condition =
                                             equal(floormod(less->b, int_imm(2, less->b.dtype())),
                                                   int_imm(1, less->b.dtype()));
                                     }),
                 Claim::slots, "is not counted");
}

TEST(ChannelsThatAreWrong, WithoutAnEvent) {
  using kernel::Event;
  for (Event event : {Event::filled, Event::freed}) {
    auto removed = [](const auto &) { return kernel::make_seq({}); };
    expect_refuted(replaced<kernel::Await>(
                       of_cluster(), [&](const kernel::Await &await) { return await.event == event; }, removed),
                   Claim::slots, "all of channel 0");
    int seen = 0; // two signals free: in the loop, and after it
    expect_refuted(replaced<kernel::Signal>(
                       of_cluster(),
                       [&](const kernel::Signal &signal) {
                         return signal.event == event && (event == Event::filled || seen++ == 1);
                       },
                       removed),
                   Claim::slots, "all of channel 0");
  }
}

/// The readers await a fill whose slot they have not freed, so both roles wait for ever.
TEST(ChannelsThatAreWrong, ByASlotThatIsFreedTooLate) {
  int seen = 0;
  expect_refuted(
      replaced<kernel::Signal>(
          of_sizes(),
          [&](const kernel::Signal &signal) { return signal.event == kernel::Event::freed && seen++ == 0; },
          [](const kernel::Signal &) { return kernel::make_seq({}); }),
      Claim::slots, "await filled");
}

/// The warps of a role await a slot after they have filled it, or a tile after they have read it.
TEST(ChannelsThatAreWrong, ByAnAwaitThatIsLate) {
  auto late = [](const kernel::Kernel &kernel, kernel::Event event) {
    return changed<kernel::Seq>(kernel, [&](kernel::Seq &seq) {
      for (std::size_t n = 0; n + 1 < seq.stmts.size(); ++n)
        if (const auto *await = kernel::as<kernel::Await>(seq.stmts[n]); await && await->event == event)
          std::swap(seq.stmts[n], seq.stmts[n + 1]), ++n;
    });
  };
  expect_refuted(late(of_sizes(), kernel::Event::freed), Claim::slots, "box of A_shared");
  expect_refuted(late(of_threads(), kernel::Event::freed), Claim::slots, "write of A_shared");
  kernel::Kernel wrong = of_sizes();
  for (int n = 0; n < 3; ++n) // past the begin of the calls, and past them
    wrong = late(wrong, kernel::Event::filled);
  expect_refuted(wrong, Claim::slots, "read of A_shared");
}

TEST(ChannelsThatAreWrong, ByOneSlot) {
  for (kernel::Kernel kernel : {of_cluster(), of_sizes(), of_threads()})
    for (std::int64_t by : {-1, 1}) {
      kernel::Kernel wrong = kernel;
      wrong.channels[0].slots += by;
      EXPECT_THAT(prove_channels(wrong).failures, testing::AllOf(Contains(HasSubstr("slots in `channel 0`")),
                                                                 Contains(HasSubstr("slots in `read of"))));
    }
}

/// By a slot, or by the 8 rows at the end of the tile.
TEST(ChannelsThatAreWrong, ByAReadOfTheNextSlot) {
  for (std::int64_t by : {8 * 64, 4096})
    for (const kernel::Kernel &kernel : {of_cluster(), of_sizes(), of_threads()})
      expect_refuted(changed<kernel::Call>(kernel,
                                           [&](kernel::Call &call) {
                                             for (kernel::OperandAddress &place : call.places)
                                               if (place.buffer->name == "A_shared")
                                                 add(place.offset, by);
                                           }),
                     Claim::slots, "read of A_shared");
}

TEST(ChannelsThatAreWrong, ByAWriteToTheNextSlot) {
  expect_refuted(changed<kernel::Store>(of_threads(),
                                        [&](kernel::Store &store) {
                                          if (store.buffer->name == "B_shared")
                                            add(store.indices[0], 4096);
                                        }),
                 Claim::slots, "write of B_shared");
}

TEST(ChannelsThatAreWrong, ByABoxThatIsMoved) {
  for (std::int64_t by : {-64, 64, 4096})
    for (const kernel::Kernel &kernel : {of_cluster(), of_sizes()})
      expect_refuted(changed<kernel::BulkCopy>(kernel,
                                               [&](kernel::BulkCopy &copy) {
                                                 if (copy.tile->name == "B_shared")
                                                   add(copy.indices[0], by);
                                               }),
                     Claim::boxes, "box of B_shared");
}

/// The places of a swizzled box follow from its address.
TEST(ChannelsThatAreWrong, ByTheAlignmentOfABox) {
  kernel::Kernel kernel = of_sizes();
  for (kernel::Allocation &allocation : kernel.shared)
    if (allocation.buffer->name == "A_shared")
      allocation.byte_offset += 128;
  expect_refuted(kernel, Claim::boxes, "box of A_shared");
}

/// Both blocks of the cluster copy the first half of the tile.
TEST(ChannelsThatAreWrong, ByAPartOfTheTileThatNoBlockCopies) {
  expect_refuted(
      changed<kernel::BulkCopy>(
          of_cluster(),
          [&](kernel::BulkCopy &copy) {
            if (copy.fill->to_cluster)
              for (const kernel::ThreadIndex &index : of_cluster().indices)
                if (whole_of(index.axis) == Axis::block_z)
                  copy.indices[0] = substitute(copy.indices[0], {{index.var, int_imm(0, DType::i32)}});
          }),
      Claim::boxes, "B_shared");
}

TEST(ChannelsThatAreWrong, ByABoxThatIsShorter) {
  for (kernel::Kernel kernel : {of_cluster(), of_sizes()}) {
    --kernel.maps[1].box.front();
    EXPECT_THAT(prove_channels(kernel).failures, testing::AllOf(Contains(HasSubstr("bytes in `signal filled")),
                                                                Contains(HasSubstr("boxes in `B_shared`"))));
  }
}

/// The box goes to one block of the cluster only.
TEST(ChannelsThatAreWrong, ByABoxForOneBlock) {
  const kernel::Kernel wrong =
      changed<kernel::BulkCopy>(of_cluster(), [](kernel::BulkCopy &copy) { copy.fill->to_cluster = false; });
  EXPECT_THAT(prove_channels(wrong).failures, testing::AllOf(Contains(HasSubstr("bytes in `signal filled")),
                                                             Contains(HasSubstr("boxes in `B_shared`"))));
}

TEST(ChannelsThatAreWrong, ByTheMemoryOfTheirEvents) {
  kernel::Kernel kernel = of_sizes();
  kernel.channels[0].byte_offset -= 8;
  expect_refuted(kernel, Claim::arena, "channel 0");
}

TEST(ChannelsThatAreWrong, ByTheWarpsOfARole) {
  kernel::Kernel kernel = of_sizes();
  ++kernel.roles[1].first_warp;
  EXPECT_THAT(prove_channels(kernel).failures, Contains(HasSubstr("slots in `role 1`")));
}

} // namespace
} // namespace nestsmith::proofs
