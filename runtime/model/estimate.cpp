#include "runtime/model/estimate.h"

#include "codegen/cuda.h"
#include "runtime/model/slots.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace nestsmith::model {

namespace {

/// Clocks of a load that hits in L2, and of one that misses: adjusted to measurements on an H200
/// (docs/tuning.md). Microbenchmarks of single loads report more.
constexpr double l2_latency = 210, dram_latency = 450;
/// The main loop is executed this number of times, and its further iterations take as long as the mean of those
/// after the first ones.
constexpr std::int64_t first_iterations = 2, executed_iterations = 12;
constexpr double l1_bytes_per_clock = 128;

/// Clocks of the pipe for each request, by the access size of a lane after merging by the compiler, or by the
/// bytes that `ldmatrix` gives to a lane.
std::map<int, double> shared_clocks(const Counters &counters, bool stores, bool rows = false) {
  std::map<int, RequestSums> sums;
  for (const AccessCounts &access : counters.accesses)
    if (access.buffer->scope == Scope::shared && access.is_store() == stores && access.is_ldmatrix() == rows &&
        !access.is_tile() && access.merged.threads > 0)
      sums[static_cast<int>(access.merged.asked /
                            (rows ? 32 * access.merged.requests : access.merged.threads))] += access.merged;
  std::map<int, double> clocks;
  for (const auto &[bytes, sum] : sums)
    clocks[bytes] = sum.wavefronts_per_request();
  return clocks;
}

AccessClocks access_clocks(const KernelAnalysis &analysis, const Gpu &gpu) {
  const Traffic &moved = analysis.memory.traffic;
  double bytes = analysis.counters.total(Scope::global, false).sectors_per_request() * sector_bytes;
  AccessClocks result;
  result.shared_load = shared_clocks(analysis.counters, false);
  result.shared_store = shared_clocks(analysis.counters, true);
  result.ldmatrix = shared_clocks(analysis.counters, false, true);
  result.l1 = std::max(1.0, bytes / l1_bytes_per_clock);
  result.l2 = bytes * (1 - moved.l1_hit_rate()) / (gpu.l2_bytes_per_clock / gpu.sms);
  result.global_latency = moved.l2_hit_rate() * l2_latency + (1 - moved.l2_hit_rate()) * dram_latency;
  return result;
}

/// For each instruction: whether it is on the path that takes only forward branches without predicate.
std::vector<bool> path(const std::vector<Instruction> &code) {
  std::vector<bool> result(code.size());
  for (std::size_t n = 0; n < code.size();) {
    result[n] = true;
    if (code[n].unit == Unit::exit && !code[n].predicated)
      break;
    bool jumps =
        code[n].unit == Unit::branch && !code[n].predicated && code[n].target > static_cast<std::int64_t>(n);
    n = jumps ? static_cast<std::size_t>(code[n].target) : n + 1;
  }
  return result;
}

/// The clocks of the SM for blocks that start together.
double wave_clocks(SmWork work, const LoopCounts &counts) {
  auto clocks = [&](double main) {
    work.iterations = counts.part(main);
    return sm_clocks(work);
  };
  double wanted = counts.main < counts.iterations.size() ? counts.iterations[counts.main] : 0;
  if (wanted <= executed_iterations)
    return clocks(wanted);
  double first = clocks(first_iterations), last = clocks(executed_iterations);
  return last + (wanted - executed_iterations) * (last - first) / (executed_iterations - first_iterations);
}

/// If the numbers of iterations account for less than this part of the loads, there are several passes.
constexpr double accounted_loads = 0.75;

/// How often an instruction is executed.
double times_of(const LoopCounts &counts, std::size_t instruction) {
  double product = 1;
  for (std::size_t n = 0; n < counts.loops.size(); ++n)
    if (counts.loops[n].begin <= instruction && instruction <= counts.loops[n].end)
      product *= counts.iterations[n];
  return product;
}

/// `counted`: the arithmetic determines the iterations of the main loop.
void count_passes(LoopCounts &counts, const std::vector<Instruction> &code, const std::vector<bool> &executed,
                  double loads, bool counted) {
  double accounted = 0;
  std::vector<int> in_loop(counts.loops.size());
  int outside = 0;
  for (std::size_t at = 0; at < code.size(); ++at) {
    if (!executed[at] || (code[at].unit != Unit::global_load && code[at].unit != Unit::async_copy))
      continue;
    accounted += times_of(counts, at);
    auto outermost = std::ranges::find_if(
        counts.loops, [&](const CodeLoop &loop) { return loop.begin <= at && at <= loop.end; });
    (outermost == counts.loops.end() ? outside
                                     : in_loop[static_cast<std::size_t>(outermost - counts.loops.begin())])++;
  }
  std::vector<std::size_t> passes;
  for (std::size_t n = 0; n < in_loop.size(); ++n)
    if (in_loop[n] > 0)
      passes.push_back(n);
  bool has_main = counts.main < counts.loops.size();
  if (passes.empty() || (has_main && std::ranges::find(passes, counts.main) == passes.end()))
    return;
  if (counted && (passes.size() == 1 || accounted >= accounted_loads * loads))
    return;
  for (std::size_t n : passes)
    counts.iterations[n] = std::max(1.0, (loads - outside) / static_cast<double>(passes.size()) / in_loop[n]);
  if (!has_main)
    counts.main = passes.front();
  counts.passes = std::move(passes);
}

/// The loops on the path through the code, the longest one first, with one iteration each.
LoopCounts executed_loops(const std::vector<Instruction> &code, const std::vector<bool> &executed) {
  LoopCounts result;
  for (const CodeLoop &loop : loops(code))
    if (executed[loop.end])
      result.loops.push_back(loop);
  result.iterations.assign(result.loops.size(), 1);
  return result;
}

/// The code of the main role: a branch around the code of other roles, which has no arithmetic and ends the
/// thread, is taken.
void take_main_role(std::vector<Instruction> &code) {
  auto computes = [](const Instruction &x) { return x.unit == Unit::fp32 || x.unit == Unit::matrix; };
  for (std::size_t n = 0; n < code.size() && !computes(code[n]); ++n) {
    const auto target = static_cast<std::size_t>(std::max<std::int64_t>(code[n].target, 0));
    if (code[n].unit != Unit::branch || !code[n].predicated || target <= n + 1 || target > code.size())
      continue;
    const Instruction &last = code[target - 1];
    const auto begin = code.begin();
    if (last.unit == Unit::exit && !last.predicated &&
        std::none_of(begin + static_cast<std::ptrdiff_t>(n), begin + static_cast<std::ptrdiff_t>(target),
                     computes))
      code[n].predicated = false;
  }
}

/// The loops of the main role: the one with most arithmetic, over tiles of k, and one around it, over tiles of
/// the result, if there is one. The arithmetic instructions of a warp, and its requests of stores to global
/// memory, give their numbers of iterations.
LoopCounts counts_of_main_role(const std::vector<Instruction> &code, double arithmetic, double stores) {
  const std::vector<bool> executed = path(code);
  LoopCounts result = executed_loops(code, executed);
  const bool products = std::ranges::find(code, Unit::matrix, &Instruction::unit) != code.end();
  const auto count = products ? &CodeLoop::matrix : &CodeLoop::fp32;
  auto number_of = [&](Unit unit, std::size_t begin, std::size_t end) {
    int number = 0;
    for (std::size_t n = begin; n < end; ++n)
      number += executed[n] && code[n].unit == unit;
    return number;
  };
  result.main = result.loops.size();
  for (std::size_t n = 0; n < result.loops.size(); ++n) {
    const int own = result.loops[n].*count;
    if (own > 0 && (result.main == result.loops.size() || 2 * own > result.loops[result.main].*count))
      result.main = n;
  }
  if (result.main == result.loops.size())
    return result;
  const CodeLoop &main = result.loops[result.main];
  double tiles = 1;
  for (std::size_t n = 0; n < result.main; ++n) {
    const CodeLoop &around = result.loops[n];
    const int stored = number_of(Unit::global_store, around.begin, around.end);
    if (!around.contains(main) || stored == 0)
      continue;
    tiles = result.iterations[n] = std::max(1.0, std::round(stores / stored));
    break;
  }
  const int outside = number_of(products ? Unit::matrix : Unit::fp32, 0, code.size()) - main.*count;
  result.iterations[result.main] = std::max(1.0, (arithmetic / tiles - outside) / (main.*count));
  return result;
}

} // namespace

std::vector<std::int64_t> LoopCounts::part(double main_iterations) const {
  std::vector<std::int64_t> result;
  for (double each : iterations)
    result.push_back(std::llround(each));
  if (main < iterations.size())
    result[main] = std::llround(main_iterations);
  for (std::size_t n : passes)
    result[n] = std::max<std::int64_t>(1, std::llround(iterations[n] * main_iterations / iterations[main]));
  return result;
}

LoopCounts loop_counts(const std::vector<Instruction> &code, double arithmetic, double barriers, double loads) {
  std::vector<bool> executed = path(code);
  LoopCounts result = executed_loops(code, executed);
  bool products = std::ranges::find(code, Unit::matrix, &Instruction::unit) != code.end();
  Unit unit = products ? Unit::matrix : Unit::fp32;
  auto count = products ? &CodeLoop::matrix : &CodeLoop::fp32;
  int all = 0, all_barriers = 0;
  for (std::size_t n = 0; n < code.size(); ++n) {
    all += executed[n] && code[n].unit == unit;
    all_barriers += executed[n] && code[n].unit == Unit::barrier;
  }
  auto most = std::ranges::max_element(result.loops, {}, count); // the first one, so the outermost
  result.main = static_cast<std::size_t>(most - result.loops.begin());
  if (most == result.loops.end() || (*most).*count == 0) {
    result.main = result.loops.size();
    count_passes(result, code, executed, loads, /*counted=*/false);
    return result;
  }
  const CodeLoop &main = *most;
  double &iterations = result.iterations[result.main];
  std::size_t inner = result.loops.size();
  for (std::size_t n = result.main + 1; n < result.loops.size(); ++n)
    if (main.contains(result.loops[n]) && result.loops[n].*count > 0 &&
        (inner == result.loops.size() || result.loops[n].*count > result.loops[inner].*count))
      inner = n;
  if (inner < result.loops.size() && main.barriers > 0) {
    const CodeLoop &within = result.loops[inner];
    double inside = within.*count, outside = main.*count - inside,
           outside_barriers = main.barriers - within.barriers,
           in_main = barriers - (all_barriers - main.barriers);
    iterations = std::max(1.0, in_main / main.barriers);
    // If both loops have barriers, such as a loop of waves around that over k, the numbers of iterations of
    // both follow from the arithmetic and the barriers: two linear equations.
    double first = inside * outside_barriers, second = outside * within.barriers, determinant = first - second;
    bool independent = std::abs(determinant) > 0.05 * (first + second);
    if (within.barriers > 0 && outside_barriers > 0 && independent)
      iterations =
          std::clamp((inside * in_main - within.barriers * (arithmetic - (all - main.*count))) / determinant,
                     1.0, in_main);
    result.iterations[inner] = std::max(1.0, std::round((arithmetic / iterations - outside) / inside));
  } else {
    iterations = (arithmetic - (all - main.*count)) / (main.*count);
  }
  // Functions such as exp have instructions of their own. If there are more outside of the loop than were
  // counted, the count says nothing about the loop.
  bool counted = iterations >= 1;
  iterations = std::max(1.0, iterations);
  count_passes(result, code, executed, loads, counted);
  return result;
}

std::vector<WaveShape> wave_shapes(const Waves &waves, int blocks_per_sm, int sms) {
  std::vector<WaveShape> shapes;
  std::int64_t full = waves.blocks / waves.in_wave, rest = waves.blocks % waves.in_wave;
  if (full > 0)
    shapes.push_back({blocks_per_sm, full});
  if (rest > 0)
    shapes.push_back({(rest + sms - 1) / sms, 1});
  return shapes;
}

double CountedCode::times(std::size_t instruction) const { return times_of(counts, instruction); }

std::optional<CountedCode> counted_code(const KernelAnalysis &analysis) {
  if (!analysis.compiled || analysis.counters.in_f64.warps > 0) // the pipeline has no model of DFMA
    return std::nullopt;
  std::vector<Instruction> code = machine_code(analysis.compiled->cubin, entry_name(analysis.kernel));
  auto warps = static_cast<double>(analysis.warps_of_main_role() * analysis.waves.blocks);
  if (code.empty() || warps == 0)
    return std::nullopt;
  const Counters &counters = analysis.counters;
  std::uint64_t products = counters.matrix_calls().warps,
                arithmetic = products > 0 ? products : counters.multiply_adds.warps + counters.floating.warps;
  if (!analysis.kernel.roles.empty()) {
    take_main_role(code);
    LoopCounts counts = counts_of_main_role(
        code, static_cast<double>(arithmetic) / warps,
        static_cast<double>(counters.merged(Scope::global, /*stores=*/true).requests) / warps);
    return CountedCode{std::move(code), std::move(counts)};
  }
  LoopCounts counts =
      loop_counts(code, static_cast<double>(arithmetic) / warps, analysis.barriers_of_warp(),
                  static_cast<double>(counters.merged(Scope::global, /*stores=*/false).requests) / warps);
  return CountedCode{std::move(code), std::move(counts)};
}

std::optional<ModelledCode> modelled_code(const KernelAnalysis &analysis, const Gpu &gpu) {
  std::optional<CountedCode> counted = counted_code(analysis);
  if (!counted)
    return std::nullopt;
  auto products = static_cast<double>(analysis.counters.matrix_calls().warps);
  ModelledCode result{*std::move(counted), {}, 0};
  result.work = {.loops = result.counts.loops,
                 .iterations = {},
                 .warps = static_cast<int>(analysis.warps_of_main_role()),
                 .schedulers = gpu.schedulers,
                 .matrix_clocks =
                     products > 0 ? matrix_clocks(analysis.counters, gpu) * gpu.schedulers / products : 1,
                 .access = access_clocks(analysis, gpu)};
  for (std::size_t channel = 0; channel < analysis.kernel.channels.size(); ++channel)
    if (const auto trips = slot_trips(analysis.kernel, channel, analysis.memory.traffic.l2_hit_rate()))
      result.answers = std::max(result.answers, trips->clocks());
  return result;
}

namespace {

double wave_clocks(const ModelledCode &code, std::int64_t blocks) {
  SmWork work = code.work;
  work.code = &code.code;
  work.blocks = static_cast<int>(blocks);
  const double answers = work.left_out.latency ? 0 : code.answers;
  return std::max(answers, wave_clocks(std::move(work), code.counts));
}

/// The clocks of all waves.
double clocks_of(const ModelledCode &code, const KernelAnalysis &analysis, const Gpu &gpu) {
  double clocks = 0;
  for (const WaveShape &wave : wave_shapes(analysis.waves, analysis.occupancy.blocks, gpu.sms))
    clocks += static_cast<double>(wave.times) * wave_clocks(code, wave.blocks);
  return clocks;
}

/// The clocks if the blocks of all SMs took their part of the time of the fullest wave.
double even_clocks(const ModelledCode &code, const KernelAnalysis &analysis, const Gpu &gpu) {
  std::vector<WaveShape> shapes = wave_shapes(analysis.waves, analysis.occupancy.blocks, gpu.sms);
  std::int64_t most = shapes.front().blocks;
  return wave_clocks(code, most) / static_cast<double>(most) * static_cast<double>(analysis.waves.blocks) /
         gpu.sms;
}

/// The largest bound if all SMs had the same share of the work.
double even_seconds(const KernelAnalysis &analysis, const Gpu &gpu) {
  double most = 0;
  for (const Bound &bound : analysis.bounds)
    most = std::max(most, analysis.even_seconds(bound, gpu));
  return most;
}

} // namespace

Estimate estimate(const KernelAnalysis &analysis, const Gpu &gpu) {
  Estimate result{analysis.seconds(), {}};
  std::optional<ModelledCode> code = modelled_code(analysis, gpu);
  double clocks = code ? clocks_of(*code, analysis, gpu) : 0;
  result.seconds = std::max(analysis.seconds(), clocks / gpu.clock_hz);
  double even =
      std::max(even_seconds(analysis, gpu), code ? even_clocks(*code, analysis, gpu) / gpu.clock_hz : 0.0);
  if (even > 0)
    result.losses.imbalance = std::max(1.0, result.seconds / even);
  if (!code || clocks / gpu.clock_hz <= analysis.seconds())
    return result;
  auto without = [&](bool LeftOut::*loss) {
    LeftOut left_out;
    left_out.*loss = true;
    code->work.left_out = left_out;
    double rest = std::max(analysis.seconds(), clocks_of(*code, analysis, gpu) / gpu.clock_hz);
    return std::max(1.0, result.seconds / rest);
  };
  result.losses.latency = without(&LeftOut::latency);
  result.losses.barriers = without(&LeftOut::barriers);
  result.losses.fetch = without(&LeftOut::fetch);
  result.losses.banks = without(&LeftOut::banks);
  return result;
}

} // namespace nestsmith::model
