/// Tests small random kernels: the simulator must find a race exactly if the comparison of all pairs of
/// accesses finds one.

#include "tests/runtime/sim/kernel_builder.h"

#include <gtest/gtest.h>

#include <random>

namespace nestsmith::sim {
namespace {

constexpr int blocks = 2, threads = 70, elements = 80;

/// One statement: a barrier, or an access to element `scale * t / divisor + shift` by each thread t < `end`
/// that is a multiple of `step`.
struct Step {
  enum Kind { load, store, warp_barrier, block_barrier } kind;
  int step, end, scale, divisor, shift;

  bool by(int t) const { return t < end && t % step == 0; }
  int element(int t) const { return scale * t / divisor + shift; }
};

struct Access {
  int block, thread, block_epoch, warp_epoch, element;
  bool store;
};

/// The definition of a race.
bool races(const Access &a, const Access &b) {
  if (a.element != b.element || (!a.store && !b.store))
    return false;
  if (a.block != b.block)
    return true;
  if (a.thread == b.thread || a.block_epoch != b.block_epoch)
    return false;
  return a.thread / 32 != b.thread / 32 || a.warp_epoch == b.warp_epoch;
}

bool any_race(const std::vector<Step> &steps, bool global) {
  std::vector<Access> all;
  for (int block = 0; block < (global ? blocks : 1); ++block)
    for (int t = 0; t < threads; ++t) {
      int block_epoch = 0, warp_epoch = 0;
      for (const Step &step : steps) {
        block_epoch += step.kind == Step::block_barrier;
        warp_epoch += step.kind == Step::block_barrier || step.kind == Step::warp_barrier;
        if (step.kind <= Step::store && step.by(t))
          all.push_back({block, t, block_epoch, warp_epoch, step.element(t) + (global ? block * 40 : 0),
                         step.kind == Step::store});
      }
    }
  for (std::size_t n = 0; n < all.size(); ++n)
    for (std::size_t m = 0; m < n; ++m)
      if (races(all[n], all[m]))
        return true;
  return false;
}

kernel::Kernel build(const std::vector<Step> &steps, bool global) {
  KernelBuilder b("k");
  Expr block = b.axis(Axis::block_x, "block", blocks), t = b.axis(Axis::thread_x, "t", threads);
  Buffer memory =
      global ? b.param("memory", elements + 40 * blocks, Role::inout) : b.shared("memory", elements);
  Buffer kept = b.local("kept", 1);
  for (const Step &step : steps) {
    if (step.kind == Step::warp_barrier)
      b.sync_warp();
    if (step.kind == Step::block_barrier)
      b.sync_block();
    if (step.kind > Step::store)
      continue;
    Expr element = floordiv(t * step.scale, Expr(step.divisor)) + step.shift;
    if (global)
      element = element + block * 40;
    auto access = [&] {
      if (step.kind == Step::store)
        b.store(memory, element, Expr(1.0f));
      else
        b.store(kept, 0, at(memory, element));
    };
    if (step.step == 1 && step.end == threads)
      access();
    else
      b.when(t < step.end && equal(floormod(t, Expr(step.step)), Expr(0)), access);
  }
  return b.build();
}

Step random_step(std::mt19937 &random) {
  auto pick = [&](std::initializer_list<int> choices) { return choices.begin()[random() % choices.size()]; };
  Step step{static_cast<Step::Kind>(pick({0, 0, 0, 1, 1, 2, 3, 3})),
            pick({1, 1, 1, 2, 33}),
            pick({threads, threads, 64, 32, 1}),
            pick({1, 1, 1, 0}),
            pick({1, 1, 1, 2, 32}),
            pick({0, 0, 0, 1, 9})};
  return step;
}

bool found_race(const std::vector<Step> &steps, bool global, bool baseline) {
  kernel::Kernel kernel = build(steps, global);
  Array memory(DType::f32, {elements + 40 * blocks});
  std::vector<Argument> arguments;
  if (global)
    arguments.push_back({&memory});
  bool found = false;
  for (const Diagnostic &diagnostic :
       run(kernel, arguments, {}, {.host_threads = 2, .max_diagnostics = 100, .baseline = baseline})
           .diagnostics) {
    EXPECT_TRUE(diagnostic.kind == ErrorKind::race || diagnostic.kind == ErrorKind::unwritten_read)
        << diagnostic.message;
    if (diagnostic.kind == ErrorKind::race) {
      found = true;
      EXPECT_NE(diagnostic.message.find(", and thread ("), std::string::npos)
          << diagnostic.message; // both accesses of the race
    }
  }
  return found;
}

TEST(SimulateRaceOracle, AgreesOnRandomKernels) {
  std::mt19937 random(1);
  int with_race = 0, count = 3000;
  for (int n = 0; n < count; ++n) {
    bool global = n % 3 == 0;
    std::vector<Step> steps(2 + random() % 6);
    for (Step &step : steps)
      step = random_step(random);
    bool expected = any_race(steps, global);
    with_race += expected;
    std::string text;
    for (const Step &s : steps)
      text += std::to_string(s.kind) + " step " + std::to_string(s.step) + " end " + std::to_string(s.end) +
              " element " + std::to_string(s.scale) + "t/" + std::to_string(s.divisor) + "+" +
              std::to_string(s.shift) + "\n";
    ASSERT_EQ(found_race(steps, global, n % 2 == 0), expected) << (global ? "global\n" : "shared\n") << text;
  }
  // Both outcomes must be frequent.
  EXPECT_GT(with_race, count / 4);
  EXPECT_LT(with_race, count * 3 / 4);
}

} // namespace
} // namespace nestsmith::sim
