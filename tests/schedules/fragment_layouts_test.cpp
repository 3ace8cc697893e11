/// Tests every layout of a fragment, element by element: those of the operands of all intrinsics, and those of
/// the tutorial `tensor`. The obligations compare layouts as expressions. These tests enumerate the lanes and
/// registers.

#include "dsl/hardware/fragment.h"
#include "dsl/hardware/intrinsics.h"
#include "dsl/ir/allocation.h"
#include "dsl/ir/interpret.h"
#include "schedules/tensor/tiles.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <set>

namespace nestsmith {
namespace {

using Elements = std::vector<std::vector<std::int64_t>>; ///< the indices of each element, in row-major order
Elements elements_of(const std::vector<std::int64_t> &box) {
  Elements all = {{}};
  for (std::int64_t extent : box) {
    Elements longer;
    for (const auto &start : all)
      for (std::int64_t n = 0; n < extent; ++n) {
        longer.push_back(start);
        longer.back().push_back(n);
      }
    all = std::move(longer);
  }
  return all;
}

BufferNode fragment_of(const std::string &name, const IndexMap &map, const std::vector<std::int64_t> &box) {
  BufferNode buffer{name, DType::f32, {}, Scope::warp, Role::temporary};
  for (std::int64_t extent : box)
    buffer.shape.emplace_back(extent);
  Layout layout;
  layout.map = map;
  buffer.layout = std::make_shared<const Layout>(std::move(layout));
  return buffer;
}

/// Returns the lanes and registers of each element, computed by the arithmetic of expressions.
std::vector<std::set<Spot>> enumerated(const BufferNode &buffer, const std::vector<std::int64_t> &box) {
  FragmentLayout layout(buffer, box);
  PlacedLayout placed(buffer, box);
  auto number = [](const Expr &e) { return evaluate(e, {}).to(DType::i64).as<std::int64_t>(); };
  std::vector<std::set<Spot>> spots;
  for (const std::vector<std::int64_t> &element : elements_of(box)) {
    std::vector<Expr> indices(element.begin(), element.end());
    std::int64_t at = number(placed.offset(indices, {}));
    std::set<Spot> &held = spots.emplace_back();
    for (std::int64_t replica = 0; replica < layout.replicas(); ++replica)
      held.insert({number(layout.lane(indices, Expr(replica))), at});
    EXPECT_EQ(held.size(), static_cast<std::size_t>(layout.replicas())) << buffer.name;
  }
  return spots;
}

/// Expects that each element has a lane, that no two elements share a register of a lane, and that the replicas
/// of an element are in the same register of different lanes.
void expect_layout(const BufferNode &buffer, const std::vector<std::int64_t> &box) {
  FragmentLayout layout(buffer, box);
  ASSERT_EQ(layout.breach(), std::nullopt) << buffer.name;
  std::set<Spot> taken;
  for (const std::set<Spot> &held : enumerated(buffer, box)) {
    ASSERT_FALSE(held.empty()) << buffer.name;
    for (const Spot &spot : held) {
      EXPECT_TRUE(0 <= spot.lane && spot.lane < lanes_per_warp && 0 <= spot.at) << buffer.name;
      EXPECT_EQ(spot.at, held.begin()->at) << buffer.name;
      EXPECT_TRUE(taken.insert(spot).second) << buffer.name << ": lane " << spot.lane << ", " << spot.at;
    }
  }
  // Tests all elements of a small box and some of a large one, because each question needs a proof.
  Elements elements = elements_of(box);
  std::vector<std::set<Spot>> spots = enumerated(buffer, box);
  for (std::size_t n = 0; n < elements.size(); n += 1 + elements.size() / 64)
    for (std::int64_t lane = 0; lane < lanes_per_warp; ++lane) {
      std::vector<Expr> indices(elements[n].begin(), elements[n].end());
      bool holds = spots[n].contains({lane, spots[n].begin()->at});
      EXPECT_EQ(layout.holds(Expr(lane), indices, {}), holds) << buffer.name << " in lane " << lane;
    }
}

std::vector<std::int64_t> box_of(const Buffer &formal) {
  std::vector<std::int64_t> box;
  for (const Expr &extent : formal->shape)
    box.push_back(*as_int(extent));
  return box;
}

TEST(FragmentLayouts, OfAllIntrinsicsHoldEachElement) {
  int operands = 0;
  for (const Intrinsic *intrinsic : all_intrinsics())
    for (const Operand &operand : intrinsic->operands)
      if (const auto *fragment = operand.as<InRegisters>(); fragment && !operand.formal->shape.empty()) {
        ++operands;
        std::vector<std::int64_t> box = box_of(operand.formal);
        BufferNode buffer = fragment_of(signature(*intrinsic) + " " + operand.formal->name, fragment->map, box);
        expect_layout(buffer, box);
        // The obligations compare the registers from which the simulator gathers.
        std::vector<std::set<Spot>> spots;
        for (const std::vector<Spot> &held : spots_of(operand))
          spots.emplace_back(held.begin(), held.end());
        EXPECT_EQ(enumerated(buffer, box), spots) << buffer.name;
      }
  EXPECT_GT(operands, 30);
}

/// Every lane holds the result of a shuffle reduction.
TEST(FragmentLayouts, OfOneElementAreInEveryLane) {
  for (const Intrinsic *intrinsic : all_intrinsics())
    for (const Operand &operand : intrinsic->operands)
      if (operand.as<InRegisters>() && operand.formal->shape.empty()) {
        std::vector<std::vector<Spot>> spots = spots_of(operand);
        ASSERT_EQ(spots.size(), 1U);
        EXPECT_EQ(spots[0].size(), static_cast<std::size_t>(lanes_per_warp)) << intrinsic->name;
        for (std::size_t lane = 0; lane < spots[0].size(); ++lane)
          EXPECT_EQ(spots[0][lane], (Spot{static_cast<std::int64_t>(lane), 0})) << intrinsic->name;
      }
}

TEST(FragmentLayouts, OfTheTutorialHoldEachElementOfSeveralTiles) {
  for (DType dtype : {DType::f16, DType::tf32, DType::i8}) {
    tensor::Instruction unit = tensor::instruction_for(dtype);
    for (std::int64_t tiles : {1, 2, 3}) {
      auto expect = [&](const char *operand, const std::string &map, std::int64_t rows, std::int64_t columns) {
        std::vector<std::int64_t> box = {rows * tiles, columns * 2};
        expect_layout(fragment_of(fmt::format("{} of {}, {} tiles", operand, name(dtype), tiles), map, box),
                      box);
      };
      expect("a", unit.a_layout(), 16, unit.k());
      expect("b", unit.b_layout(false), unit.k(), 8);
      expect("b transposed", unit.b_layout(true), 8, unit.k());
      expect("c", tensor::Instruction::c_layout, 16, 8);
    }
  }
}

TEST(FragmentLayouts, WithReplicasHoldEachElementInSeveralLanes) {
  BufferNode row = fragment_of("maxima of rows", "i, r -> i%8*4 + r, i//8", {16});
  EXPECT_EQ(FragmentLayout(row, {16}).replicas(), 4);
  expect_layout(row, {16});
}

} // namespace
} // namespace nestsmith
