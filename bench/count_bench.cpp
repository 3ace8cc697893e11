/// Measures the time to count the operations of a rung, and to simulate its accesses in the caches, at 4096 x
/// 4096 x 4096.

#include "lowering/lower.h"
#include "runtime/check/check.h"
#include "runtime/model/count.h"
#include "runtime/model/traffic.h"
#include "schedules/rung.h"

#include <benchmark/benchmark.h>

namespace {

using namespace nestsmith;

/// The memory system of an H200 with 132 SMs.
constexpr model::MemorySystem machine{
    .sms = 132, .blocks_per_sm = 2, .l1_bytes = 128 << 10, .l2_bytes = std::int64_t{50} << 20};

void count_and_follow(benchmark::State &state, const Rung &rung) {
  Shape shape(rung.default_shape.size(), 4096);
  if (shape.size() == 4)
    shape[0] = 4;
  if (shape.size() == 5)
    shape = {32, 56, 64, 256, 256};
  Schedule schedule = rung.build(shape, rung.dtype(), Target{});
  kernel::Plan plan = lower(schedule);
  std::vector<Scalar> scalars(3, Scalar::from_double(DType::f32, 1));
  double bytes = 0;
  for (auto _ : state) {
    bytes = 0;
    for (const kernel::Kernel &kernel : plan.kernels) {
      std::span<const Scalar> given(scalars.data(), kernel.scalars.size());
      model::Counters counters = model::count(kernel, given, {.max_blocks = 4096});
      bytes += static_cast<double>(model::traffic(kernel, given, counters, machine).traffic.dram_bytes());
    }
  }
  state.counters["dram_bytes"] = bytes;
}

} // namespace

int main(int argc, char **argv) {
  for (const nestsmith::Rung &rung : nestsmith::builtin_rungs())
    benchmark::RegisterBenchmark(rung.full_name().c_str(), count_and_follow, rung)
        ->Unit(benchmark::kMillisecond);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
