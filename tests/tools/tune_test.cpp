/// Tests knobs on the command line: `tune` and its database, and --set of the other commands.

#include "runtime/records/database.h"
#include "runtime/records/text.h"
#include "tests/tools/call_main.h"
#include "tests/tools/run_binary.h"
#include "tools/tune/time_left.h"

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
  EXPECT_FALSE(contains(ran.out, "estimated"));
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
  EXPECT_TRUE(contains(ran.out, "estimated"));
  EXPECT_TRUE(contains(ran.out, "bk=16, blocks=2, lanes=4x8, warps="));
  EXPECT_TRUE(
      contains(ran.out, "not measured, because --gpu or --arch names a GPU: this is the order of the model"));
  EXPECT_EQ(nestsmith(point + " --best 1 --seed 3 --trials 2").code, 0);
}

/// The schedule has several knobs. One of them is refused at every point.
TEST(Tune, SaysWhyAKnobIsRefused) {
  auto build = [](const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
    knobs.choose("threads", std::vector<std::int64_t>{128, 128});
    return test::axpy(shape, dtype, target);
  };
  Rung rung{"", "twice", "a candidate twice", build, {128}, {1000}, {1 << 20}};
  test::Called ran = test::call_main({"tune", "twice", "--gpu", "H100"}, {rung});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(contains(ran.err, "the knob 'threads' has a candidate twice: 128, 128")) << ran.err;
}

TEST(Tune, TakesAFractionOfAMinute) {
  std::string point = "tune ladder/warps --arch sm_80 --trials 1 --best 1 --shape 64x64x64 --minutes ";
  EXPECT_EQ(nestsmith(point + "0.7").code, 0);
  for (const char *wrong : {"0", "-1", "nan", "1e999", "x"}) {
    Ran ran = nestsmith(point + wrong);
    EXPECT_EQ(ran.code, 2) << wrong;
    EXPECT_TRUE(contains(ran.err, "option '--minutes' must be a number above 0, such as 0.5, got '"))
        << ran.err;
  }
}

TEST(Tune, RefusesATableThatItCannotMake) {
  auto refused = [](const std::string &arguments, int code, const std::string &message) {
    Ran ran = nestsmith("tune " + arguments, "CUDA_VISIBLE_DEVICES=");
    EXPECT_EQ(ran.code, code) << arguments;
    EXPECT_TRUE(contains(ran.err, message));
    EXPECT_EQ(ran.out, "");
  };
  refused("ladder/warps --table", 2,
          "'ladder/warps' states no points for a kernel table; set Rung::kernels (schedules/rung.h), or name a "
          "rung "
          "that has them, such as fast/gemm");
  refused("fast/best --table", 2,
          "'fast/best' takes its knobs from a table of records of 'fast/gemm'; tune that rung");
  refused(
      "fast/gemm --table", 4,
      "tune --table measures on a GPU, and there is none that can be used; `nestsmith doctor` says what "
      "was found; without a GPU, `tune RUNG --table --gpu NAME` compiles the kernels, and `tune RUNG` orders "
      "points by the model");
  refused("fast/gemm --table --gpu H200 -o t.json", 2,
          "--table with --gpu measures nothing, so that there is nothing to write; leave --output out, and "
          "repeat the command without --gpu on the GPU");
  for (const char *other : {"--shape 64", "--trials 5", "--sweep bk", "--space"})
    refused(std::string("fast/gemm --table ") + other, 2,
            "--table measures all points of the rung once, at sizes of its own, on the GPU of this machine; "
            "leave " +
                std::string(other).substr(0, std::string(other).find(' ')) + " out");
  refused("show --table", 2, "--table measures the points of a RUNG; leave it out of `tune show`");
  refused("show --trials 3", 2, "--trials is for the search of a RUNG; leave it out of `tune show`");
  refused("import a.json --seed 3", 2, "--seed is for the search of a RUNG; leave it out of `tune import`");
  refused("merge a.db --shape 64", 2,
          "--shape selects records or the shape of a search; leave it out of `tune merge`");
  refused("show --all", 2, "--all is for `tune export`; leave it out of `tune show`");
  refused("tiling/shared --all", 2, "--all is for `tune export`; leave it out of `tune RUNG`");
  refused("tiling/shared -o x.json", 2,
          "--output is for `tune export` and --table; leave it out of `tune RUNG`, whose results are in the "
          "database");
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

records::Record record(const std::string &bk, double ms, const std::string &shape = "512x512x512") {
  records::Record one;
  one.rung = "ladder/warps", one.knobs = {{"bk", bk}}, one.shape = shape, one.dtype = "f32";
  one.gpu = "NVIDIA H200", one.driver = "13.0", one.nvrtc = "13.1", one.launch = "back-to-back";
  one.lower_quartile_ms = one.median_ms = one.upper_quartile_ms = ms, one.samples = 15;
  one.peer_ms = 1, one.peer = "cuBLAS 13.0.2", one.operations = 1e9, one.trace = "{}";
  return one;
}

/// Fills the database a.db in the folder.
void fill(const test::TemporaryFolder &folder) {
  records::Record failed = record("32", 0);
  failed.outcome = records::Outcome::crashed, failed.message = "an illegal address";
  records::Database::open(folder / "a.db")
      .add({record("8", 2), record("16", 1.25), record("8", 4, "1024x1024x1024"), failed});
}

TEST(TuneRecords, AreShown) {
  test::TemporaryFolder folder;
  fill(folder);
  std::string db = " --db " + (folder / "a.db").string();
  Ran ran = nestsmith("tune show" + db);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(contains(ran.out, "ladder/warps  f32 1024x1024x1024  NVIDIA H200"));
  EXPECT_TRUE(test::matches(ran.out, "1 .* 1[.]25 .* 0[.]80 .* 0[.]800 .* bk=16"));
  EXPECT_TRUE(contains(ran.out, "bk=32: crashed: an illegal address"));
  EXPECT_TRUE(contains(ran.out, "ratio: the speed relative to cuBLAS 13.0.2 in the same turns"));
  EXPECT_FALSE(contains(nestsmith("tune show ladder/warps --shape 1024x1024x1024" + db).out, "512x"));
  EXPECT_EQ(parsed(nestsmith("tune show --json" + db)).getAsArray()->size(), 4U);
  Ran none = nestsmith("tune show ladder/naive" + db);
  EXPECT_EQ(none.code, 2);
  EXPECT_TRUE(contains(none.err, "has no record of 'ladder/naive'; run `nestsmith tune RUNG` first"));
  for (const char *command : {"show", "export", "model", "show ladder/warps"}) {
    Ran missing = nestsmith(std::string("tune ") + command + " --db " + (folder / "none.db").string());
    EXPECT_EQ(missing.code, 2) << command;
    EXPECT_TRUE(contains(missing.err,
                         "there is no database " + (folder / "none.db").string() +
                             "; `nestsmith tune RUNG` makes it, with measured times on a machine with a GPU "
                             "and with estimates on others, `nestsmith tune import FILE` makes it from the "
                             "text of `tune export`, and --db names another "
                             "file"));
    EXPECT_FALSE(std::filesystem::exists(folder / "none.db"));
    missing = nestsmith(std::string("tune ") + command, "-u XDG_DATA_HOME HOME=" + folder.string());
    EXPECT_EQ(missing.code, 2) << command;
    EXPECT_TRUE(contains(missing.err, "there is no database " + folder.string() +
                                          "/.local/share/nestsmith/tune.db; `nestsmith tune RUNG` makes it"));
  }
}

TEST(TuneRecords, OfAMachineWithoutAGpuAreEstimates) {
  test::TemporaryFolder folder;
  std::string db = " --db " + (folder / "a.db").string(),
              tune =
                  "tune ladder/warps --gpu H200 --shape 256x256x64 --set bk=16,lanes=4x8,blocks=2 --trials 3";
  Ran ran = nestsmith(tune + db);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(contains(ran.out, "stored as estimates in " + (folder / "a.db").string())) << ran.out;
  nestsmith(tune + db); // replaces the estimates
  const std::vector<records::Record> stored = records::Database::open(folder / "a.db").find();
  ASSERT_EQ(stored.size(), 3U);
  for (const records::Record &one : stored) {
    EXPECT_EQ(one.outcome, records::Outcome::estimated);
    EXPECT_EQ(one.gpu, "NVIDIA H200");
    EXPECT_GT(one.median_ms, 0);
  }
  ran = nestsmith("tune show" + db);
  EXPECT_TRUE(contains(ran.out, "no point was measured\n\n3 points estimated by the model of `explain`:"))
      << ran.out;
  EXPECT_FALSE(contains(ran.out, "failed")) << ran.out;
  EXPECT_TRUE(contains(nestsmith("tune model" + db).out, "3 estimates of the model itself are not compared"));
  ran = nestsmith("tune export" + db);
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(contains(
      ran.err, "has no measured record of this; `nestsmith tune RUNG` measures on a machine with a GPU"));
  EXPECT_TRUE(contains(nestsmith("tune show --gpu H200" + db).out, "3 points estimated"));
  const std::pair<const char *, const char *> others[] = {
      {"show --gpu H100", " on H100"},
      {"export --all --gpu H100", " on H100"},
      {"show --dtype f64", " in f64"},
      {"show ladder/warps --shape 1x2x3", " of 'ladder/warps' with the shape 1x2x3"}};
  for (const auto &[command, what] : others) {
    ran = nestsmith(std::string("tune ") + command + db);
    EXPECT_EQ(ran.code, 2) << command;
    EXPECT_TRUE(contains(ran.err, std::string("a.db has no record") + what +
                                      "; `nestsmith tune show` lists those that it has"))
        << ran.err;
  }
  for (const char *command : {"show", "show nosuch", "export"})
    EXPECT_TRUE(
        contains(nestsmith(std::string("tune ") + command + " --gpu nonsense" + db).err, "no GPU 'nonsense'"))
        << command;
  const std::string text = (folder / "all.json").string(), copy = (folder / "b.db").string();
  EXPECT_EQ(nestsmith("tune export --all" + db + " -o " + text).code, 0);
  EXPECT_EQ(nestsmith("tune import " + text + " --db " + copy).code, 0);
  EXPECT_EQ(records::Database::open(copy).find(), stored);
}

TEST(Tune, SaysHowLongASearchStillTakes) {
  EXPECT_EQ(cli::time_left_text(16, 100, 8, std::nullopt), "about 42 s left");
  EXPECT_EQ(cli::time_left_text(50, 200, 60, std::nullopt), "about 3 min left");
  EXPECT_EQ(cli::time_left_text(50, 200, 60, 90), "about 30 s left") << "--minutes ends it before";
  EXPECT_EQ(cli::time_left_text(200, 200, 60, std::nullopt), "about 0 s left");
  EXPECT_EQ(cli::time_left_text(0, 200, 1, 30), "about 29 s left");
}

TEST(TuneRecords, AreComparedWithTheModel) {
  test::TemporaryFolder folder;
  records::Record fast = record("16", 1), slow = record("8", 2), unknown = record("8", 2), all = record("8", 3);
  for (records::Record *one : {&fast, &slow, &unknown, &all})
    one->shape = "256x256x64";
  unknown.gpu = "GPU of tomorrow", all.symbolic = true;
  records::Database::open(folder / "a.db").add({fast, slow, unknown, all});
  std::string db = " --db " + (folder / "a.db").string();
  Ran ran = nestsmith("tune model" + db);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(test::matches(ran.out, "ladder/warps .* f32 256x256x64 .* NVIDIA H200 .* 2 "));
  EXPECT_TRUE(contains(ran.out, "GPU of tomorrow is not compared: `explain` has no figures of this GPU"));
  EXPECT_TRUE(contains(ran.out, "1 record of kernels for all shapes is not compared"));
  const llvm::json::Value list = parsed(nestsmith("tune model --json" + db));
  ASSERT_EQ(list.getAsArray()->size(), 1U);
  double correlation = *(*list.getAsArray())[0].getAsObject()->getNumber("rank_correlation");
  EXPECT_TRUE(correlation == -1 || correlation == 0 || correlation == 1) << correlation;
}

TEST(TuneRecords, AreExportedImportedAndMerged) {
  test::TemporaryFolder folder;
  fill(folder);
  auto path = [&](const char *file) { return (folder / file).string(); };
  Ran best = nestsmith("tune export --db " + path("a.db"));
  EXPECT_EQ(records::parse_records(best.out, "out").size(), 2U) << "the best of each shape";
  EXPECT_FALSE(contains(best.out, "\"trace\":\"{}\""));
  ASSERT_EQ(nestsmith("tune export --all --db " + path("a.db") + " -o " + path("all.json")).code, 0);
  Ran added = nestsmith("tune import " + path("all.json") + " --db " + path("b.db"));
  EXPECT_EQ(added.out, "4 records added to " + path("b.db") + "\n");
  EXPECT_EQ(records::Database::open(folder / "b.db").find(), records::Database::open(folder / "a.db").find());
  records::Database::open(folder / "c.db").add(record("64", 9));
  EXPECT_EQ(nestsmith("tune merge " + path("a.db") + " " + path("c.db") + " --db " + path("d.db")).code, 0);
  EXPECT_EQ(records::Database::open(folder / "d.db").find().size(), 5U);
  auto refused = [](const std::string &arguments, const std::string &message) {
    Ran ran = nestsmith(arguments);
    EXPECT_EQ(ran.code, 2) << arguments;
    EXPECT_TRUE(contains(ran.err, message));
  };
  refused("tune import --db " + path("b.db"), "tune import needs a FILE");
  refused("tune import " + path("none.json") + " --db " + path("b.db"), "cannot read");
  refused("tune merge " + path("all.json") + " --db " + path("b.db"), "file is not a database");
  Ran homeless = nestsmith("tune show", "-u HOME -u XDG_DATA_HOME");
  EXPECT_EQ(homeless.code, 2);
  EXPECT_TRUE(contains(homeless.err, "neither XDG_DATA_HOME nor HOME is set; name the database with --db"));
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
