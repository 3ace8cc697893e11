/// Tests the results that `report` reuses between calls.

#include "tests/files.h"
#include "tests/tools/run_binary.h"
#include "tools/results/result_cache.h"
#include "tools/results/stored_results.h"

#include <gmock/gmock.h>
#include <thread>

namespace nestsmith {
namespace {

using cli::ResultCache;
using cli::Scheduled;
using test::nestsmith;
using test::Ran;
using test::TemporaryFolder;
using testing::HasSubstr;
using testing::Not;

/// Writes a page of the same rungs in each call, with a cache for this test.
struct Reuse : testing::Test {
  TemporaryFolder folder;
  const std::string rungs = "tiling/shared tensor/ldmatrix deep_dive/naive";

  std::string environment() const { return "NESTSMITH_CACHE=" + (folder / "cache").string(); }
  /// Returns the numbers of reused checks and analyses.
  std::pair<std::int64_t, std::int64_t> reused(const std::string &options,
                                               const std::string &binary = NESTSMITH_BINARY) {
    std::string command = "env " + environment() + " " + binary + " report " + options +
                          " --device sim --no-advice --json -o " + page() + " >" + (folder / "out").string() +
                          " 2>" + (folder / "err").string();
    EXPECT_EQ(std::system(command.c_str()), 0) << test::read_file(folder / "err");
    auto value = llvm::json::parse(test::read_file(folder / "out"));
    EXPECT_TRUE(static_cast<bool>(value));
    const llvm::json::Object &object = *value->getAsObject();
    return {*object.getInteger("checks_reused"), *object.getInteger("analyses_reused")};
  }
  std::pair<std::int64_t, std::int64_t> reused() { return reused(rungs + " --shape 64x64x64"); }
  std::string page() const { return (folder / "page.html").string(); }
  std::vector<std::filesystem::path> entries() const {
    std::vector<std::filesystem::path> found;
    for (const auto &entry : std::filesystem::directory_iterator(folder / "cache"))
      if (entry.path().extension() == ".result")
        found.push_back(entry.path());
    return found;
  }
};

using Numbers = std::pair<std::int64_t, std::int64_t>;
const Numbers nothing = {0, 0};

TEST_F(Reuse, TheSecondPageEqualsTheFirstAndIsMadeWithoutACheck) {
  EXPECT_EQ(reused(), nothing);
  const std::string first = test::read_file(page());
  auto [checks, analyses] = reused();
  EXPECT_EQ(checks, 3);
  EXPECT_EQ(analyses, 7) << "two of each rung, and one of tiling/naive";
  EXPECT_TRUE(test::read_file(page()) == first);

  Ran again =
      nestsmith("report " + rungs + " --shape 64x64x64 --device sim --no-advice -o " + page(), environment());
  EXPECT_THAT(again.out, HasSubstr("; 3 checks and 7 analyses reused\n"));
  EXPECT_THAT(again.err, HasSubstr("2 of 3: tensor/ldmatrix: run reused, explain …\n"));
  EXPECT_TRUE(test::read_file(page()) == first);

  Ran anew = nestsmith("report --no-cache " + rungs + " --shape 64x64x64 --device sim --no-advice -o " + page(),
                       environment());
  EXPECT_THAT(anew.out, Not(HasSubstr("reused")));
  EXPECT_THAT(anew.err, Not(HasSubstr("reused")));
  EXPECT_TRUE(test::read_file(page()) == first);
}

TEST_F(Reuse, AnotherShapeTypeGpuOrKnobIsAnotherResult) {
  const std::string rung = "fast/gemm", shape = " --shape 64x64x64";
  EXPECT_EQ(reused(rung + shape), nothing);
  EXPECT_EQ(reused(rung + " --shape 64x64x32"), nothing);
  EXPECT_EQ(reused(rung + shape + " --dtype u32"), nothing);
  EXPECT_EQ(reused(rung + shape + " --symbolic"), nothing);
  EXPECT_EQ(reused(rung + shape + " --arch sm_90"), nothing);
  EXPECT_EQ(reused(rung + shape + " --set bk=8"), nothing);
  EXPECT_EQ(reused(rung + shape + " --gpu H200").second, 0);
  EXPECT_EQ(reused(rung + shape).first, 1) << "the first one is still there";
}

TEST_F(Reuse, AnotherExecutableReusesNothing) {
  reused();
  const std::string other = (folder / "nestsmith").string();
  std::filesystem::copy_file(NESTSMITH_BINARY, other);
  EXPECT_EQ(reused(rungs + " --shape 64x64x64", other).first, 3) << "the name does not matter";
  std::ofstream(other, std::ios::app | std::ios::binary) << "changed";
  EXPECT_EQ(reused(rungs + " --shape 64x64x64", other), nothing);
}

TEST_F(Reuse, ADamagedEntryIsReplaced) {
  reused();
  const std::string first = test::read_file(page());
  for (const std::filesystem::path &entry : entries())
    std::filesystem::resize_file(entry, std::filesystem::file_size(entry) / 2);
  EXPECT_EQ(reused(), nothing);
  EXPECT_TRUE(test::read_file(page()) == first);
  EXPECT_EQ(reused().first, 3);

  DiskCache cache(folder / "cache", "result"); // the entries have a correct checksum
  for (const char *content :
       {"", "[", "{}", "[]", "[1]", "[true, 1]", "[true, -1, 7]", "[1, 1000000000000, 0]"}) {
    for (const std::filesystem::path &entry : entries())
      cache.put(entry.stem().string(), content);
    EXPECT_EQ(reused(), nothing) << content;
    EXPECT_TRUE(test::read_file(page()) == first) << content;
  }
  EXPECT_EQ(reused().first, 3);
}

TEST_F(Reuse, TheAdviceOfADamagedEntryIsMadeAgain) {
  const std::string command = "report tiling/shared --shape 32x32x32 --device sim -o " + page();
  EXPECT_EQ(nestsmith(command, environment()).code, 0);
  const std::string first = test::read_file(page());
  EXPECT_THAT(first, HasSubstr("class=\"advice\""));
  DiskCache cache(folder / "cache", "result"); // the entries have a correct checksum
  for (const char *content : {"", "{}", R"({"seconds": 1, "estimated": true, "tried": [{"en": "x"}]})"}) {
    for (const std::filesystem::path &entry : entries())
      cache.put(entry.stem().string(), content);
    EXPECT_EQ(nestsmith(command, environment()).code, 0);
    EXPECT_TRUE(test::read_file(page()) == first) << content;
  }
}

TEST_F(Reuse, AFolderThatCannotBeWrittenChangesNothing) {
  std::string command = "report " + rungs + " --shape 64x64x64 --device sim --no-advice -o " + page();
  reused();
  const std::string first = test::read_file(page());
  for (int n = 0; n < 2; ++n) {
    Ran ran = nestsmith(command, "NESTSMITH_CACHE=/proc/nothing");
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.out, Not(HasSubstr("reused")));
    EXPECT_TRUE(test::read_file(page()) == first);
  }
}

TEST_F(Reuse, ProcessesShareAFolder) {
  auto command = [&](const std::string &name) {
    return "report " + rungs + " --shape 64x64x64 --device sim --no-advice -o " + (folder / name).string();
  };
  Ran a, b;
  std::thread other([&] { a = nestsmith(command("a.html"), environment()); });
  b = nestsmith(command("b.html"), environment());
  other.join();
  EXPECT_EQ(a.code, 0) << a.err;
  EXPECT_EQ(b.code, 0) << b.err;
  EXPECT_TRUE(test::read_file(folder / "a.html") == test::read_file(folder / "b.html"));
  EXPECT_EQ(reused(), Numbers(3, 7));
  EXPECT_TRUE(test::read_file(page()) == test::read_file(folder / "a.html"));
}

/// `run` and `explain` must compute their results in each call, and store none.
TEST_F(Reuse, OtherCommandsStoreNothing) {
  std::filesystem::create_directory(folder / "cache");
  EXPECT_EQ(nestsmith("run tiling/naive --shape 8x8x8 --device sim", environment()).code, 0);
  EXPECT_EQ(nestsmith("explain tiling/naive --shape 8x8x8", environment()).code, 0);
  EXPECT_TRUE(entries().empty());
}

Scheduled scheduled_naive() {
  Knobs knobs;
  return schedule_at(cli::choose_rung(builtin_rungs(), "tiling/naive"), {8, 8, 8}, DType::f32, {}, knobs);
}

TEST(ResultCache, AFailedCheckIsMadeAgain) {
  TemporaryFolder folder;
  Scheduled scheduled = scheduled_naive();
  int made = 0;
  auto check = [&](CheckResult result) {
    ResultCache cache(folder.path());
    return cache.check(scheduled, scheduled.plan(), [&] {
      ++made;
      return result;
    });
  };
  RunResult good, wrong;
  good.passed = true;
  wrong.messages = {"a race"};
  for (int n = 1; n <= 2; ++n) {
    EXPECT_FALSE(check({false, {wrong}, {}}).passed);
    EXPECT_EQ(made, n);
  }
  EXPECT_TRUE(check({true, {good}, {}}).passed);
  EXPECT_TRUE(check({false, {wrong}, {}}).passed) << "the result of the earlier check";
  EXPECT_EQ(made, 3);
}

TEST(ResultCache, ARefusedAnalysisIsRefusedAgain) {
  TemporaryFolder folder;
  Knobs knobs;
  Scheduled scheduled = schedule_at(cli::choose_rung(builtin_rungs(), "tiling/naive"), {100000, 100000, 100000},
                                    DType::f32, {}, knobs);
  for (int n = 0; n < 2; ++n) {
    ResultCache cache(folder.path());
    EXPECT_THROW((void)cache.analyse(scheduled, scheduled.plan(), find_gpu("A100"), {}), UserError);
  }
  EXPECT_EQ(folder.files(), 0U);
}

TEST(StoredResults, AResultIsReadAsItWasWritten) {
  RunResult run;
  run.run = CheckRun::switched;
  run.label = "β = 0, \"C\" full of NaN";
  run.passed = true;
  run.max_error = 0.1;
  run.max_error_over_bound = 1e-300;
  run.where = {3, -1, std::numeric_limits<std::int64_t>::max()};
  run.without_bound = 4;
  run.messages = {"a\nb", ""};
  CheckResult check{true, {run, {}}, {{"integer mode", "too large"}}};
  const std::string text = cli::check_text(check).value();
  CheckResult read = cli::read_check(text).value();
  EXPECT_EQ(cli::check_text(read), text);
  ASSERT_EQ(read.runs.size(), 2U);
  EXPECT_EQ(read.runs[0].label, run.label);
  EXPECT_EQ(read.runs[0].max_error, 0.1);
  EXPECT_EQ(read.runs[0].where, run.where);
  EXPECT_EQ(read.runs[0].messages, run.messages);
  EXPECT_EQ(read.skipped[0].why, "too large");
  EXPECT_FALSE(cli::read_check(text.substr(0, text.size() - 1) + ",1]")) << "more than a result";
  EXPECT_FALSE(cli::read_figures(text)) << "another kind of result";

  check.runs[0].max_error = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(cli::check_text(check)) << "JSON has no infinity";
}

} // namespace
} // namespace nestsmith
