/// Measures the time from a computation to its complete CUDA text for sm_90a, for each rung at 4096 x 4096 x
/// 4096. `lower` and `text` are parts of this time.

#include "codegen/cuda.h"
#include "lowering/lower.h"
#include "schedules/rung.h"

#include <benchmark/benchmark.h>

namespace {

using namespace nestsmith;

/// Returns the schedule of a rung with the extent 4096 in each dimension, or 256 in each of five.
Schedule scheduled(const Rung &rung) {
  std::size_t rank = rung.default_shape.size();
  return rung.build(Shape(rank, rank == 5 ? 256 : 4096), rung.dtype(), make_target("sm_90a"));
}

void whole(benchmark::State &state, const Rung &rung) {
  for (auto _ : state)
    benchmark::DoNotOptimize(cuda_kernels(lower(scheduled(rung))));
}

void only_lower(benchmark::State &state, const Rung &rung) {
  Schedule schedule = scheduled(rung);
  for (auto _ : state)
    benchmark::DoNotOptimize(lower(schedule));
}

void only_text(benchmark::State &state, const Rung &rung) {
  auto plan = lower(scheduled(rung));
  for (auto _ : state)
    benchmark::DoNotOptimize(cuda_kernels(plan));
}

} // namespace

int main(int argc, char **argv) {
  for (const nestsmith::Rung &rung : nestsmith::builtin_rungs()) {
    auto add = [&](const char *part, void (*run)(benchmark::State &, const nestsmith::Rung &)) {
      benchmark::RegisterBenchmark((rung.full_name() + part).c_str(), run, rung)->Unit(benchmark::kMillisecond);
    };
    add("", whole);
    add(":lower", only_lower);
    add(":text", only_text);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
