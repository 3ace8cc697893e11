/// Runs emitted text on the host under sanitizers (tests/codegen/host_text.h): with guarded accesses whose
/// address is out of bounds, and with pointers that are misaligned for vectors.

#include "codegen/emit.h"
#include "tests/codegen/host_text.h"
#include "tests/known_bugs/support.h"
#include "tests/runtime/sim/kernel_builder.h"

namespace nestsmith {
namespace {

using test::rung;
using testing::HasSubstr;

/// y = x for 10 of 32 threads. The addresses of the other threads are far out of bounds.
kernel::Kernel far_outside(bool guarded) {
  sim::KernelBuilder b("far_outside");
  Buffer x = b.param("x", 10), y = b.param("y", 10, Role::output);
  Expr t = b.axis(Axis::thread_x, "t", 32);
  Expr inside = t < int_imm(10, DType::i32), far = t * int_imm(1000000, DType::i32) + t;
  Expr at = select(inside, t, far);
  Expr value = load(x, {at}, guarded ? inside : Expr(), constant(DType::f32, 0));
  auto store = [&] { b.store(y, at, value); };
  guarded ? b.when(inside, store) : store();
  return b.build();
}

std::vector<Array> ten_and_none() {
  std::vector<Array> arrays = {Array(DType::f32, {10}), Array(DType::f32, {10})};
  for (std::int64_t n = 0; n < 10; ++n)
    arrays[0].set(n, Scalar::from_double(DType::f32, static_cast<double>(n)));
  return arrays;
}

/// If the guard is false, the address is out of bounds, but it is neither accessed nor reported. Without the
/// guard, the simulator reports it.
TEST(KnownBugs, StorePredicatedOffOutOfBounds) {
  for (bool guarded : {true, false}) {
    std::vector<Array> arrays = ten_and_none();
    std::vector<sim::Argument> arguments = {{&arrays[0]}, {&arrays[1]}};
    sim::Result result = sim::run(far_outside(guarded), arguments, {});
    EXPECT_EQ(result.good(), guarded);
    EXPECT_EQ(arrays[1], arrays[0]);
    for (const sim::Diagnostic &diagnostic : result.diagnostics)
      EXPECT_EQ(diagnostic.kind, sim::ErrorKind::out_of_bounds);
  }
}

/// Removes the guards of stores to global memory.
kernel::Stmt unguarded(const kernel::Stmt &stmt) {
  kernel::Stmt inner = kernel::map_children(stmt, unguarded);
  const auto *branch = kernel::as<kernel::If>(inner);
  if (!branch || branch->otherwise)
    return inner;
  bool stores = false;
  kernel::walk(branch->body, [&](const kernel::Stmt &child) {
    const auto *store = kernel::as<kernel::Store>(child);
    stores = stores || (store && store->buffer->scope == Scope::global);
  });
  return stores ? branch->body : inner;
}

/// A launch of a schedule, and the arrays after the simulator ran it.
struct Launch {
  explicit Launch(const Schedule &schedule) {
    Inputs inputs = make_inputs(schedule.source(), CheckRun::ring, 1);
    run = {.plan = lower(schedule), .arrays = inputs.arrays, .scalars = inputs.scalars};
    after = inputs.arrays;
    SimExecutor simulator;
    EXPECT_THAT(simulator.run(run.plan, after, run.scalars).diagnostics, testing::IsEmpty());
  }
  host::Run run;
  std::vector<Array> after;
};

/// Shapes with tails, on a rung with scalar stores and on a rung with vector stores.
TEST(KnownBugs, StorePredicatedOffOutOfBoundsInTheEmittedText) {
  NEEDS_SANITIZERS();
  std::vector<host::Run> runs;
  std::vector<std::vector<Array>> expected;
  for (auto [name, shape] :
       {std::pair{"deep_dive/shared", Shape{33, 35, 36}}, {"transposed/float4", Shape{132, 136, 12}}}) {
    Launch launch(rung(name).build(shape, DType::u32, Target{}));
    for (bool backwards : {false, true}) {
      runs.push_back(launch.run);
      runs.back().backwards = backwards;
    }
    kernel::Kernel &kernel = launch.run.plan.kernels.front();
    kernel.body = unguarded(kernel.body);
    SimExecutor simulator;
    std::vector<Array> arrays = launch.run.arrays;
    simulator.run(launch.run.plan, arrays, launch.run.scalars);
    EXPECT_THAT(simulator.found(),
                testing::Contains(testing::Field(&sim::Diagnostic::kind, sim::ErrorKind::out_of_bounds)));
    runs.push_back(launch.run);
    expected.push_back(std::move(launch.after));
  }
  runs.push_back({.plan = far_outside(true), .arrays = ten_and_none(), .scalars = {}});
  std::vector<host::Outcome> outcomes = host::run(runs);
  for (std::size_t n = 0; n < expected.size(); ++n) {
    for (std::size_t guarded : {3 * n, 3 * n + 1}) {
      EXPECT_EQ(outcomes[guarded].fault, "");
      EXPECT_EQ(outcomes[guarded].arrays, expected[n]);
    }
    EXPECT_THAT(outcomes[3 * n + 2].fault, HasSubstr("AddressSanitizer: heap-buffer-overflow"));
  }
  EXPECT_EQ(outcomes.back().fault, "");
  ASSERT_EQ(outcomes.back().arrays.size(), 2U);
  EXPECT_EQ(outcomes.back().arrays[1], ten_and_none()[0]);
}

/// Returns the text in which the condition of one check of the launcher is false.
std::string without(std::string text, const std::string &refusal) {
  std::size_t at = text.find(refusal);
  EXPECT_NE(at, std::string::npos) << "'" << refusal << "' is not in\n" << text;
  return at == std::string::npos ? text : text.replace(at, refusal.size(), "false");
}

/// In turn, each array begins 4 bytes after an aligned address. The launcher refuses exactly the arrays that
/// the kernel accesses by vectors. The launcher of a kernel with scalar accesses accepts all of them.
TEST(KnownBugs, OddBasePointersAgainstVectorAccess) {
  NEEDS_SANITIZERS();
  std::vector<host::Run> runs;
  std::vector<host::Outcome> expected;
  for (const char *name : {"ladder/vectors", "transposed/float4", "tvm_steps/step6", "deep_dive/naive"}) {
    Launch launch(rung(name).build({64, 64, 8}, DType::u32, Target{}));
    const kernel::Plan &plan = launch.run.plan;
    EXPECT_EQ(plan.only().aligned.empty(), name == std::string("deep_dive/naive")) << name;
    runs.push_back(launch.run);
    expected.push_back({launch.after, ""});
    for (std::size_t n = 0; n < plan.params.size(); ++n) {
      runs.push_back(launch.run);
      runs.back().off.assign(plan.params.size(), 0);
      runs.back().off[n] = 4;
      bool vectors = plan.only().aligned.contains(plan.params[n]);
      expected.push_back(vectors ? host::Outcome{{}, "the launcher returned error 1"}
                                 : host::Outcome{launch.after, ""});
    }
  }
  // Without the check of the launcher, a misaligned pointer causes a fault.
  Launch bare(rung("transposed/float4").build({64, 64, 8}, DType::u32, Target{}));
  bare.run.text = without(emit({}, bare.run.plan), "(size_t)A % 16 != 0");
  bare.run.off = {4, 0, 0};
  runs.push_back(bare.run);

  std::vector<host::Outcome> outcomes = host::run(runs);
  for (std::size_t n = 0; n < expected.size(); ++n) {
    EXPECT_EQ(outcomes[n].fault, expected[n].fault) << "launch " << n;
    EXPECT_EQ(outcomes[n].arrays, expected[n].arrays) << "launch " << n;
  }
  EXPECT_THAT(outcomes.back().fault, HasSubstr("misaligned address"));
}

} // namespace
} // namespace nestsmith
