/// Tests that each of the printed mistakes is detected for its own reason, and that its correction is accepted.

#include "runtime/check/check.h"
#include "runtime/check/sim_executor.h"
#include "schedules/rung.h"
#include "tools/pages/mistakes/mistakes.h"
#include "tools/pages/mistakes/tiles_of_a_post.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

namespace nestsmith {
namespace {

TEST(Lint, CatchesEveryMistakeForItsReason) {
  std::set<std::string> names;
  for (const Mistake &mistake : mistakes()) {
    LintResult result = lint(mistake);
    EXPECT_NE(result.verdict, LintVerdict::passed) << mistake.full_name();
    ASSERT_FALSE(result.said.empty()) << mistake.full_name();
    EXPECT_NE(result.said.front().find(mistake.diagnostic), std::string::npos) << result.said.front();
    EXPECT_FALSE(result.example.empty());
    EXPECT_TRUE(names.insert(mistake.full_name()).second);
    EXPECT_TRUE(std::ranges::any_of(builtin_rungs(), [&](const Rung &rung) {
      return rung.full_name() == mistake.rung;
    })) << mistake.rung;
  }
}

TEST(Lint, AnotherFindingDoesNotCount) {
  for (Mistake mistake : mistakes()) {
    mistake.diagnostic = "a diagnostic that nothing has";
    EXPECT_EQ(lint(mistake).verdict, LintVerdict::passed) << mistake.full_name();
  }
}

TEST(Lint, DoesNotCatchWhatIsRight) {
  for (const HandWritten &right :
       {mistake::row_modulo_n(32), mistake::inner_row_b(true), mistake::narrow_tile(64),
        mistake::guard_of_thread(true), mistake::undeclared_w(true), mistake::bm_equals_tm(64),
        mistake::btsz_of_8(true)}) {
    SimExecutor simulator;
    CheckResult result = check(Schedule(right.computation), right.kernel, simulator);
    EXPECT_TRUE(result.passed) << right.kernel.name;
    EXPECT_TRUE(result.messages().empty()) << right.kernel.name << ": " << result.messages().front();
    Mistake none{"", "", "", "", "", "", [&] { return right; }};
    EXPECT_EQ(lint(none).verdict, LintVerdict::passed);
  }
}

} // namespace
} // namespace nestsmith
