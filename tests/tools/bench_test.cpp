/// Tests `bench` with a driver and libraries that run on the host, and its text for given samples.

#include "codegen/cuda.h"
#include "dsl/expr/error.h"
#include "schedules/workloads.h"
#include "tests/runtime/cuda/fake_cuda.h"
#include "tests/tools/plain_text.h"
#include "tests/tools/run_binary.h"
#include "tools/bench/bench.h"
#include "tools/bench/bench_chart.h"
#include "tools/bench/bench_form.h"
#include "tools/bench/bench_json.h"
#include "tools/bench/bench_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nestsmith::cli {
namespace {

using test::contains;
using test::fake_cuda;
using test::plain;
using test::widest;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const BenchSetting back_to_back{cuda::LaunchMode::back_to_back, false},
    cold_graph{cuda::LaunchMode::graph, true};

/// Returns a rung at a small shape, as planned by the command.
Planned planned(const std::string &name, const Shape &shape = {3, 5, 7}) {
  Planned rung;
  rung.choice = choose_rung(builtin_rungs(), name);
  rung.shape = shape;
  rung.failure = failure_of([&] {
    Knobs knobs;
    Schedule schedule = rung.choice.build(shape, DType::f32, make_target("sm_90a"), knobs);
    rung.scheduled = Scheduled{rung.choice, shape, DType::f32, std::move(schedule), std::nullopt, {}};
  });
  return rung;
}

/// Executes C = alpha * A * B + beta * C on the host, and then `also` on C.
std::function<void(const test::FakeLaunch &)> product(std::function<void(float *)> also = {}) {
  return [also](const test::FakeLaunch &launch) {
    const float *a = launch.pointer<float>(0), *b = launch.pointer<float>(1);
    float *c = launch.pointer<float>(2);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 5; ++j) {
        float sum = 0;
        for (int k = 0; k < 7; ++k)
          sum += a[i * 7 + k] * b[k * 5 + j];
        c[i * 5 + j] = launch.scalar<float>(3) * sum + launch.scalar<float>(4) * c[i * 5 + j];
      }
    if (also)
      also(c);
  };
}

class Benched : public testing::Test {
protected:
  void SetUp() override {
    test::reset_fake_cuda();
    device = cuda::Device::open(test::fake_driver());
    executor = std::make_unique<GpuExecutor>(*device, [](const kernel::Plan &plan, Arch arch) {
      std::vector<cuda::Compiled> compiled(plan.kernels.size());
      for (std::size_t n = 0; n < compiled.size(); ++n) {
        compiled[n].kernel_name = entry_name(plan.kernels[n]);
        compiled[n].cubin = {'E', 'L', 'F'};
        compiled[n].arch = arch;
        fake_cuda().kernels.try_emplace(compiled[n].kernel_name, product());
      }
      return compiled;
    });
    options.rounds = 2;
    options.power_seconds = 0.02;
  }
  void TearDown() override {
    libraries = {};
    executor.reset();
    device.reset();
    EXPECT_TRUE(fake_cuda().memory.empty());
    EXPECT_EQ(fake_cuda().events + fake_cuda().graphs + fake_cuda().handles, 0);
  }
  void open_libraries() {
    std::string note;
    libraries.cublas = cuda::Cublas::open(*device, test::fake_cublas());
    libraries.cublaslt = cuda::CublasLt::open(*device, test::fake_cublaslt());
    libraries.nvml = cuda::Nvml::open(*device, test::fake_nvml(), note);
  }
  BenchShape run(const std::vector<Planned> &rungs) {
    return bench(*device, *executor, libraries, rungs, options,
                 [&](const std::string &step) { steps.push_back(step); });
  }
  /// Returns the name of the kernel of deep_dive/naive at 3x5x7.
  static std::string kernel_name() {
    return entry_name(planned("deep_dive/naive").scheduled->plan().kernels.front());
  }
  static std::vector<std::string> names(const BenchShape &shape) {
    std::vector<std::string> names;
    for (const BenchRow &row : shape.rows)
      names.push_back(row.name);
    return names;
  }

  std::unique_ptr<cuda::Device> device;
  std::unique_ptr<GpuExecutor> executor;
  BenchLibraries libraries;
  BenchOptions options;
  std::vector<std::string> steps;
};

TEST_F(Benched, RungsAndLibrariesHaveRowsInEverySetting) {
  open_libraries();
  options.settings = {back_to_back, cold_graph};
  BenchShape shape = run({planned("deep_dive/naive"), planned("deep_dive/coalesced")});
  EXPECT_THAT(names(shape),
              ElementsAre("deep_dive/naive", "deep_dive/coalesced", "cuBLAS 12.5.6", "cuBLASLt 12.5.6"));
  EXPECT_EQ(shape.dtype, "f32");
  EXPECT_THAT(shape.notes, ElementsAre());
  for (const BenchRow &row : shape.rows) {
    EXPECT_EQ(row.failure.code, ExitCode::good) << row.name << row.failure.message;
    EXPECT_EQ(row.times.size(), 2U) << row.name;
    EXPECT_EQ(row.times[0].sm_mhz, 1980) << row.name;
    EXPECT_GT(row.watts.value_or(0), 0) << row.name;
    EXPECT_DOUBLE_EQ(row.operations, 2.0 * 3 * 5 * 7);
    EXPECT_TRUE(shape.ratio(row, 0).has_value());
  }
  EXPECT_THAT(shape.rows[2].times[0].variant, testing::AnyOf("default", "pedantic"));
  EXPECT_THAT(shape.rows[3].times[0].variant, testing::MatchesRegex("heuristic [12] of 2"));
  EXPECT_EQ(code_of({shape}), ExitCode::good);
}

TEST_F(Benched, AWrongRungIsReportedAndNotMeasured) {
  open_libraries();
  fake_cuda().kernels[kernel_name()] = product([](float *c) { c[7] += 1; });
  BenchShape shape = run({planned("deep_dive/naive")});
  EXPECT_TRUE(shape.rows[0].times.empty());
  EXPECT_THAT(shape.rows[0].failure.message,
              testing::MatchesRegex("wrong result on small integers: 1 of 15 elements differ from those of "
                                    "cuBLAS 12.5.6, default, the first C\\[1, 2\\]: got -?[0-9]+, expected "
                                    "-?[0-9]+"));
  EXPECT_EQ(shape.rows[1].times.size(), 1U) << "the others are measured";
  EXPECT_EQ(code_of({shape}), ExitCode::wrong_result);
  // After the check, only the libraries run.
  EXPECT_EQ(fake_cuda().count("cuLaunchKernelEx"), 1);
}

/// The order of a sum may decide the last bit of a narrow result, and no more than that.
TEST(BenchComputation, ANarrowResultMayBeRoundedToANeighbour) {
  for (DType dtype : {DType::f16, DType::bf16, DType::f32}) {
    Program program = softmax({1, 2}, dtype);
    Computation computation(program);
    std::vector<Array> results = computation.integers.arrays;
    auto set_last = [&](double value) { results.back().set(1, Scalar::from_double(dtype, value)); };
    ASSERT_EQ(results.back().size(), 2);
    set_last(0.25);
    EXPECT_EQ(computation.compare(results, "first"), "");
    double step = dtype == DType::f16 ? 0x1p-12 : dtype == DType::bf16 ? 0x1p-9 : 0x1p-20;
    set_last(0.25 + step); // the next number, or a few later of f32
    EXPECT_EQ(computation.compare(results, "second"), "") << name(dtype);
    set_last(0.25 + 16 * step);
    EXPECT_THAT(
        computation.compare(results, "third"),
        testing::MatchesRegex("wrong result on small integers: 1 of 2 elements differ from those of first "
                              "by more than 1.0e-05 of their value( and a rounding to b?f16)?, the first "
                              "Y.*: got 0.2[0-9]*, expected 0.25"))
        << name(dtype);
  }
}

/// The last step of a layer norm adds, and the terms may cancel. Their roundings are compared with a usual
/// element.
TEST(BenchComputation, TermsThatCancelMayBeRoundedLikeAUsualElement) {
  Computation computation(layernorm({2, 2}, DType::f32));
  std::vector<Array> results = computation.integers.arrays;
  auto set = [&](std::vector<float> values) {
    for (std::size_t n = 0; n < values.size(); ++n)
      results.back().set(static_cast<std::int64_t>(n), Scalar::from_double(DType::f32, values[n]));
  };
  set({8, 0.001F, -8, 8});
  EXPECT_EQ(computation.compare(results, "first"), "");
  set({8, 0.00101F, -8, 8});
  EXPECT_EQ(computation.compare(results, "second"), "");
  set({8, 0.002F, -8, 8});
  EXPECT_THAT(
      computation.compare(results, "third"),
      HasSubstr("1 of 4 elements differ from those of first by more than 1.0e-05 of their value or of the "
                "root mean square of all"));
}

TEST_F(Benched, AWriteOutOfBoundsIsAWrongResult) {
  fake_cuda().kernels[kernel_name()] = product([](float *c) { c[15] = 1; });
  BenchShape shape = run({planned("deep_dive/naive")});
  EXPECT_EQ(shape.rows[0].failure.code, ExitCode::wrong_result);
  EXPECT_THAT(shape.rows[0].failure.message, HasSubstr("buffer C"));
}

TEST_F(Benched, WithoutALibraryTheFirstRungIsCompared) {
  BenchShape shape = run({planned("deep_dive/naive"), planned("deep_dive/coalesced")});
  EXPECT_EQ(shape.rows.size(), 2U);
  EXPECT_EQ(shape.ratio(shape.rows[0], 0), std::nullopt);
  EXPECT_EQ(shape.rows[0].watts, std::nullopt);
  EXPECT_EQ(shape.rows[0].times[0].sm_mhz, std::nullopt);
}

TEST_F(Benched, ARefusedRungHasARow) {
  Planned refused;
  refused.choice.name = "mine";
  refused.shape = {3, 5, 7};
  refused.failure = {"the tile does not divide", "", "split.tail", ExitCode::illegal_schedule};
  BenchShape shape = run({refused, planned("deep_dive/naive")});
  EXPECT_THAT(names(shape), ElementsAre("deep_dive/naive", "mine"));
  EXPECT_EQ(shape.rows[0].times.size(), 1U);
  EXPECT_EQ(code_of({shape}), ExitCode::illegal_schedule);
  EXPECT_TRUE(run({refused}).rows[0].times.empty());
}

TEST_F(Benched, ARungThatTakesTooLongIsNotMeasured) {
  open_libraries();
  options.most_ms = 1e-9;
  BenchShape shape = run({planned("deep_dive/naive")});
  EXPECT_TRUE(shape.rows[0].times.empty());
  EXPECT_THAT(shape.rows[0].failure.message,
              testing::MatchesRegex("one launch takes [0-9.e-]+ ms, expected at most 1e-09 ms"));
  EXPECT_EQ(shape.rows[1].times.size(), 1U) << "peers have no limit";
  options.most_ms = 1e9;
  EXPECT_EQ(run({planned("deep_dive/naive")}).rows[0].times.size(), 1U);
}

TEST_F(Benched, RungsOfSeveralComputationsAreComparedWithTheirOwnPeers) {
  open_libraries();
  Planned transposed = planned("transposed/naive");
  std::string name = entry_name(transposed.scheduled->plan().kernels.front());
  fake_cuda().kernels[name] = [](const test::FakeLaunch &launch) {
    const float *a = launch.pointer<float>(0), *b = launch.pointer<float>(1);
    float *c = launch.pointer<float>(2);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 5; ++j)
        for (int k = 0; k < 7; ++k)
          c[i * 5 + j] += a[i * 7 + k] * b[j * 7 + k];
  };
  ASSERT_NE(name, kernel_name()) << "the fake driver tells kernels apart by their names";
  BenchShape shape = run({planned("deep_dive/naive"), transposed});
  EXPECT_THAT(names(shape), ElementsAre("deep_dive/naive", "cuBLAS 12.5.6", "cuBLASLt 12.5.6",
                                        "transposed/naive", "cuBLAS 12.5.6", "cuBLASLt 12.5.6"));
  EXPECT_EQ(code_of({shape}), ExitCode::good) << shape.rows[3].failure.message;
  EXPECT_EQ(shape.rows[3].computation, shape.rows[4].computation);
  EXPECT_NE(shape.rows[0].computation, shape.rows[3].computation);
}

TEST_F(Benched, AFormOfALibraryThatFailsIsANote) {
  open_libraries();
  fake_cuda().fail = {{"cublasLtMatmul", 3}};
  BenchShape shape = run({planned("deep_dive/naive")});
  EXPECT_EQ(shape.rows[2].failure.code, ExitCode::no_device);
  EXPECT_EQ(shape.notes.size(), 2U);
  EXPECT_THAT(shape.notes[0],
              StartsWith("cuBLASLt 12.5.6, heuristic 1 of 2 is not measured: cublasLtMatmul of"));
}

TEST_F(Benched, AFaultOfAKernelEndsTheBench) {
  fake_cuda().fail = {{"cuCtxSynchronize", 700}};
  try {
    run({planned("deep_dive/naive")});
    FAIL() << "not refused";
  } catch (const UserError &error) {
    EXPECT_EQ(error.code(), ExitCode::wrong_result);
    EXPECT_THAT(error.what(), StartsWith("deep_dive/naive: kernel "));
    EXPECT_THAT(error.what(), HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"));
    EXPECT_THAT(error.what(), HasSubstr("run bench again without deep_dive/naive"));
  }
}

TEST_F(Benched, AColdL2UsesCopiesOfTheOperands) {
  int uploads = 0;
  auto count = [&] {
    fake_cuda().calls.clear();
    run({planned("deep_dive/naive")});
    return uploads = fake_cuda().count("cuMemAlloc_v2");
  };
  int warm = count();
  options.settings = {{cuda::LaunchMode::single, true}};
  // One copy of the arrays has 4 * (3*7 + 7*5 + 3*5) = 284 bytes, and L2 has 65536 bytes.
  EXPECT_EQ(count() - warm, 3 * ((2 * 65536 + 283) / 284 - 1));
}

/// Returns samples such as a GPU gives.
BenchRow row(const std::string &name, double ms, bool peer = false, const std::string &variant = "") {
  BenchRow row;
  row.name = name;
  row.peer = peer;
  row.computation = 0;
  row.operations = 2.0 * 2048 * 2048 * 2048;
  row.times = {{variant, {ms * 0.99, ms * 0.998, ms, ms * 1.002, ms * 1.1}, 14, 2.345, 1980.0}};
  row.watts = 612.4;
  return row;
}
BenchShape measured(std::int64_t size) {
  BenchShape shape;
  shape.shape = Shape{size, size, size};
  shape.dtype = "f32";
  shape.computations = {"gemm"};
  shape.rows = {row("principles/branch_free", 0.36953), row("cuBLAS 13.1.0", 0.349, true, "pedantic"),
                row("cuBLASLt 13.1.0", 0.34, true, "heuristic 3 of 8")};
  return shape;
}

TEST(BenchTable, FitsIn80ColumnsAndShowsMoreWhereThereIsRoom) {
  std::string narrow = bench_table(measured(2048), back_to_back, 0, plain, 80);
  EXPECT_LE(widest(narrow), 80U) << narrow;
  EXPECT_THAT(narrow, StartsWith("f32 2048x2048x2048, launches back to back, warm L2\n"));
  for (const char *part : {"principles/", "branch_free", "0.3695", "0.4 %", "46.49", "0.920", "2.35", "1980",
                           "612", "pedantic", "49.23", "0.974", "heuristic", "1.000"})
    EXPECT_THAT(narrow, HasSubstr(part));
  EXPECT_THAT(narrow, Not(HasSubstr("quartiles")));
  std::string wide = bench_table(measured(2048), back_to_back, 0, plain, 140);
  EXPECT_LE(widest(wide), 140U) << wide;
  for (const char *part :
       {"quartiles", "0.3658", "0.3688 0.3703", "0.4065", "cuBLASLt 13.1.0, heuristic 3 of 8"})
    EXPECT_THAT(wide, HasSubstr(part));
}

TEST(BenchTable, AFailureStandsBelowItsRow) {
  BenchShape shape = measured(2048);
  shape.rows[0].times.clear();
  shape.rows[0].failure = {
      "wrong result on small integers: 1 of 15 elements differ from those of cuBLAS 13.1.0, "
      "default, the first C[1, 2]: got 5, expected 4",
      "", "", ExitCode::wrong_result};
  std::string text = bench_table(shape, back_to_back, 0, plain, 80);
  EXPECT_LE(widest(text), 80U) << text;
  EXPECT_THAT(text, HasSubstr("\n   wrong result on small integers: 1 of 15"));
  shape.rows[1].watts.reset();
  shape.rows[1].times[0].sm_mhz.reset();
  EXPECT_THAT(bench_table(shape, back_to_back, 0, plain, 80), HasSubstr("n/a"));
}

TEST(BenchTable, SeveralComputationsHaveHeadings) {
  BenchShape shape = measured(2048);
  EXPECT_THAT(bench_table(shape, back_to_back, 0, plain, 80), Not(HasSubstr("\n gemm_nt\n")));
  shape.computations.push_back("gemm_nt");
  shape.rows.push_back(row("transposed/naive", 9));
  shape.rows.back().computation = 1;
  std::string text = bench_table(shape, back_to_back, 0, plain, 80);
  EXPECT_THAT(text, HasSubstr("\n gemm_nt\n"));
  EXPECT_EQ(shape.ratio(shape.rows.back(), 0), std::nullopt) << "it has no peer of its own";
}

TEST(BenchSummary, HasAColumnForEachShape) {
  std::vector<BenchShape> shapes = {measured(512), measured(1024), measured(2048), measured(4096)};
  shapes[1].rows.erase(shapes[1].rows.begin());
  std::string narrow = bench_summary(shapes, back_to_back, 0, plain, 80);
  EXPECT_LE(widest(narrow), 80U) << narrow;
  for (const char *part : {"512", "1024", "2048", "4096", "46.5 (0.92)", "- "})
    EXPECT_THAT(narrow, HasSubstr(part));
  std::string wide = bench_summary(shapes, cold_graph, 0, plain, 120);
  EXPECT_THAT(wide, StartsWith("TFLOP/s (ratio to the best peer): f32 CUDA graphs, cold L2\n"));
  EXPECT_THAT(wide, HasSubstr("46.5 (0.92)"));
}

TEST(BenchJson, HasAnObjectForEachRowAndSetting) {
  BenchOptions options;
  BenchShape shape = measured(2048);
  shape.rows.push_back({});
  shape.rows.back().name = "mine";
  shape.rows.back().failure = {"too large", "", "", ExitCode::usage};
  std::vector<llvm::json::Value> lines = test::parsed_lines({0, bench_rows(shape, options), ""});
  ASSERT_EQ(lines.size(), 4U);
  const llvm::json::Object &first = *lines[0].getAsObject();
  EXPECT_EQ(first.getString("name"), llvm::StringRef("principles/branch_free"));
  EXPECT_EQ(first.getBoolean("peer"), false);
  EXPECT_EQ(first.getString("launch"), llvm::StringRef("back-to-back"));
  EXPECT_EQ(first.getString("l2"), llvm::StringRef("warm"));
  EXPECT_EQ(first.getNumber("median_ms"), 0.36953);
  EXPECT_EQ(first.getInteger("launches_per_round"), std::int64_t{14});
  EXPECT_EQ(first.getNumber("sm_mhz"), 1980.0);
  EXPECT_NEAR(*first.getNumber("ratio_to_best_peer"), 0.92, 0.001);
  EXPECT_EQ(lines[2].getAsObject()->getString("variant"), llvm::StringRef("heuristic 3 of 8"));
  EXPECT_EQ(lines[3].getAsObject()->getString("error"), llvm::StringRef("too large"));
  EXPECT_EQ(lines[3].getAsObject()->getInteger("exit_code"), std::int64_t{2});
  const llvm::json::Value end = test::parsed({0, bench_end({shape}, "H200", {"a note"}), ""});
  EXPECT_EQ(end.getAsObject()->getBoolean("passed"), false);
}

TEST(BenchChart, HasALineAndALabelForEachCompetitor) {
  std::vector<BenchShape> shapes = {measured(512), measured(1024)};
  shapes[0].rows[0].name = shapes[1].rows[0].name = "a<b&c";
  std::string svg = bench_chart(shapes, {back_to_back}, "on H200");
  EXPECT_THAT(svg, StartsWith("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 "));
  EXPECT_THAT(svg, testing::EndsWith("</svg>\n"));
  auto count = [&](const std::string &part) {
    std::size_t found = 0;
    for (std::size_t at = svg.find(part); at != std::string::npos; at = svg.find(part, at + 1))
      ++found;
    return found;
  };
  EXPECT_EQ(count("<polyline"), 3U);
  EXPECT_EQ(count("stroke-dasharray"), 4U) << "two peers, each with its line and its label";
  EXPECT_EQ(count("<circle"), 6U);
  for (const char *part : {">a&lt;b&amp;c<", ">cuBLASLt 13.1.0<", ">512<", ">1024<", "f32 on H200",
                           "TFLOP/s, launches back to back, warm L2"})
    EXPECT_THAT(svg, HasSubstr(part));
  EXPECT_EQ(count("<text"), count("</text>\n"));
  EXPECT_EQ(count("<circle") + count("<line") + count("<polyline"), count("/>\n")) << "no other end tags";
}

TEST(BenchChart, OneShapeOrNoneIsAChartToo) {
  EXPECT_THAT(bench_chart({measured(512)}, {back_to_back}, ""), HasSubstr("<circle"));
  BenchShape failed = measured(512);
  for (BenchRow &row : failed.rows)
    row.times.clear();
  EXPECT_THAT(bench_chart({failed}, {back_to_back}, ""), HasSubstr("nothing was measured"));
}

TEST(BenchChart, LabelsDoNotOverlap) {
  BenchShape shape = measured(512);
  shape.rows.clear();
  for (int n = 0; n < 30; ++n)
    shape.rows.push_back(row("rung" + std::to_string(n), 1));
  std::string svg = bench_chart({shape}, {back_to_back}, "");
  std::vector<double> places;
  for (int n = 0; n < 30; ++n) {
    std::size_t label = svg.find(">rung" + std::to_string(n) + "<");
    ASSERT_NE(label, std::string::npos);
    std::size_t y = svg.rfind(" y=\"", label);
    places.push_back(std::stod(svg.substr(y + 4)));
  }
  std::sort(places.begin(), places.end());
  for (std::size_t n = 1; n < places.size(); ++n)
    EXPECT_GE(places[n] - places[n - 1], 14);
}

TEST(SignificantDigits, HaveNoExponent) {
  EXPECT_EQ(significant(0.36953), "0.3695");
  EXPECT_EQ(significant(46.4932), "46.49");
  EXPECT_EQ(significant(1.5), "1.500");
  EXPECT_EQ(significant(527.3), "527.3");
  EXPECT_EQ(significant(52730), "52730");
  EXPECT_EQ(significant(0.0031), "0.003100");
  EXPECT_EQ(significant(46.4932, 3), "46.5");
  EXPECT_EQ(significant(0), "0");
}

} // namespace
} // namespace nestsmith::cli
