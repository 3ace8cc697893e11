/// Tests `tune --shapes`: the best point for several shapes.

#include "tools/tune/common_points.h"

#include "tests/tools/acting_child.h"
#include "tests/tools/call_main.h"
#include "tests/tools/run_binary.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace nestsmith::cli {
namespace {

using test::contains;
using test::nestsmith;

/// A child process in which 8 is the best size of a tile for 64x64x64, and 32 for others. 16 is between them.
TEST(CommonPointsChild, Acts) {
  test::answer_parent([](const llvm::json::Object &request, const llvm::json::Value &point) {
    const bool small = *(*request.getArray("shape"))[0].getAsInteger() == 64;
    const int size = std::stoi(point.getAsObject()->getString("block_size")->str());
    const double ms = size == 16 ? 1.25 : (size == 8) == small ? 1 : 4;
    return fmt::format(R"({{"outcome": "measured", "median_ms": {}}})", ms);
  });
}

TEST(CommonPoints, AreRankedByTheMeanOfTheirSpeeds) {
  auto start = [] { return test::start_test("CommonPointsChild.Acts"); };
  Arguments arguments("tune", {}, {});
  Context context{builtin_rungs(), arguments, Style(Colour::never)};
  ChosenRung choice = choose_rung(builtin_rungs(), "tiling/shared");
  std::list<Tuning> tunings;
  std::vector<std::vector<records::Record>> found;
  TuneMeasurer measurer(start, 5);
  test::TemporaryFolder folder;
  records::Database database = records::Database::open(folder / "a.db");
  for (const Shape &shape : {Shape{64, 64, 64}, Shape{96, 64, 32}}) {
    tunings.emplace_back(context, choice, shape, DType::f32, ChosenGpu{find_gpu("H200"), ""}, TuneOptions{});
    std::vector<records::Record> &records = found.emplace_back();
    for (const char *size : {"8", "16", "32"})
      records.emplace_back().knobs["block_size"] = size;
  }
  std::vector<CommonPoint> list = common_points(tunings, found, measurer, &database);
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[0].knobs.at("block_size"), "16");
  EXPECT_NEAR(list[0].mean, 0.8, 1e-9);
  EXPECT_NEAR(list[0].worst, 0.8, 1e-9);
  EXPECT_NEAR(list[1].mean, 0.5, 1e-9);
  EXPECT_NEAR(list[1].worst, 0.25, 1e-9);
  // A point that one shape refuses is left out.
  records::Record other = found[0][0];
  other.knobs["block_size"] = "7";
  list = common_points(tunings, {{other}, {found[1][0]}}, measurer, nullptr);
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].knobs, found[1][0].knobs);
}

TEST(TuneShapes, AreSearchedOneAfterTheOther) {
  test::Ran ran = nestsmith("tune tiling/shared --shapes 64,96x64x32 --gpu H200 --trials 2");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(contains(ran.out, "tiling/shared  f32 64x64x64  NVIDIA H200"));
  EXPECT_TRUE(contains(ran.out, "tiling/shared  f32 96x64x32  NVIDIA H200"));
  EXPECT_TRUE(contains(ran.out, "one configuration for all 2 shapes, estimated\n")) << ran.out;
  EXPECT_TRUE(test::matches(ran.out, " 1 │ 1[.]000 │ 1[.]000 │ block_size="));
  EXPECT_TRUE(contains(ran.out, "the estimated speed relative to the best point of each shape")) << ran.out;
}

TEST(TuneShapes, AreEstimatedTogetherWithoutAGpu) {
  Arguments arguments("tune", {}, {});
  Context context{builtin_rungs(), arguments, Style(Colour::never)};
  ChosenRung choice = choose_rung(builtin_rungs(), "tiling/shared");
  std::list<Tuning> tunings;
  for (const Shape &shape : {Shape{64, 64, 64}, Shape{96, 64, 32}}) {
    tunings.emplace_back(context, choice, shape, DType::f32, ChosenGpu{find_gpu("H200"), ""}, TuneOptions{});
    tunings.back().enumerate(false);
    tunings.back().rank();
  }
  const std::vector<CommonPoint> list = estimated_common_points(tunings);
  ASSERT_FALSE(list.empty());
  std::vector<KnobValues> points;
  for (const CommonPoint &point : list)
    points.push_back(point.knobs);
  std::vector<double> worst(points.size(), 1);
  for (Tuning &tuning : tunings) {
    const std::vector<std::optional<double>> seconds = tuning.predict(points);
    for (std::size_t n = 0; n < points.size(); ++n)
      worst[n] = std::min(worst[n], tuning.space().points.front().prediction->seconds / seconds[n].value());
  }
  for (std::size_t n = 0; n < points.size(); ++n)
    EXPECT_NEAR(list[n].worst, worst[n], 1e-9);
}

TEST(TuneShapes, RefuseWhatHasOneShape) {
  for (const char *other : {"--shape 64x64x64", "--sweep block_size", "--space"}) {
    test::Ran ran = nestsmith(fmt::format("tune tiling/shared --shapes 64 --gpu H200 {}", other));
    EXPECT_EQ(ran.code, 2);
    EXPECT_TRUE(contains(ran.err, "--shapes searches at each shape of its list; leave --")) << ran.err;
  }
}

} // namespace
} // namespace nestsmith::cli
