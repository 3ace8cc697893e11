#include "runtime/model/explain.h"

#include "codegen/cuda.h"
#include "dsl/expr/error.h"
#include "dsl/ir/intrinsic.h"
#include "lowering/notes.h"
#include "runtime/model/explain_roles.h"
#include "runtime/model/machine_code.h"
#include "runtime/model/words.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith {

namespace {

std::string scaled(double value, const std::vector<std::pair<double, const char *>> &units) {
  for (auto [unit, name] : units)
    if (value >= unit * 0.9995)
      return fmt::format("{}{}", number_text(value / unit), name);
  return fmt::format("{}{}", number_text(value / units.back().first), units.back().second);
}

/// "4.19 M blocks", "1 block".
std::string counted(const std::string &number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == "1" ? "" : "s");
}

std::string counted(std::int64_t number, std::string_view noun) {
  return counted(std::to_string(number), noun);
}

std::string global_text(const model::RequestSums &total) {
  if (total.requests == 0)
    return "none";
  return fmt::format(
      "{} of {}; {} requested, {} moved", counted(count_text(static_cast<double>(total.requests)), "request"),
      counted(number_text(total.sectors_per_request()), "sector"), bytes_text(static_cast<double>(total.asked)),
      bytes_text(static_cast<double>(total.bytes_moved())));
}

std::string shared_text(const model::RequestSums &total) {
  if (total.requests == 0)
    return "none";
  return fmt::format("{} of {}; {}", counted(count_text(static_cast<double>(total.requests)), "request"),
                     counted(number_text(total.wavefronts_per_request()), "wavefront"),
                     total.conflicts == 0
                         ? "no bank conflicts"
                         : counted(count_text(static_cast<double>(total.conflicts)), "bank conflict"));
}

/// A smaller factor is not shown.
constexpr double least_loss = 1.02;

/// "imbalance of the last wave, 1.27 times"
std::string loss_text(const KernelAnalysis &analysis, Loss loss, Language language = Language::en) {
  const std::string_view word = name(loss, language);
  const std::string factor = number_text(analysis.losses.of(loss));
  if (loss != Loss::imbalance)
    return say(language, "{}, {} times", "{}, {}배", word, factor);
  return analysis.waves.full == 0
             ? say(language, "{} of the only wave, {} times", "유일한 웨이브의 {}, {}배", word, factor)
             : say(language, "{} of the last wave, {} times", "마지막 웨이브의 {}, {}배", word, factor);
}

Section speed_of_light(const KernelAnalysis &analysis) {
  Section section{"GPU Speed Of Light", {}};
  section.facts.push_back(
      {"Least time", fmt::format("{}, bound by {}", seconds_text(analysis.seconds()), name(analysis.limiter())),
       Quality::bound});
  for (const Bound &bound : analysis.bounds)
    if (bound.amount > 0)
      section.facts.push_back(
          {std::string(name(bound.resource)),
           fmt::format("{:<9} {:>6}   {}", seconds_text(bound.seconds),
                       percent_text(bound.seconds / analysis.seconds()),
                       of_sm(bound.resource) ? count_text(bound.amount) + " clocks of the busiest SM"
                                             : bytes_text(bound.amount)),
           Quality::bound});
  if (!analysis.compiled)
    return section;
  if (analysis.counters.in_f64.warps > 0) {
    section.facts.push_back({"Estimated time", "none: the model of latency has no FP64 instructions"});
    return section;
  }
  section.facts.push_back({"Estimated time",
                           seconds_text(analysis.estimated_seconds) + ", with latency, barriers and waves",
                           Quality::modelled});
  section.facts.push_back({"Limited by", limit_text(analysis), Quality::modelled});
  std::optional<Loss> largest = analysis.largest_loss();
  std::vector<std::string> others;
  for (Loss loss : all_losses)
    if (loss != largest && analysis.losses.of(loss) >= least_loss)
      others.push_back(loss_text(analysis, loss));
  if (!others.empty())
    section.facts.push_back(
        {largest ? "Other losses" : "Losses", fmt::format("{}", fmt::join(others, "; ")), Quality::modelled});
  return section;
}

Section memory_workload(const KernelAnalysis &analysis) {
  const model::Counters &counts = analysis.counters;
  const model::Traffic &moved = analysis.memory.traffic;
  Section section{"Memory Workload Analysis", {}};
  section.facts = {
      {"Global loads", global_text(counts.total(Scope::global, false))},
      {"Global stores", global_text(counts.total(Scope::global, true))},
      {"Shared loads", shared_text(counts.total(Scope::shared, false))},
      {"Shared stores", shared_text(counts.total(Scope::shared, true))},
      {"L1 hit rate", percent_text(moved.l1_hit_rate()), Quality::modelled},
      {"L2 traffic",
       fmt::format("{}; hit rate {}", bytes_text(static_cast<double>(moved.l2_bytes())),
                   percent_text(moved.l2_hit_rate())),
       Quality::modelled},
      {"DRAM traffic",
       fmt::format("{} read, {} written",
                   bytes_text(static_cast<double>(moved.dram_reads) * model::sector_bytes),
                   bytes_text(static_cast<double>(moved.dram_writes) * model::sector_bytes)),
       Quality::modelled},
  };
  if (model::RequestSums copied = counts.copied(Scope::shared); copied.requests > 0)
    section.facts.push_back(
        {"Asynchronous copies", fmt::format("{} requests; the loads and stores above contain them",
                                            count_text(static_cast<double>(copied.requests)))});
  if (model::RequestSums tiles = counts.tiles(); tiles.requests > 0)
    section.facts.push_back(
        {"Tiles", shared_text(tiles) + ", by the matrix units; the shared loads above contain them"});
  if (model::RequestSums rows = counts.ldmatrix(); rows.requests > 0)
    section.facts.push_back({"Loads by ldmatrix", shared_text(rows) + "; the shared loads above contain them"});
  model::RequestSums text = counts.total(Scope::shared, false), merged = counts.merged(Scope::shared, false);
  if (merged.requests < text.requests)
    section.facts.push_back({"Shared loads, merged",
                             shared_text(merged) + ", after merging by the compiler; the bounds use this count",
                             Quality::modelled});
  if (!analysis.sums_moved.empty())
    section.facts.push_back({"Sums in registers",
                             fmt::format("{}: the source updates memory, but the compiler can use a register; "
                                         "all figures except metrics assume a register",
                                         fmt::join(analysis.sums_moved, ", ")),
                             Quality::modelled});
  double followed = analysis.memory.followed * analysis.memory.followed_blocks;
  if (followed < 1)
    section.facts.push_back({"Cache model",
                             "simulated " + percent_text(followed) + " of the requests, scaled to all",
                             Quality::modelled});
  return section;
}

Section occupancy_section(const KernelAnalysis &analysis) {
  const Occupancy &o = analysis.occupancy;
  Section section{"Occupancy", {}};
  std::vector<std::string_view> limits;
  for (OccupancyLimit limit : o.limits)
    limits.push_back(name(limit));
  std::vector<std::string> bounds;
  for (auto [limit, blocks] : o.bound)
    if (analysis.compiled || limit != OccupancyLimit::registers)
      bounds.push_back(fmt::format("{} {}", name(limit), blocks));
  std::string at_most = analysis.compiled && !analysis.occupancy_assumed ? "" : "at most ";
  section.facts = {
      {"Theoretical occupancy", fmt::format("{}{}: {}, {} of {} warps", at_most, percent_text(o.ratio()),
                                            counted(o.blocks, "block"), o.warps, o.max_warps)},
      {"Limited by", fmt::format("{}", fmt::join(limits, ", "))},
      {"Block limits per SM", fmt::format("{}", fmt::join(bounds, ", "))},
      analysis.compiled
          ? Fact{"Registers per thread",
                 fmt::format("{}, allocated as {}", analysis.compiled->registers, o.registers_per_thread)}
          : Fact{"Registers per thread", "n/a: assumed not to limit", Quality::unknown},
      {"Shared memory per block",
       fmt::format("{} bytes, allocated as {}", analysis.kernel.shared_bytes, o.shared_per_block)},
  };
  std::vector<std::string> tenants;
  for (const kernel::Allocation &tile : analysis.kernel.shared)
    if (tile.tenancy)
      tenants.push_back(fmt::format("{} ({} bytes) in the memory of {}", tile.buffer->name, tile.tenancy->bytes,
                                    analysis.kernel.shared[tile.tenancy->host].buffer->name));
  if (!tenants.empty())
    section.facts.push_back({"Shared memory reused", fmt::format("{}", fmt::join(tenants, ", "))});
  if (analysis.occupancy_assumed)
    section.facts.push_back(
        {"Calculator",
         "n/a: this build has no cuda_occupancy.h; only threads, blocks and shared memory are considered",
         Quality::unknown});
  if (analysis.compiled)
    if (auto code = model::bytes_of(model::machine_code(analysis.compiled->cubin, entry_name(analysis.kernel)));
        code.all > 0)
      section.facts.push_back(
          {"Machine code",
           fmt::format("{} bytes{}", code.all,
                       code.loops.empty() ? ""
                       : code.loops.size() == 1
                           ? fmt::format(", of which the loop has {}", code.loops.front())
                           : fmt::format(", of which loops have {}", fmt::join(code.loops, ", ")))});
  if (analysis.compiled && analysis.compiled->spill_stores + analysis.compiled->spill_loads > 0)
    section.facts.push_back(
        {"Spills", fmt::format("{} bytes stored, {} loaded per thread", analysis.compiled->spill_stores,
                               analysis.compiled->spill_loads)});
  return section;
}

/// "32 x 4 = 128 threads", "128 threads", "1 thread".
std::string of_extents(const std::array<std::int64_t, 3> &extents, std::int64_t product,
                       std::string_view what) {
  std::string text = extents_text(extents);
  return text == std::to_string(product) ? counted(product, what)
                                         : fmt::format("{} = {}", text, counted(product, what));
}

Section launch_section(const KernelAnalysis &analysis, const PlanAnalysis &whole) {
  const model::Counters &counts = analysis.counters;
  const Waves &w = analysis.waves;
  Section section{"Launch Statistics", {}};
  section.facts = {
      {"Grid",
       of_extents(analysis.kernel.grid(), w.blocks, "block") +
           (analysis.kernel.cluster > 1 ? fmt::format(", in clusters of {}", analysis.kernel.cluster) : "")},
      {"Block", of_extents(analysis.kernel.block(), analysis.kernel.threads(), "thread")},
      {"Waves", fmt::format("{} of {}; the last is {} full", number_text(w.waves), counted(w.in_wave, "block"),
                            percent_text(w.last_wave))},
      {"Busiest SM", fmt::format("{}, {} times the mean", counted(w.busiest, "block"),
                                 number_text(analysis.imbalance(whole.gpu)))},
  };
  if (const std::vector<Buffer> &awaited = analysis.kernel.awaited; !awaited.empty())
    section.facts.push_back(
        {"Beside", "the kernel before it, which it awaits where it uses " + kernel::names_of(awaited)});
  auto products = static_cast<double>(counts.matrix_multiply_adds());
  double executed = static_cast<double>(counts.multiply_adds.threads) + products,
         needed = whole.needed_multiply_adds;
  if (needed > 0 && whole.kernels.size() == 1)
    section.facts.push_back(
        {"Multiply-adds", fmt::format("{} executed, {} of them outside of the sums", count_text(executed),
                                      percent_text(std::max(0.0, 1 - needed / executed)))});
  for (const auto &[intrinsic, calls] : counts.matrix)
    section.facts.push_back(
        {"Matrix units",
         fmt::format("{} calls of {}", count_text(static_cast<double>(calls.warps)), intrinsic->name)});
  section.facts.push_back(
      {"Active lanes", fmt::format("{} of 32; {} branches diverge", number_text(analysis.active_lanes()),
                                   count_text(static_cast<double>(counts.divergent)))});
  section.facts.push_back(
      {"Barriers", fmt::format("{} for each warp", number_text(analysis.barriers_of_warp()))});
  if (counts.estimated)
    section.facts.push_back(
        {"Counted",
         fmt::format("{} of {} blocks; their mean represents all blocks", counts.counted, counts.blocks),
         Quality::modelled});
  else if (counts.sampled())
    section.facts.push_back(
        {"Counted", fmt::format("{} of {} blocks; each counted block stands for similar blocks", counts.counted,
                                counts.blocks)});
  return section;
}

} // namespace

std::string limit_text(const KernelAnalysis &analysis) { return limit_text(analysis, Language::en); }

std::string limit_text(const KernelAnalysis &analysis, Language language) {
  constexpr double half = 0.5;
  constexpr Words more = {"; the machine code does work that the bounds do not count",
                          "; 기계어에는 하한에 포함되지 않은 작업도 있습니다"};
  if (std::optional<Loss> loss = analysis.largest_loss())
    return loss_text(analysis, *loss, language);
  double part = analysis.seconds() / analysis.estimated_seconds;
  return say(language, "{}, {} of the estimated time{}", "{}, 추정 시간의 {}{}",
             name(analysis.limiter(), language), percent_text(part),
             part < half ? more.in(language) : std::string_view());
}

std::string number_text(double value) {
  if (value == 0)
    return "0";
  int decimals = std::clamp(2 - static_cast<int>(std::floor(std::log10(std::fabs(value)))), 0, 6);
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.')
      text.pop_back();
  }
  return text;
}

std::string percent_text(double ratio) { return number_text(100 * ratio) + " %"; }

std::string seconds_text(double seconds) {
  return scaled(seconds, {{1, " s"}, {1e-3, " ms"}, {1e-6, " us"}, {1e-9, " ns"}});
}
std::string bytes_text(double bytes) {
  return scaled(bytes, {{1e12, " TB"}, {1e9, " GB"}, {1e6, " MB"}, {1e3, " KB"}, {1, " B"}});
}
std::string count_text(double count) {
  return scaled(count, {{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1, ""}});
}

std::vector<Section> sections(const KernelAnalysis &kernel, const PlanAnalysis &whole) {
  std::vector<Section> list = {speed_of_light(kernel), memory_workload(kernel), occupancy_section(kernel),
                               launch_section(kernel, whole)};
  if (std::optional<Section> roles = roles_section(kernel, whole.gpu))
    list.push_back(*std::move(roles));
  return list;
}

/// The peak that the roofline uses, and its source.
static Fact peak_of_matrix_units(const Gpu &gpu, Feature feature) {
  const char *field = feature == Feature::mma_i8     ? "matrix_i8"
                      : feature == Feature::mma_tf32 ? "matrix_tf32"
                                                     : "matrix_f16";
  return {feature == Feature::wgmma ? "Peak by wgmma" : "Peak by mma.sync",
          fmt::format("{:.4g} {}; published for dense operands: {:.4g} ({})", gpu.matrix_flops(feature) * 1e-12,
                      feature == Feature::mma_i8 ? "TOP/s" : "TFLOP/s", gpu.dense_flops(feature) * 1e-12,
                      gpu.sources.at(field))};
}

Section roofline(const PlanAnalysis &analysis) {
  auto at = [&](double intensity) {
    return fmt::format("{} FLOP/byte: at most {:.4g} TFLOP/s, bound by {}", number_text(intensity),
                       analysis.attainable(intensity) * 1e-12,
                       intensity < analysis.ridge() ? "DRAM"
                       : analysis.matrix_feature()  ? "the matrix units"
                       : analysis.mostly_in_f64()   ? "the FP64 pipe"
                                                    : "the FP32 pipe");
  };
  Section section{"Roofline", {}};
  section.facts = {
      {"Peak", fmt::format("{:.4g} TFLOP/s in {}, {:.4g} TB/s from DRAM", analysis.peak_of_vectors() * 1e-12,
                           analysis.mostly_in_f64() ? "FP64" : "FP32", analysis.gpu.dram_bytes_per_s * 1e-12)},
      {"Ridge point", number_text(analysis.ridge()) + " FLOP/byte"},
      {"Algorithm", at(analysis.algorithm_intensity())},
      {"Requests", at(analysis.asked_intensity()) + ", if every request went to DRAM"},
      {"DRAM traffic", at(analysis.dram_intensity()), Quality::modelled},
  };
  if (std::optional<Feature> feature = analysis.matrix_feature())
    section.facts.insert(section.facts.begin() + 1, peak_of_matrix_units(analysis.gpu, *feature));
  else if (analysis.peak_of_mix() < 0.99 * analysis.peak_of_vectors())
    section.facts.push_back(
        {"Peak of this mix",
         fmt::format("{:.4g} TFLOP/s: not all arithmetic is a multiply-add", analysis.peak_of_mix() * 1e-12)});
  section.facts.push_back(
      {"At the least time",
       fmt::format("{:.4g} TFLOP/s, {} of the peak", analysis.needed_flops / analysis.seconds() * 1e-12,
                   percent_text(analysis.needed_flops / analysis.seconds() / analysis.peak())),
       Quality::bound});
  return section;
}

std::string per_request(const model::AccessCounts &access) {
  return access.buffer->scope == Scope::global
             ? counted(number_text(access.sectors_per_request()), "sector")
             : counted(number_text(access.wavefronts_per_request()), "wavefront");
}

std::vector<AccessName> accesses(const PlanAnalysis &analysis) {
  std::vector<AccessName> names;
  for (std::size_t k = 0; k < analysis.kernels.size(); ++k)
    for (std::size_t n = 0; n < analysis.kernels[k].counters.accesses.size(); ++n) {
      const model::AccessCounts &access = analysis.kernels[k].counters.accesses[n];
      names.push_back({names.size() + 1, k, n,
                       fmt::format("{} {}{}",
                                   access.is_atomic()  ? "atomic operation on"
                                   : access.is_store() ? "store to"
                                                       : "load of",
                                   access.buffer->name,
                                   access.is_bulk()       ? " by bulk copies"
                                   : access.is_async()    ? " by cp.async"
                                   : access.is_ldmatrix() ? " by ldmatrix"
                                                          : "")});
    }
  return names;
}

std::vector<AccessName> hottest(const PlanAnalysis &analysis) {
  std::vector<AccessName> names = accesses(analysis);
  auto cost = [&](const AccessName &name) {
    return clocks(analysis.kernels[name.kernel].counters.accesses[name.access]);
  };
  std::erase_if(names, [&](const AccessName &name) { return cost(name) == 0; });
  std::ranges::stable_sort(names, std::greater<>{}, cost);
  return names;
}

} // namespace nestsmith
