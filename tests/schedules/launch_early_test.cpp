/// Kernels that may start while the kernel before them in the stream ends (`launch_early`).

#include "codegen/cuda.h"
#include "codegen/emit.h"
#include "lowering/lower.h"
#include "lowering/verify_kernel.h"
#include "schedules/workloads.h"
#include "tests/codegen/host_text.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"
#include "tests/runtime/sim/certificates.h"
#include "tests/schedules/host_compare.h"
#include "tests/schedules/role_products.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using test::contains;

template <class Tiles> Tiles early(Tiles tiles, std::int64_t parts = 1, bool two_kernels = false) {
  tiles.early = true;
  tiles.split_k = parts;
  tiles.two_kernels = two_kernels;
  return tiles;
}

std::vector<Schedule> early_products() {
  library::RegisterTiles tail = early(test::register_tiles());
  tail.even_places = 4;
  return {test::product_of({17, 65, 40}, DType::u32, early(test::register_tiles())),
          test::product_of({16 * 5, 64, 8 * 32}, DType::u32, tail),
          test::product_of({17, 65, 40}, DType::u32, early(test::register_tiles(), 2)),
          test::product_of({17, 65, 40}, DType::u32, early(test::register_tiles(), 2, true)),
          test::product_of({64, 64, 256}, DType::u32, early(test::unit_tiles(true)))};
}

TEST(EarlyLaunches, AreRight) {
  for (const Schedule &s : early_products()) {
    SCOPED_TRACE(print(s.program()));
    test::expect_right(s);
    for (const kernel::Kernel &kernel : lower(s).kernels)
      EXPECT_TRUE(kernel.launches_early);
  }
}

/// Without the await, the simulator reports each parameter that the kernel before may still use.
TEST(EarlyLaunches, NeedTheAwaitOfTheKernelBefore) {
  for (const Schedule &s : early_products()) {
    const kernel::Plan plan = lower(s);
    if (plan.kernels.size() > 1)
      continue;
    const auto all = test::without_each<kernel::AwaitKernel>(plan.only());
    ASSERT_EQ(all.size(), 1);
    const auto &[changed, removed] = all.front();
    EXPECT_EQ(test::kinds_of(test::hazards_found(s.source(), changed)), test::kinds_of(removed.hazards));
    EXPECT_TRUE(contains(*kernel::find_breach(changed, true), "does not first await the kernel before"));
  }
}

TEST(EarlyLaunches, NameTheParameterThatMayChange) {
  const Schedule s = test::product_of({16, 64, 8}, DType::u32, early(test::register_tiles()));
  kernel::Kernel changed = lower(s).only();
  kernel::AwaitKernel removed;
  int left = 0;
  changed.body = test::without(changed.body, left, removed);
  std::string messages;
  for (const sim::Diagnostic &diagnostic : test::diagnostics_of(s.source(), changed))
    messages += diagnostic.message + "\n";
  EXPECT_TRUE(contains(messages, "of block (0, 0, 0) loads A in ")) << messages;
  EXPECT_TRUE(contains(messages, "before it awaits the kernel before it, which may still write it"))
      << messages;
  EXPECT_TRUE(contains(messages, "updates C in ")) << messages;
}

/// Threads that do not take the branch would not wait.
TEST(EarlyLaunches, AwaitInAllThreads) {
  const Schedule s = test::product_of({16, 64, 8}, DType::u32, early(test::register_tiles()));
  kernel::Kernel changed = lower(s).only();
  const auto tid = std::ranges::find(changed.indices, Axis::thread_x, &kernel::ThreadIndex::axis);
  auto guard = [&](const kernel::Stmt &stmt, auto &&self) -> kernel::Stmt {
    if (kernel::as<kernel::AwaitKernel>(stmt))
      return kernel::make(kernel::If{Expr(tid->var) < Expr(32), stmt, nullptr, {}}, stmt->origin);
    return kernel::map_children(stmt, [&](const kernel::Stmt &child) { return self(child, self); });
  };
  changed.body = guard(changed.body, guard);
  EXPECT_FALSE(test::hazards_found(s.source(), changed).empty());
}

TEST(EarlyLaunches, AreStatedInTheText) {
  const Schedule s = test::product_of({17, 65, 40}, DType::f32, early(test::register_tiles(), 2, true));
  const std::string text = emit({}, lower(s));
  for (const char *part : {"await_kernel();  // the results of the kernel before are visible\n",
                           "griddepcontrol.wait; griddepcontrol.launch_dependents;",
                           "early.id = cudaLaunchAttributeProgrammaticStreamSerialization;", "launch_early("})
    EXPECT_TRUE(contains(text, part)) << part << "\n" << text;
  EXPECT_FALSE(contains(text, "<<<")) << text;
  // The kernel before writes what this one reads.
  EXPECT_FALSE(contains(cuda_kernels(lower(s)), "__restrict__")) << text;
}

TEST(EarlyLaunches, HaveTheSameMeaningInTheText) {
  NEEDS_SANITIZERS();
  std::vector<Subject> subjects;
  for (Schedule &schedule : early_products()) {
    kernel::Plan plan = lower(schedule);
    subjects.push_back({fmt::format("early {}", subjects.size()), std::move(schedule), std::move(plan)});
  }
  EXPECT_EQ(fmt::format("{}", fmt::join(differences_on_host(subjects), "\n")), "");
}

} // namespace
} // namespace nestsmith
