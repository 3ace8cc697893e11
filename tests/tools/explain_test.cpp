/// Tests explain, compare and figures as a user calls them.

#include "tests/tools/run_binary.h"

#include <fmt/format.h>
#include <llvm/Support/FormatVariadic.h>
#include <map>
#include <set>
#include <vector>

namespace nestsmith {
namespace {

using test::contains;
using test::matches;
using test::nestsmith;
using test::parsed;
using test::Ran;
using test::TemporaryFolder;

TEST(ExplainCommand, ShowsSectionsAccessesAndWords) {
  Ran ran = nestsmith("explain deep_dive/coalesced --gpu H200 --shape 128x128x64");
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_EQ(ran.err, "");
  for (const char *part : {"deep_dive/coalesced  f32 128x128x64 on NVIDIA H200 (sm_90a)",
                           "\nGPU Speed Of Light\n", "\nMemory Workload Analysis\n", "\nOccupancy\n",
                           "\nLaunch Statistics\n", "\nRoofline\n", "\nHottest accesses", "\nIn words\n",
                           "\nAgainst deep_dive/naive\n  Better than deep_dive/naive, because"})
    EXPECT_TRUE(contains(ran.out, part));
  EXPECT_TRUE(matches(ran.out, "load of B +│ +4 sectors .*\n +AB \\+= A\\["));
  EXPECT_FALSE(contains(ran.out, "\x1b"));
  EXPECT_TRUE(
      contains(nestsmith("explain deep_dive/coalesced --shape 64x64x64 --color always").out, "\x1b[1m"));
}

TEST(ExplainCommand, ComparesWithTheRungBeforeOrTheOneThatIsNamed) {
  EXPECT_FALSE(contains(nestsmith("explain deep_dive/naive --shape 64x64x64").out, "\nAgainst "));
  Ran named = nestsmith("explain principles/transposed --against principles/padded --shape 64x64x64");
  EXPECT_TRUE(contains(named.out,
                       "\nAgainst principles/padded\n  Worse than principles/padded, because shared memory"));
  // In principles, the rungs for vectors follow those for matrices.
  EXPECT_FALSE(contains(nestsmith("explain principles/divergent --shape 4096").out, "\nAgainst "));
  EXPECT_FALSE(contains(nestsmith("explain principles/unfused --shape 4096").out, "\nAgainst "))
      << "it computes something else";
  EXPECT_TRUE(contains(nestsmith("explain principles/fused --shape 4096").out,
                       "\nAgainst principles/unfused\n  Better"));
}

/// Kernels that take less time than their launches.
TEST(ExplainCommand, StatesTheTimeOfTheHost) {
  Ran ran = nestsmith("explain principles/launches --gpu H200");
  for (const char *part : {"\nHost\n  Launches                16 kernels, each enqueued in about 3.25 us",
                           "\n  One by one              52 us, limited by the host  [modelled]\n",
                           "\n  As one CUDA graph       14 us; the host takes 3.5 us for it"})
    EXPECT_TRUE(contains(ran.out, part)) << part;
  const llvm::json::Value json = parsed(nestsmith("explain principles/launches --gpu H200 --json"));
  ASSERT_TRUE(json.getAsObject()->getObject("host"));
  EXPECT_NEAR(*json.getAsObject()->getObject("host")->getNumber("enqueue_seconds"), 52e-6, 1e-9);
  EXPECT_FALSE(contains(nestsmith("explain principles/unfused --gpu H200 --shape 4194304").out, "\nHost\n"));
}

TEST(ExplainCommand, TakesATraceThatItHasNeverSeen) {
  TemporaryFolder folder;
  std::string file = (folder / "mine.json").string();
  test::write_file(file, nestsmith("show principles/transposed --shape 64x64x64 --trace json").out);
  Ran ran = nestsmith("explain " + file + " --against principles/tile32 --gpu L4");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(contains(ran.out, "Worse than principles/tile32, because shared memory, which limits it"));
  EXPECT_FALSE(contains(nestsmith("explain " + file).out, "\nAgainst "));
}

using Thread = std::pair<std::int64_t, std::int64_t>; ///< pid, tid

/// Expects an event of the Trace Event Format with the fields that its phase needs.
void expect_trace_event(const llvm::json::Object &event) {
  const std::string phase = event.getString("ph")->str();
  auto text = [&] { return llvm::formatv("{0}", llvm::json::Value(llvm::json::Object(event))).str(); };
  EXPECT_TRUE(event.getString("name") && !event.getString("name")->empty()) << text();
  EXPECT_TRUE(event.getInteger("pid") && *event.getInteger("pid") > 0) << text();
  if (phase == "M") {
    bool process = event.getString("name") == llvm::StringRef("process_name");
    EXPECT_TRUE(process || event.getString("name") == llvm::StringRef("thread_name")) << text();
    EXPECT_EQ(bool(event.getInteger("tid")), !process) << text();
    EXPECT_TRUE(event.getObject("args") && event.getObject("args")->getString("name")) << text();
    return;
  }
  EXPECT_TRUE(phase == "X" || phase == "b" || phase == "e") << text();
  EXPECT_TRUE(event.getInteger("tid") && event.getString("cat")) << text();
  EXPECT_TRUE(event.getNumber("ts") && *event.getNumber("ts") >= 0) << text();
  EXPECT_EQ(bool(event.getNumber("dur")), phase == "X") << text();
  EXPECT_EQ(bool(event.getInteger("id")), phase != "X") << text();
  if (phase == "X") {
    EXPECT_GT(*event.getNumber("dur"), 0) << text();
  }
}

/// Expects what Perfetto needs to show all events: names of all processes and threads, times in order, a begin
/// before each end, and events of a thread that contain each other or do not overlap. Returns the categories.
std::set<std::string> expect_trace(const llvm::json::Array &events) {
  std::set<std::int64_t> processes;
  std::set<Thread> threads;
  std::set<std::string> categories;
  std::map<std::int64_t, std::string> flights; // open ones, with name and category
  std::map<Thread, std::vector<double>> ends;  // of the events around the next one
  double last = 0;
  for (const llvm::json::Value &each : events) {
    const llvm::json::Object &event = *each.getAsObject();
    expect_trace_event(event);
    const std::string phase = event.getString("ph")->str();
    const std::int64_t process = *event.getInteger("pid");
    if (phase == "M") {
      bool first = event.getInteger("tid") ? threads.insert({process, *event.getInteger("tid")}).second
                                           : processes.insert(process).second;
      EXPECT_TRUE(first) << "a name is given once";
      continue;
    }
    const Thread thread = {process, *event.getInteger("tid")};
    EXPECT_TRUE(processes.contains(process) && threads.contains(thread)) << process << " " << thread.second;
    categories.insert(event.getString("cat")->str());
    const double begin = *event.getNumber("ts");
    EXPECT_GE(begin, last) << "in order";
    last = begin;
    if (phase == "X") {
      std::vector<double> &around = ends[thread];
      while (!around.empty() && around.back() <= begin)
        around.pop_back();
      const double end = begin + *event.getNumber("dur");
      EXPECT_TRUE(around.empty() || end <= around.back()) << "overlaps at " << begin;
      around.push_back(end);
      continue;
    }
    const std::string flight = event.getString("cat")->str() + " " + event.getString("name")->str();
    if (phase == "b") {
      EXPECT_TRUE(flights.insert({*event.getInteger("id"), flight}).second) << "begins once";
    } else {
      EXPECT_EQ(flights[*event.getInteger("id")], flight);
      flights.erase(*event.getInteger("id"));
    }
  }
  EXPECT_TRUE(flights.empty()) << "each flight ends";
  return categories;
}

TEST(ExplainCommand, WritesATimeLineInTheTraceEventFormat) {
  TemporaryFolder folder;
  std::string file = (folder / "out.json").string();
  for (const std::string rung : {"tiling/shared --set block_size=16", "tensor/async4", "softmax/warp"}) {
    std::string shape = rung == "softmax/warp" ? "256x1024" : "128x128x128";
    Ran ran = nestsmith(fmt::format("explain {} --gpu H200 --shape {} --timeline {}", rung, shape, file));
    if (ran.code == 4 && contains(ran.err, "a time line needs the machine code"))
      GTEST_SKIP() << "needs NVRTC";
    ASSERT_EQ(ran.code, 0) << ran.err;
    const llvm::json::Value value = parsed({0, test::read_file(file), ""});
    const llvm::json::Object &root = *value.getAsObject();
    EXPECT_EQ(root.getString("displayTimeUnit"), llvm::StringRef("ns"));
    const llvm::json::Object &about = *root.getObject("otherData");
    EXPECT_EQ(about.getString("time_unit"), llvm::StringRef("1 us is 1 clock of the SM"));
    std::set<std::string> categories = expect_trace(*root.getArray("traceEvents"));
    for (const char *kind : {"instruction", "stall", "iteration", "unit", "flight"})
      EXPECT_TRUE(categories.contains(kind)) << rung << " " << kind;
    if (rung.starts_with("tiling/shared")) {
      EXPECT_EQ(*about.getInteger("executed_iterations"), 4);
      EXPECT_TRUE(matches(ran.out, "\nTime line\n.*4 of [0-9]+ iterations of 'for \\(int "));
    }
  }
}

TEST(ExplainCommand, NamesTheRolesOfATimeLine) {
  TemporaryFolder folder;
  const std::string file = (folder / "out.json").string();
  Ran ran = nestsmith("explain hopper/bf16 --dtype bf16 --gpu H200 --shape 256x256x512 --timeline " + file);
  if (ran.code == 4 && contains(ran.err, "a time line needs the machine code"))
    GTEST_SKIP() << "needs NVRTC";
  ASSERT_EQ(ran.code, 0) << ran.err;
  const llvm::json::Value value = parsed({0, test::read_file(file), ""});
  expect_trace(*value.getAsObject()->getArray("traceEvents"));
  const std::string text = test::read_file(file);
  for (const char *part : {"\"name\":\"warp 0, main role\"", "role 1: fills A_shared, B_shared\"",
                           "fill 1 in slot 1: A_shared, B_shared", "wait: free slot"})
    EXPECT_TRUE(contains(text, part)) << part;
  EXPECT_TRUE(contains(ran.out, " of 4 warps of the main role and 4 that fill tiles")) << ran.out;
}

TEST(ExplainCommand, RefusesATimeLineThatItCannotWrite) {
  Ran folder = nestsmith("explain tiling/shared --timeline /no/such/folder/out.json");
  EXPECT_EQ(folder.code, 2);
  EXPECT_TRUE(contains(folder.err, "/no/such/folder"));
  Ran both = nestsmith("explain tiling/shared --heatmap --timeline out.json");
  EXPECT_EQ(both.code, 2);
  EXPECT_TRUE(contains(both.err, "--timeline and --heatmap exclude each other: use one of them"));
}

TEST(ExplainCommand, GivesJson) {
  const llvm::json::Value value =
      parsed(nestsmith("explain principles/tile32 --gpu A100 --shape 64x64x64 --json"));
  const llvm::json::Object &root = *value.getAsObject();
  EXPECT_EQ(root.getString("gpu"), llvm::StringRef("A100"));
  EXPECT_EQ(root.getString("limiter"), llvm::StringRef("shared memory"));
  EXPECT_EQ(root.getString("against"), llvm::StringRef("principles/two_by_two"));
  const llvm::json::Object &kernel = *(*root.getArray("kernels"))[0].getAsObject();
  EXPECT_EQ(kernel.getInteger("grid_blocks"), std::int64_t{4});
  bool found = false;
  for (const llvm::json::Value &each : *kernel.getArray("accesses")) {
    const llvm::json::Object &access = *each.getAsObject();
    if (access.getString("access") == llvm::StringRef("load of B_shared")) {
      found = true;
      EXPECT_EQ(access.getNumber("wavefronts_per_request"), 1.0);
      EXPECT_EQ(access.getInteger("requests"), std::int64_t{64 * 64 * 64 / 32});
      EXPECT_GT(*access.getInteger("line"), 0);
    }
  }
  EXPECT_TRUE(found);
  EXPECT_GT(kernel.getArray("metrics")->size(), 20U);
  EXPECT_TRUE(matches(nestsmith("explain principles/tile32 --shape 64x64x64 --metrics").out,
                      "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum +│ +0 "));
}

TEST(ExplainCommand, ShowsTheMatrixUnits) {
  Ran ran = nestsmith("explain tensor/async2 --gpu H200 --shape 256x256x256 --metrics");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(matches(ran.out, "\n  matrix units  .* clocks of the busiest SM"));
  EXPECT_TRUE(matches(ran.out, "Matrix units +8192 calls of mma_m16n8k16"));
  EXPECT_TRUE(matches(ran.out, "Loads by ldmatrix +3072 requests of 4 wavefronts; no bank conflicts"));
  EXPECT_TRUE(matches(ran.out, "load of A_shared by ldmatrix +│ +4 wavefronts"));
  EXPECT_TRUE(contains(ran.out, "store to A_shared by cp.async"));
  EXPECT_TRUE(matches(ran.out, "smsp__inst_executed_pipe_tensor_op_hmma.sum +│ +8192 "));
  EXPECT_TRUE(matches(ran.out, "smsp__inst_executed_op_ldsm.sum +│ +3072 "));
}

TEST(ExplainCommand, RefusesWhatItCannotDo) {
  Ran gpu = nestsmith("explain deep_dive/naive --gpu GTX");
  EXPECT_EQ(gpu.code, 2);
  EXPECT_TRUE(contains(gpu.err, "no GPU 'GTX' is known; these are: A100, RTX 3090, H200"));
  Ran memory = nestsmith("explain principles/fused --shape 2000000000 --gpu L4 --against principles/fused");
  EXPECT_EQ(memory.code, 0) << memory.err << "16 of 24 GB";
  memory = nestsmith("explain principles/fused --shape 2000000000 --gpu 'RTX A500'");
  EXPECT_EQ(memory.code, 2);
  EXPECT_TRUE(contains(memory.err,
                       "the arrays need 14.9 GiB, but NVIDIA RTX A500 Laptop GPU has 4; use a smaller shape"));
  Ran access = nestsmith("explain deep_dive/naive --shape 64x64x64 --heatmap Q");
  EXPECT_EQ(access.code, 2);
  EXPECT_TRUE(
      contains(access.err,
               "there is no access 'Q'; name an access by its number or its buffer: 1 load of A, 2 load of B"));
  EXPECT_EQ(nestsmith("explain").code, 2);
  EXPECT_EQ(nestsmith("compare deep_dive/naive").code, 2);
}

TEST(Heatmap, ShowsTheBanksOfAConflictAndOfItsCure) {
  Ran worst = nestsmith("explain principles/transposed --heatmap --shape 64x64x64");
  EXPECT_EQ(worst.code, 0) << worst.err;
  EXPECT_TRUE(contains(worst.out, "load of B_shared"));
  EXPECT_TRUE(contains(worst.out, "32 lanes of 4 bytes, 32 wavefronts, 31 of them bank conflicts"));
  EXPECT_TRUE(matches(worst.out, "^ +1  0  ·  ·"));
  EXPECT_TRUE(matches(worst.out, "^ +32 31  ·  ·"));
  Ran padded = nestsmith("explain principles/padded --heatmap B_shared --shape 64x64x64");
  EXPECT_TRUE(contains(padded.out, "1 wavefront, 0 of them bank conflicts"));
  EXPECT_TRUE(matches(padded.out, "^ +1  0  1  2  3 .* 30 31"));
  EXPECT_EQ(nestsmith("explain --heatmap principles/padded --shape 64x64x64").code, 0)
      << "the word is the rung";
  EXPECT_TRUE(contains(nestsmith("explain principles/transposed --heatmap --shape 64x64x64 --color always").out,
                       "\x1b[31m"));
}

TEST(Heatmap, ShowsSectors) {
  Ran naive = nestsmith("explain deep_dive/naive --heatmap A --shape 64x64x64");
  EXPECT_TRUE(contains(naive.out, "32 sectors: 1024 bytes moved for 128 requested"));
  EXPECT_TRUE(matches(naive.out, "^ +256 \\|■······· *\\|.* lane 1$"));
  Ran row = nestsmith("explain deep_dive/coalesced --heatmap=B --shape 64x64x64");
  EXPECT_TRUE(contains(row.out, "4 sectors: 128 bytes moved for 128 requested"));
  EXPECT_TRUE(contains(row.out, "|■■■■■■■■|■■■■■■■■|■■■■■■■■|■■■■■■■■|  lanes 0-31"));
  const llvm::json::Value json =
      parsed(nestsmith("explain deep_dive/naive --heatmap 1 --shape 64x64x64 --json"));
  EXPECT_EQ(json.getAsObject()->getInteger("sectors"), std::int64_t{32});
  EXPECT_EQ(json.getAsObject()->getArray("addresses")->size(), 32U);
}

TEST(Heatmap, ShowsTheLanesAndRegistersOfAFragment) {
  Ran ran = nestsmith("explain tensor/shared --heatmap AB --shape 64x64x64");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(contains(ran.out, "AB: 16 x 8 elements of f32, 4 registers in each of 32 lanes"));
  EXPECT_TRUE(matches(ran.out, "^ +0 +0:0 +0:1 +1:0 +1:1 +2:0 +2:1 +3:0 +3:1$"));
  EXPECT_TRUE(matches(ran.out, "^ +9 +4:2 +4:3 +5:2 "));
  const llvm::json::Value json =
      parsed(nestsmith("explain tensor/shared --heatmap AB --shape 64x64x64 --json"));
  EXPECT_EQ(json.getAsObject()->getArray("elements")->size(), 128U);
  EXPECT_EQ(json.getAsObject()->getInteger("replicas"), std::int64_t{1});
}

TEST(CompareCommand, PutsTwoSideBySide) {
  Ran ran = nestsmith("compare deep_dive/naive deep_dive/coalesced --gpu A100 --shape 128x128x64");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(matches(ran.out, "figure +│ +deep_dive/naive │ +deep_dive/coalesced │ +change"));
  EXPECT_TRUE(matches(ran.out, "sectors per request +│ +16.6 │ +2.51 │"));
  EXPECT_TRUE(contains(ran.out, "  Better than deep_dive/naive, because L1"));
  const llvm::json::Value json =
      parsed(nestsmith("compare deep_dive/naive deep_dive/coalesced --shape 64x64x64 --json"));
  EXPECT_NE(json.getAsObject()->getObject("a"), nullptr);
  EXPECT_NE(json.getAsObject()->getObject("b"), nullptr);
}

TEST(FiguresCommand, ShowsThePostsBesideOurs) {
  Ran ran = nestsmith("figures principles --counts");
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_TRUE(matches(ran.out, "B's tile transposed: wavefronts of a load +│ +1 │ +32 │ counted +│ corrected"));
  EXPECT_FALSE(contains(ran.out, "│ wrong"));
  EXPECT_EQ(nestsmith("figures 009 --counts").code, 2);
  EXPECT_NE(parsed(nestsmith("figures transposed --counts --json")).getAsArray(), nullptr);
  EXPECT_TRUE(contains(nestsmith("figures --help").out, "it has the same direction as the measurement."));
}

} // namespace
} // namespace nestsmith
