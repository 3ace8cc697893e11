/// Measures the multiply-adds per second of the simulator at 512^3 in f32: with all checks, with checks and
/// counters, and without both. The last rows are rungs: `fast/gemm`, in which all warps do the same, and
/// `hopper/roles`, whose warps have roles and copy columns of A in pieces of 4 bytes.

#include "lowering/lower.h"
#include "runtime/model/request_counter.h"
#include "schedules/rung.h"
#include "tests/runtime/sim/gemm_kernels.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

namespace nestsmith::sim {
namespace {

constexpr std::int64_t size = 512;
constexpr GemmShape shape = {size, size, size};

struct How {
  const char *name;
  bool check, count;
};

/// alpha and beta, of the kernels that have them.
std::vector<Scalar> scalars_of(const kernel::Kernel &kernel) {
  std::vector<Scalar> scalars = {Scalar::from_double(DType::f32, 1), Scalar::from_double(DType::f32, 0)};
  scalars.resize(kernel.scalars.size(), scalars.front());
  return scalars;
}

/// The kernel of a rung for sm_90a.
kernel::Kernel of_rung(std::string_view name) {
  for (const Rung &rung : builtin_rungs())
    if (rung.full_name() == name)
      return lower(rung.build(Shape(3, size), DType::f32, make_target("sm_90a"))).only();
  throw UserError(ExitCode::usage, fmt::format("there is no rung {}", name));
}

void simulate(benchmark::State &state, const kernel::Kernel &kernel, const How &how) {
  Array A(DType::f32, {size, size}), B(DType::f32, {size, size}), C(DType::f32, {size, size});
  for (std::int64_t n = 0; n < A.size(); ++n) {
    A.view<float>()[static_cast<std::size_t>(n)] = static_cast<float>(n % 7 - 3);
    B.view<float>()[static_cast<std::size_t>(n)] = static_cast<float>(n % 5 - 2);
  }
  const Argument arguments[] = {{&A}, {&B}, {&C}};
  const std::vector<Scalar> scalars = scalars_of(kernel);
  std::uint64_t multiply_adds = 0;
  for (auto _ : state) {
    model::RequestCounter counting(false);
    Result result = run(kernel, arguments, scalars,
                        {.host_threads = static_cast<unsigned>(state.range(0)),
                         .check = how.check,
                         .observer = how.count ? &counting : nullptr});
    if (!result.good()) {
      state.SkipWithError(result.diagnostics[0].message.c_str());
      return;
    }
    multiply_adds += result.stats.multiply_adds;
  }
  state.counters["multiply_adds"] =
      benchmark::Counter(static_cast<double>(multiply_adds), benchmark::Counter::kIsRate);
}

} // namespace
} // namespace nestsmith::sim

int main(int argc, char **argv) {
  using namespace nestsmith::sim;
  struct Row {
    const char *name;
    nestsmith::kernel::Kernel kernel;
  };
  std::vector<Row> rows;
  rows.push_back({"naive", naive_gemm(shape)});
  rows.push_back({"coalesced", naive_gemm(shape, true)});
  rows.push_back({"shared_32x32", shared_gemm(shape)});
  rows.push_back({"tiled_8x8", tiled_gemm(shape)});
  for (const char *rung : {"fast/gemm", "hopper/roles"})
    rows.push_back({rung, of_rung(rung)});
  for (const Row &row : rows)
    for (How how :
         {How{"checked", true, false}, How{"counted", true, true}, How{"values_only", false, false}}) {
      std::string name = fmt::format("{}/{}", row.name, how.name);
      benchmark::RegisterBenchmark(name.c_str(),
                                   [&row, how](benchmark::State &state) { simulate(state, row.kernel, how); })
          ->Arg(1)
          ->Arg(2)
          ->ArgName("host_threads")
          ->UseRealTime()
          ->Unit(benchmark::kMillisecond);
    }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
