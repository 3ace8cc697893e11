/// Tests the command `report`: its files, its errors, and pages about rungs of a user.

#include "runtime/model/analyse.h"
#include "tests/files.h"
#include "tests/tools/call_main.h"
#include "tests/tools/run_binary.h"
#include "tools/pages/findings.h"
#include "tools/pages/sections.h"
#include "tools/pages/source_machine.h"

#include <gmock/gmock.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/JSON.h>

namespace nestsmith {
namespace {

using cli::report::Language;
using cli::report::Page;
using cli::report::PageRung;
using cli::report::write_index;
using test::call_main;
using test::Called;
using test::contains;
using test::nestsmith;
using test::Ran;
using test::TemporaryFolder;
using testing::HasSubstr;
using testing::Not;

const std::vector<Rung> own = {{"", "axpy", "one element per thread", test::axpy, {128}, {1000}, {1000}}};

/// The message of this assertion does not contain the page, which is too long.
testing::AssertionResult has(const std::string &page, const std::string &part) {
  bool found = page.find(part) != std::string::npos;
  return (found ? testing::AssertionSuccess() : testing::AssertionFailure())
         << "'" << part << "' is " << (found ? "" : "not ") << "in the page";
}

TEST(Report, WritesOneFileThatNeedsNoOther) {
  TemporaryFolder folder;
  std::string path = (folder / "page.html").string();
  Ran ran = nestsmith("report tiling --shape 40x40x40 --device sim -o " + path);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(contains(ran.out, path + ": 2 rungs, "));
  EXPECT_TRUE(contains(ran.err, "1 of 2: tiling/naive: run …\n"));
  std::string page = test::read_file(path);
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>\n<html lang=\"en\">"));
  EXPECT_TRUE(has(page, "default-src &#39;none&#39;"));
  const std::string svg = "http://www.w3.org/2000/svg"; // a namespace, which no browser requests
  for (std::size_t at = page.find(svg); at != std::string::npos; at = page.find(svg))
    page.erase(at, svg.size());
  for (const char *outside : {"src=", "url(", "@import", "style=\"", "onclick", "http://", "https://"})
    EXPECT_FALSE(has(page, outside));
  EXPECT_EQ(folder.files(), 1U);
}

TEST(Report, HasTheTableOfRunAndTheWordsOfExplain) {
  TemporaryFolder folder;
  std::string path = (folder / "page.html").string();
  ASSERT_EQ(nestsmith("report deep_dive/naive deep_dive/coalesced --gpu A100 --shape 64x64x64 --device sim "
                      "--no-advice -o " +
                      path)
                .code,
            0);
  std::string page = test::read_file(path);
  for (const char *rung : {"deep_dive/naive", "deep_dive/coalesced"}) {
    const auto explained =
        test::parsed(nestsmith(std::string("explain ") + rung + " --gpu A100 --shape 64x64x64 --json"));
    EXPECT_TRUE(has(page, explained.getAsObject()->getString("in_words")->str())) << rung;
    EXPECT_TRUE(has(page, "Published for another GPU, and so not drawn above: GEMM deep dive"));
  }
  const auto compared =
      test::parsed(nestsmith("compare deep_dive/naive deep_dive/coalesced --gpu A100 --shape 64x64x64 --json"));
  EXPECT_TRUE(has(page, compared.getAsObject()->getString("in_words")->str()));
}

TEST(Report, AKoreanPageHasKoreanReasons) {
  TemporaryFolder folder;
  std::string path = (folder / "page.html").string();
  ASSERT_EQ(nestsmith("report ladder/naive ladder/coalesced --gpu A100 --shape 64x64x64 --device sim "
                      "--no-advice --lang ko -o " +
                      path)
                .code,
            0);
  std::string page = test::read_file(path);
  EXPECT_TRUE(has(page, "ladder/naive보다 "));
  EXPECT_TRUE(has(page, "<p>이 스케줄은 A100에서 적어도 "));
  EXPECT_TRUE(has(page, "(제한 요인: "));
  for (const char *english :
       {"The schedule takes", "The least time", "The limiter", "In the schedule and", "than ladder"})
    EXPECT_FALSE(has(page, english));
}

/// The change and its gain, in the language of the page.
TEST(Report, HasTheAdviceOfExplain) {
  TemporaryFolder folder;
  std::string path = (folder / "page.html").string();
  const std::string at = " --gpu A100 --shape 128x128x128";
  const auto explained = test::parsed(nestsmith("explain principles/transposed" + at + " --json"));
  const std::string change = explained.getAsObject()->getObject("advice")->getString("change")->str();
  auto page = [&](const std::string &options) {
    EXPECT_EQ(nestsmith("report principles/transposed" + at + " --device sim -o " + path + options).code, 0);
    return test::read_file(path);
  };
  const std::string first = page("");
  EXPECT_TRUE(has(first, "<p class=\"advice\">To improve: " + change + ": "));
  EXPECT_TRUE(first == page("")) << "the advice of the earlier call is used again";
  std::string korean = page(" --lang ko");
  EXPECT_TRUE(has(korean, "<p class=\"advice\">개선 방법: B_shared"));
  EXPECT_TRUE(has(korean, "배 줄어듭니다."));
  EXPECT_FALSE(has(korean, "To improve"));
  EXPECT_FALSE(has(page(" --no-advice"), "class=\"advice\""));
}

/// `explain` makes the same comparison. The other rung is not on the page.
TEST(Report, OneRungIsComparedWithTheOneBeforeInTheTutorial) {
  TemporaryFolder folder;
  std::string path = (folder / "page.html").string();
  ASSERT_EQ(
      nestsmith("report deep_dive/shared --gpu H200 --shape 64x64x64 --device sim --no-advice -o " + path).code,
      0);
  std::string page = test::read_file(path);
  const auto explained = test::parsed(nestsmith("explain deep_dive/shared --gpu H200 --shape 64x64x64 --json"));
  EXPECT_TRUE(has(page, explained.getAsObject()->getString("step_in_words")->str()));
  EXPECT_FALSE(has(page, "Differences from"));
  EXPECT_TRUE(has(page, "<caption>on the simulator, as H200 would run it (sm_90a)</caption>"));
}

TEST(Report, IsRefusedAsOtherCommandsAre) {
  EXPECT_THAT(nestsmith("report tiling").err,
              HasSubstr("'report' writes a file; name it, as in -o report.html"));
  Ran unknown = nestsmith("report tilling -o x.html");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err,
              HasSubstr("unknown rung 'tilling'; `nestsmith list` shows them; did you mean 'tiling'"));
  Ran unwritable = nestsmith("report tiling -o /no/such/folder/x.html");
  EXPECT_EQ(unwritable.code, 2);
  EXPECT_EQ(
      unwritable.err,
      "nestsmith: cannot write '/no/such/folder/x.html': No such file or directory; nothing was written\n")
      << "before the rungs are run";
  EXPECT_THAT(nestsmith("report tiling --lang fr -o x.html").err,
              HasSubstr("must be one of 'en' or 'ko', got 'fr'"));
  EXPECT_THAT(nestsmith("report tiling --against ladder/naive -o x.html").err,
              HasSubstr("'tiling' is a tutorial"));
  EXPECT_THAT(nestsmith("report ladder/naive ladder/shared --against ladder/naive -o x.html").err,
              HasSubstr("expected 1 rung beside it, got 2"));
  EXPECT_THAT(nestsmith("report tiling --site x").err, HasSubstr("name no rung"));
  EXPECT_THAT(nestsmith("report --site ''").err, HasSubstr("option '--site' needs a folder's path, got ''"));
}

TEST(Report, JsonNamesTheFile) {
  TemporaryFolder folder;
  std::string path = (folder / "page.html").string();
  const auto value =
      test::parsed(nestsmith("report tiling/naive --shape 8x8x8 --device sim --json -o " + path));
  EXPECT_EQ(value.getAsObject()->getString("file")->str(), path);
  EXPECT_EQ(value.getAsObject()->getInteger("bytes"),
            static_cast<std::int64_t>(std::filesystem::file_size(path)));
  EXPECT_EQ(value.getAsObject()->getBoolean("passed"), true);
}

TEST(Report, ServesARungOfAUser) {
  TemporaryFolder folder;
  std::string path = (folder / "mine.html").string();
  Called called = call_main({"report", "-o", path, "--device", "sim"}, own);
  EXPECT_EQ(called.code, 0) << called.err;
  std::string page = test::read_file(path);
  EXPECT_TRUE(has(page, "<h1 lang=\"en\" class=\"names\">axpy</h1>"));
  EXPECT_TRUE(has(page, "one element per thread"));
  EXPECT_TRUE(has(page, "f32 1000"));
}

TEST(Report, ServesATraceFileAgainstARung) {
  TemporaryFolder folder;
  std::string trace = (folder / "mine.json").string(), path = (folder / "page.html").string();
  ASSERT_EQ(nestsmith("show deep_dive/tile1d --shape 48x40x32 --trace json -o " + trace).code, 0);
  Ran ran = nestsmith("report " + trace + " --against deep_dive/shared --device sim -o " + path);
  EXPECT_EQ(ran.code, 0) << ran.err;
  std::string page = test::read_file(path);
  EXPECT_TRUE(has(page, "deep_dive/shared</h3><p>"));
  EXPECT_TRUE(has(page, "Differences from deep_dive/shared"));
  EXPECT_TRUE(has(page, "<ins class=\"line\">auto [i_0, i_1, i_2] = s.split(i, {infer, 8, 8});</ins>"));
  EXPECT_TRUE(has(page, "f32 48x40x32")) << "the shape of the trace, for both";
  EXPECT_FALSE(has(page, "1024x1024"));

  const std::string before = test::read_file(trace);
  Ran onto = nestsmith("report deep_dive/naive " + trace + " -o " + trace);
  EXPECT_EQ(onto.code, 2);
  EXPECT_EQ(onto.err,
            "nestsmith: the page would replace the trace '" + trace + "'; name another file with -o\n");
  EXPECT_EQ(test::read_file(trace), before);
}

/// Binds a loop twice, which is refused.
Schedule refused(const Shape &shape, DType dtype, const Target &target) {
  Schedule s = test::axpy(shape, dtype, target);
  s.bind(s.loop("i_inner"), Axis::thread_x);
  return s;
}

TEST(Report, ARefusedRungShowsTheRefusal) {
  TemporaryFolder folder;
  std::string path = (folder / "page.html").string();
  std::vector<Rung> rungs = own;
  rungs.push_back({"", "refused", "binds a loop twice", refused, {128}, {1000}, {1000}});
  Called called = call_main({"report", "-o", path, "--device", "sim"}, rungs);
  EXPECT_EQ(called.code, 3) << called.err;
  std::string page = test::read_file(path);
  Called run = call_main({"run", "refused", "--device", "sim", "--json"}, rungs);
  auto row = llvm::json::parse(run.out.substr(0, run.out.find('\n')));
  ASSERT_TRUE(static_cast<bool>(row)) << run.out;
  std::string message = (*row->getAsObject()->getArray("messages"))[0].getAsString()->str();
  EXPECT_TRUE(has(page, "<h3>Refused</h3><p>" + cli::report::Html(message).markup() + "</p></div>"));
  EXPECT_TRUE(has(page, "^^^")) << "the marked program";
  EXPECT_TRUE(has(page, "id=\"steps-1\"")) << "the other rung";
  EXPECT_TRUE(has(page, "id=\"steps-2\"")) << "the directives before the refused one";
  EXPECT_TRUE(
      has(page, "<code>s.bind(i_inner, Axis::thread_x);</code> <span class=\"verdict bad\">Refused</span>"));

  rungs.push_back({"", "last", "after it", test::axpy, {128}, {1000}, {1000}});
  EXPECT_EQ(call_main({"report", "-o", path, "--device", "sim"}, rungs).code, 3);
  EXPECT_TRUE(has(test::read_file(path), "compared with axpy</h3>")) << "the refused rung is passed over";

  Called alone = call_main({"report", "refused", "-o", path, "--device", "sim"}, rungs);
  EXPECT_EQ(alone.code, 3);
  EXPECT_TRUE(has(test::read_file(path), "<h3>Refused</h3>"));
}

/// The second directive of the trace names a loop that does not exist.
TEST(Report, ATraceFileShowsTheStepsBeforeItsRefusal) {
  TemporaryFolder folder;
  std::string trace = (folder / "mine.json").string(), path = (folder / "page.html").string();
  ASSERT_EQ(nestsmith("show deep_dive/naive --shape 64x64x64 --trace json -o " + trace).code, 0);
  llvm::json::Value file = *llvm::json::parse(test::read_file(trace));
  using llvm::json::Object;
  (*file.getAsObject()->getArray("directives"))[1] =
      Object{{"op", "unroll"}, {"args", llvm::json::Array{Object{{"loop", "nowhere"}}}}};
  test::write_file(trace, llvm::formatv("{0}", file).str());
  Ran ran = nestsmith("report " + trace + " --device sim -o " + path);
  EXPECT_EQ(ran.code, 3) << ran.err;
  std::string page = test::read_file(path);
  EXPECT_TRUE(
      has(page, "<h3>Refused</h3><p>s.unroll(nowhere): there is no loop &#39;nowhere&#39;; the loops are "));
  EXPECT_TRUE(has(page, "<span class=\"count\">2 / 2</span> <code>s.unroll(nowhere);</code> "));
}

TEST(Report, ATutorialLinksToItsSource) {
  TemporaryFolder folder;
  std::string path = (folder / "page.html").string();
  auto page = [&](const std::string &url) {
    Tutorial tutorial{"", "mine", "us", "axpy", "", url};
    EXPECT_EQ(call_main({"report", "-o", path, "--device", "sim"}, own, {tutorial}).code, 0);
    return test::read_file(path);
  };
  EXPECT_TRUE(has(page("https://x.org/\"a"), "<span>us</span>: <a href=\"https://x.org/&quot;a\" "
                                             "rel=\"noreferrer noopener\" class=\"url\">x.org/&quot;a</a>"));
  EXPECT_TRUE(has(page("javascript:alert(1)"), "<span>us</span>: javascript:alert(1)</dd>")) << "no link";
  for (const Tutorial &tutorial : builtin_tutorials())
    EXPECT_TRUE(tutorial.url.empty() || tutorial.url.starts_with("https://")) << tutorial.name;
}

TEST(Report, AWrongRungShowsTheReport) {
  Page page;
  page.gpu.gpu = gpus().front();
  page.table = {{"rung", "verdict"}, {{"broken", "FAILED"}}};
  PageRung &rung = page.rungs.emplace_back();
  rung.name = "broken";
  rung.planned.shape = {8, 8, 8};
  rung.climbed.code = ExitCode::wrong_result;
  rung.climbed.check.passed = false;
  RunResult run;
  run.passed = false;
  run.messages = {"C[0, 1]: got 5, expected <7>"};
  rung.climbed.check.runs.push_back(run);
  std::string text = write_page(page, Language::en);
  EXPECT_TRUE(has(text, "<h3>Wrong result</h3>"));
  EXPECT_TRUE(has(text, "C[0, 1]: got 5, expected &lt;7&gt;"));
  EXPECT_TRUE(has(text, "<span class=\"verdict bad\">FAILED</span>"));
  EXPECT_TRUE(has(write_page(page, Language::ko), "<h3>잘못된 결과</h3>"));
}

/// On a GPU, rates are measured, and cuBLAS has a row.
TEST(Report, AMeasuredClimbIsComparedWithCublas) {
  Page page;
  page.measured = true;
  page.where = "on NVIDIA H200";
  page.cublas_name = "cuBLAS 13.0.2, default";
  page.gpu.gpu = gpus().front();
  page.table = {{"rung", "GFLOP/s"}, {{"mine", "2000"}, {"cuBLAS 13.0.2, default", "4000"}}};
  PageRung &rung = page.rungs.emplace_back();
  rung.name = "mine";
  rung.climbed.name = "mine";
  rung.climbed.operations = 2e9;
  rung.climbed.ms = cuda::spread_of({1});
  rung.climbed.cublas_ms = 0.5;
  std::string text = write_page(page, Language::en);
  EXPECT_TRUE(has(text, "<span>2 TFLOP/s</span>"));
  EXPECT_TRUE(has(text, "<rect class=\"measured\" width=\"50%\""));
  EXPECT_TRUE(has(text, "<line x1=\"100%\" x2=\"100%\" y1=\"0\" y2=\"22\" class=\"cublas\">"));
  EXPECT_TRUE(has(text, "measured on NVIDIA H200"));
  EXPECT_TRUE(has(text, "cuBLAS 13.0.2, default: 4 TFLOP/s"));
  EXPECT_FALSE(has(text, "at most"));
}

/// A product with a transposed operand has its own time of cuBLAS.
TEST(Report, EachMeasuredRungIsComparedWithItsOwnProductOfCublas) {
  Page page;
  page.measured = true;
  page.cublas_name = "cuBLAS 13.0.2, default";
  page.gpu.gpu = gpus().front();
  auto add = [&](const char *name, double ms, std::optional<double> cublas_ms) -> PageRung & {
    PageRung &rung = page.rungs.emplace_back();
    rung.name = name;
    rung.climbed.operations = 2e9;
    rung.climbed.ms = cuda::spread_of({ms});
    rung.climbed.cublas_ms = cublas_ms;
    return rung;
  };
  add("plain", 2, 0.5);
  add("transposed", 1, 1);
  add("of integers", 4, std::nullopt);
  add("broken", 0.1, 0.5).climbed.code = ExitCode::wrong_result;
  std::string text = write_page(page, Language::en);
  EXPECT_TRUE(has(text, "plain: 1 TFLOP/s; cuBLAS 13.0.2, default: 4 TFLOP/s</title>"));
  EXPECT_TRUE(has(text, "transposed: 2 TFLOP/s; cuBLAS 13.0.2, default: 2 TFLOP/s</title>"));
  EXPECT_TRUE(has(text, "of integers: 500 GFLOP/s</title>"));
  EXPECT_TRUE(has(text, "broken: –; cuBLAS")) << "a wrong result has no rate";
  EXPECT_TRUE(has(text, "cuBLAS 13.0.2, default: 2 TFLOP/s – 4 TFLOP/s")) << "the legend";
  EXPECT_TRUE(has(text, "<line x1=\"50%\" x2=\"50%\" y1=\"0\" y2=\"22\" class=\"cublas\">"));
}

TEST(Report, ARateOfAnotherGpuIsNotUnderTheRoof) {
  Page page;
  page.measured = page.same_gpu = true;
  page.gpu.gpu = gpus().front();
  PageRung &rung = page.rungs.emplace_back();
  Knobs knobs;
  cli::Scheduled scheduled =
      schedule_at(cli::choose_rung(builtin_rungs(), "tiling/shared"), {64, 64, 64}, DType::f32, {}, knobs);
  PlanAnalysis analysis = analyse(scheduled.source(), scheduled.plan(), page.gpu.gpu, {});
  rung.model = cli::Analysed{std::move(scheduled), std::move(analysis), ""};
  rung.climbed.operations = 2 * 64 * 64 * 64;
  rung.climbed.ms = cuda::spread_of({1});
  const std::string measured = cli::report::rate_text(rung.climbed.gflops() * 1e9),
                    bound = "at most " + cli::report::rate_text(cli::report::rate_at_least_time(rung));
  std::string text = roofline_section(page, Language::en).markup();
  EXPECT_TRUE(has(text, "<td>" + measured + "</td>"));
  EXPECT_FALSE(has(text, "at most"));
  page.same_gpu = false;
  text = roofline_section(page, Language::en).markup();
  EXPECT_TRUE(has(text, "<td>" + bound + "</td>"));
  EXPECT_FALSE(has(text, measured));
  EXPECT_TRUE(has(climb_section(page, Language::en).markup(), "<span>" + measured + "</span>"));
}

/// The figures of a post are on the axis of a chart for its GPU and its shape only.
TEST(Report, PublishedFiguresAreDrawnForTheirGpuAndShapeOnly) {
  auto climb = [](const char *gpu, std::int64_t edge) {
    Page page;
    page.gpu.gpu = find_gpu(gpu);
    page.published = {published("deep_dive")};
    PageRung &rung = page.rungs.emplace_back();
    rung.name = "deep_dive/coalesced";
    rung.published = page.published.front()->find("coalesced");
    rung.planned.shape = Shape(3, edge);
    rung.climbed.code = ExitCode::wrong_result; // it has no rate
    return climb_section(page, Language::en).markup();
  };
  const std::string own_gpu = climb("RTX 5090", 1024);
  EXPECT_TRUE(has(own_gpu, "; published: 4.15 TFLOP/s</title>"));
  EXPECT_TRUE(has(own_gpu, "All published figures: GEMM deep dive"));
  for (const std::string &other : {climb("A100", 1024), climb("RTX 5090", 2048)}) {
    EXPECT_FALSE(has(other, "class=\"mark\""));
    EXPECT_FALSE(has(other, "cublas published"));
    EXPECT_TRUE(has(other, "4.15 TFLOP/s (1024)")) << "with their shape";
  }
  EXPECT_TRUE(has(climb("A100", 1024), "Published for another GPU, and so not drawn above: GEMM deep dive"));
}

TEST(Report, APageHasTheGpuOfItsSource) {
  TemporaryFolder folder;
  std::string path = (folder / "page.html").string();
  ASSERT_EQ(nestsmith("report worklog/2 --shape 64x64x64 --device sim --no-advice -o " + path).code, 0);
  std::string page = test::read_file(path);
  EXPECT_TRUE(has(page, "NVIDIA RTX A6000 (sm_86); the GPU of the source; select another with --gpu"));
  EXPECT_TRUE(has(page, "<caption>on the simulator, as RTX A6000 would run it (sm_86)</caption>"));
  EXPECT_FALSE(has(page, "Published for another GPU"));
  EXPECT_FALSE(has(page, "checked on the simulator for"));
}

/// The simulator checks a smaller shape than the page shows: the page names both.
TEST(Report, APageHasOneShape) {
  Page page;
  page.gpu.gpu = gpus().front();
  PageRung &rung = page.rungs.emplace_back();
  rung.name = "tiling/shared";
  rung.planned.shape = {32, 32, 32};
  Knobs knobs;
  cli::Scheduled scheduled =
      schedule_at(cli::choose_rung(builtin_rungs(), "tiling/shared"), {64, 64, 64}, DType::f32, {}, knobs);
  PlanAnalysis analysis = analyse(scheduled.source(), scheduled.plan(), page.gpu.gpu, {});
  rung.model = cli::Analysed{std::move(scheduled), std::move(analysis), ""};
  rung.steps = cli::report::steps_of(rung.shown()->schedule);
  std::string text = write_page(page, Language::en);
  EXPECT_TRUE(has(text, "checked on the simulator for f32 32x32x32; all other figures are for f32 64x64x64"));
  EXPECT_TRUE(has(text, "<h3>f32 64x64x64</h3>")) << "the climb";
  EXPECT_TRUE(has(text, "Pictures of data: f32 64x64x64"));
  EXPECT_TRUE(has(text, "f32 64x64x64</p>")) << "the heading";
  page.measured = true;
  EXPECT_EQ(checked_note(page, rung), "");
}

TEST(Report, TheMachinesOfTheSourcesAreListedGpus) {
  for (const Tutorial &tutorial : builtin_tutorials()) {
    const SourceMachine *source = source_machine(tutorial.name);
    const std::string gpu = source ? source->gpu : "";
    EXPECT_TRUE(gpu.empty() || find_gpu(gpu).name == gpu) << tutorial.name;
  }
  EXPECT_EQ(source_machine("ladder"), nullptr);
}

TEST(Report, EqualNamesHaveDifferentAddresses) {
  Page page;
  for (const char *name : {"my trace.json", "a/b", "my trace.json"})
    page.rungs.emplace_back().name = name;
  EXPECT_EQ(address(page, 0), "my_trace.json");
  EXPECT_EQ(address(page, 1), "a/b");
  EXPECT_EQ(address(page, 2), "my_trace.json~2");
}

TEST(Site, HasAPageForEachTutorialAndAnIndex) {
  TemporaryFolder folder;
  std::vector<Rung> rungs = own;
  rungs.push_back({"../up", "again", "the same", test::axpy, {128}, {1000}, {1000}});
  Called called = call_main({"report", "--site", folder.string() + "/site", "--device", "sim"}, rungs);
  EXPECT_EQ(called.code, 0) << called.err;
  std::string index = test::read_file(folder / "site/index.html");
  EXPECT_TRUE(has(index, "href=\"rungs.html\""));
  EXPECT_TRUE(has(index, "not measured: an upper bound"));
  EXPECT_TRUE(has(index, "href=\"___up.html\""));
  EXPECT_TRUE(has(test::read_file(folder / "site/rungs.html"), "<a href=\"index.html\">The tutorials</a>"));
  EXPECT_TRUE(std::filesystem::exists(folder / "site/___up.html"));
  EXPECT_EQ(folder.files(), 1U);
}

/// A page about tiling/shared, with a record of this GPU, which may be that of the page.
Page page_with_record(const std::string &gpu) {
  Page page;
  page.title = "the ladder";
  page.gpu.gpu = find_gpu("H200");
  PageRung &rung = page.rungs.emplace_back();
  rung.name = "tiling/shared";
  Knobs knobs;
  cli::Scheduled scheduled =
      schedule_at(cli::choose_rung(builtin_rungs(), rung.name), {64, 64, 64}, DType::f32, {}, knobs);
  PlanAnalysis analysis = analyse(scheduled.source(), scheduled.plan(), page.gpu.gpu, {});
  cli::MeasuredRecord measured{{}, true};
  measured.record.gpu = find_gpu(gpu).product, measured.record.rung = rung.name;
  measured.record.median_ms = 1, measured.record.measured_at = "2026-11-23T20:00:36Z";
  cli::MeasuredTimes times;
  if (gpu == "H200")
    times.here = measured;
  else
    times.elsewhere = {measured};
  rung.model = cli::Analysed{std::move(scheduled), std::move(analysis), "", times};
  rung.steps = cli::report::steps_of(rung.shown()->schedule);
  return page;
}

/// Each bar leads to its rung. A rate that was not measured is drawn as a bound, with the record below it.
TEST(Site, TheIndexDrawsTheClimb) {
  Page page = page_with_record("H200"), bound = page_with_record("A100");
  bound.rungs.front().model->measured = {};
  std::string index = write_index({site_page(bound, "tiling.html", Language::en)}, Language::en);
  EXPECT_TRUE(has(index, "<a href=\"tiling.html#tiling/shared\">"));
  EXPECT_TRUE(has(index, "<rect class=\"modelled\" width=\"100%\""));
  EXPECT_FALSE(has(index, "class=\"measured\""));
  EXPECT_FALSE(has(index, "lint")) << "the tutorials of a user";
  index =
      write_index({site_page(bound, "bound.html", Language::en), site_page(page, "tiling.html", Language::en)},
                  Language::en);
  EXPECT_TRUE(has(index, "<a href=\"tiling.html#tiling/shared\">")) << "the first one that was measured";
  EXPECT_FALSE(has(index, "<a href=\"bound.html#tiling/shared\">"));
  EXPECT_TRUE(has(index, "<rect class=\"measured\""));
  EXPECT_TRUE(has(index, "0.524 GFLOP/s (measured on NVIDIA H200, 2026-11-23)"));
  index = write_index({site_page(page_with_record("A100"), "tiling.html", Language::en)}, Language::en);
  EXPECT_TRUE(has(index, "<h3>f32 64x64x64, " + find_gpu("A100").product + "</h3>"));
}

/// A title is no part of a sentence.
TEST(Site, ATitleBeginsWithACapitalOrFollowsAColon) {
  Page page = page_with_record("H200");
  page.tutorial = Tutorial{"mine", "from one thread to many", "us", "axpy"};
  std::string file = write_page(page, Language::en);
  EXPECT_TRUE(has(file, "<title>From one thread to many · nestsmith</title>"));
  EXPECT_TRUE(has(file, "<h1 lang=\"en\" class=\"title\">From one thread to many</h1>"));
  for (Language language : {Language::en, Language::ko}) {
    std::string index = write_index({site_page(page, "mine.html", language)}, language);
    EXPECT_TRUE(has(index, ": From one thread to many</h2>"));
  }
  page.tutorial.reset();
  EXPECT_EQ(headline(page), "the ladder") << "names of rungs and files stay as they are";
}

TEST(Site, TheIndexOfNestsmithLeadsToItsFindings) {
  cli::report::Findings found;
  found.mistakes.push_back({mistakes().front(), {LintVerdict::refused, {"<why>"}, ""}});
  found.figures.push_back({"tiling", "bytes", 12, 11, 11});
  for (Language language : {Language::en, Language::ko}) {
    std::string index = write_index({}, language, &found);
    EXPECT_TRUE(has(index, "./run.sh"));
    EXPECT_TRUE(has(index, "<a href=\"mistakes.html\">"));
    EXPECT_TRUE(has(index, "<a href=\"figures.html\">"));
    const std::string &tutorial = mistakes().front().tutorial, name = mistakes().front().full_name();
    std::string page = write_mistakes(found, language);
    EXPECT_TRUE(has(page, "<section id=\"" + tutorial + "\""));
    EXPECT_TRUE(has(page, "<a id=\"" + name + "\" class=\"address\" href=\"#" + name + "\">"));
    EXPECT_TRUE(has(page, "<code>&lt;why&gt;</code>"));
    EXPECT_TRUE(has(page, "href=\"index.html\""));
    EXPECT_EQ(links_of(found, tutorial).mistakes, "mistakes.html#" + tutorial);
    page = write_figures(found, language);
    EXPECT_TRUE(has(page, "<section id=\"tiling\""));
    EXPECT_TRUE(has(page, "<th scope=\"row\" lang=\"en\">bytes</th><td>12</td><td>11</td>"));
    EXPECT_EQ(links_of(found, "tiling").figures, "figures.html#tiling");
    EXPECT_EQ(links_of(found, "tiling").index, "index.html");
  }
  EXPECT_EQ(links_of(found, "worklog").mistakes + links_of(found, "worklog").figures, "");
  EXPECT_TRUE(has(write_mistakes(found, Language::ko), "lint가 찾아내는 실수"));
  EXPECT_TRUE(has(write_figures(found, Language::ko), "바로잡은 수치"));

  Page page = page_with_record("H200");
  page.site = links_of(found, "tiling");
  std::string file = write_page(page, Language::en);
  EXPECT_TRUE(has(file, "<a href=\"figures.html#tiling\">Figures that we correct</a>"));
  EXPECT_FALSE(has(file, "mistakes.html")) << "tiling has none here";
}

Schedule schedule_of_naive(const Shape &shape, DType dtype, const Target &target) {
  return cli::schedule_of(cli::choose_rung(builtin_rungs(), "tiling/naive"), shape, dtype, target);
}

TEST(Site, AShapeIsForTheTutorialsWithThisNumberOfExtents) {
  TemporaryFolder folder;
  std::vector<Rung> rungs = own;
  rungs.push_back({"products", "naive", "a product", schedule_of_naive, {8, 8, 1}, {32, 32, 32}, {32, 32, 32}});
  Called called =
      call_main({"report", "--site", folder.string(), "--device", "sim", "--shape", "16x8x4"}, rungs);
  EXPECT_EQ(called.code, 0) << called.err;
  EXPECT_TRUE(has(test::read_file(folder / "products.html"), "f32 16x8x4"));
  EXPECT_TRUE(has(test::read_file(folder / "rungs.html"), "f32 1000"));
}

TEST(Site, EachTutorialHasAFileOfItsOwn) {
  TemporaryFolder folder;
  std::vector<Rung> rungs;
  for (const char *tutorial : {"a b", "a/b", "index"})
    rungs.push_back({tutorial, "again", "the same", test::axpy, {128}, {1000}, {1000}});
  EXPECT_EQ(call_main({"report", "--site", folder.string(), "--device", "sim"}, rungs).code, 0);
  std::string index = test::read_file(folder / "index.html");
  for (const char *file : {"a_b.html", "a_b_.html", "index_.html"}) {
    EXPECT_TRUE(std::filesystem::exists(folder / file)) << file;
    EXPECT_TRUE(has(index, std::string("href=\"") + file + "\""));
  }
}

TEST(Site, IsRefusedBeforeARungIsRun) {
  TemporaryFolder folder;
  std::vector<Rung> rungs = own;
  rungs.push_back({"taken", "again", "the same", test::axpy, {128}, {1000}, {1000}});
  std::filesystem::create_directory(folder / "taken.html");
  Called called = call_main({"report", "--site", folder.string(), "--device", "sim"}, rungs);
  EXPECT_EQ(called.code, 2);
  EXPECT_EQ(called.err, "nestsmith: cannot write '" + (folder / "taken.html").string() +
                            "': Is a directory; nothing was written\n");
  EXPECT_EQ(folder.files(), 1U);
  std::filesystem::remove(folder / "taken.html");
  called = call_main({"report", "--site", folder.string(), "--device", "sim", "--set", "x=1"}, rungs);
  EXPECT_EQ(called.code, 2);
  EXPECT_THAT(called.err, HasSubstr("the schedule has no knob 'x'"));
  EXPECT_EQ(folder.files(), 0U);
  test::write_file(folder / "file", "");
  EXPECT_THAT(call_main({"report", "--site", (folder / "file").string()}, rungs).err,
              HasSubstr("cannot create the folder '" + (folder / "file").string() + "': Not a directory"));
}

} // namespace
} // namespace nestsmith
