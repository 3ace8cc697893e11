/// Knobs on the command line: `tune`, and --set of the other commands.

#include "tests/tools/run_binary.h"

namespace nestsmith {
namespace {

using test::contains;
using test::nestsmith;
using test::parsed;
using test::Ran;

TEST(Tune, ListsTheSpace) {
  Ran ran = nestsmith("tune ladder/warps --space --gpu H200 --shape 256x256x64");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(contains(ran.out, "ladder/warps  f32 256x256x64  NVIDIA H200"));
  EXPECT_TRUE(contains(ran.out, " warps  │ 4x2, 1x8, 2x4, 8x1"));
  EXPECT_TRUE(contains(ran.out, " bk     │ 8, 16, 32"));
  EXPECT_TRUE(contains(ran.out, "  vectorize.width\n"));
  EXPECT_FALSE(contains(ran.out, "least time"));
  const llvm::json::Value space =
      parsed(nestsmith("tune ladder/warps --space --json --gpu H200 --shape 256x256x64"));
  ASSERT_NE(space.getAsObject(), nullptr);
  EXPECT_EQ(space.getAsObject()->getString("rung"), llvm::StringRef("ladder/warps"));
  EXPECT_EQ(space.getAsObject()->getArray("knobs")->size(), 4U);
  EXPECT_EQ(space.getAsObject()->getBoolean("complete"), true);
  std::int64_t points = static_cast<std::int64_t>(space.getAsObject()->getArray("points")->size());
  for (const auto &[reason, count] : *space.getAsObject()->getObject("removed"))
    points += *count.getAsInteger();
  EXPECT_EQ(space.getAsObject()->getInteger("tried"), points);
}

TEST(Tune, RanksByTheModel) {
  std::string point = "tune ladder/warps --gpu H200 --shape 256x256x64 --set bk=16,lanes=4x8,blocks=2";
  Ran ran = nestsmith(point);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(contains(ran.out, "least time"));
  EXPECT_TRUE(contains(ran.out, "bk=16, blocks=2, lanes=4x8, warps="));
  EXPECT_TRUE(contains(ran.out, "This is the order of the model of `explain`, not of a measurement"));
  EXPECT_EQ(nestsmith(point + " --best 1 --seed 3 --trials 2").code, 0);
}

TEST(Tune, RefusesARungWithoutKnobsAndATrace) {
  Ran none = nestsmith("tune ladder/naive");
  EXPECT_EQ(none.code, 2);
  EXPECT_TRUE(contains(none.err, "'ladder/naive' has no knobs; a schedule function with choices takes Knobs"));
  test::TemporaryFolder folder;
  std::string trace = (folder / "t.json").string();
  ASSERT_EQ(nestsmith("show ladder/warps --trace json -o " + trace).code, 0);
  Ran ran = nestsmith("tune " + trace);
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(contains(ran.err, "is a trace, which has no open choices; name a rung"));
}

TEST(Set, ChangesTheScheduleOfEveryCommand) {
  std::string knobs = "ladder/warps --shape 128x128x64 --set bk=16 ";
  for (const char *command : {"show", "emit", "compile", "explain", "diff"})
    EXPECT_EQ(nestsmith(command + (" " + knobs)).code, 0) << command;
  for (const char *command : {"run", "check"})
    EXPECT_EQ(nestsmith(command + (" " + knobs) + "--device sim").code, 0) << command;
  EXPECT_TRUE(contains(nestsmith("check --each-step ladder/warps --set bk=12").err, "the knob 'bk' is '12'"));
  EXPECT_TRUE(contains(nestsmith("show " + knobs).out, "bk=16"));
  std::string usual = nestsmith("emit ladder/warps --shape 128x128x64").out;
  EXPECT_NE(nestsmith("emit " + knobs).out, usual);
  EXPECT_EQ(nestsmith("emit ladder/warps --shape 128x128x64 --set bk=8").out, usual);
}

TEST(Set, IsRecordedInTheTrace) {
  test::TemporaryFolder folder;
  std::string trace = (folder / "t.json").string();
  ASSERT_EQ(
      nestsmith("show ladder/warps --set bk=16,warps=2x4 --shape 128x256x64 --trace json -o " + trace).code, 0);
  EXPECT_TRUE(contains(test::read_file(trace), "\"bk\": \"16\""));
  EXPECT_TRUE(contains(test::read_file(trace), "\"warps\": \"2x4\""));
  EXPECT_TRUE(contains(test::read_file(trace), "\"lanes\": \"4x8\"")) << "a default is recorded too";
  Ran shown = nestsmith("show " + trace);
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_TRUE(contains(shown.out, "bk=16"));
}

TEST(Set, RefusesUnknownKnobsAndValues) {
  auto refused = [](const std::string &arguments, const std::string &message) {
    Ran ran = nestsmith(arguments);
    EXPECT_EQ(ran.code, 2) << arguments;
    EXPECT_TRUE(contains(ran.err + ran.out, message));
  };
  refused("show ladder/warps --set bk=12", "ladder/warps: the knob 'bk' is '12', expected one of 8, 16, 32");
  refused("show ladder/warps --set depth=8",
          "ladder/warps: the schedule has no knob 'depth', expected one of warps, lanes, bk");
  refused("show ladder/naive --set bk=8", "ladder/naive: the schedule has no knob 'bk'; it has no knobs");
  refused("show ladder/warps --set bk", "'bk' does not set a knob, expected NAME=VALUE, such as bk=16");
}

} // namespace
} // namespace nestsmith
