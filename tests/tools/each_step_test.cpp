/// Tests that `check --each-step` names the wrong directive or pass, and writes a trace that can be replayed.

#include "tools/commands/each_step.h"

#include "dsl/ir/tensor.h"
#include "dsl/schedule/trace.h"
#include "tests/runtime/check/broken_passes.h"
#include "tests/tools/call_main.h"
#include "tests/tools/run_binary.h"

namespace nestsmith {
namespace {

using test::Called;
using test::captured;
using test::contains;
using test::nestsmith;

/// Y = a*X + Y. If `broken`, the result is wrong for 100 elements and more.
template <bool broken> Schedule checked_axpy(const Shape &shape, DType dtype, const Target &target) {
  Workload w("axpy");
  Tensor x = w.placeholder("X", {shape[0]}, dtype), y = w.inout("Y", {shape[0]}, dtype);
  Expr a = w.scalar("a", dtype);
  w.update(y, {"i"}, [&](const std::vector<Expr> &n) { return a * x(n[0]) + y(n[0]); });
  Schedule s(w.output(), target);
  auto [block, thread] = s.split(s.loop("i"), {infer, 64});
  s.bind(block, Axis::block_x);
  if (broken && shape[0] >= 60)
    test::broken_unroll(s, thread);
  s.bind(thread, Axis::thread_x);
  return s;
}

const std::vector<Rung> checked_rungs = {{"", "good", "", checked_axpy<false>, {64}, {1000}},
                                         {"", "broken", "", checked_axpy<true>, {64}, {1000}}};

Called call_checked(std::vector<std::string> words) { return test::call_main(std::move(words), checked_rungs); }
/// Runs the command with these passes.
Called call_with(const std::vector<Pass> &passes, const std::vector<std::string> &words) {
  std::vector<cli::Option> options = {
      cli::shape_option(), cli::dtype_option(), {"save", "FILE", ""}, {"json", "", ""}};
  cli::Arguments arguments("check", words, options);
  cli::Context context{checked_rungs, arguments, cli::Style(cli::Colour::never)};
  return captured([&] {
    return static_cast<int>(
        cli::check_each_step(context, cli::choose_rung(checked_rungs, arguments.positional()[0]), passes));
  });
}

TEST(EachStep, RunsDirectivesAndPassesOnShapesThatHurt) {
  Called good = call_checked({"check", "good", "--each-step"});
  EXPECT_EQ(good.code, 0) << good.out << good.err;
  for (const char *text :
       {"the computation", "s.bind(i_outer, Axis::block_x)", "pass extract", "pass split_branches",
        "u32 65:", "f32 1:", "u32 13:", "f32 63:", "u32 193:", "f32 196:", "u32: ring mode",
        "f32: floating point; integer mode; infinities, 1 of 2"})
    EXPECT_TRUE(contains(good.out, text));
}

/// Each lane of a warp has a copy of the result, which the passes before `flatten` store once.
TEST(EachStep, FindsNoFaultInReductionsByShuffles) {
  for (const char *rung : {"reduce/shuffles", "softmax/warp"})
    EXPECT_EQ(nestsmith(std::string("check ") + rung + " --each-step").code, 0) << rung;
}

TEST(EachStep, NamesTheDirectiveAtFaultAndHowToSeeItAgain) {
  test::TemporaryFolder folder;
  std::string file = (folder / "fault.json").string();
  Called found = call_checked({"check", "broken", "--each-step", "--save", file});
  EXPECT_EQ(found.code, 1) << found.out << found.err;
  EXPECT_TRUE(contains(found.out, "at fault: directive s.unroll(i_inner);"));
  EXPECT_TRUE(contains(found.out, "ring mode: Y[0]: got "));
  EXPECT_TRUE(
      contains(found.out, "to reproduce: nestsmith check " + file + " --each-step --shape 65 --dtype u32"));
  EXPECT_TRUE(contains(found.out, "a*X[i] + Y[i] + 1")) << "the difference of the two programs";
  TraceFile saved = parse_trace(test::read_file(file), file);
  EXPECT_EQ(saved.shape, (std::vector<std::int64_t>{65}));
  EXPECT_EQ(saved.directives.size(), 4U);
  // The replay calls the correct `unroll` instead of the wrong one. The unrolled loop cannot be bound.
  EXPECT_TRUE(contains(call_checked({"check", file, "--each-step"}).err, "the loop i_inner is unrolled"));
  EXPECT_EQ(call_checked({"check", "broken", "--each-step", "--shape", "59"}).code, 0);
  Called json = call_checked({"check", "broken", "--each-step", "--json", "--save", file});
  EXPECT_EQ(json.code, 1);
  EXPECT_TRUE(contains(json.out, "\"passed\": false"));
  EXPECT_TRUE(contains(json.out, "\"replay\": \"nestsmith check "));
}

TEST(EachStep, NamesThePassAtFault) {
  test::TemporaryFolder folder;
  for (std::string pass : {"fill_tails", "extract", "hoist_guards", "narrow_indices"}) {
    auto passes = test::with_harm(pass, [](Unit &unit) { test::one_more(unit); });
    Called found = call_with(passes, {"good", "--shape", "70", "--save", (folder / "x.json").string()});
    EXPECT_EQ(found.code, 1) << found.out << found.err;
    EXPECT_TRUE(contains(found.out, "at fault: pass " + pass));
  }
}

TEST(EachStep, ATraceRunsAtAnotherShape) {
  test::TemporaryFolder folder;
  std::string file = (folder / "shared.json").string();
  test::write_file(file, nestsmith("show deep_dive/shared --shape 64x64x64 --trace json").out);
  test::Ran ran = nestsmith("check " + file + " --shape 33x5x7 --dtype u32 --device sim");
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_TRUE(contains(ran.out, "u32 33x5x7"));
  ran = nestsmith("check " + file + " --each-step --shape 1x1x3 --dtype u32");
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
}

/// The trace of a built-in computation can be checked without a rung.
TEST(EachStep, ATraceOfABuiltInComputationIsEnough) {
  test::TemporaryFolder folder;
  std::string file = (folder / "gemm_tt.json").string();
  test::write_file(file, nestsmith("show gemm/tt --shape 64x64x16 --trace json").out);
  Called ran = call_checked({"check", file, "--each-step", "--shape", "5x6x7", "--dtype", "u32"});
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
}

Schedule even_only(const Shape &shape, DType dtype, const Target &target) {
  if (shape[0] % 2)
    throw UserError(ExitCode::illegal_schedule, "even sizes only");
  return checked_axpy<false>(shape, dtype, target);
}

TEST(EachStep, ATraceThatNobodyServesAtAnotherShapeIsRefused) {
  test::TemporaryFolder folder;
  std::string file = (folder / "even.json").string();
  std::vector<Rung> own = {{"", "even", "", even_only, {64}, {1000}}};
  auto run = [&](std::vector<std::string> words) { return test::call_main(std::move(words), own); };
  test::write_file(file, run({"show", "even", "--shape", "64", "--trace", "json"}).out);
  EXPECT_EQ(run({"check", file, "--shape", "66", "--device", "sim"}).code, 0);
  Called refused = run({"check", file, "--shape", "67", "--device", "sim"});
  EXPECT_EQ(refused.code, 2) << refused.out;
  EXPECT_TRUE(contains(refused.err,
                       "schedules the workload 'axpy' of shape 64, and no rung computes it for the "
                       "shape 67; leave --shape out"));
}

TEST(EachStep, SaveIsForTheReproducer) {
  Called refused = call_checked({"check", "good", "--save", "x.json", "--device", "sim"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(contains(refused.err, "--save writes the reproducer of --each-step"));
}

} // namespace
} // namespace nestsmith
