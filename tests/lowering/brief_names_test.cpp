/// Brief names of loops in kernels.

#include "lowering/lower.h"
#include "tests/dsl/support.h"

#include <gmock/gmock.h>

namespace nestsmith {
namespace {

using testing::HasSubstr;

/// The loops of the kernel, as `for name <` and `name =` state them.
std::string kernel_of(const Schedule &s) { return print(lower(s).kernels.front()); }

TEST(BriefNames, ReplaceLongDerivedNames) {
  Schedule s(test::product(64, 64, 64));
  Loop ij = s.fuse(s.loop("i"), s.loop("j")); // i_j
  auto [outer, inner] = s.split<2>(ij, {infer, 8});
  Loop long_name = s.fuse(s.split<2>(outer, {infer, 4})[1], inner); // i_j_outer_inner_i_j_inner
  EXPECT_GT(s.name(long_name).size(), 13U);
  std::string kernel = kernel_of(s);
  EXPECT_THAT(kernel, HasSubstr("n < 32"));
  EXPECT_THAT(kernel, testing::Not(HasSubstr(s.name(long_name))));
}

TEST(BriefNames, LeaveNamesOfTheUser) {
  Schedule s(test::product(64, 64, 64));
  s.split(s.loop("i"), {infer, 8}, named("a_very_long_name_of_a_loop", "another_very_long_name"));
  std::string kernel = kernel_of(s);
  EXPECT_THAT(kernel, HasSubstr("a_very_long_name_of_a_loop"));
  EXPECT_THAT(kernel, HasSubstr("another_very_long_name"));
}

} // namespace
} // namespace nestsmith
