/// Tests `tune --sweep`: the points, the table, the chart, and the words that say where the times come from.

#include "tools/tune/sweep.h"

#include "dsl/hardware/gpus.h"
#include "tests/tools/acting_child.h"
#include "tests/tools/call_main.h"
#include "tests/tools/run_binary.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace nestsmith::cli {
namespace {

using test::contains;
using test::matches;
using test::nestsmith;
using test::Ran;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Sweep, ShowsTheTimeAtEachValueOfAKnob) {
  const std::string command = "tune tiling/shared --sweep block_size --gpu A100 --shape 64x65x33";
  Ran ran = nestsmith(command);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(contains(ran.out, "tiling/shared  f32 64x65x33  NVIDIA A100"));
  EXPECT_TRUE(matches(ran.out, " block_size .* estimated .* time / default "));
  EXPECT_TRUE(matches(ran.out, "^ +8 .*s .*\n +16 .*s .*\n +32 .*s .* 1[.]00 .* default"));
  EXPECT_TRUE(contains(ran.out, "the least of these"));
  EXPECT_TRUE(contains(ran.out, "by the model of `explain`, not measured: --gpu"));
  const llvm::json::Value json = test::parsed(nestsmith(command + " --json"));
  const llvm::json::Object &root = *json.getAsObject();
  EXPECT_EQ(root.getBoolean("measured"), false);
  const llvm::json::Object &knob = *(*root.getArray("knobs"))[0].getAsObject();
  EXPECT_EQ(knob.getString("default"), llvm::StringRef("32"));
  ASSERT_EQ(root.getArray("points")->size(), 3U);
  for (const llvm::json::Value &point : *root.getArray("points"))
    EXPECT_GT(*point.getAsObject()->getNumber("seconds"), 0);
}

/// The time is that of `explain` with --set.
TEST(Sweep, HasTheEstimateOfEachSetting) {
  const std::string at = " --gpu A100 --shape 64x65x33 --json";
  const llvm::json::Value swept = test::parsed(nestsmith("tune tiling/naive --sweep block_size" + at)),
                          set = test::parsed(nestsmith("explain tiling/naive --set block_size=8" + at));
  const llvm::json::Object &eight = *(*swept.getAsObject()->getArray("points"))[0].getAsObject();
  EXPECT_EQ(eight.getObject("knobs")->getString("block_size"), llvm::StringRef("8"));
  EXPECT_EQ(*eight.getNumber("seconds"),
            *(*set.getAsObject()->getArray("kernels"))[0].getAsObject()->getNumber("estimated_seconds"));
}

/// A rung whose candidates depend on earlier choices.
Rung with_choices() {
  auto build = [](const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
    std::int64_t size = knobs.choose("size", {256, 64, 128});
    knobs.choose("width", size == 64 ? std::vector<std::int64_t>{4, 2} : std::vector<std::int64_t>{8, 4, 16});
    if (knobs.flag("async"))
      knobs.choose("stages", {3, 2, 4});
    return test::axpy(shape, dtype, target);
  };
  return {"", "mine", "choices", build, {128}, {1000}, {1 << 10}};
}

test::Called tuned(std::vector<std::string> words) {
  words.insert(words.begin(), {"tune", "mine", "--gpu", "H100"});
  return test::call_main(words, {with_choices()});
}

TEST(Sweep, OfTwoKnobsIsATable) {
  test::Called ran = tuned({"--sweep", "size,width"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(matches(ran.out, "^ +size .* width=2 .* width=4 .* width=8 .* width=16")) << ran.out;
  EXPECT_TRUE(matches(ran.out, "\n +64 .*s .*s │ +│")) << ran.out;
  EXPECT_TRUE(matches(ran.out, "\n +128 │ +│ .*s .*s .*s")) << ran.out;
  EXPECT_THAT(ran.out, HasSubstr("default is size=256, width=8"));
}

TEST(Sweep, FindsAKnobThatOnlySomeValuesHave) {
  test::Called ran = tuned({"--sweep", "async,stages"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(matches(ran.out, "\n +false │ +│ +│")) << ran.out;
  EXPECT_TRUE(matches(ran.out, "\n +true .*s .*s .*s")) << ran.out;
  ran = tuned({"--sweep", "stages"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("no knob 'stages' with these values of the others, which --set changes; "));
  EXPECT_EQ(tuned({"--sweep", "stages", "--set", "async=true"}).code, 0);
}

/// A value may change the default of a later knob.
TEST(Sweep, NamesTheOtherKnobsThatChange) {
  test::Called ran = tuned({"--sweep", "size"});
  EXPECT_TRUE(matches(ran.out, "\n +64 .* with width=4")) << ran.out;
  // A value of --set that does not fit is the reason why a point has no time.
  ran = tuned({"--sweep", "size", "--set", "width=8"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(matches(ran.out, "\n +64 │ +n/a")) << ran.out;
  EXPECT_THAT(ran.out, HasSubstr("n/a at size=64: mine: the knob 'width' is '8', expected one of 4, 2"));
}

TEST(Sweep, RefusesWhatItCannotVary) {
  auto refused = [](const std::string &arguments, const std::string &message) {
    Ran ran = nestsmith("tune " + arguments);
    EXPECT_EQ(ran.code, 2) << arguments;
    EXPECT_TRUE(contains(ran.err, message)) << ran.err;
  };
  refused("tiling/shared --sweep blocksize", "'tiling/shared' has no knob 'blocksize' with these values of the "
                                             "others, which --set changes; did you mean 'block_size'?");
  refused("ladder/naive --sweep bk", "'ladder/naive' has no knobs; a schedule function with choices");
  refused("fast/best --sweep bk", "'fast/best' takes its knobs from a table of records of 'fast/gemm'");
  refused("tiling/shared --sweep block_size,block_size", "must name one knob, or two different ones");
  refused("tiling/shared --sweep ,", "must name one knob, or two different ones");
  refused("tiling/shared --sweep block_size --set block_size=8", "the knob 'block_size' is swept, and --set");
  refused("tiling/shared --sweep block_size --trials 3", "all values of its knobs once; leave --trials out");
  refused("tiling/shared --chart x.svg", "--chart draws the times of --sweep");
  refused("show --sweep block_size", "leave it out of `tune show`");
}

TEST(Sweep, WritesAChart) {
  test::TemporaryFolder folder;
  std::string file = (folder / "t.svg").string();
  const std::string at = " --gpu A100 --shape 64x64x64 --chart " + file;
  auto count = [](const std::string &text, const std::string &part) {
    std::size_t found = 0;
    for (std::size_t p = text.find(part); p != std::string::npos; p = text.find(part, p + 1))
      ++found;
    return found;
  };
  ASSERT_EQ(nestsmith("tune tiling/shared --sweep block_size" + at).code, 0);
  std::string svg = test::read_file(file);
  EXPECT_EQ(count(svg, "<polyline"), 1U);
  EXPECT_EQ(count(svg, "<circle"), 3U);
  for (const char *part : {"tiling/shared  f32 64x64x64", ">block_size<", ">8<", ">32<",
                           "us, estimated for NVIDIA A100", "not measured"})
    EXPECT_THAT(svg, HasSubstr(part));
  ASSERT_EQ(tuned({"--sweep", "size,width", "--chart", file}).code, 0);
  svg = test::read_file(file);
  EXPECT_EQ(count(svg, "<polyline"), 4U);
  EXPECT_EQ(count(svg, "<circle"), 8U);
  EXPECT_THAT(svg, HasSubstr(">width=16<"));
}

/// A point of a user's rung that is refused.
TEST(Sweep, SaysWhyAPointIsRefused) {
  auto build = [](const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
    std::string order = knobs.choose("order", std::vector<std::string>{"j i", "i j"});
    std::int64_t threads = knobs.choose("threads", {128, 64});
    if (threads == 64 && order == "i j")
      throw UserError(ExitCode::usage, "no such order of 64 threads");
    return test::axpy(shape, dtype, target);
  };
  Rung rung{"", "mine", "a refusal", build, {128}, {1000}, {1 << 20}};
  test::Called ran = test::call_main({"tune", "mine", "--sweep", "threads,order", "--gpu", "H100"}, {rung});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("n/a at threads=64, order=i j: no such order of 64 threads"));
  EXPECT_THAT(ran.out, HasSubstr(" order=j i │ order=i j")) << "in the order of the schedule";
  ran = test::call_main({"tune", "mine", "--sweep", "threads", "--set", "order=k", "--gpu", "H100"}, {rung});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("the knob 'order' is 'k', expected one of j i, i j"));
}

/// A child process whose times are 32 ms / block_size. 16 gives a wrong result.
TEST(SweepChild, Acts) {
  test::answer_parent([](const llvm::json::Object &, const llvm::json::Value &point) {
    const int size = std::stoi(point.getAsObject()->getString("block_size")->str());
    return size == 16 ? R"({"outcome": "wrong", "message": "C[0] is 2"})"
                      : fmt::format(R"({{"outcome": "measured", "median_ms": {}}})", 32 / size);
  });
}

TEST(Sweep, ShowsMeasuredTimes) {
  auto start = [] { return test::start_test("SweepChild.Acts"); };
  Arguments arguments("tune", {}, {});
  Context context{builtin_rungs(), arguments, Style(Colour::never)};
  ChosenRung choice = choose_rung(builtin_rungs(), "tiling/shared");
  choice.default_shape = {64, 64, 64};
  Tuning tuning(context, choice, choice.default_shape, DType::f32, {find_gpu("H200"), ""}, {});
  Sweep sweep = swept(context, tuning, "block_size");
  TuneMeasurer measurer(start, 5);
  test::TemporaryFolder folder;
  records::Database database = records::Database::open(folder / "a.db");
  measure(tuning, sweep, measurer, &database);
  EXPECT_EQ(sweep.source, "measured on NVIDIA H200, launches back to back, warm L2");
  ASSERT_EQ(sweep.points.size(), 3U);
  EXPECT_EQ(sweep.points[0].seconds, 4e-3);
  EXPECT_EQ(sweep.points[1].why, "wrong: C[0] is 2");
  EXPECT_TRUE(sweep.points[1].wrong);
  EXPECT_EQ(sweep.points[2].seconds, 1e-3);
  std::string text = sweep_text(sweep, Style(Colour::never));
  EXPECT_TRUE(matches(text, " block_size │ measured "));
  EXPECT_TRUE(matches(text, "\n +8 │ +4 ms │ +4[.]00 "));
  EXPECT_TRUE(contains(text, "n/a at block_size=16: wrong: C[0] is 2"));
  EXPECT_EQ(database.find({.rung = "tiling/shared", .shape = "64x64x64", .dtype = "f32", .gpu = ""}).size(),
            3U);
  EXPECT_THAT(sweep_chart(sweep, "a"), HasSubstr("ms, measured on NVIDIA H200, launches back to back"));
}

} // namespace
} // namespace nestsmith::cli
