/// Tests launch_early: the mark in the program, its trace and its refusals.

#include "dsl/ir/printer.h"
#include "dsl/schedule/trace.h"
#include "tests/dsl/support.h"

#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using test::contains;
using test::expect_refused;
using test::gemm;

TEST(LaunchEarly, IsStatedInTheProgramAndInItsTrace) {
  Schedule s(gemm(4, 4, 4), make_target("sm_90"));
  s.launch_early();
  EXPECT_TRUE(s.program().launches_early);
  EXPECT_TRUE(contains(print(s.program()), "started while the kernel before ends")) << print(s.program());
  EXPECT_TRUE(test::same_meaning(s));
  EXPECT_TRUE(contains(trace_to_cpp(s), "s.launch_early();")) << trace_to_cpp(s);
  const std::string json = to_json(trace_file(s, {4, 4, 4}, DType::u32));
  EXPECT_EQ(print(replay(parse_trace(json, "t.json"), gemm(4, 4, 4), s.target(), "t.json").program()),
            print(s.program()));
}

TEST(LaunchEarly, IsRefusedTwiceAndForOtherTargets) {
  Schedule old(gemm(4, 4, 4), make_target("sm_80"));
  expect_refused(old, "launch_early.feature", [&] { old.launch_early(); },
                 "griddepcontrol needs sm_90, sm_100, sm_101, sm_103, sm_110, sm_120, sm_121; got sm_80", {});
  Schedule s(gemm(4, 4, 4), make_target("sm_90"));
  s.launch_early();
  expect_refused(s, "launch_early.once", [&] { s.launch_early(); }, "started early already; state it once", {});
}

} // namespace
} // namespace nestsmith
