/// Tests the metrics: their values, which of them are modelled, and their names in CUPTI.

#include "runtime/model/metrics.h"

#include "dsl/expr/expr.h"
#include "dsl/hardware/intrinsics.h"
#include "runtime/model/count.h"
#include "tests/files.h"
#include "tests/runtime/environment.h"
#include "tests/runtime/model/cupti.h"
#include "tests/runtime/sim/gemm_kernels.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using model::AccessCounts;
using model::Counters;
using test::says;

Buffer buffer(Scope scope) { return std::make_shared<BufferNode>(BufferNode{"x", DType::f32, {}, scope, {}}); }

/// Returns counts of an access. A load needs an expression, which the metrics do not use.
AccessCounts access(Scope scope, bool store) {
  static const Expr zero = int_imm(0);
  static const Expr value = nestsmith::load(buffer(Scope::global), {zero}, {}, {});
  AccessCounts counts;
  counts.load = store ? nullptr : value.as<Load>();
  counts.buffer = buffer(scope);
  return counts;
}

/// A has 10 requests with 32 sectors each, and B has 10 requests with 1 sector each. C is stored in whole
/// lines.
Counters naive() {
  Counters counters;
  AccessCounts A = access(Scope::global, false), B = A, C = access(Scope::global, true);
  A.requests = B.requests = 10;
  A.threads = B.threads = 320;
  A.asked = B.asked = 320 * 4;
  A.sectors = 320;
  B.sectors = 10;
  C.requests = 2;
  C.threads = 64;
  C.sectors = 8;
  counters.accesses = {A, B, C};
  counters.multiply_adds = {10, 320};
  counters.floating = {2, 64};
  counters.branches = {4, 100};
  counters.divergent = 1;
  counters.blocks = 3;
  return counters;
}

/// Returns the metric with this name, or null.
const Metric *find_metric(const std::vector<Metric> &metrics, std::string_view name) {
  auto found = std::ranges::find(metrics, name, &Metric::name);
  return found == metrics.end() ? nullptr : &*found;
}

double value(const std::vector<Metric> &all, std::string_view name, Quality quality = Quality::exact) {
  const Metric *metric = find_metric(all, name);
  EXPECT_TRUE(metric) << name;
  if (!metric || !metric->value)
    return -1;
  EXPECT_EQ(metric->quality, quality) << name;
  return *metric->value;
}

TEST(Metrics, CountGlobalLoadsAndStoresApart) {
  Counters counters = naive();
  std::vector<Metric> all = metrics({counters});
  EXPECT_EQ(value(all, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"), 20);
  EXPECT_EQ(value(all, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"), 330);
  EXPECT_EQ(value(all, "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"), 16.5);
  EXPECT_EQ(value(all, "l1tex__t_bytes_pipe_lsu_mem_global_op_ld.sum"), 330 * 32);
  EXPECT_EQ(value(all, "smsp__sass_data_bytes_mem_global_op_ld.sum", Quality::modelled), 640 * 4);
  EXPECT_EQ(value(all, "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"), 2);
  EXPECT_EQ(value(all, "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"), 8);
  EXPECT_EQ(value(all, "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio"), 4);
  EXPECT_EQ(value(all, "sm__ctas_launched.sum"), 3);
}

TEST(Metrics, ShowWhatCoalescingDoes) {
  auto loads = [](bool coalesced) {
    Counters counters = model::count(sim::naive_gemm({64, 64, 64}, coalesced), {});
    std::vector<Metric> all = metrics({counters});
    EXPECT_EQ(value(all, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"), 64 * 64 / 32 * 64 * 2);
    EXPECT_EQ(value(all, "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"), 64 * 64 * 64);
    return value(all, "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio");
  };
  EXPECT_EQ(loads(false), 16.5); // 32 sectors for A, and 1 for B
  EXPECT_EQ(loads(true), 2.5);   // 1 sector for A, and 4 for B
}

TEST(Metrics, CountInstructionsAsTheyStandInTheKernel) {
  Counters counters = naive();
  counters.barriers = {6, 192};
  std::vector<Metric> all = metrics({counters});
  constexpr Quality modelled = Quality::modelled;
  EXPECT_EQ(value(all, "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"), 320);
  EXPECT_EQ(value(all, "smsp__sass_thread_inst_executed_op_fp32_pred_on.sum", modelled), 384);
  EXPECT_EQ(value(all, "smsp__sass_branch_targets_threads_divergent.sum", modelled), 1);
  EXPECT_EQ(value(all, "smsp__sass_average_branch_targets_threads_uniform.pct", modelled), 75);
  EXPECT_EQ(value(all, "nestsmith__barriers.sum"), 6);
  // Warps and threads: accesses 22 and 704, arithmetic 12 and 384, branches 4 and 100, barriers 6 and 192.
  EXPECT_EQ(value(all, "smsp__inst_executed.sum", modelled), 44);
  EXPECT_DOUBLE_EQ(value(all, "smsp__thread_inst_executed_per_inst_executed.ratio", modelled), 1380.0 / 44);
}

TEST(Metrics, SharedMemoryIsExactUntilAnAccessIsWide) {
  Counters counters;
  AccessCounts narrow = access(Scope::shared, false), store = access(Scope::shared, true);
  narrow.requests = 4;
  narrow.wavefronts = 128;
  narrow.conflicts = 124;
  store.requests = 2;
  store.wavefronts = 2;
  counters.accesses = {narrow, store};
  std::vector<Metric> all = metrics({counters});
  EXPECT_EQ(value(all, "smsp__inst_executed_op_shared_ld.sum"), 4);
  EXPECT_EQ(value(all, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"), 128);
  EXPECT_EQ(value(all, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"), 124);
  EXPECT_EQ(value(all, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"), 0);

  AccessCounts wide = narrow;
  wide.bytes = 16;
  wide.requests = wide.wavefronts = 0; // never executed
  counters.accesses.push_back(wide);
  EXPECT_EQ(value(metrics({counters}), "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"), 128);
  counters.accesses.back().requests = 1;
  counters.accesses.back().wavefronts = 4;
  all = metrics({counters});
  EXPECT_EQ(value(all, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", Quality::modelled), 132);
  EXPECT_TRUE(
      says(find_metric(all, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum")->note, "a quarter"));
  EXPECT_EQ(value(all, "smsp__inst_executed_op_shared_ld.sum"), 5);
  EXPECT_EQ(value(all, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"), 2);
}

/// An H200 counts asynchronous copies as loads of L1, too.
TEST(Metrics, CountAsynchronousCopiesAndLdmatrixAsAnH200Does) {
  Counters counters;
  AccessCounts copy = access(Scope::global, false), tile = access(Scope::shared, true), load = copy;
  const Expr value_of_copy = nestsmith::load(copy.buffer, {int_imm(0)}, {}, {});
  copy.load = value_of_copy.as<Load>();
  copy.stmt = tile.stmt = kernel::make(kernel::Store{tile.buffer, {int_imm(0)}, value_of_copy, 1, true});
  copy.requests = tile.requests = 10;
  copy.sectors = 160;
  load.requests = 2;
  load.sectors = 8;
  AccessCounts narrow = access(Scope::shared, false);
  narrow.requests = narrow.wavefronts = 4;
  counters.accesses = {copy, tile, load, narrow};
  std::vector<Metric> all = metrics({counters});
  EXPECT_EQ(value(all, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"), 12);
  EXPECT_EQ(value(all, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"), 168);
  EXPECT_EQ(value(all, "l1tex__t_bytes_pipe_lsu_mem_global_op_ld.sum"), 168 * 32);
  EXPECT_EQ(value(all, "smsp__inst_executed_op_ldgsts.sum"), 10);
  EXPECT_EQ(value(all, "smsp__inst_executed_op_shared_ld.sum", Quality::modelled), 4);
}

/// Returns the counts of 10 warps that call the intrinsic.
Counters products(std::string_view name, DType result) {
  Counters counters;
  counters.matrix[find_intrinsics(name, result).front()] = {10, 320};
  return counters;
}

TEST(Metrics, TellTheMatrixUnitsApart) {
  const Gpu &a100 = find_gpu("A100"), &blackwell = find_gpu("RTX 5090");
  Counters counters = products("mma_m16n8k16", DType::f32);
  std::vector<Metric> all = metrics({.counters = counters, .gpu = &a100});
  EXPECT_EQ(value(all, "smsp__inst_executed_pipe_tensor_op_hmma.sum"), 10);
  EXPECT_EQ(value(all, "smsp__inst_executed_pipe_tensor_op_imma.sum"), 0);
  EXPECT_EQ(value(all, "sm__pipe_tensor_op_hmma_cycles_active.sum", Quality::modelled),
            10 * 16 * 8 * 16 / 1024 * 4);
  EXPECT_EQ(value(all, "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"), 0);
  EXPECT_EQ(value(all, "smsp__inst_executed.sum", Quality::modelled), 10);
  counters = products("mma_m16n8k32", DType::i32);
  all = metrics({.counters = counters, .gpu = &blackwell});
  EXPECT_EQ(value(all, "smsp__inst_executed_pipe_tensor_subpipe_imma.sum"), 10);
  EXPECT_EQ(value(all, "sm__pipe_tensor_subpipe_imma_cycles_active.sum", Quality::modelled),
            10 * 16 * 8 * 32 / 1024 * 4);
}

TEST(Metrics, CachesAndDramAreModelled) {
  Counters counters = naive();
  model::Traffic traffic;
  traffic.l1_sectors = 330;
  traffic.l1_hits = 66;
  traffic.l2_reads = 264;
  traffic.l2_read_hits = 198;
  traffic.l2_writes = 8;
  traffic.dram_reads = 66;
  traffic.dram_writes = 8;
  std::vector<Metric> all = metrics({.counters = counters, .traffic = &traffic});
  constexpr Quality modelled = Quality::modelled;
  EXPECT_DOUBLE_EQ(value(all, "l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct", modelled), 20);
  EXPECT_EQ(value(all, "lts__t_sectors_srcunit_tex.sum", modelled), 272);
  EXPECT_DOUBLE_EQ(value(all, "lts__t_sector_op_read_hit_rate.pct", modelled), 75);
  EXPECT_EQ(value(all, "dram__bytes.sum", modelled), 74 * 32);
  EXPECT_EQ(value(all, "dram__bytes_read.sum", modelled), 66 * 32);
  EXPECT_TRUE(says(find_metric(all, "dram__bytes.sum")->note, "LRU"));
  const Gpu &blackwell = find_gpu("RTX 5090");
  all = metrics({.counters = counters, .traffic = &traffic, .gpu = &blackwell});
  EXPECT_EQ(value(all, "dram__bytes_op_write.sum", modelled), 8 * 32);
  EXPECT_EQ(find_metric(all, "dram__bytes_write.sum"), nullptr);
}

TEST(Metrics, ComeFromTheOccupancyThatIsGiven) {
  Counters counters = naive();
  Occupancy occupancy;
  occupancy.blocks = 2;
  occupancy.warps = 16;
  occupancy.max_warps = 64;
  occupancy.registers_per_thread = 40;
  occupancy.bound = {{OccupancyLimit::registers, 2}, {OccupancyLimit::blocks, 32}};
  const Gpu &gpu = find_gpu("A100");
  counters.blocks = 324;
  std::vector<Metric> all = metrics({.counters = counters, .occupancy = &occupancy, .gpu = &gpu});
  constexpr Quality modelled = Quality::modelled;
  EXPECT_EQ(value(all, "sm__maximum_warps_per_active_cycle_pct", modelled), 25);
  EXPECT_EQ(value(all, "launch__occupancy_limit_registers", modelled), 2);
  EXPECT_EQ(value(all, "launch__registers_per_thread_allocated", modelled), 40);
  EXPECT_EQ(value(all, "launch__waves_per_multiprocessor", modelled), 1.5);
  EXPECT_FALSE(find_metric(all, "launch__occupancy_limit_shared_mem")->value);
}

TEST(Metrics, SayWhatIsMissing) {
  Counters nothing;
  for (const Metric &metric : metrics({nothing})) {
    EXPECT_EQ(metric.quality == Quality::unknown, !metric.value) << metric.name;
    EXPECT_EQ(metric.quality == Quality::exact, metric.note.empty()) << metric.name;
  }
  std::vector<Metric> all = metrics({nothing});
  auto note = [&](std::string_view name) { return find_metric(all, name)->note; };
  EXPECT_EQ(note("dram__bytes.sum"), "no caches were modelled");
  EXPECT_EQ(note("sm__maximum_warps_per_active_cycle_pct"), "no occupancy was computed");
  EXPECT_EQ(note("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio"),
            "the kernel makes no such request");
  EXPECT_TRUE(says(note("gpu__time_duration.sum"), "no time is modelled"));
  EXPECT_EQ(find_metric(all, "dram__bytes"), nullptr);
}

/// Returns the metrics of one GPU.
std::vector<Metric> names_on(const Gpu &gpu) {
  static const Counters nothing;
  return metrics({.counters = nothing, .gpu = &gpu});
}

TEST(Metrics, HaveNamesThatCuptiKnowsOnEveryChip) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "CUPTI opens its own library in a way that the address sanitizer refuses";
#endif
  auto cupti = test::Cupti::open();
  if (!cupti)
    GTEST_SKIP() << "needs CUPTI's host library, one that works without a driver: of CUDA 12.6 to 13.0";
  std::set<std::string> chips;
  for (const Gpu &gpu : gpus()) {
    if (!chips.insert(gpu.chip).second)
      continue;
    for (const Metric &metric : names_on(gpu))
      EXPECT_TRUE(metric.origin != MetricOrigin::counter || cupti->knows(gpu.chip, metric.name))
          << metric.name << " on " << gpu.chip << ": " << cupti->path;
    // CUPTI must reject wrong names.
    for (const char *wrong : {"l1tex__t_sectors_pipe_lsu_mem_global_op_ldx.sum", "dram__bytes.total",
                              "nestsmith__barriers.sum", "launch__grid_size"})
      EXPECT_FALSE(cupti->knows(gpu.chip, wrong)) << wrong;
    EXPECT_NE(cupti->knows(gpu.chip, "dram__bytes_read.sum"),
              cupti->knows(gpu.chip, "dram__bytes_op_read.sum"));
  }
  EXPECT_EQ(chips, (std::set<std::string>{"AD102", "AD104", "GA100", "GA102", "GA107", "GB202", "GH100"}));
  EXPECT_FALSE(cupti->knows("G80", "dram__bytes.sum"));
}

TEST(Metrics, AreAllInTheDocument) {
  std::string text = test::read_file(NESTSMITH_SOURCE_DIR "/docs/counters.md");
  std::set<std::string> names;
  for (const char *gpu : {"A100", "RTX 5090"})
    for (const Metric &metric : names_on(find_gpu(gpu))) {
      EXPECT_TRUE(text.find("`" + metric.name + "`") != std::string::npos) << metric.name;
      names.insert(metric.name);
    }
  EXPECT_EQ(names.size(), names_on(find_gpu("A100")).size() + 6);
}

} // namespace
} // namespace nestsmith
