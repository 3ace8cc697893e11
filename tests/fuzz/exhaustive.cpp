#include "tests/fuzz/exhaustive.h"

#include "tests/dsl/small_world.h"
#include "tests/fuzz/judge.h"

#include <fmt/format.h>

namespace nestsmith::fuzz {

SmallWorld try_small_world(std::size_t directives, std::size_t one_in) {
  SmallWorld world;
  const Shape shape{3, 5, 4};
  test::Sequences sequences = test::for_each_schedule(
      test::product(shape[0], shape[1], shape[2]), directives,
      [&](const Schedule &schedule) {
        ++world.programs;
        test::Attempt::note(schedule, "judge");
        Verdict verdict = judge(schedule, shape);
        world.exact += verdict.kind == Kind::exact;
        world.owing += verdict.kind == Kind::refused;
        if (verdict.kind != Kind::exact && verdict.kind != Kind::refused && world.faults.size() < 20)
          world.faults.push_back(
              fmt::format("{}: {}\n{}", name(verdict.kind), verdict.message, test::trace_text(schedule)));
      },
      test::Sample(one_in));
  world.sequences = sequences.tried;
  world.all_sequences = sequences.all;
  return world;
}

} // namespace nestsmith::fuzz
