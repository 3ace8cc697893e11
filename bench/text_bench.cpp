/// How long a schedule takes to become CUDA text: every rung at 4096 x 4096 x 4096, from the computation to the
/// last character. `lower` and `text` are parts of it.

#include "codegen/cuda.h"
#include "lowering/lower.h"
#include "schedules/rung.h"

#include <benchmark/benchmark.h>

namespace {

using namespace nestsmith;

/// The rung's shape with every extent 4096.
Schedule scheduled(const Rung &rung) {
  return rung.build(Shape(rung.default_shape.size(), 4096), rung.dtype(), Target{});
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
