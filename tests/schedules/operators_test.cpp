/// Tests the operators of the expression language, from the expression to the kernel. The interpreter, the
/// simulator, the emitted text and the reference of a standalone file must agree.

#include "codegen/standalone.h"
#include "dsl/ir/tensor.h"
#include "lowering/lower.h"
#include "runtime/check/check.h"
#include "runtime/check/sim_executor.h"
#include "tests/codegen/host_text.h"
#include "tests/dsl/support.h"
#include "tests/schedules/host_compare.h"

#include <gtest/gtest.h>

namespace nestsmith {
namespace {

constexpr std::int64_t N = 37;

/// Adds a stage for each expression of an index. All stages are outputs.
class Stages {
public:
  explicit Stages(const std::string &name) : w(name) {}
  void add(const std::string &name, const std::function<Definition(Expr)> &element) {
    results_.emplace_back(w.compute(name, {N}, {"i"}, element));
  }
  Program program() const { return w.output(results_); }
  Workload w;

private:
  std::vector<Result> results_;
};

Program on_floats() {
  Stages s("on_floats");
  Tensor x = s.w.placeholder("x", {N}), y = s.w.placeholder("y", {N});
  Expr alpha = s.w.scalar("alpha");
  s.add("negative", [&](Expr i) { return -x(i); });
  s.add("negative_twice", [&](Expr i) { return -(-x(i)) - -(x(i) * -y(i)); });
  s.add("half", [&](Expr i) { return x(i) * 0.5 - 0.25 * -(x(i) + y(i)); });
  s.add("greater", [&](Expr i) { return select(x(i) > 0.5, x(i), -y(i)); });
  s.add("at_least", [&](Expr i) { return select(0 >= x(i), 1.5, x(i)); });
  s.add("equal", [&](Expr i) { return select(x(i) == y(i), 1.0, 0); });
  s.add("unequal", [&](Expr i) { return select(x(i) != 1, x(i), 0.125); });
  s.add("neither", [&](Expr i) { return select(!(x(i) < y(i)) && !(y(i) > 2.0 || x(i) == -1), 2, -x(i)); });
  s.add("same_sign", [&](Expr i) { return select((x(i) > 0) == (y(i) > 0), x(i), 0); });
  s.add("clamp", [&](Expr i) { return min(max(x(i), -0.5), 1) + max(0.5, y(i)) + min(2, y(i)); });
  s.add("around", [&](Expr i) { return x((i - 1) % N) - 0.5 * x((i + 1) % N) - x((i - 40) % N); });
  s.add("coarse", [&](Expr i) { return x(i / 2) + y((i - 5) / 3 + 2) * 0.5; });
  s.add("steps", [&](Expr i) {
    Expr e = x(i);
    e += y(i);
    e *= 0.5;
    e -= alpha;
    return e;
  });
  return s.program();
}

/// These are in a program of their own, because integers do not stay integers.
Program on_fractions() {
  Stages s("on_fractions");
  Tensor x = s.w.placeholder("x", {N}), y = s.w.placeholder("y", {N});
  s.add("over_two", [&](Expr i) { return x(i) / 2; });
  s.add("over_three", [&](Expr i) { return x(i) / 3 + 1 / (y(i) * y(i) + 1); });
  s.add("tenth", [&](Expr i) { return x(i) * 0.1 - y(i) * -0.7; });
  s.add("steps", [&](Expr i) {
    Expr e = x(i);
    e /= 1.25F;
    return e;
  });
  return s.program();
}

Program on_integers() {
  Stages s("on_integers");
  Tensor p = s.w.placeholder("p", {N}, DType::i32), q = s.w.placeholder("q", {N}, DType::i32);
  Tensor a = s.w.placeholder("a", {N}, DType::u32), x = s.w.placeholder("x", {N});
  s.add("negative", [&](Expr i) { return -p(i) * -2 + -(-q(i)); });
  s.add("compare", [&](Expr i) { return select(p(i) > 3 || 2 >= q(i), min(p(i), 2), max(-1, q(i))); });
  s.add("unequal", [&](Expr i) { return select(p(i) != q(i) && !(p(i) == -1), 1, 0); });
  s.add("halved", [&](Expr i) { return shift_right(p(i), 1); });
  s.add("digits", [&](Expr i) { return a(i) / 10 + a(i) % 10; });
  s.add("ring", [&](Expr i) { return -a(i) - 1 + a(i) * -3; });
  s.add("order", [&](Expr i) { return select(a(i) >= 2147483648, a(i), max(a(i), 7)); });
  s.add("count", [&](Expr i) { return cast(DType::i32, select(p(i) > 0, 1, 0) * 3 + i % 5); });
  s.add("rounded",
        [&](Expr i) { return x(i) * 0.1 + 0.7 * x((i + 5) % N); }); // for integers, within the error bound
  s.add("mixed", [&](Expr i) { return cast(DType::f32, p(i)) * 0.5 + select(p(i) > 0, x(i), 0.0); });
  return s.program();
}

/// Schedules 8 threads per block. If `cached`, the results are first kept in registers.
Schedule scheduled(const Program &program, bool cached) {
  Schedule s(program);
  for (const Block *block : blocks_of(program.body)) {
    BlockRef stage = s.block(block->id->name);
    std::optional<BlockRef> copy;
    if (cached)
      copy = s.cache_write(stage, Scope::local);
    auto [outer, inner] = s.split(s.loops(stage)[0], {infer, 8});
    if (copy)
      s.reverse_compute_at(*copy, inner);
    s.bind(outer, Axis::block_x);
    s.bind(inner, Axis::thread_x);
  }
  return s;
}

class TypedOperators : public testing::TestWithParam<Program (*)()> {};

/// Compares the interpreter, the lowered kernel on the simulator, and the reference in double precision.
TEST_P(TypedOperators, AreRightOnTheSimulator) {
  Program program = GetParam()();
  for (bool cached : {false, true}) {
    Schedule s = scheduled(program, cached);
    EXPECT_TRUE(test::same_meaning(s));
    SimExecutor simulator;
    CheckResult result = check(s, lower(s), simulator, {.infinite = program.name == "on_floats"});
    EXPECT_TRUE(result.passed) << testing::PrintToString(result.messages());
    EXPECT_FALSE(result.runs.empty());
  }
}

TEST_P(TypedOperators, AreTheReferenceToTheInterpreter) {
  Program program = GetParam()();
  for (CheckRun run : {CheckRun::integers, CheckRun::random}) {
    Inputs inputs = make_inputs(program, run, 3);
    Reference expected = reference(program, inputs.arrays, inputs.scalars);
    interpret(program, inputs.arrays, inputs.scalars);
    std::size_t at = 0;
    for (std::size_t n = 0; n < program.params.size(); ++n)
      if (program.params[n]->role == Role::output) {
        const ReferenceOutput &output = expected.outputs[at++];
        for (std::int64_t i = 0; i < N; ++i) {
          double value = output.value[static_cast<std::size_t>(i)], got = inputs.arrays[n].at(i).to_double();
          double bound = output.error_at(i);
          bool exact = run == CheckRun::integers && program.name == "on_floats";
          EXPECT_LE(std::abs(got - value), exact ? 0 : bound) << program.params[n]->name << "[" << i << "]";
        }
      }
  }
}

TEST_P(TypedOperators, AreTheSameInEmittedText) {
  if (!host::why_not().empty())
    GTEST_SKIP() << host::why_not();
  Program program = GetParam()();
  std::vector<Subject> subjects;
  for (bool cached : {false, true}) {
    Schedule s = scheduled(program, cached);
    subjects.push_back({program.name, s, lower(s)});
  }
  for (const std::string &problem : differences_on_host(subjects))
    ADD_FAILURE() << problem;
}

TEST_P(TypedOperators, AreRightInAStandaloneFile) {
  Program program = GetParam()();
  Schedule s = scheduled(program, false);
  kernel::Plan plan = lower(s);
  std::string text = emit_standalone({}, plan, program);
  EXPECT_EQ(run_on_host(text, static_cast<int>(plan.kernels.size())), 0) << text;
}

INSTANTIATE_TEST_SUITE_P(All, TypedOperators, testing::Values(&on_floats, &on_fractions, &on_integers),
                         [](const auto &info) {
                           return info.param == &on_floats     ? "Floats"
                                  : info.param == &on_integers ? "Integers"
                                                               : "Fractions";
                         });

} // namespace
} // namespace nestsmith
