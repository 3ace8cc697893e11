#include "runtime/model/evaluate.h"

#include "runtime/sim/machine.h"

#include <bit>
#include <map>

namespace nestsmith::model {

namespace {

/// The number of executions of a warp with the active lanes `mask`. `phase` is the phase of the uniform part of
/// the address.
struct Times {
  std::uint32_t warp, mask, phase;
  std::uint64_t times;
};

class Evaluation {
public:
  Evaluation(const sim::DecodedKernel &decoded, const CountedAccesses &accesses,
             const sim::Executions &executions, const RequestHistograms &histograms);
  Counters run();

private:
  void operations(Counters &result) const;
  void add_all(RequestSums &to, const CountedAccess &access);
  void add(RequestSums &to, const CountedAccess &access, const Times &times, std::int64_t phase);
  const RequestCost &cost_of(const CountedAccess &access, std::uint32_t warp, std::uint32_t mask,
                             std::int64_t phase);

  const sim::DecodedKernel &decoded_;
  const CountedAccesses &accesses_;
  const sim::Executions &executions_;
  const RequestHistograms &histograms_;
  std::vector<std::vector<Times>> runs_, bases_, single_; ///< of regions, bases and accesses
  /// The known costs, by pattern, lanes, phase, place within a word, width and memory.
  std::map<std::tuple<const sim::Pattern *, std::uint32_t, std::int64_t, std::int64_t, std::int64_t, Scope>,
           RequestCost>
      known_;
};

Evaluation::Evaluation(const sim::DecodedKernel &decoded, const CountedAccesses &accesses,
                       const sim::Executions &executions, const RequestHistograms &histograms)
    : decoded_(decoded), accesses_(accesses), executions_(executions), histograms_(histograms),
      runs_(decoded.regions.size()), bases_(accesses.bases), single_(accesses.single) {
  executions.each(decoded,
                  [&](std::uint32_t region, std::uint32_t warp, std::uint32_t mask, std::uint64_t times) {
                    runs_[region].push_back({warp, mask, 0, times});
                  });
  for (std::uint32_t base = 0; base < accesses.bases; ++base)
    for (std::uint32_t warp = 0; warp < decoded.warps; ++warp)
      for (std::uint32_t phase = 0; phase < phases; ++phase)
        if (std::uint64_t times = histograms.base_phases[(base * decoded.warps + warp) * phases + phase])
          bases_[base].push_back({warp, sim::live_lanes(decoded, warp), phase, times});
  for (const auto &[key, times] : histograms.partial_phases)
    bases_[key[0]].push_back({key[1], key[2], key[3], times});
  for (const auto &[key, times] : histograms.requests)
    single_[key[0]].push_back({key[1], key[2], key[3], times});
}

const RequestCost &Evaluation::cost_of(const CountedAccess &counted, std::uint32_t warp, std::uint32_t mask,
                                       std::int64_t phase) {
  const sim::Access &access = *counted.access;
  std::int64_t width = byte_size(access.buffer->dtype);
  // The cost does not change if all lanes move by whole lines, or by whole words in shared memory.
  std::int64_t period = access.buffer->scope == Scope::global ? line_bytes / width
                                                              : std::max<std::int64_t>(bank_bytes / width, 1);
  phase = floor_mod(phase, period);
  const sim::Pattern *pattern = access.address.has_pattern() ? &access.address.pattern(warp) : nullptr;
  auto [it, fresh] = known_.try_emplace(
      {pattern, mask, phase, access.storage.byte_offset() % bank_bytes, counted.bytes, access.buffer->scope});
  if (fresh)
    it->second = cost(request_at(access, warp, mask, phase), counted.bytes, access.buffer->scope);
  return it->second;
}

void Evaluation::add(RequestSums &to, const CountedAccess &access, const Times &times, std::int64_t phase) {
  const RequestCost &each = cost_of(access, times.warp, times.mask, phase);
  to += one_request(access.bytes, times.mask, each) * times.times;
}

void Evaluation::operations(Counters &result) const {
  for (std::size_t region = 0; region < runs_.size(); ++region) {
    const sim::RegionCounts &each = decoded_.regions[region];
    for (const Times &run : runs_[region]) {
      auto lanes = static_cast<std::uint64_t>(std::popcount(run.mask));
      auto add = [&](OpCounts &to, std::uint64_t count) {
        to += {count * run.times, count * run.times * lanes};
      };
      add(result.multiply_adds, each.multiply_adds);
      add(result.floating, each.floating);
      add(result.in_f64, each.in_f64);
      add(result.integer, each.integer);
      add(result.barriers, each.barriers);
      add(result.branches, each.branches);
      for (auto [intrinsic, calls] : each.matrix)
        add(result.matrix[intrinsic], calls);
    }
  }
  result.divergent = executions_.divergent;
}

std::vector<const sim::Access *> accesses_of(const std::vector<CountedAccess> &counted) {
  std::vector<const sim::Access *> result;
  for (const CountedAccess &access : counted)
    result.push_back(access.access);
  return result;
}

Counters Evaluation::run() {
  Counters result;
  operations(result);
  const std::vector<CountedAccess> &counted = accesses_.all;
  std::vector<std::size_t> at = positions(decoded_, accesses_of(counted));
  std::map<int, std::size_t> by_source;
  for (std::size_t n = 0; n < at.size(); ++n) {
    const sim::Access &access = *counted[n].access;
    if (at[n] >= result.accesses.size())
      result.accesses.resize(at[n] + 1);
    AccessCounts &to = result.accesses[at[n]];
    const sim::Site &site = decoded_.sites[access.site];
    to.stmt = site.stmt;
    to.load = site.load;
    to.made = site.made;
    to.buffer = access.buffer;
    to.bytes = access.bytes;
    add_all(to, counted[n]);
    by_source[site.source] = at[n];
  }
  if (accesses_.merged.empty())
    for (AccessCounts &access : result.accesses)
      access.merged = access;
  for (const CountedAccess &access : accesses_.merged)
    add_all(result.accesses[by_source.at(decoded_.sites[access.access->site].source)].merged, access);
  for (AccessCounts &access : result.accesses)
    if (access.is_bulk())
      for (RequestSums *sums : {static_cast<RequestSums *>(&access), &access.merged})
        *sums = in_lines(*sums, access.buffer->scope);
  return result;
}

/// Adds the cost of all requests of an access.
void Evaluation::add_all(RequestSums &to, const CountedAccess &access) {
  switch (access.by) {
  case CountedBy::region:
    for (const Times &times : runs_[access.region])
      add(to, access, times, access.phase);
    break;
  case CountedBy::phase:
    for (const Times &times : bases_[access.number])
      add(to, access, times, times.phase + access.phase);
    break;
  case CountedBy::request:
    for (const Times &times : single_[access.number])
      add(to, access, times, times.phase);
    to += histograms_.sums[access.number];
    break;
  }
}

} // namespace

Counters evaluate(const sim::DecodedKernel &decoded, const CountedAccesses &accesses,
                  const sim::Executions &executions, const RequestHistograms &histograms) {
  return Evaluation(decoded, accesses, executions, histograms).run();
}

std::vector<std::size_t> positions(const sim::DecodedKernel &decoded,
                                   const std::vector<const sim::Access *> &accesses) {
  std::map<int, std::size_t> sources;
  for (const sim::Access *access : accesses)
    sources.try_emplace(decoded.sites[access->site].source);
  std::size_t count = 0;
  for (auto &[source, position] : sources)
    position = count++;
  std::vector<std::size_t> result;
  for (const sim::Access *access : accesses)
    result.push_back(sources.at(decoded.sites[access->site].source));
  return result;
}

RequestSums one_request(std::int64_t bytes, std::uint32_t mask, const RequestCost &cost) {
  auto lanes = static_cast<std::uint64_t>(std::popcount(mask));
  return {.requests = 1,
          .threads = lanes,
          .asked = lanes * static_cast<std::uint64_t>(bytes),
          .sectors = cost.sectors,
          .lines = cost.lines,
          .wavefronts = cost.wavefronts,
          .conflicts = cost.conflicts};
}

WarpRequest request_at(const sim::Access &access, std::uint32_t warp, std::uint32_t mask, std::int64_t base) {
  WarpRequest request{.mask = mask};
  std::int64_t width = byte_size(access.buffer->dtype);
  for (std::size_t lane = 0; lane < sim::warp_size; ++lane) {
    std::int64_t offset = access.address.has_pattern() ? access.address.pattern(warp).offset[lane] : 0;
    request.address[lane] = (base + offset) * width + access.storage.byte_offset();
  }
  return request;
}

WarpRequest request_now(const sim::Access &access, const sim::Warp &w, std::uint32_t mask) {
  WarpRequest request{.mask = mask};
  std::int64_t width = byte_size(access.buffer->dtype);
  for (std::uint32_t lane = 0; lane < sim::warp_size; ++lane)
    request.address[lane] = address(access, w, lane) * width + access.storage.byte_offset();
  return request;
}

} // namespace nestsmith::model
