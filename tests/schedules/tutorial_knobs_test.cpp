/// Tests the knobs of the tutorials that reproduce posts: the sizes of their tiles.

#include "lowering/lower.h"
#include "schedules/workloads.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"
#include "tests/schedules/rung.h"

#include <gtest/gtest.h>

namespace nestsmith {
namespace {

/// The sizes of the posts.
struct Usual {
  const char *rung, *knobs;
};

const std::vector<Usual> &usual_sizes() {
  static const char *transposed = "btsz=4, tilesz=16, wid=16",
                    *steps = "bk=32, results_i=8, results_j=4, threads_i=4, threads_j=8";
  static const std::vector<Usual> all = {
      {"tiling/naive", "block_size=32"},
      {"tiling/shared", "block_size=32"},
      {"transposed/naive", "tilesz=16"},
      {"transposed/shared", "tilesz=16"},
      {"transposed/registers", transposed},
      {"transposed/float4", transposed},
      {"transposed/prefetch", transposed},
      {"deep_dive/naive", "threads=256"},
      {"deep_dive/coalesced", "threads=256"},
      {"deep_dive/shared", "block_size=32"},
      {"deep_dive/tile1d", "bk=8, bm=64, bn=64, tm=8"},
      {"tvm_steps/step1", "threads=1024"},
      {"tvm_steps/step2", steps},
      {"tvm_steps/step3", steps},
      {"tvm_steps/step4", steps},
      {"tvm_steps/step5", steps},
      {"tvm_steps/step6", "bk=32, results_i=8, results_j=4, threads_i=4, threads_j=8, unroll=16"},
      {"worklog/9", "bk=16, bm=128, bn=128, tm=8, tn=8"},
  };
  return all;
}

class TutorialKnobs : public testing::TestWithParam<Usual> {};

TEST_P(TutorialKnobs, HaveTheSizesOfThePostByDefault) {
  Knobs knobs;
  (void)test::rung(GetParam().rung).build({64, 64, 64}, DType::f32, Target{}, knobs);
  EXPECT_EQ(to_string(knobs.chosen()), GetParam().knobs);
}

/// Returns the default point, those that differ from it in one knob, and random ones.
std::vector<Knobs> drawn_points(const Rung &rung, const Shape &shape, DType dtype, const Target &target) {
  Knobs usual;
  (void)rung.build(shape, dtype, target, usual);
  std::vector<Knobs> points = {Knobs()};
  for (const Knob &knob : usual.asked())
    for (std::size_t n = 1; n < knob.candidates.size(); ++n)
      points.emplace_back(KnobValues{{knob.name, knob.candidates[n]}});
  for (std::uint64_t seed = 0; seed < 6; ++seed)
    points.push_back(Knobs::random(seed));
  return points;
}

/// For vectors, for scalars, for bytes, with the least shared memory of all architectures, and for all shapes.
TEST_P(TutorialKnobs, OfferOnlyLegalPoints) {
  struct Case {
    Shape shape;
    DType dtype;
    const char *arch;
  };
  Shape symbolic = {64, 64, 64};
  symbolic.stated = Size{};
  const Rung &rung = test::rung(GetParam().rung);
  for (const Case &x : {Case{{256, 128, 64}, DType::f32, "sm_90"}, Case{{65, 33, 17}, DType::f32, "sm_80"},
                        Case{{131, 130, 37}, DType::i8, "sm_75"}, Case{symbolic, DType::f32, "sm_75"}}) {
    std::size_t number = 0;
    for (Knobs &knobs : drawn_points(rung, x.shape, x.dtype, make_target(x.arch))) {
      Schedule schedule = rung.build(x.shape, x.dtype, make_target(x.arch), knobs);
      std::string point = to_string(x.shape) + " " + to_string(knobs.chosen());
      EXPECT_TRUE(schedule.obligations().empty()) << point << schedule.obligations().front().message;
      if (number++ % 5 == 0) {
        EXPECT_NO_THROW(lower(schedule)) << point;
      }
    }
  }
}

TEST_P(TutorialKnobs, AreRightAtRandomPoints) {
  const Rung &rung = test::rung(GetParam().rung);
  SimExecutor simulator;
  std::uint64_t seed = 0;
  for (const Shape &shape : {Shape{1, 1, 1}, Shape{33, 67, 18}, Shape{20, 36, 40}, Shape{70, 8, 72}}) {
    Knobs knobs = Knobs::random(++seed);
    Schedule schedule = rung.build(shape, DType::u32, Target{}, knobs);
    CheckResult result = check(schedule, lower(schedule), simulator);
    EXPECT_TRUE(result.passed) << to_string(shape) << " " << to_string(knobs.chosen()) << "\n"
                               << test::all_messages(result);
  }
}

INSTANTIATE_TEST_SUITE_P(Rungs, TutorialKnobs, testing::ValuesIn(usual_sizes()), [](const auto &info) {
  std::string name = info.param.rung;
  name[name.find('/')] = '_';
  return name;
});

/// A knob offers what the knobs before it permit.
TEST(TutorialKnobsTogether, AreRefusedIfTheyDoNotFit) {
  auto refused = [](const char *name, const char *values, const std::string &message) {
    test::expect_user_error(
        [&] {
          Knobs knobs(parse_knobs(values));
          (void)test::rung(name).build({256, 256, 64}, DType::f32, Target{}, knobs);
        },
        ExitCode::usage, message);
  };
  refused("tiling/shared", "block_size=64", "the knob 'block_size' is '64', expected one of 32, 16, 8");
  refused("transposed/float4", "tilesz=32,wid=16", "the knob 'wid' is '16', expected one of 32, 64");
  refused("transposed/float4", "btsz=2", "the knob 'btsz' is '2', expected one of 4, 8");
  refused("worklog/9", "bm=64,tm=8", "the knob 'tm' is '8', expected one of 4");
  refused("worklog/9", "bm=256,bn=256", "the knob 'bn' is '256', expected one of 128, 64");
  refused("tvm_steps/step6", "bk=8,unroll=16", "the knob 'unroll' is '16', expected one of 4, 8");
}

} // namespace
} // namespace nestsmith
