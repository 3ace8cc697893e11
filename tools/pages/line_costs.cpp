#include "tools/pages/line_costs.h"

#include "runtime/model/explain.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <utility>

namespace nestsmith::cli::report {

namespace {

/// The requests after the compiler's optimisations, as the words of `explain` count them. If other loads of the
/// text serve all requests of the access, the requests of the text.
const model::RequestSums &sums_of(const model::AccessCounts &access) {
  return access.merged.requests > 0 ? access.merged : access;
}

/// Wavefronts or sectors per request, with one digit after the point if it is needed.
std::string cost_of_request(const model::AccessCounts &access) {
  const model::RequestSums &sums = sums_of(access);
  double each =
      access.buffer->scope == Scope::shared ? sums.wavefronts_per_request() : sums.sectors_per_request();
  return fmt::format("{:.4g}", std::round(each * 10) / 10);
}

const char *unit_of(const model::AccessCounts &access) {
  return access.buffer->scope == Scope::shared ? "wf" : "sec";
}

/// The seconds in which the unit of the access, shared memory or L1, serves it on the SM with the most blocks.
double served_seconds(const model::AccessCounts &access, const KernelAnalysis &kernel, const Gpu &gpu) {
  return clocks(access) / gpu.sms / gpu.clock_hz * kernel.imbalance(gpu);
}

/// Equal numbers of requests, and equal units, are written once: "2.1 M × (1 + 4) wf".
std::string text_of(const std::vector<const model::AccessCounts *> &accesses) {
  std::string text;
  for (std::size_t n = 0, end = 0; n < accesses.size(); n = end) {
    std::string each;
    for (end = n; end < accesses.size() && sums_of(*accesses[end]).requests == sums_of(*accesses[n]).requests &&
                  accesses[end]->buffer->scope == accesses[n]->buffer->scope;
         ++end)
      each += (end > n ? " + " : "") + cost_of_request(*accesses[end]);
    if (end > n + 1)
      each = "(" + each + ")";
    text += fmt::format("{}{} × {} {}", n > 0 ? " + " : "",
                        count_text(static_cast<double>(sums_of(*accesses[n]).requests)), each,
                        unit_of(*accesses[n]));
  }
  return text;
}

} // namespace

std::string merged_text(const model::AccessCounts &access) {
  return access.merged.requests == access.requests || access.merged.requests == 0 ? "" : text_of({&access});
}

std::vector<LineCost> line_costs(const PlanAnalysis &analysis, const std::vector<std::size_t> &pane_lines) {
  struct Line {
    std::vector<const model::AccessCounts *> accesses;
    double seconds = 0;
  };
  std::map<std::size_t, Line> lines;
  for (const KernelAnalysis &kernel : analysis.kernels)
    for (std::size_t n = 0; n < kernel.counters.accesses.size(); ++n) {
      const model::AccessCounts &access = kernel.counters.accesses[n];
      std::size_t number = kernel.lines[n].number;
      if (access.requests == 0 || number == 0 || number > pane_lines.size() || pane_lines[number - 1] == 0)
        continue;
      Line &line = lines[pane_lines[number - 1]];
      line.accesses.push_back(&access);
      line.seconds += served_seconds(access, kernel, analysis.gpu);
    }
  std::vector<LineCost> costs;
  for (auto &[number, line] : lines) {
    std::ranges::stable_sort(line.accesses, std::greater(), [](const model::AccessCounts *access) {
      return std::pair(access->buffer->scope == Scope::shared, sums_of(*access).requests);
    });
    costs.push_back({number, text_of(line.accesses), line.seconds / analysis.estimated_seconds()});
  }
  return costs;
}

llvm::json::Value costs_json(const std::vector<LineCost> &costs) {
  llvm::json::Array all;
  for (const LineCost &cost : costs)
    all.push_back(llvm::json::Array{static_cast<std::int64_t>(cost.line), cost.text,
                                    std::round(cost.share * 1000) / 1000});
  return all;
}

} // namespace nestsmith::cli::report
