#include "tools/tables/compared_figures.h"

#include "runtime/model/explain.h"

#include <fmt/format.h>

namespace nestsmith::cli {

namespace {

ComparedFigure line(const std::string &label, double a, double b, std::string (*text)(double)) {
  return {label, text(a), text(b), a == 0 ? 0 : b / a};
}

} // namespace

std::vector<ComparedFigure> compared_figures(const PlanAnalysis &a, const PlanAnalysis &b) {
  std::vector<ComparedFigure> list = {
      {"bound by", std::string(name(a.limiter())), std::string(name(b.limiter())), 0},
      line("least time", a.seconds(), b.seconds(), seconds_text)};
  for (Resource resource : resources)
    list.push_back(
        line("  " + std::string(name(resource)), a.seconds(resource), b.seconds(resource), seconds_text));
  list.push_back(line("estimated time (modelled)", a.estimated_seconds(), b.estimated_seconds(), seconds_text));
  auto memory = [&](const char *label, Scope scope, bool stores, double (model::RequestSums::*each)() const) {
    model::RequestSums x = a.total(scope, stores), y = b.total(scope, stores);
    bool global = scope == Scope::global;
    list.push_back(line(fmt::format("{}: requests", label), static_cast<double>(x.requests),
                        static_cast<double>(y.requests), count_text));
    list.push_back(line(fmt::format("  {} per request", global ? "sectors" : "wavefronts"), (x.*each)(),
                        (y.*each)(), number_text));
    if (!global)
      list.push_back(line("  bank conflicts", static_cast<double>(x.conflicts),
                          static_cast<double>(y.conflicts), count_text));
  };
  memory("global loads", Scope::global, false, &model::RequestSums::sectors_per_request);
  memory("global stores", Scope::global, true, &model::RequestSums::sectors_per_request);
  memory("shared loads", Scope::shared, false, &model::RequestSums::wavefronts_per_request);
  memory("shared stores", Scope::shared, true, &model::RequestSums::wavefronts_per_request);
  list.push_back(line("bytes requested", a.asked_bytes(), b.asked_bytes(), bytes_text));
  list.push_back(line("DRAM bytes (modelled)", a.dram_bytes(), b.dram_bytes(), bytes_text));
  list.push_back(line("FLOP/byte requested", a.asked_intensity(), b.asked_intensity(), number_text));
  list.push_back(line("occupancy", a.slowest().occupancy.ratio(), b.slowest().occupancy.ratio(), percent_text));
  auto registers = [](const PlanAnalysis &analysis) {
    return analysis.slowest().compiled ? std::to_string(analysis.slowest().compiled->registers) : "n/a";
  };
  list.push_back({"registers per thread", registers(a), registers(b), 0});
  list.push_back(line("shared bytes per block", static_cast<double>(a.slowest().kernel.shared_bytes),
                      static_cast<double>(b.slowest().kernel.shared_bytes), count_text));
  list.push_back(line("active lanes", a.slowest().active_lanes(), b.slowest().active_lanes(), number_text));
  list.push_back(line("blocks of the busiest SM", static_cast<double>(a.slowest().waves.busiest),
                      static_cast<double>(b.slowest().waves.busiest), count_text));
  return list;
}

} // namespace nestsmith::cli
