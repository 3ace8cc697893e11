/// Tests the points of the rungs that `tune --table` measures: legal at every shape, with the stated tile.

#include "lowering/lower.h"
#include "schedules/fast/rungs.h"
#include "tests/schedules/rung.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

namespace nestsmith {
namespace {

std::vector<std::string> rungs_with_kernels() {
  std::vector<std::string> names;
  for (const Rung &rung : builtin_rungs())
    if (rung.kernels)
      names.push_back(rung.full_name());
  return names;
}

class KernelPoints : public testing::TestWithParam<std::string> {};

/// One of the shapes for each point: whole rows, odd ones, rows for narrow vectors, fewer than a tile, and
/// deep.
TEST_P(KernelPoints, AreLegalAndHaveTheTileThatTheRungStates) {
  const Rung &rung = test::rung(GetParam());
  const std::vector<Shape> shapes = {
      {1000, 776, 336}, {515, 387, 131}, {258, 514, 66}, {7, 5, 3}, {64, 72, 2048}};
  std::size_t n = 0, position = 0;
  for (const std::string &text : rung.kernels.points) {
    ++position;
    for (DType dtype : {DType::f32, DType::bf16}) {
      // In bf16, fast/gemm serves only targets without asynchronous copies.
      if (rung.dtype(dtype) != dtype || (dtype == DType::bf16 && rung.tutorial == "fast" && position % 4 != 0))
        continue;
      const Shape &shape = shapes[n++ % shapes.size()];
      Knobs knobs;
      knobs.prefer(parse_knobs(text));
      Schedule s = rung.build(shape, dtype, make_target("sm_90a"), knobs);
      EXPECT_TRUE(s.obligations().empty()) << text << " at " << shape[0];
      KnobValues values = knobs.chosen();
      // fast/gemm has no asynchronous copies of 2 bytes.
      bool has_all = dtype == DType::f32 || rung.tutorial == "tensor";
      for (const auto &[name, value] : has_all ? parse_knobs(text) : KnobValues{})
        EXPECT_EQ(values[name], value) << text << " at " << shape[0];
      auto tile = rung.kernels.tile(values, dtype);
      kernel::Plan plan = lower(s);
      ASSERT_EQ(plan.kernels.size(), 1U);
      auto grid = plan.kernels[0].grid();
      std::int64_t rows = (shape[0] + tile[0] - 1) / tile[0], columns = (shape[1] + tile[1] - 1) / tile[1];
      // In waves, a block has several tiles.
      const auto blocks = values.find("blocks");
      const std::int64_t places =
          132 * std::max<std::int64_t>(1, blocks == values.end() ? 1 : std::stoll(blocks->second));
      EXPECT_EQ(grid[0] * grid[1] * grid[2],
                values["persistent"] == "true" ? std::min(rows * columns, places) : rows * columns)
          << text << " at " << shape[0];
    }
  }
}

/// Two points with the same values would be measured twice.
TEST_P(KernelPoints, AreDifferentAndOnlyOfKnobsOfTheRung) {
  const Rung &rung = test::rung(GetParam());
  std::set<KnobValues> values;
  for (const std::string &text : rung.kernels.points) {
    Knobs knobs(parse_knobs(text));
    EXPECT_FALSE(parse_knobs(text).contains(rung.kernels.parts));
    if (values.size() % 8 == 0) // the knobs of the others have the same names
      rung.build({4096, 4096, 4096}, rung.dtype(), make_target("sm_90a"), knobs), knobs.refuse_unknown();
    EXPECT_TRUE(values.insert(parse_knobs(text)).second) << text;
  }
}

TEST_P(KernelPoints, ShareATileInEveryWay) {
  const Rung &rung = test::rung(GetParam());
  const Shape shape = {64, 72, 4096};
  const DType dtype = rung.dtype();
  for (const std::string &with : rung.kernels.with_parts)
    for (const std::string &text : {rung.kernels.points.front(), rung.kernels.points.back()}) {
      KnobValues wanted = parse_knobs(text);
      wanted[rung.kernels.parts] = "4";
      if (!with.empty())
        wanted.merge(parse_knobs(with));
      Knobs knobs;
      knobs.prefer(wanted);
      Schedule s = rung.build(shape, dtype, make_target("sm_90a"), knobs);
      EXPECT_TRUE(s.obligations().empty()) << text;
      for (const auto &[name, value] : wanted)
        EXPECT_EQ(knobs.chosen()[name], value) << text;
      auto tile = rung.kernels.tile(knobs.chosen(), dtype);
      auto grid = lower(s).kernels[0].grid();
      std::int64_t rows = (shape[0] + tile[0] - 1) / tile[0], columns = (shape[1] + tile[1] - 1) / tile[1];
      EXPECT_EQ(grid[0] * grid[1] * grid[2], 4 * rows * columns) << text << " " << with;
    }
}

INSTANTIATE_TEST_SUITE_P(Rungs, KernelPoints, testing::ValuesIn(rungs_with_kernels()), [](const auto &info) {
  std::string name = info.param;
  std::ranges::replace(name, '/', '_');
  return name;
});

/// The schedule of `fast/best` has the knobs of the rung whose table serves the dtype. Ring mode is that of
/// f32.
TEST(FastBest, MultipliesByMatrixUnitsWhereTheTargetHasThem) {
  auto has_knob = [](const char *knob, DType dtype, const char *arch) {
    Knobs knobs;
    fast::best({256, 256, 256}, dtype, make_target(arch), knobs);
    return knobs.chosen().contains(knob);
  };
  for (DType dtype : {DType::f16, DType::bf16, DType::tf32, DType::i8})
    EXPECT_TRUE(has_knob("ldmatrix", dtype, "sm_90a"));
  for (DType dtype : {DType::f32, DType::f64, DType::u32, DType::i32})
    EXPECT_TRUE(has_knob("lanes", dtype, "sm_90a"));
  EXPECT_TRUE(has_knob("lanes", DType::f16, "sm_75")) << "no asynchronous copies";
}

} // namespace
} // namespace nestsmith
