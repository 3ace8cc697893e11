/// Tests the limits on the length of names.

#include "dsl/expr/identifier.h"
#include "tests/dsl/support.h"

namespace nestsmith {
namespace {

using test::expect_user_error;

TEST(Identifier, HasAtMost200Letters) {
  const std::string most(200, 'n'), longer(201, 'n'), endless(100000, 'n');
  check_identifier(most, "a name");
  for (const std::string &name : {longer, endless}) {
    const std::string message = fmt::format("must have at most 200 letters, got {} in 'nnnn", name.size());
    expect_user_error([&] { check_identifier(name, "a name"); }, ExitCode::usage, "a name " + message);
    expect_user_error([&] { Workload w(name); }, ExitCode::usage, "a workload's name " + message);
    expect_user_error([&] { Workload("w").placeholder(name, {4}, DType::f32); }, ExitCode::usage, message);
    expect_user_error([&] { Workload("w").scalar(name, DType::f32); }, ExitCode::usage, message);
    expect_user_error([&] { Workload("w").size(name); }, ExitCode::usage, message);
    expect_user_error([&] { reduce_axis(name, 4); }, ExitCode::usage, message);
    expect_user_error([&] { Workload("w").compute(name, {4}, {"i"}, [](Expr i) { return i; }); },
                      ExitCode::usage, message);
    expect_user_error([&] { Workload("w").compute("Y", {4}, {name}, [](Expr i) { return i; }); },
                      ExitCode::usage, message);
  }
  expect_user_error([] { check_identifier("a\x1b[31m\n", "a name"); }, ExitCode::usage,
                    "a name must be a C identifier, got 'a\\u001b[31m\\u000a'");
}

/// Without a limit, each round of a split and a fusion would double the length of the name.
TEST(Identifier, ThatIsDerivedDoesNotGrow) {
  Schedule s(test::chain(8, 8));
  auto [i, j] = s.loops<2>(s.block("Y"));
  Loop loop = s.fuse(i, j);
  for (int round = 0; round < 14; ++round) {
    auto [outer, inner] = s.split(loop, {infer, 8});
    loop = s.fuse(outer, inner);
  }
  for (const Directive &directive : s.trace())
    for (const std::string &name : directive.results)
      EXPECT_LE(name.size(), 210U);
  EXPECT_TRUE(test::same_meaning(s));
}

} // namespace
} // namespace nestsmith
