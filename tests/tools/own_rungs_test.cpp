/// Tests that every command of cli_main works for a user's own computation and schedule.

#include "dsl/expr/error.h"
#include "tests/tools/call_main.h"
#include "tests/tools/run_binary.h"

namespace nestsmith {
namespace {

using test::axpy;
using test::Called;
using test::contains;

/// A schedule that refuses odd sizes.
Schedule picky(const Shape &shape, DType dtype, const Target &target) {
  if (shape[0] % 2)
    throw UserError(ExitCode::illegal_schedule, "the rung 'picky' serves even sizes only");
  return axpy(shape, dtype, target);
}

const std::vector<Rung> rungs = {{"", "axpy", "a thread an element", axpy, {128}, {1000}},
                                 {"", "picky", "even sizes", picky, {128}, {1000}}};

Called call(std::vector<std::string> words, const std::vector<Rung> &own = rungs) {
  return test::call_main(std::move(words), own);
}

TEST(OwnRungs, RunAndCheck) {
  Called list = call({"list"});
  EXPECT_TRUE(contains(list.out, "axpy"));
  EXPECT_FALSE(contains(list.out, "naive"));
  Called run = call({"run", "--device", "sim"});
  EXPECT_EQ(run.code, 0) << run.out << run.err;
  EXPECT_TRUE(contains(run.out, "f32 1000 on the simulator"));
  EXPECT_TRUE(contains(run.out, "PASSED"));
  Called check = call({"check", "axpy", "--each-step"});
  EXPECT_EQ(check.code, 0) << check.out << check.err;
}

TEST(OwnRungs, AreCompleted) {
  EXPECT_EQ(call({"complete", "show", ""}).out, "axpy\npicky\n*.json\n");
  EXPECT_EQ(call({"complete", "check", "p"}).out, "picky\n*.json\n");
}

TEST(OwnRungs, ShapesHaveTheirOwnRank) {
  EXPECT_EQ(call({"run", "axpy", "--shape", "77", "--device", "sim"}).code, 0);
  Called wrong = call({"run", "axpy", "--shape", "7x7x7", "--device", "sim"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_TRUE(contains(wrong.err, "it has 3 extents, expected 1"));
}

TEST(OwnRungs, EmitNamesTheDimensionsOfEachArray) {
  Called emit = call({"emit", "axpy"});
  EXPECT_EQ(emit.code, 0) << emit.err;
  EXPECT_TRUE(contains(emit.out, "axpy_launch("));
}

TEST(OwnRungs, ARungThatRefusesDoesNotStopTheClimb) {
  Called run = call({"run", "--shape", "77", "--device", "sim"});
  EXPECT_EQ(run.code, 3);
  EXPECT_TRUE(contains(run.out, "REFUSED"));
  EXPECT_TRUE(contains(run.out, "PASSED"));
  EXPECT_TRUE(contains(run.out, "the rung 'picky' serves even sizes only"));
}

TEST(OwnRungs, MistakesInTheirCodeAreMessages) {
  auto rung = [](auto build) { return std::vector<Rung>{{"", "mine", "", build, {1}, {8}}}; };
  Called thrown =
      call({"run", "--device", "sim"}, rung([](const Shape &shape, DType dtype, const Target &target) {
             return axpy({shape.at(7)}, dtype, target);
           }));
  EXPECT_EQ(thrown.code, 3);
  EXPECT_TRUE(contains(thrown.out, "the rung 'mine' threw an exception for the shape 8"));
  Called mixed = call({"show"}, rung([](const Shape &shape, DType dtype, const Target &) {
                        Workload w("mixed");
                        Tensor x = w.placeholder("x", {shape[0]}, dtype);
                        Tensor y =
                            w.compute("y", {shape[0]}, {"i"}, [&](Expr i) -> Definition { return x(i) + i; });
                        return Schedule(w.output({y}));
                      }));
  EXPECT_EQ(mixed.code, 2);
  EXPECT_TRUE(contains(mixed.err, "the operands of an expression are f32 and i64, expected one dtype"));
  Called empty = call({"show"}, rung([](const Shape &shape, DType dtype, const Target &target) {
                        Schedule s = axpy(shape, dtype, target);
                        s.unroll(Loop{});
                        return s;
                      }));
  EXPECT_EQ(empty.code, 3);
  EXPECT_TRUE(contains(empty.err, "s.unroll((no loop)): the handle of a loop is empty"));
}

TEST(OwnRungs, TheOnlyRungGoesWithoutSaying) {
  Called show = call({"show"}, {rungs[0]});
  EXPECT_EQ(show.code, 0) << show.err;
  EXPECT_TRUE(contains(show.out, "block Y("));
  EXPECT_EQ(call({"show"}).code, 2) << "there are two";
}

TEST(OwnRungs, TracesOfOwnWorkloadsReplay) {
  test::TemporaryFolder folder;
  std::string file = (folder / "axpy.json").string();
  test::write_file(file, call({"show", "axpy", "--trace", "json"}).out);
  Called run = call({"run", file, "--device", "sim"});
  EXPECT_EQ(run.code, 0) << run.out << run.err;
}

/// y = 1 / (x/10 - x/10), for which no element has an error bound.
Schedule unbounded(const Shape &shape, DType, const Target &target) {
  Workload w("unbounded");
  Tensor x = w.placeholder("x", {shape[0]});
  Tensor y = w.compute("y", {shape[0]}, {"i"},
                       [&](Expr i) -> Definition { return 1.0F / (x(i) * 0.1F - x(i) * 0.1F); });
  Schedule s(w.output({y}), target);
  s.bind(s.loops(s.block("y"))[0], Axis::thread_x);
  return s;
}

TEST(OwnRungs, AreUnknownIfNoElementIsCompared) {
  const std::vector<Rung> own = {{"", "unbounded", "", unbounded, {1}, {8}}};
  Called run = call({"run", "--device", "sim"}, own);
  EXPECT_EQ(run.code, 1);
  EXPECT_TRUE(contains(run.out, "UNKNOWN")) << run.out;
  EXPECT_FALSE(contains(run.out, "PASSED"));
  EXPECT_TRUE(contains(run.out, "y: not compared; no run compared every element")) << run.out;
  Called check = call({"check", "unbounded", "--device", "sim"}, own);
  EXPECT_EQ(check.code, 1);
  EXPECT_TRUE(contains(check.out, "? floating point            compared no element")) << check.out;
  Called json = call({"check", "unbounded", "--device", "sim", "--json"}, own);
  EXPECT_EQ(json.code, 1);
  EXPECT_TRUE(contains(json.out, "\"outcome\": \"not compared\"")) << json.out;
  EXPECT_TRUE(contains(json.out, "\"compared\": 0")) << json.out;
  Called steps = call({"check", "unbounded", "--each-step", "--shape", "8"}, own);
  EXPECT_EQ(steps.code, 1) << steps.out;
  EXPECT_TRUE(contains(steps.out, "no step is wrong where it was compared, but y: not compared")) << steps.out;
}

TEST(OwnRungs, AreToldWhatWasCompared) {
  Called check = call({"check", "axpy", "--device", "sim"});
  EXPECT_TRUE(contains(check.out, "compared in full          every element of Y: floating point")) << check.out;
  Called json = call({"run", "axpy", "--device", "sim", "--json"});
  EXPECT_TRUE(contains(json.out, "\"outputs\":[{\"output\":\"Y\",\"elements\":1000,\"compared\":1000"))
      << json.out;
}

} // namespace
} // namespace nestsmith
