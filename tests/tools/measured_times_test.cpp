/// Tests which measured times explain, compare and report show, and which of them decide.

#include "tools/results/measured_times.h"

#include "dsl/hardware/gpus.h"
#include "runtime/records/measured.h"
#include "schedules/measured.h"
#include "tests/tools/run_binary.h"
#include "tools/results/record_of.h"

#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>

namespace nestsmith::cli {
namespace {

using test::contains;
using test::nestsmith;
using test::parsed;
using test::Ran;

const Shape cube = {64, 64, 64};

/// A record of the text that is emitted now.
records::Record timed(const std::string &rung, double ms, const std::string &gpu = "H200") {
  Knobs knobs;
  Scheduled scheduled =
      schedule_at(choose_rung(builtin_rungs(), rung), cube, DType::f32, target_of(find_gpu(gpu)), knobs);
  records::Record record = point_of(scheduled, scheduled.plan(), {}, {find_gpu(gpu).product, "13.0", "13.1"});
  record.min_ms = record.lower_quartile_ms = record.median_ms = ms;
  record.upper_quartile_ms = record.max_ms = ms;
  record.samples = 9;
  record.peer = "cuBLAS 13.1.0", record.peer_ms = 0.5;
  record.nestsmith = "0.2.0+abc1234", record.measured_at = "2026-11-23T20:00:36Z";
  return record;
}

class MeasuredTimes : public testing::Test {
protected:
  std::string with(const std::vector<records::Record> &records, const std::string &gpu = " --gpu H200") {
    records::MeasuredTable table;
    for (const records::Record &record : records)
      table.put(record);
    std::string file = (folder / "times.json").string();
    std::ofstream(file) << table.text();
    return " --shape 64x64x64" + gpu + " --records " + file;
  }
  /// A page about two rungs.
  std::string page(const std::string &options) {
    std::string file = (folder / "page.html").string();
    Ran ran = nestsmith("report ladder/naive ladder/coalesced --device sim --no-advice -o " + file + options,
                        "CUDA_VISIBLE_DEVICES=");
    EXPECT_EQ(ran.code, 0) << ran.err;
    std::string text = test::read_file(file);
    return text.substr(0, text.find("id=\"run\"")); // the climb and the roofline
  }
  test::TemporaryFolder folder;
};

TEST_F(MeasuredTimes, AreShownBesideTheModel) {
  std::string options = with({timed("ladder/coalesced", 2)});
  Ran ran = nestsmith("explain ladder/coalesced" + options);
  EXPECT_TRUE(contains(ran.out, "2 ms on NVIDIA H200, 2026-11-23, cuBLAS 13.1.0 500 us (0.25)")) << ran.out;
  EXPECT_TRUE(
      contains(ran.out, "nestsmith bench ladder/coalesced --shapes 64x64x64 --dtype f32 --record FILE; "));
  // At another shape, in another type, and for other knobs, the record says nothing.
  for (const char *other : {"explain ladder/coalesced --dtype f16", "explain ladder/shared"})
    EXPECT_FALSE(contains(nestsmith(other + options).out, "Measured by")) << other;
  llvm::json::Value json = parsed(nestsmith("explain ladder/coalesced --json" + options));
  const llvm::json::Object &record = *(*json.getAsObject()->getArray("measured"))[0].getAsObject();
  EXPECT_EQ(record.getNumber("median_ms"), 2.0);
  EXPECT_EQ(record.getString("nestsmith"), llvm::StringRef("0.2.0+abc1234"));
  EXPECT_EQ(record.getBoolean("older_text"), false);
  EXPECT_EQ(record.getBoolean("decides"), true);
}

TEST_F(MeasuredTimes, DecideAgainstTheEstimateAndTheBound) {
  std::string options = with({timed("ladder/naive", 1), timed("ladder/coalesced", 2)});
  Ran ran = nestsmith("compare ladder/naive ladder/coalesced" + options);
  EXPECT_TRUE(contains(ran.out,
                       "Worse than ladder/naive: measured on NVIDIA H200, 2 ms instead of 1 ms, 2 times "
                       "slower."))
      << ran.out;
  EXPECT_TRUE(test::matches(ran.out, "measured time .* 1 ms .* 2 ms .* 2x"));
  EXPECT_FALSE(contains(ran.out, "Better"));
  llvm::json::Value json = parsed(nestsmith("explain ladder/coalesced --json" + options));
  const llvm::json::Object &verdict = *json.getAsObject()->getObject("verdict");
  EXPECT_EQ(verdict.getString("outcome"), llvm::StringRef("worse"));
  EXPECT_EQ(verdict.getString("by"), llvm::StringRef("record"));
  EXPECT_EQ(verdict.getNumber("ratio"), 2.0);
  std::string page = (folder / "page.html").string();
  EXPECT_EQ(
      nestsmith("report ladder/naive ladder/coalesced --device sim --no-advice -o " + page + options).code, 0);
  std::string html = test::read_file(page);
  EXPECT_TRUE(contains(html, "Measured: 2 ms on NVIDIA H200, 2026-11-23, cuBLAS 13.1.0 500 us (0.25)"));
  EXPECT_TRUE(contains(html, "Worse than ladder/naive: measured on NVIDIA H200"));
  EXPECT_FALSE(contains(html, "Better than"));
}

TEST_F(MeasuredTimes, OfAnOlderTextAreShownAndDecideNothing) {
  records::Record older = timed("ladder/coalesced", 2);
  older.code = "another";
  std::string options = with({timed("ladder/naive", 1), older});
  Ran ran = nestsmith("explain ladder/coalesced" + options);
  EXPECT_TRUE(contains(ran.out, "(0.25), measured with an older text")) << ran.out;
  EXPECT_FALSE(contains(ran.out, "measured on NVIDIA H200"));
  llvm::json::Value json = parsed(nestsmith("explain ladder/coalesced --json" + options));
  const llvm::json::Object &record = *(*json.getAsObject()->getArray("measured"))[0].getAsObject();
  EXPECT_EQ(record.getBoolean("older_text"), true);
  EXPECT_EQ(record.getBoolean("decides"), false);
  EXPECT_NE(json.getAsObject()->getObject("verdict")->getString("by"), llvm::StringRef("record"));
}

TEST_F(MeasuredTimes, OfAnotherGpuAreShownAndDecideNothing) {
  std::string options = with({timed("ladder/naive", 1, "A100"), timed("ladder/coalesced", 2, "A100")});
  Ran ran = nestsmith("explain ladder/coalesced" + options);
  EXPECT_TRUE(contains(ran.out, "2 ms on " + find_gpu("A100").product + ", 2026-11-23")) << ran.out;
  EXPECT_FALSE(contains(ran.out, "older text")) << "the text for that GPU is current";
  EXPECT_FALSE(contains(ran.out, "measured on"));
}

TEST_F(MeasuredTimes, OfOneRungOrOfOtherSoftwareDecideNothing) {
  records::Record other = timed("ladder/coalesced", 2);
  other.driver = "12.9";
  for (const auto &records : {std::vector{timed("ladder/naive", 1)}, {timed("ladder/naive", 1), other}})
    EXPECT_FALSE(
        contains(nestsmith("compare ladder/naive ladder/coalesced" + with(records)).out, "measured on"));
}

TEST_F(MeasuredTimes, OfOtherKnobsAreNotShown) {
  std::string options = with({timed("ladder/warps", 2)});
  EXPECT_TRUE(contains(nestsmith("explain ladder/warps" + options).out, "2 ms on NVIDIA H200"));
  EXPECT_FALSE(contains(nestsmith("explain ladder/warps --set bk=16" + options).out, "Measured by"));
}

/// A rung that had fewer knobs when it was measured: it had the defaults of the others.
TEST_F(MeasuredTimes, OfARungThatGotKnobsLaterAreThoseOfTheirDefaults) {
  records::Record older = timed("tiling/shared", 2);
  older.knobs.clear();
  std::string options = with({older});
  EXPECT_TRUE(contains(nestsmith("explain tiling/shared" + options).out, "2 ms on NVIDIA H200"));
  EXPECT_FALSE(contains(nestsmith("explain tiling/shared --set block_size=16" + options).out, "Measured by"));
  older = timed("ladder/warps", 2);
  older.knobs = {{"bk", "16"}};
  options = with({older});
  EXPECT_FALSE(contains(nestsmith("explain ladder/warps" + options).out, "Measured by"));
  EXPECT_TRUE(contains(nestsmith("explain ladder/warps --set bk=16" + options).out, "2 ms on NVIDIA H200"));
}

/// 2 * 64^3 operations in 2 ms.
TEST_F(MeasuredTimes, AreDrawnBelowTheModelOfTheirGpu) {
  std::string html = page(with({timed("ladder/coalesced", 2)}));
  EXPECT_TRUE(contains(html, "<span>measured 0.262 GFLOP/s</span> <span>at most "));
  EXPECT_TRUE(
      contains(html, "Measured on NVIDIA H200, 2026-11-23, by <code>nestsmith bench ladder/coalesced --shapes "
                     "64x64x64 --dtype f32 --record FILE</code>"));
  EXPECT_TRUE(contains(html, "measured on NVIDIA H200, 2026-11-23</li>")) << "the legend";
  EXPECT_TRUE(contains(html, "; cuBLAS 13.1.0: 1.05 GFLOP/s</title>"));
  EXPECT_TRUE(test::matches(html, "ladder/naive: at most "));
  EXPECT_FALSE(contains(html, "<h3>f32 64x64x64, NVIDIA H200</h3>"));
}

TEST_F(MeasuredTimes, OfAnOlderTextAreMarkedInTheClimb) {
  records::Record older = timed("ladder/coalesced", 2);
  older.code = "another";
  EXPECT_TRUE(contains(page(with({older})), "<span>measured 0.262 GFLOP/s (older text)</span>"));
}

/// The axis of one chart is for one GPU.
TEST_F(MeasuredTimes, OfAnotherGpuHaveAChartOfTheirOwn) {
  std::string html = page(with({timed("ladder/coalesced", 2), timed("ladder/naive", 4)}, " --gpu A100"));
  std::size_t own = html.find("<h3>f32 64x64x64</h3>"), other = html.find("<h3>f32 64x64x64, NVIDIA H200</h3>");
  ASSERT_LT(own, other);
  ASSERT_LT(other, html.size());
  EXPECT_FALSE(contains(html.substr(own, other - own), "measured"));
  EXPECT_TRUE(contains(html.substr(other), "<span>measured 0.262 GFLOP/s</span>"));
  EXPECT_TRUE(contains(html.substr(other), "<span>measured 0.131 GFLOP/s</span>"));
  EXPECT_TRUE(contains(html.substr(other), "bench ladder/naive ladder/coalesced --shapes"));
}

/// Without a GPU, and without the GPU of a source, a page is about the GPU that was measured, if all its rungs
/// were.
TEST_F(MeasuredTimes, GiveAPageItsGpu) {
  std::vector<records::Record> all = {timed("ladder/coalesced", 2), timed("ladder/naive", 4)};
  const std::string reason = "the GPU of the measured times; select another with --gpu";
  std::string html = page(with(all, ""));
  EXPECT_TRUE(contains(html, "NVIDIA H200 (sm_90a); " + reason));
  EXPECT_TRUE(contains(html, "<span>measured 0.262 GFLOP/s</span> <span>at most "));
  EXPECT_FALSE(contains(page(with(all, " --gpu A100")), reason));
  EXPECT_FALSE(contains(page(with({all.front()}, "")), reason)) << "one rung of two";
}

TEST_F(MeasuredTimes, AreReadBeforeTheFirstRung) {
  std::string options = with({}), file = (folder / "page.html").string();
  std::ofstream(folder / "times.json") << "{}";
  Ran ran = nestsmith("report tiling --no-advice -o " + file + options);
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(contains(ran.err, "times.json: not a file of records")) << ran.err;
  EXPECT_FALSE(contains(ran.err, "1 of 2")) << ran.err;
}

TEST_F(MeasuredTimes, RefuseAFileThatIsNoTable) {
  std::string options = with({});
  std::ofstream(folder / "times.json") << "{}";
  Ran ran = nestsmith("explain ladder/coalesced" + options);
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(contains(ran.err, "times.json: not a file of records")) << ran.err;
}

/// The texts of kernels may change after a measurement, but a table must be of rungs and GPUs that exist.
TEST(MeasuredTables, AreOfKnownRungsAndGpus) {
  for (const MeasuredText &measured : measured_texts()) {
    records::MeasuredTable table(measured.text, measured.file);
    EXPECT_TRUE(table.text() == measured.text) << measured.file << " is not as bench --record writes it";
    for (const records::Record &record : table.records()) {
      EXPECT_TRUE(std::ranges::any_of(builtin_rungs(), [&](const Rung &rung) {
        return rung.full_name() == record.rung;
      })) << record.rung;
      EXPECT_NE(known_gpu(record.gpu), nullptr) << record.gpu;
    }
  }
}

} // namespace
} // namespace nestsmith::cli
