#include "runtime/model/metrics.h"

#include "dsl/expr/error.h"
#include "dsl/ir/intrinsic.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include <fmt/format.h>

namespace nestsmith {

using model::AccessCounts;
using model::Counters;
using model::OpCounts;
using model::Traffic;

namespace {

/// The value of a metric, and whether it is exact, modelled or not available.
struct Figure {
  Quality quality = Quality::unknown;
  std::optional<double> value;
  std::string note;
};
using Compute = std::function<Figure(const MetricInputs &)>;

struct Entry {
  std::string name, unit;
  Compute compute;
  MetricOrigin origin = MetricOrigin::counter;
  std::string on_gb20x = {}; ///< its name on GB20x GPUs, if it differs
};
using Entries = std::vector<Entry>;

constexpr const char *by_operations =
    "the operations of the lowered kernel, which the compiler merges and drops";
constexpr const char *by_caches = "caches with LRU replacement, while the blocks of a wave run concurrently";
constexpr const char *by_calculator = "cuda_occupancy.h, with the registers that NVRTC reports";

double number(std::uint64_t value) { return static_cast<double>(value); }

Figure not_available(std::string why) { return {Quality::unknown, std::nullopt, std::move(why)}; }

/// A property of the lowered kernel.
template <class F> Compute counted(F f) {
  return [f](const MetricInputs &m) { return Figure{Quality::exact, f(m.counters), ""}; };
}

template <class F> Compute counted_by(const char *model, F f) {
  return [model, f](const MetricInputs &m) { return Figure{Quality::modelled, f(m.counters), model}; };
}

template <class F> Compute cached(F f) {
  return [f](const MetricInputs &m) {
    return m.traffic ? Figure{Quality::modelled, f(*m.traffic), by_caches}
                     : not_available("no caches were modelled");
  };
}

template <class F> Compute launched(F f) {
  return [f](const MetricInputs &m) {
    return m.occupancy ? Figure{Quality::modelled, f(*m.occupancy, m), by_calculator}
                       : not_available("no occupancy was computed");
  };
}

Compute never(const char *why) {
  return [why](const MetricInputs &) { return not_available(why); };
}

/// The quotient of two figures. It is not available if the divisor is 0.
Compute ratio(Compute top, Compute bottom, double factor, const char *nothing) {
  return [=](const MetricInputs &m) {
    Figure figure = top(m), of = bottom(m);
    if (!figure.value || !of.value)
      return figure;
    if (*of.value == 0)
      return not_available(nothing);
    figure.value = factor * *figure.value / *of.value;
    return figure;
  };
}

Entries global_memory(bool stores) {
  auto named = [&](const char *pattern) { return fmt::format(fmt::runtime(pattern), stores ? "st" : "ld"); };
  // L1 counts asynchronous copies as loads.
  auto sum = [=](const Counters &c, std::uint64_t model::RequestSums::*field) {
    return c.ordinary(Scope::global, stores).*field + (stores ? 0 : c.copied(Scope::global).*field);
  };
  Compute requests = counted([=](const Counters &c) { return number(sum(c, &model::RequestSums::requests)); });
  Compute sectors = counted([=](const Counters &c) { return number(sum(c, &model::RequestSums::sectors)); });
  return {{named("l1tex__t_requests_pipe_lsu_mem_global_op_{}.sum"), "request", requests},
          {named("l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum"), "sector", sectors},
          {named("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_{}.ratio"), "sector/request",
           ratio(sectors, requests, 1, "the kernel makes no such request")},
          {named("l1tex__t_bytes_pipe_lsu_mem_global_op_{}.sum"), "byte", counted([=](const Counters &c) {
             return number(sum(c, &model::RequestSums::sectors) * model::sector_bytes);
           })},
          {named("smsp__sass_data_bytes_mem_global_op_{}.sum"), "byte",
           counted_by("the bytes of each lane; an H200 counts bytes that lanes share only once",
                      [=](const Counters &c) { return number(c.ordinary(Scope::global, stores).asked); })}};
}

/// Wavefronts and the figures derived from them. They are modelled if an access of a lane is wider than one
/// bank, or if the kernel also loads by `ldmatrix`.
Compute of_banks(bool stores, std::uint64_t model::RequestSums::*field) {
  return [=](const MetricInputs &m) {
    bool wide = std::ranges::any_of(m.counters.accesses, [&](const AccessCounts &access) {
      return access.buffer->scope == Scope::shared && access.is_store() == stores && access.requests > 0 &&
             !access.is_async() && !access.is_ldmatrix() && !access.is_tile() &&
             access.bytes > model::bank_bytes;
    });
    std::uint64_t rows = stores ? 0 : m.counters.ldmatrix().*field;
    double value = number(m.counters.ordinary(Scope::shared, stores).*field + rows);
    if (!stores && m.counters.ldmatrix().requests > 0)
      return Figure{Quality::modelled, value, "with ldmatrix; an H200 also counts a few other accesses here"};
    return wide ? Figure{Quality::modelled, value,
                         "accesses of 8 bytes by half a warp at a time, of 16 by a quarter"}
                : Figure{Quality::exact, value, ""};
  };
}

Entries shared_memory(bool stores) {
  auto named = [&](const char *pattern) { return fmt::format(fmt::runtime(pattern), stores ? "st" : "ld"); };
  Entries entries = {{named("smsp__inst_executed_op_shared_{}.sum"), "instruction",
                      [=](const MetricInputs &m) {
                        double value = number(m.counters.ordinary(Scope::shared, stores).requests);
                        if (!stores && m.counters.copied(Scope::shared).requests > 0)
                          return Figure{Quality::modelled, value,
                                        "without the loads that ptxas adds before asynchronous copies"};
                        return Figure{Quality::exact, value, ""};
                      }},
                     {named("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"), "wavefront",
                      of_banks(stores, &model::RequestSums::wavefronts)},
                     {named("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum"), "conflict",
                      of_banks(stores, &model::RequestSums::conflicts)}};
  if (stores)
    return entries;
  auto merged = [](std::uint64_t model::RequestSums::*field) {
    return counted_by(
        "in loops that a compiler unrolls, repeated loads are executed once and adjacent loads are merged",
        [=](const Counters &c) { return number(c.merged(Scope::shared, false).*field); });
  };
  entries.push_back({"nestsmith__merged_inst_executed_op_shared_ld.sum", "instruction",
                     merged(&model::RequestSums::requests), MetricOrigin::ours});
  entries.push_back({"nestsmith__merged_wavefronts_mem_shared_op_ld.sum", "wavefront",
                     merged(&model::RequestSums::wavefronts), MetricOrigin::ours});
  return entries;
}

/// One instruction loads from global memory and stores to shared memory.
Entries asynchronous_copies() {
  auto copied = [](std::uint64_t model::RequestSums::*field, Scope scope) {
    return counted([=](const Counters &c) { return number(c.copied(scope).*field); });
  };
  using Sums = model::RequestSums;
  return {{"smsp__inst_executed_op_ldgsts.sum", "instruction", copied(&Sums::requests, Scope::shared)},
          {"sm__sass_l1tex_t_requests_pipe_lsu_mem_global_op_ldgsts.sum", "request",
           copied(&Sums::requests, Scope::global)},
          {"sm__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts.sum", "sector",
           copied(&Sums::sectors, Scope::global)}};
}

Entries loads_by_ldmatrix() {
  auto rows = [](std::uint64_t model::RequestSums::*field) {
    return counted([=](const Counters &c) { return number(c.ldmatrix().*field); });
  };
  using Sums = model::RequestSums;
  return {
      {"smsp__inst_executed_op_ldsm.sum", "instruction", rows(&Sums::requests)},
      {"sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldsm.sum", "wavefront", rows(&Sums::wavefronts)},
      {"sm__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldsm.sum", "conflict",
       rows(&Sums::conflicts)}};
}

/// The sum over the products by matrix units, of integers or of floating-point numbers, of a figure of a call.
template <class F> double of_products(const Counters &counters, bool integers, F figure) {
  double sum = 0;
  for (const auto &[intrinsic, calls] : counters.matrix)
    if ((intrinsic->feature == Feature::mma_i8) == integers)
      sum += number(calls.warps) * figure(*intrinsic);
  return sum;
}

Entries matrix_units(bool integers) {
  auto named = [&](const char *pattern) {
    return fmt::format(fmt::runtime(pattern), integers ? "imma" : "hmma");
  };
  return {{named("smsp__inst_executed_pipe_tensor_op_{}.sum"), "instruction", counted([=](const Counters &c) {
             return of_products(c, integers, [](const Intrinsic &) { return 1; });
           }),
           MetricOrigin::counter, named("smsp__inst_executed_pipe_tensor_subpipe_{}.sum")},
          {named("sm__pipe_tensor_op_{}_cycles_active.sum"), "cycle",
           [=](const MetricInputs &m) {
             if (!m.gpu)
               return not_available("it needs the rate of a GPU");
             double clocks = of_products(m.counters, integers, [&](const Intrinsic &product) {
               return m.gpu->matrix_clocks(product) * m.gpu->schedulers; // each has a unit
             });
             return Figure{Quality::modelled, clocks, "the least number of clocks, by the rate of mma.sync"};
           },
           MetricOrigin::counter, named("sm__pipe_tensor_subpipe_{}_cycles_active.sum")}};
}

Entries instructions() {
  auto operations = [](auto f) { return counted_by(by_operations, f); };
  Compute executed = operations([](const Counters &c) { return number(c.instructions().warps); });
  Compute threads = operations([](const Counters &c) { return number(c.instructions().threads); });
  Compute branches = operations([](const Counters &c) { return number(c.branches.warps); });
  Compute uniform = operations([](const Counters &c) { return number(c.branches.warps - c.divergent); });
  return {
      {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "instruction",
       counted([](const Counters &c) { return number(c.multiply_adds.threads); })},
      {"smsp__sass_thread_inst_executed_op_fp32_pred_on.sum", "instruction",
       operations([](const Counters &c) { return number(c.multiply_adds.threads + c.floating.threads); })},
      {"smsp__sass_thread_inst_executed_op_integer_pred_on.sum", "instruction",
       operations([](const Counters &c) { return number(c.integer.threads); })},
      {"smsp__inst_executed.sum", "instruction", executed},
      {"smsp__thread_inst_executed_per_inst_executed.ratio", "thread",
       ratio(threads, executed, 1, "the kernel executes nothing")},
      {"smsp__sass_branch_targets_threads_divergent.sum", "branch",
       operations([](const Counters &c) { return number(c.divergent); })},
      {"smsp__sass_average_branch_targets_threads_uniform.pct", "%",
       ratio(uniform, branches, 100, "the kernel has no branch")},
      {"nestsmith__barriers.sum", "instruction",
       counted([](const Counters &c) { return number(c.barriers.warps); }), MetricOrigin::ours},
  };
}

Entries caches_and_dram() {
  auto sectors = [](std::uint64_t Traffic::*field) {
    return cached([=](const Traffic &t) { return number(t.*field); });
  };
  auto bytes = [](auto f) {
    return cached([=](const Traffic &t) { return number(f(t)) * model::sector_bytes; });
  };
  return {
      {"l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct", "%",
       ratio(sectors(&Traffic::l1_hits), sectors(&Traffic::l1_sectors), 100, "the kernel loads nothing")},
      {"lts__t_sectors_srcunit_tex.sum", "sector",
       cached([](const Traffic &t) { return number(t.l2_reads + t.l2_writes); })},
      {"lts__t_sectors_srcunit_tex_op_read.sum", "sector", sectors(&Traffic::l2_reads)},
      {"lts__t_sectors_srcunit_tex_op_write.sum", "sector", sectors(&Traffic::l2_writes)},
      {"lts__t_sector_op_read_hit_rate.pct", "%",
       ratio(sectors(&Traffic::l2_read_hits), sectors(&Traffic::l2_reads), 100, "no request reaches L2")},
      {"dram__bytes.sum", "byte", bytes([](const Traffic &t) { return t.dram_reads + t.dram_writes; })},
      {"dram__bytes_read.sum", "byte", bytes([](const Traffic &t) { return t.dram_reads; }),
       MetricOrigin::counter, "dram__bytes_op_read.sum"},
      {"dram__bytes_write.sum", "byte", bytes([](const Traffic &t) { return t.dram_writes; }),
       MetricOrigin::counter, "dram__bytes_op_write.sum"},
  };
}

Entries launch() {
  constexpr MetricOrigin profiler = MetricOrigin::profiler;
  Entries entries = {
      {"sm__ctas_launched.sum", "block", counted([](const Counters &c) { return number(c.blocks); })},
      {"launch__waves_per_multiprocessor", "",
       [](const MetricInputs &m) {
         if (!m.occupancy || !m.gpu)
           return not_available("no occupancy was computed");
         Waves all = waves(*m.gpu, *m.occupancy, static_cast<std::int64_t>(m.counters.blocks));
         return Figure{Quality::modelled, all.waves, by_calculator};
       },
       profiler},
      {"launch__registers_per_thread_allocated", "register",
       launched([](const Occupancy &o, const MetricInputs &) { return o.registers_per_thread; }), profiler},
      {"launch__shared_mem_per_block_allocated", "byte", launched([](const Occupancy &o, const MetricInputs &) {
         return static_cast<double>(o.shared_per_block);
       }),
       profiler},
      {"sm__maximum_warps_per_active_cycle_pct", "%",
       launched([](const Occupancy &o, const MetricInputs &) { return 100 * o.ratio(); }), profiler},
  };
  for (auto [limit, metric] : {std::pair{OccupancyLimit::warps, "launch__occupancy_limit_warps"},
                               {OccupancyLimit::registers, "launch__occupancy_limit_registers"},
                               {OccupancyLimit::shared_memory, "launch__occupancy_limit_shared_mem"},
                               {OccupancyLimit::blocks, "launch__occupancy_limit_blocks"}})
    entries.push_back({metric, "block",
                       [limit = limit](const MetricInputs &m) {
                         if (!m.occupancy)
                           return not_available("no occupancy was computed");
                         auto bound = m.occupancy->bound.find(limit);
                         return bound == m.occupancy->bound.end()
                                    ? not_available("the kernel uses none, or the amount is not known")
                                    : Figure{Quality::modelled, bound->second, by_calculator};
                       },
                       profiler});
  return entries;
}

/// Metrics that only a GPU can measure. They are listed so that users find them, and so that the comparison
/// with a GPU shows them.
Entries only_on_a_gpu() {
  constexpr const char *time = "it needs a measured time, and no time is modelled";
  constexpr const char *stalls = "stalls of the pipeline are not modelled";
  return {
      {"l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum", "sector",
       never("the lowered kernel does not show the spills of the compiler; `compile` reports their bytes")},
      {"sm__warps_active.avg.pct_of_peak_sustained_active", "%", never(time)},
      {"gpu__time_duration.sum", "ns", never(time)},
      {"dram__bytes.sum.per_second", "byte/s", never(time)},
      {"smsp__issue_active.avg.pct_of_peak_sustained_active", "%", never(time)},
      {"smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio", "warp", never(stalls)},
      {"smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio", "warp", never(stalls)},
      {"smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio", "warp", never(stalls)},
  };
}

const Entries &all_entries() {
  static const Entries all = [] {
    Entries entries;
    for (Entries part : {global_memory(false), global_memory(true), shared_memory(false), shared_memory(true),
                         loads_by_ldmatrix(), asynchronous_copies(), matrix_units(false), matrix_units(true),
                         instructions(), caches_and_dram(), launch(), only_on_a_gpu()})
      std::ranges::move(part, std::back_inserter(entries));
    return entries;
  }();
  return all;
}

} // namespace

std::vector<Metric> metrics(const MetricInputs &inputs) {
  bool gb20x = inputs.gpu && inputs.gpu->chip.starts_with("GB2");
  std::vector<Metric> result;
  for (const Entry &entry : all_entries()) {
    Figure figure = entry.compute(inputs);
    result.push_back({gb20x && !entry.on_gb20x.empty() ? entry.on_gb20x : entry.name, entry.unit, entry.origin,
                      figure.quality, figure.value, std::move(figure.note)});
  }
  return result;
}

} // namespace nestsmith
