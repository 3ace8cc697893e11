/// Tests the element type f64: the interpreter, the simulator, the reference in double-double, the text on the
/// host and NVRTC must agree, and the bounds must be those of f64.

#include "codegen/cuda.h"
#include "codegen/standalone.h"
#include "dsl/expr/math.h"
#include "dsl/expr/math_functions.h"
#include "dsl/ir/interpret.h"
#include "dsl/ir/workload_info.h"
#include "dsl/schedule/computation_json.h"
#include "dsl/schedule/trace.h"
#include "runtime/check/blame.h"
#include "runtime/check/reference.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/model/analyse.h"
#include "schedules/rung.h"
#include "tests/codegen/host_text.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"
#include "tests/schedules/host_compare.h"
#include "tests/schedules/rung.h"
#include "tests/schedules/sample.h"

#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <gmock/gmock.h>
#include <set>

namespace nestsmith {
namespace {

using test::all_messages;
using test::expect_right;
using testing::HasSubstr;
using testing::Not;

Expr wide(const Expr &e) { return cast(DType::f64, e); }

/// Y[i] = element(X[i], Z[i], i) with a thread for each element.
Schedule map_f64(const std::function<Expr(Expr x, Expr z, Expr i)> &element, DType from = DType::f64,
                 std::int64_t n = 70) {
  Workload w("map");
  Tensor x = w.placeholder("X", {n}, from), z = w.placeholder("Z", {n}, from);
  Tensor y = w.compute("Y", {n}, {"i"}, [&](Expr i) -> Definition { return element(x(i), z(i), i); });
  Schedule s(w.output({y}));
  s.bind(s.loop("i"), Axis::thread_x);
  return s;
}

/// Y[i] reduces the row i of X.
Schedule rows_f64(const std::function<Definition(Expr x, Expr second, const Reduce &k)> &row, std::int64_t m,
                  std::int64_t n) {
  Workload w("rows");
  Tensor x = w.placeholder("X", {m, n}, DType::f64), z = w.placeholder("Z", {m, n}, DType::f64);
  Reduce k = reduce_axis("k", n);
  Tensor y = w.compute("Y", {m}, {"i"}, [&](Expr i) { return row(x(i, k), z(i, k), k); });
  return Schedule(w.output({y}));
}

/// C = A*B, each block an 8 x 8 tile through shared memory, with elements of one type.
Schedule tiled_product(std::int64_t m, std::int64_t n, std::int64_t k_extent, DType type) {
  Workload w("product");
  Tensor a = w.placeholder("A", {m, k_extent}, type), b = w.placeholder("B", {k_extent, n}, type);
  Reduce k = reduce_axis("k", k_extent);
  Tensor c = w.compute("C", {m, n}, {"i", "j"}, [&](Expr i, Expr j) { return sum(a(i, k) * b(k, j), k); });
  Schedule s(w.output({c}));
  BlockRef block = s.block("C");
  auto [io, ii] = s.split<2>(s.loop("i"), {infer, 8});
  auto [jo, ji] = s.split<2>(s.loop("j"), {infer, 8});
  auto [ko, ki] = s.split<2>(s.loop("k"), {infer, 8});
  s.reorder({io, jo, ii, ji, ko, ki});
  s.bind(io, Axis::block_y);
  s.bind(jo, Axis::block_x);
  s.bind(ii, Axis::thread_y);
  s.bind(ji, Axis::thread_x);
  for (const char *operand : {"A", "B"}) {
    BlockRef tile = s.cache_read(block, operand, Scope::shared);
    s.compute_at(tile, ko);
    std::vector<Loop> loops = s.loops(tile);
    s.bind(loops[loops.size() - 2], Axis::thread_y);
    s.bind(loops.back(), Axis::thread_x);
  }
  return s;
}

struct NamedSchedule {
  std::string name;
  Schedule schedule;
};

/// Schedules whose results the C++ library computes as a kernel does, bit for bit.
std::vector<NamedSchedule> f64_schedules() {
  using enum DType;
  std::vector<NamedSchedule> list;
  auto add = [&](const std::string &name, Schedule s) { list.push_back({name, std::move(s)}); };
  add("a polynomial", map_f64([](Expr x, Expr z, Expr) { return x * x * 0.1 - z * x + 3; }));
  add("a quotient", map_f64([](Expr x, Expr z, Expr) { return x / (z * z + 1.5); }));
  add("choices", map_f64([](Expr x, Expr z, Expr i) {
        return select(x < z, max(x, z * 2), min(-x, z)) + branch(i < 7, x, Expr(0.25));
      }));
  add("floors",
      map_f64([](Expr x, Expr z, Expr) { return floordiv(x * 100, z * z + 1) + floormod(x, z * z + 1); }));
  add("of indices", map_f64([](Expr x, Expr, Expr i) { return x + wide(i) * 0x1p-40; }));
  for (DType from : {i8, i16, i32, i64, u8, u16, u32, u64, boolean, f16, bf16, f32})
    add(fmt::format("from {}", name(from)),
        map_f64([](Expr x, Expr z, Expr) { return wide(x) * 0.5 + wide(z); }, from));
  for (DType to : {i8, i16, i32, i64, u8, u16, u32, u64, boolean, f16, bf16, f32})
    add(fmt::format("to {}", name(to)), map_f64([to](Expr x, Expr, Expr) { return cast(to, x); }));
  for (std::int64_t k : {1, 13, 40})
    add(fmt::format("a product with {} terms", k), tiled_product(9, 17, k, f64));
  for (Reducer reducer : reducers) {
    Schedule s = rows_f64([&](Expr x, Expr, const Reduce &k) { return reduce(reducer, x, k); }, 5, 33);
    s.bind(s.loops(s.block("Y"))[0], Axis::thread_x);
    add(fmt::format("a row's {}", name(reducer)), s);
  }
  Workload w("vectors");
  Tensor x = w.placeholder("X", {6, 34}, f64);
  Tensor y =
      w.compute("Y", {6, 34}, {"i", "j"}, [&](Expr i, Expr j) -> Definition { return x(i, j) * 2 + 0.1; });
  Schedule vectors(w.output({y}));
  vectors.vectorize(vectors.split<2>(vectors.loop("j"), {infer, 2})[1]);
  vectors.bind(vectors.loop("i"), Axis::thread_x);
  add("vectors", vectors);
  return list;
}

/// Functions of mathematics, where the libraries may differ in the last bits.
Expr of_functions(const Expr &x, const Expr &z) {
  Expr y = abs(x) + 0.5;
  return exp(x) + exp2(z) * log(y) - log2(y) + sqrt(y) * rsqrt(y + z * z) + tanh(x) + erf(z) + sin(x) * cos(z) +
         floor(x * 10) + fma(x, z, x) + pow(y, z) + sigmoid(x) + silu(z) + gelu(x);
}

// ---- results -------------------------------------------------------------------------------------

TEST(F64, IsRightInTheSimulator) {
  for (const auto &[name, schedule] : f64_schedules()) {
    SCOPED_TRACE(name);
    expect_right(schedule);
  }
}

TEST(F64, IsTheSameOnTheHost) {
  NEEDS_SANITIZERS();
  std::vector<Subject> subjects;
  for (auto &[name, schedule] : f64_schedules())
    subjects.push_back({name, schedule, lower(schedule)});
  Schedule functions = map_f64([](Expr x, Expr z, Expr) { return of_functions(x, z); });
  subjects.push_back({"functions", functions, lower(functions)});
  for (const std::string &problem : differences_on_host(subjects))
    ADD_FAILURE() << problem;
}

TEST(F64, CompilesForEachClassOfArchitectures) {
  const cuda::Nvrtc *nvrtc = nullptr;
  try {
    nvrtc = &cuda::Nvrtc::get();
  } catch (const UserError &error) {
    GTEST_SKIP() << "needs NVRTC: " << error.what();
  }
  std::vector<NamedSchedule> all = f64_schedules();
  all.push_back({"functions", map_f64([](Expr x, Expr z, Expr) { return of_functions(x, z); })});
  for (const auto &[name, schedule] : all) {
    kernel::Kernel kernel = lower(schedule).only();
    std::string text = cuda_kernel(kernel);
    if (text.find("#include") != std::string::npos && !cuda::find_headers(nvrtc->library().path))
      continue;
    for (const char *arch : {"sm_80", "sm_90a"})
      EXPECT_NO_THROW((void)nvrtc->compile(text, entry_name(kernel), arch)) << name;
  }
}

TEST(F64, FunctionsAreWithinTheirBounds) {
  Schedule s = map_f64([](Expr x, Expr z, Expr) { return of_functions(x, z); });
  SimExecutor simulator;
  CheckResult result = check(s, lower(s), simulator);
  EXPECT_TRUE(result.passed) << all_messages(result);
  const RunResult *run = result.find(CheckRun::random);
  ASSERT_NE(run, nullptr);
  EXPECT_EQ(run->without_bound + run->wide_bound, 0);
}

/// The bound of f64 is 2^29 times narrower than that of f32.
TEST(F64, AKernelThatRoundsToF32IsWrong) {
  auto element = [](bool narrow) {
    return [narrow](const Expr &x, const Expr &z, const Expr &) {
      Expr product = x * z;
      return (narrow ? wide(cast(DType::f32, product)) : product) + 1;
    };
  };
  Schedule right = map_f64(element(false)), wrong = map_f64(element(true));
  SimExecutor simulator;
  EXPECT_TRUE(check(right, lower(right), simulator).passed);
  CheckResult result = check(right, lower(wrong), simulator);
  EXPECT_FALSE(result.passed);
  EXPECT_THAT(all_messages(result), HasSubstr("floating point: Y[0]: got "));
  // Reads of inputs that pass through f32 are found too, because inputs have 53 bits.
  Schedule copied = map_f64([](Expr x, Expr, Expr) { return x; }),
           through = map_f64([](Expr x, Expr, Expr) { return wide(cast(DType::f32, x)); });
  EXPECT_TRUE(check(copied, lower(copied), simulator).passed);
  EXPECT_FALSE(check(copied, lower(through), simulator).passed);
}

TEST(F64, ALostTermOfASumIsFound) {
  auto build = [](std::int64_t terms) {
    Workload w("sum");
    Tensor x = w.placeholder("X", {4, 40}, DType::f64);
    Reduce k = reduce_axis("k", terms);
    Tensor y = w.compute("Y", {4}, {"i"}, [&](Expr i) { return sum(x(i, k) * x(i, k), k); });
    Schedule s(w.output({y}));
    s.bind(s.loop("i"), Axis::thread_x);
    return s;
  };
  SimExecutor simulator;
  EXPECT_TRUE(check(build(40), lower(build(40)), simulator).passed);
  EXPECT_FALSE(check(build(40), lower(build(39)), simulator).passed);
}

TEST(F64, TheReferenceIsMorePreciseThanDouble) {
  Schedule s = rows_f64([](Expr x, Expr z, const Reduce &k) { return sum(x * z, k); }, 1, 4);
  Program p = s.source();
  std::vector<Array> arrays;
  for (const Buffer &param : p.params)
    arrays.emplace_back(param->dtype, constant_shape(param));
  double terms[][2] = {{1e16, 1}, {1, 1}, {1e16, -1}, {0x1p-30, 0x1p-30}};
  for (std::int64_t n = 0; n < 4; ++n)
    for (std::size_t factor : {0, 1})
      arrays[factor].set(n, Scalar::from_double(DType::f64, terms[n][factor]));
  ReferenceOutput output = reference(p, arrays, {}).outputs.front();
  EXPECT_EQ(output.value[0], 1);
  EXPECT_EQ(output.low_at(0), 0x1p-60) << "1e16 + 1 - 1e16 + 2^-60 in double is 0 or 2";
  EXPECT_GE(output.error[0], 1);
  EXPECT_LE(output.error[0], 3 * 2.1e16 * 0x1p-53);
}

TEST(F64, ShufflesAndReductionsAcrossThreadsAreRight) {
  for (Reducer reducer : reducers)
    for (std::int64_t threads : {32, 96}) {
      Schedule s = rows_f64([&](Expr x, Expr, const Reduce &k) { return reduce(reducer, x, k); }, 3, 200);
      BlockRef y = s.block("Y");
      s.bind(s.loops(y)[0], Axis::block_x);
      s.reduce_across(s.split<2>(s.loops(y).back(), {infer, threads})[1], Axis::thread_x);
      expect_right(s);
      EXPECT_THAT(cuda_kernels(lower(s)), HasSubstr("double *result"));
    }
  Workload w("best");
  Tensor x = w.placeholder("X", {3, 200}, DType::f64);
  Reduce k = reduce_axis("k", 200);
  Tensor best = w.compute("B", {3}, {"i"}, [&](Expr i) { return argmax_over(x(i, k), k); });
  Tensor y = w.compute("Y", {3}, {"i"}, [&](Expr i) -> Definition { return part(best(i), "value"); });
  Tensor at = w.compute("At", {3}, {"i"}, [&](Expr i) -> Definition { return part(best(i), "index"); });
  Schedule s(w.output({y, at}));
  BlockRef b = s.block("B");
  s.bind(s.loops(b)[0], Axis::block_x);
  s.reduce_across(s.split<2>(s.loops(b).back(), {infer, 32})[1], Axis::thread_x);
  for (const char *reader : {"Y", "At"})
    s.bind(s.loops(s.block(reader))[0], Axis::block_x);
  expect_right(s);
}

TEST(F64, RungsThatTakeItAreRight) {
  std::set<std::string> tutorials;
  for (const Rung &rung : builtin_rungs()) {
    if (std::ranges::find(rung.dtypes, DType::f64) == rung.dtypes.end() && rung.tutorial != "gemm")
      continue;
    SCOPED_TRACE(rung.full_name());
    tutorials.insert(rung.tutorial);
    Schedule s = rung.build(test::near_tile(rung, 1), DType::f64, Target{});
    EXPECT_EQ(s.source().params.front()->dtype, DType::f64);
    SimExecutor simulator;
    CheckResult result = check(s, lower(s), simulator);
    EXPECT_TRUE(result.passed) << all_messages(result);
  }
  EXPECT_THAT(tutorials, testing::IsSupersetOf({"softmax", "layernorm", "rmsnorm", "reduce", "transpose",
                                                "gemv", "stencil", "gemm"}));
}

TEST(F64, ResiduesStandForItsNumbers) {
  Schedule s = map_f64([](Expr x, Expr z, Expr) { return x / (z * z + 0.3) + wide(cast(DType::f32, x)); });
  SimExecutor simulator;
  CheckResult result = check(s, lower(s), simulator);
  EXPECT_TRUE(result.passed) << all_messages(result);
  const RunResult *run = result.find(CheckRun::residue_field);
  ASSERT_NE(run, nullptr);
  EXPECT_TRUE(run->passed && run->exact);
}

// ---- standalone files ------------------------------------------------------------------------------

std::string standalone_of(const Schedule &s) { return emit_standalone({}, lower(s), s.source()); }

/// All operators, conversions and functions, a sum, a product, and an index of a maximum.
Schedule of_everything() {
  Workload w("everything");
  const std::int64_t n = 40, k_extent = 33;
  Tensor x = w.placeholder("X", {n}, DType::f64), z = w.placeholder("Z", {n}, DType::f64),
         f = w.placeholder("F", {n}, DType::f32), h = w.placeholder("H", {n}, DType::f16),
         m = w.placeholder("M", {n, k_extent}, DType::f64);
  Expr alpha = w.scalar("alpha", DType::f64);
  std::vector<Result> results;
  auto add = [&](const std::string &name, const std::function<Expr(Expr)> &element) {
    results.push_back(w.compute(name, {n}, {"i"}, [&](Expr i) -> Definition { return element(i); }));
  };
  add("Operators", [&](Expr i) { return alpha * x(i) * x(i) * 0.1 - z(i) / (x(i) * x(i) + 1.5) - -x(i); });
  add("Choices", [&](Expr i) {
    return select(x(i) < z(i), max(x(i), z(i) * 2), min(-x(i), z(i))) + branch(x(i) == z(i), x(i), Expr(0.25));
  });
  add("Functions", [&](Expr i) { return of_functions(x(i), z(i)); });
  add("OfComputed", [&](Expr i) { return exp(x(i) * z(i) + 0.1) + pow(x(i) * x(i) + 0.5, z(i) * 0.3); });
  add("Widened", [&](Expr i) { return wide(f(i) * f(i)) + wide(h(i)) * 0.1 + wide(i); });
  add("Narrowed", [&](Expr i) { return cast(DType::f32, x(i) * z(i)) + cast(DType::f32, x(i)); });
  add("Half", [&](Expr i) { return wide(cast(DType::f16, x(i) * z(i))); });
  Reduce k = reduce_axis("k", k_extent), l = reduce_axis("l", k_extent), r = reduce_axis("r", k_extent);
  results.push_back(w.compute("Sum", {n}, {"i"}, [&](Expr i) { return sum(m(i, k) * m(i, k), k); }));
  Tensor best = w.compute("Best", {n}, {"i"}, [&](Expr i) { return argmax_over(m(i, l), l); });
  add("At", [&](Expr i) { return part(best(i), "index"); });
  add("Value", [&](Expr i) { return part(best(i), "value"); });
  results.push_back(w.compute("Most", {n}, {"i"}, [&](Expr i) { return reduce(Reducer::max, m(i, r), r); }));
  return Schedule(w.output(results));
}

TEST(F64, AStandaloneFileChecksIt) {
  std::string text = standalone_of(of_everything()), output;
  EXPECT_EQ(run_on_host(text, 64, &output), 0) << output << text;
}

/// The bound is that of f64: a constant of f32 is found.
TEST(F64, AStandaloneFileFindsErrorsOfF32) {
  std::string text = standalone_of(map_f64([](Expr x, Expr z, Expr) { return exp(x * 0.1) * z; })), output;
  EXPECT_EQ(run_on_host(text, 8, &output), 0) << output;
  const std::string right = "X[i] * 0.1)", wrong = "X[i] * 0.1f)";
  ASSERT_THAT(text, HasSubstr(right));
  EXPECT_EQ(run_on_host(text.replace(text.find(right), right.size(), wrong), 8, &output), 1);
  EXPECT_THAT(output, HasSubstr("wrong: Y["));
}

/// A loop of sums in f32 beside f64: its bound is wide, and the sum in f64 of the same terms has a narrow one.
TEST(F64, AStandaloneFileKnowsBothErrors) {
  Workload w("both");
  Tensor x = w.placeholder("X", {4, 200}, DType::f32);
  Reduce k = reduce_axis("k", 200), l = reduce_axis("l", 200);
  Tensor narrow = w.compute("Narrow", {4}, {"i"}, [&](Expr i) { return sum(x(i, k), k); });
  Tensor wide_sum = w.compute("Wide", {4}, {"i"}, [&](Expr i) { return sum(wide(x(i, l)), l); });
  Tensor y = w.compute("Y", {4}, {"i"}, [&](Expr i) -> Definition { return wide(narrow(i)) + wide_sum(i); });
  std::string output;
  EXPECT_EQ(run_on_host(standalone_of(Schedule(w.output({wide_sum, y}))), 64, &output), 0) << output;
}

// ---- the performance model -------------------------------------------------------------------------

/// A thread computes 64 multiply-adds for each element.
Schedule polynomial(DType dtype) {
  Workload w("polynomial");
  const std::int64_t n = 1 << 16;
  Tensor x = w.placeholder("X", {n}, dtype);
  Reduce k = reduce_axis("k", 64);
  Tensor p = w.compute("P", {n}, {"i"}, [&](Expr i) { return sum(x(i) * cast(dtype, k), k); });
  Tensor y = w.compute("Y", {n}, {"i"}, [&](Expr i) -> Definition { return cast(DType::f32, p(i)); });
  Schedule s(w.output({y}));
  auto [outer, inner] = s.split<2>(s.loop("Y_i"), {infer, 256});
  s.set_scope(s.block("P"), Scope::local);
  s.compute_at(s.block("P"), inner);
  s.bind(outer, Axis::block_x);
  s.bind(inner, Axis::thread_x);
  return s;
}

/// The FP64 pipe has half of the lanes of the FP32 pipe on data centre GPUs, and a 64th on the others.
TEST(F64, IsBoundByTheFp64Pipe) {
  Schedule wide_one = polynomial(DType::f64), narrow_one = polynomial(DType::f32);
  for (auto [name, ratio] : {std::pair{"A100", 2}, {"H100", 2}, {"RTX 4090", 64}, {"L4", 64}}) {
    const Gpu &gpu = find_gpu(name);
    EXPECT_EQ(gpu.fp32_lanes, ratio * gpu.fp64_lanes);
    PlanAnalysis in_f64 = analyse(wide_one.source(), lower(wide_one), gpu, {}),
                 in_f32 = analyse(narrow_one.source(), lower(narrow_one), gpu, {});
    const KernelAnalysis &kernel = in_f64.kernels.front();
    EXPECT_EQ(kernel.counters.in_f64.threads, (1U << 16) * 64);
    EXPECT_EQ(kernel.limiter(), Resource::fp64) << name;
    EXPECT_EQ(kernel.bound(Resource::fp32).amount, 0);
    EXPECT_EQ(kernel.bound(Resource::fp64).amount, ratio * in_f32.kernels.front().bound(Resource::fp32).amount);
    EXPECT_EQ(in_f32.kernels.front().bound(Resource::fp64).amount, 0);
    EXPECT_EQ(in_f64.peak() * ratio, in_f32.peak());
  }
}

// ---- the language --------------------------------------------------------------------------------

TEST(F64, ConstantsKeepTheirDigits) {
  Expr x = make_data("x", DType::f64);
  EXPECT_EQ((x * 0.1).as<Binary>()->b.as<FloatImm>()->value, 0.1);
  EXPECT_EQ((x * -0.1).as<Binary>()->b.as<FloatImm>()->value, -0.1);
  EXPECT_EQ((x * -Expr(0.1)).as<Binary>()->b.as<FloatImm>()->value, -0.1);
  EXPECT_EQ(pow(x, 0.1).as<Call>()->arguments[1].as<FloatImm>()->value, 0.1);
  EXPECT_EQ((x + 3).as<Binary>()->b.as<FloatImm>()->value, 3);
  EXPECT_EQ(constant(DType::f64, 0.1).as<FloatImm>()->value, 0.1);
  EXPECT_EQ(constant(DType::f64, (std::int64_t{1} << 53) - 1).as<FloatImm>()->value, 0x1p53 - 1);
  EXPECT_EQ(cast(DType::f64, Expr(16777217)).as<FloatImm>()->value, 16777217) << "not rounded to f32";
  EXPECT_EQ((make_data("y", DType::f32) * 0.1).as<Binary>()->b.as<FloatImm>()->value, double{0.1F});
  test::expect_user_error([&] { x + make_data("y", DType::f32); }, ExitCode::usage,
                          "the operands of an expression are f64 and f32, expected one dtype");
  test::expect_user_error([&] { x + ((std::int64_t{1} << 53) + 1); }, ExitCode::usage, "is not exact in f64");
  test::expect_user_error([&] { exp(make_data("h", DType::f16)); }, ExitCode::usage,
                          "exp takes f32 or f64, got f16");
  test::expect_user_error([&] { fma(x, x, make_data("y", DType::f32)); }, ExitCode::usage,
                          "fma takes f32 or f64, got f64 and f32; convert one of them");
}

TEST(F64, IsWrittenAsDouble) {
  std::string text = cuda_kernels(lower(map_f64(
      [](Expr x, Expr z, Expr) { return max(exp(x) * 0.1, abs(z)) + constant(DType::f64, 1e300) + 2; })));
  EXPECT_THAT(text, HasSubstr("const double *__restrict__ X"));
  EXPECT_THAT(text, HasSubstr("Y[i] = max_f64(exp(X[i]) * 0.1, fabs(Z[i])) + 1e+300 + 2.0;"));
  EXPECT_THAT(text, HasSubstr("double max_f64(double a, double b) { return a < b ? b : a; }"));
  EXPECT_THAT(text, Not(HasSubstr("float")));
  std::string converted =
      cuda_kernels(lower(map_f64([](Expr x, Expr, Expr) { return wide(cast(DType::i16, x)); })));
  EXPECT_THAT(converted, HasSubstr("x == x ? (short)max(min(__double2int_rz(x), 32767), -32768) : 0"));
}

TEST(F64, TracesHoldAllDigits) {
  Schedule s = map_f64([](Expr x, Expr z, Expr) { return pow(x * 0.1, z) + constant(DType::f64, 1.0 / 3); });
  std::string text = to_json(trace_file(s, {70}, DType::f64));
  EXPECT_THAT(text, HasSubstr("0.33333333333333331"));
  EXPECT_EQ(print(Schedule(*parse_trace(text, "t.json").computation).source()), print(s.source()));
  EXPECT_EQ(parse_trace(text, "t.json").dtype, DType::f64);
}

// ---- refusals ------------------------------------------------------------------------------------

TEST(F64, WhatHasNoF64IsRefused) {
  auto refuses_standalone = [](const std::function<Expr(Expr, Expr, Expr)> &element, const char *message) {
    test::expect_user_error([&] { standalone_of(map_f64(element)); }, ExitCode::usage, message);
  };
  refuses_standalone(
      [](Expr x, Expr, Expr) { return cast(DType::i32, x); },
      "a standalone file cannot check a program that casts f64 to integers, whose rounding has no "
      "error bound; emit without --standalone");
  refuses_standalone([](Expr x, Expr z, Expr) { return floordiv(x, z); },
                     "a standalone file cannot check a program that rounds f64 down, which has no error bound");
  test::expect_user_error([&] { fast_exp(wide(Expr(1.0F))); }, ExitCode::usage, "fast_exp takes f32, got f64");
  Workload w("v");
  Tensor x = w.placeholder("X", {64}, DType::f64);
  Schedule by_four(w.output({w.compute("Y", {64}, {"i"}, [&](Expr i) -> Definition { return x(i) * 2; })}));
  Loop lane = by_four.split<2>(by_four.loop("i"), {infer, 4})[1];
  test::expect_refused(by_four, "vectorize.width", [&] { by_four.vectorize(lane); },
                       "a vector of f64 has 2 elements", {"i_inner"});
}

} // namespace
} // namespace nestsmith
