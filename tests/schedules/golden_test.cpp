/// Compares the emitted texts of the rungs with the golden files.

#include "codegen/cuda.h"
#include "codegen/standalone.h"
#include "dsl/schedule/trace.h"
#include "lowering/lower.h"
#include "schedules/rung.h"
#include "tests/gemm_sizes.h"
#include "tests/golden.h"
#include "tests/schedules/rung.h"

#include <sstream>

namespace nestsmith {
namespace {

using test::rung;

std::string file_name(const Rung &rung, const Shape &shape, const std::string &suffix) {
  std::ostringstream name;
  name << rung.tutorial << "_" << rung.name;
  const char *separator = "_";
  for (std::int64_t extent : shape) {
    name << separator << extent;
    separator = "x";
  }
  return name.str() + suffix;
}

EmitInfo info_of(const Rung &rung, const Schedule &schedule, const Shape &shape) {
  EmitInfo info;
  info.title = rung.full_name() + ": " + rung.summary;
  info.target = to_string(schedule.target().arch);
  std::istringstream lines(trace_to_cpp(schedule));
  for (std::string line; std::getline(lines, line);)
    info.trace.push_back(line);
  info.sizes = gemm_sizes(shape[0], shape[1], shape[2]);
  return info;
}

class Goldens : public testing::TestWithParam<std::string> {};

/// Tails in every dimension, and none at all: guards stand only where they are needed.
TEST_P(Goldens, TheKernelReadsAsIfWrittenByHand) {
  const Rung &tested = rung(GetParam());
  for (const Shape &shape : {Shape{1000, 777, 333}, Shape{1024, 1024, 1024}}) {
    Schedule schedule = tested.build(shape, DType::f32, Target{});
    EXPECT_TRUE(matches_golden(file_name(tested, shape, ".cu"), cuda_kernels(lower(schedule))));
  }
}

TEST(VectorGoldens, TheKernelsReadAsIfWrittenByHand) {
  for (const char *name : {"worklog/6", "transposed/float4"})
    for (const Shape &shape : {Shape{1000, 776, 332}, Shape{1024, 1024, 1024}}) {
      const Rung &vectorized = rung(name);
      kernel::Kernel kernel = lower(vectorized.build(shape, DType::f32, Target{})).only();
      EXPECT_TRUE(matches_golden(file_name(vectorized, shape, ".cu"), cuda_kernel(kernel)));
    }
}

TEST_P(Goldens, RingModeDiffersInTypesAndConstantsOnly) {
  const Rung &tested = rung(GetParam());
  auto text = [&](DType dtype) { return cuda_kernels(lower(tested.build({1000, 777, 333}, dtype, Target{}))); };
  std::string real = text(DType::f32), ring = text(DType::u32);
  auto replace = [](std::string &in, const std::string &from, const std::string &to) {
    for (std::size_t at = 0; (at = in.find(from, at)) != std::string::npos; at += to.size())
      in.replace(at, from.size(), to);
  };
  replace(real, "float", "unsigned int");
  replace(real, "0.0f", "0u");
  auto without_layout = [](const std::string &in) {
    std::istringstream words(in);
    std::string out;
    for (std::string word; words >> word;)
      out += word + " ";
    return out;
  };
  EXPECT_EQ(without_layout(real), without_layout(ring));
}

INSTANTIATE_TEST_SUITE_P(Rungs, Goldens,
                         testing::Values("deep_dive/naive", "deep_dive/coalesced", "deep_dive/shared",
                                         "deep_dive/tile1d"),
                         [](const auto &info) { return info.param.substr(info.param.find('/') + 1); });

/// Pipelined, in vectors; and in full tiles and edges, where rows end in the last tile.
TEST(Golden, TheFastestKernelReadsAsIfWrittenByHand) {
  const Rung &warps = rung("ladder/warps");
  for (const Shape &shape : {Shape{1024, 1024, 1024}, Shape{1000, 1024, 20}}) {
    Schedule schedule = warps.build(shape, DType::f32, Target{});
    EXPECT_TRUE(matches_golden(file_name(warps, shape, ".cu"), cuda_kernel(lower(schedule).only())));
  }
}

/// Asynchronous copies in two stages: groups, waits, and tails that the copies fill.
TEST(Golden, TheAsynchronousKernelReadsAsIfWrittenByHand) {
  const Rung &async = rung("ladder/async");
  for (const Shape &shape : {Shape{1024, 1024, 1024}, Shape{1000, 1024, 20}}) {
    Schedule schedule = async.build(shape, DType::f32, Target{});
    EXPECT_TRUE(matches_golden(file_name(async, shape, ".cu"), cuda_kernel(lower(schedule).only())));
  }
}

TEST(Emit, TheFileThatIsShipped) {
  const Rung &shared = rung("deep_dive/shared");
  Shape shape{1000, 777, 333};
  Schedule schedule = shared.build(shape, DType::f32, Target{});
  EXPECT_TRUE(matches_golden(file_name(shared, shape, "_emit.cu"),
                             emit(info_of(shared, schedule, shape), lower(schedule))));
}

TEST(Emit, TheFileThatChecksItself) {
  const Rung &tile1d = rung("deep_dive/tile1d");
  Shape shape{64, 64, 8};
  Schedule schedule = tile1d.build(shape, DType::f32, Target{});
  EXPECT_TRUE(
      matches_golden(file_name(tile1d, shape, "_standalone.cu"),
                     emit_standalone(info_of(tile1d, schedule, shape), lower(schedule), schedule.source())));
}

} // namespace
} // namespace nestsmith
