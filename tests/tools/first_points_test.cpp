/// Tests the points with which `tune` begins: those of a kernel table, or those of the model.

#include "tests/tools/acting_child.h"
#include "tests/tools/call_main.h"
#include "tools/options/chosen_knobs.h"
#include "tools/tune/tuning.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <set>

namespace nestsmith::cli {
namespace {

using testing::Contains;
using testing::HasSubstr;

/// A child process for which all points take the same time.
TEST(FirstPointsChild, Acts) {
  test::answer_parent([](const auto &, const auto &) { return R"({"outcome": "measured", "median_ms": 1})"; });
}

std::set<KnobValues> measured_points(Tuning &tuning) {
  TuneMeasurer measurer([] { return test::start_test("FirstPointsChild.Acts"); }, 5);
  std::set<KnobValues> points;
  for (const records::Record &record : tuning.measure(measurer, nullptr))
    points.insert(record.knobs);
  return points;
}

const Context &context() {
  static const Arguments arguments("tune", {}, {});
  static const Context context{builtin_rungs(), arguments, Style(Colour::never)};
  return context;
}

Tuning tuning_of(const ChosenRung &choice, const Shape &shape, const TuneOptions &options) {
  return Tuning(context(), choice, shape, DType::f32, ChosenGpu{find_gpu("H200"), ""}, options);
}

/// The spaces are empty, so that a search has no others.
TEST(FirstPoints, AreThoseOfTheKernelTableWithAndWithoutAGpu) {
  const ChosenRung choice = choose_rung(builtin_rungs(), "fast/gemm");
  const Shape shape = {256, 256, 256};
  const std::vector<KnobValues> predicted =
      predicted_points(choice, shape, DType::f32, target_of(find_gpu("H200")), 3);
  const std::set<KnobValues> wanted(predicted.begin(), predicted.end());
  ASSERT_EQ(wanted.size(), 3U);
  TuneOptions options;
  options.trials = 4;
  Tuning ranked = tuning_of(choice, shape, options);
  ranked.rank();
  std::set<KnobValues> found;
  for (const tune::Point &point : ranked.space().points)
    found.insert(point.knobs);
  EXPECT_EQ(found, wanted);
  const auto says = Contains(HasSubstr(
      "the search began with the default and the 3 points that the kernel table predicts to be the fastest"));
  EXPECT_THAT(ranked.notes(), says);
  Tuning searched = tuning_of(choice, shape, options);
  EXPECT_EQ(measured_points(searched), wanted);
  EXPECT_THAT(searched.notes(), says);
  options.way = tune::SearchMethod::random;
  Tuning random = tuning_of(choice, shape, options);
  random.rank();
  EXPECT_TRUE(random.space().points.empty());
}

/// A schedule in which more elements of a thread take longer.
Schedule copies(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  Workload w("copies");
  const Tensor x = w.placeholder("X", {shape[0]}, dtype);
  Schedule s(w.output({w.compute("Y", {shape[0]}, {"i"}, [&](const std::vector<Expr> &n) { return x(n[0]); })}),
             target);
  std::vector<std::int64_t> counts;
  for (std::int64_t count = 1; count <= 20; ++count)
    counts.push_back(count);
  auto [i] = s.loops<1>(s.block("Y"));
  auto [block, each, thread] = s.split<3>(i, {infer, knobs.choose("each", counts), 32});
  s.bind(block, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  return s;
}

TEST(FirstPoints, WithoutATableAreThoseOfTheModel) {
  const std::vector<Rung> rungs = {{"", "copies", "copies", copies, {128}, {1000}, {1 << 20}}};
  const ChosenRung choice = choose_rung(rungs, "copies");
  TuneOptions options;
  options.trials = 9;
  Tuning tuning = tuning_of(choice, {1 << 20}, options);
  tuning.enumerate(false);
  std::vector<KnobValues> all;
  for (const tune::Point &point : tuning.space().points)
    all.push_back(point.knobs);
  ASSERT_EQ(all.size(), 20U);
  const std::vector<std::optional<double>> seconds = tuning.predict(all);
  std::vector<double> others;
  for (std::size_t n = 1; n < all.size(); ++n)
    others.push_back(*seconds[n]);
  std::ranges::sort(others);
  if (others[7] == others.back())
    GTEST_SKIP() << "needs NVRTC";
  const std::set<KnobValues> measured = measured_points(tuning);
  EXPECT_EQ(measured.size(), 9U);
  for (std::size_t n = 1; n < all.size(); ++n)
    EXPECT_TRUE(!measured.contains(all[n]) || *seconds[n] <= others[7]) << to_string(all[n]);
  EXPECT_THAT(tuning.notes(), Contains(HasSubstr("8 points of 20 with the least times by the model")));
}

} // namespace
} // namespace nestsmith::cli
