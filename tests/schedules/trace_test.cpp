/// Tests that the C++ of `show --trace cpp` compiles and builds the same program.

#include "tests/schedules/traces.h"

#include "dsl/ir/printer.h"
#include "dsl/schedule/trace.h"
#include "schedules/rung.h"

#include <gtest/gtest.h>

namespace nestsmith {
namespace {

TEST(CompiledTraces, MakeTheProgramsOfAllRungs) {
  std::vector<Rung> rungs = builtin_rungs();
  std::erase_if(rungs, [](const Rung &rung) { return !rung.table.empty(); }); // see make_traces.sh
  ASSERT_EQ(test::traces.size(), rungs.size());
  for (std::size_t n = 0; n < test::traces.size(); ++n) {
    const Rung &rung = rungs[n];
    const auto &[name, apply] = test::traces[n];
    EXPECT_EQ(name, rung.full_name());
    Schedule original = rung.build(rung.default_shape, rung.dtype(), Target{});
    Schedule again(original.source(), original.target());
    apply(again);
    EXPECT_EQ(print(again.program()), print(original.program())) << name;
    EXPECT_EQ(trace_to_cpp(again), trace_to_cpp(original)) << name;
  }
}

} // namespace
} // namespace nestsmith
