#include "tools/tables/explain_text.h"

#include "codegen/cuda.h"
#include "runtime/model/host.h"
#include "runtime/model/metrics.h"
#include "tools/output/table.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith::cli {

namespace {

constexpr std::size_t fact_label_width = 24, shown_accesses = 6;

std::string section_text(const Section &section, const Style &style) {
  std::string text = "\n" + style.bold(section.title) + "\n";
  for (const Fact &fact : section.facts) {
    std::string quality = fact.quality == Quality::exact ? "" : fmt::format("  [{}]", name(fact.quality));
    text += folded(fact.value + style.dim(quality), std::string(fact_label_width + 2, ' '),
                   fmt::format("  {:<{}}", fact.label, fact_label_width));
  }
  return text;
}

std::string accesses_text(const PlanAnalysis &analysis, const Style &style) {
  Table table({{"#", Align::right},
               {"access"},
               {"each request", Align::right},
               {"requests", Align::right},
               {"clocks", Align::right},
               {"line", Align::right}});
  std::vector<AccessName> hot = hottest(analysis);
  for (std::size_t n = 0; n < std::min(hot.size(), shown_accesses); ++n) {
    const KernelAnalysis &kernel = analysis.kernels[hot[n].kernel];
    const model::AccessCounts &access = kernel.counters.accesses[hot[n].access];
    const TextLine &line = kernel.lines[hot[n].access];
    table.add({std::to_string(hot[n].number), hot[n].text, per_request(access),
               count_text(static_cast<double>(access.requests)), count_text(clocks(access)),
               line.number == 0 ? "-" : std::to_string(line.number)});
    table.add_line("      " + style.dim(shortened(line.text, output_width() - 6)));
  }
  std::string rest = hot.size() > shown_accesses
                         ? style.dim(fmt::format("{} more; --json has all\n", hot.size() - shown_accesses))
                         : "";
  return "\n" + style.bold("Hottest accesses") + "\n" +
         style.dim(
             folded_lines("(requests: counted in the lowered kernel; clocks: time in L1 or shared memory, "
                          "summed over all SMs, after the expected merging of requests by the "
                          "compiler; line: line number in the kernel's text)")) +
         "\n" + table.text(style) + rest;
}

void write_resources(llvm::json::OStream &json, const KernelAnalysis &analysis) {
  if (analysis.compiled) {
    json.attribute("registers", analysis.compiled->registers);
    json.attribute("spill_bytes", analysis.compiled->spill_loads + analysis.compiled->spill_stores);
  } else {
    json.attribute("registers", nullptr);
  }
  json.attribute("registers_allocated", analysis.occupancy.registers_per_thread);
  json.attribute("shared_bytes", analysis.kernel.shared_bytes);
  json.attribute("shared_bytes_allocated", analysis.occupancy.shared_per_block);
  json.attribute("occupancy", analysis.occupancy.ratio());
  json.attribute("blocks_per_sm", analysis.occupancy.blocks);
  json.attributeArray("occupancy_limits", [&] {
    for (OccupancyLimit limit : analysis.occupancy.limits)
      json.value(std::string(name(limit)));
  });
  json.attribute("grid_blocks", analysis.waves.blocks);
  json.attribute("block_threads", analysis.kernel.threads());
  json.attribute("waves", analysis.waves.waves);
  json.attribute("blocks_of_busiest_sm", analysis.waves.busiest);
}

void write_access(llvm::json::OStream &json, const AccessName &name, const KernelAnalysis &kernel) {
  const model::AccessCounts &access = kernel.counters.accesses[name.access];
  json.attribute("number", static_cast<std::int64_t>(name.number));
  json.attribute("access", name.text);
  json.attribute("memory", std::string(nestsmith::name(access.buffer->scope)));
  json.attribute("bytes", access.bytes);
  json.attribute("requests", static_cast<std::int64_t>(access.requests));
  json.attribute("threads", static_cast<std::int64_t>(access.threads));
  if (access.buffer->scope == Scope::global) {
    json.attribute("sectors", static_cast<std::int64_t>(access.sectors));
    json.attribute("sectors_per_request", access.sectors_per_request());
  } else {
    json.attribute("wavefronts", static_cast<std::int64_t>(access.wavefronts));
    json.attribute("wavefronts_per_request", access.wavefronts_per_request());
    json.attribute("conflicts", static_cast<std::int64_t>(access.conflicts));
  }
  json.attribute("line", static_cast<std::int64_t>(kernel.lines[name.access].number));
  json.attribute("text", kernel.lines[name.access].text);
}

std::vector<Metric> metrics_of(const KernelAnalysis &analysis, const Gpu &gpu) {
  return metrics({analysis.exact(), &analysis.memory.traffic,
                  analysis.occupancy_assumed ? nullptr : &analysis.occupancy, &gpu});
}

void write_metric(llvm::json::OStream &json, const Metric &metric) {
  json.attribute("name", metric.name);
  json.attribute("unit", metric.unit);
  json.attribute("kind", std::string(name(metric.quality)));
  json.attribute("value", metric.value ? json_number(*metric.value) : llvm::json::Value(nullptr));
  json.attribute("note", metric.note);
}

void write_kernel(llvm::json::OStream &json, const PlanAnalysis &whole, std::size_t k) {
  const KernelAnalysis &analysis = whole.kernels[k];
  json.attribute("kernel", entry_name(analysis.kernel));
  json.attribute("least_seconds", analysis.seconds());
  json.attribute("estimated_seconds", analysis.estimated_seconds);
  json.attribute("limiter", std::string(name(analysis.limiter())));
  if (analysis.compiled) {
    json.attribute("limited_by", limit_text(analysis));
    json.attributeObject("losses", [&] {
      for (Loss loss : all_losses)
        json.attribute(std::string(name(loss)), analysis.losses.of(loss));
    });
  }
  json.attributeObject("bounds_seconds", [&] {
    for (const Bound &bound : analysis.bounds)
      json.attribute(std::string(name(bound.resource)), bound.seconds);
  });
  write_resources(json, analysis);
  json.attribute("blocks_counted", static_cast<std::int64_t>(analysis.counters.counted));
  json.attribute("requests_followed", analysis.memory.followed);
  json.attribute("dram_bytes", static_cast<std::int64_t>(analysis.memory.traffic.dram_bytes()));
  json.attribute("l2_bytes", static_cast<std::int64_t>(analysis.memory.traffic.l2_bytes()));
  json.attribute("l1_hit_rate", analysis.memory.traffic.l1_hit_rate());
  json.attribute("l2_hit_rate", analysis.memory.traffic.l2_hit_rate());
  json.attribute("active_lanes", analysis.active_lanes());
  json.attribute("divergent_branches", static_cast<std::int64_t>(analysis.counters.divergent));
  json.attributeArray("accesses", [&] {
    for (const AccessName &access : accesses(whole))
      if (access.kernel == k)
        json.object([&] { write_access(json, access, analysis); });
  });
  json.attributeArray("metrics", [&] {
    for (const Metric &metric : metrics_of(analysis, whole.gpu))
      json.object([&] { write_metric(json, metric); });
  });
  json.attributeArray("sections", [&] {
    for (const Section &section : sections(analysis, whole))
      json.object([&] {
        json.attribute("title", section.title);
        json.attributeArray("facts", [&] {
          for (const Fact &fact : section.facts)
            json.object([&] {
              json.attribute("label", fact.label);
              json.attribute("value", fact.value);
              json.attribute("known", std::string(name(fact.quality)));
            });
        });
      });
  });
}

/// `decides`: the record speaks in comparisons on the GPU of the analysis.
void write_measured(llvm::json::OStream &json, const MeasuredRecord &measured, bool decides) {
  const records::Record &record = measured.record;
  json.attribute("gpu", record.gpu);
  json.attribute("median_ms", record.median_ms);
  json.attribute("lower_quartile_ms", record.lower_quartile_ms);
  json.attribute("upper_quartile_ms", record.upper_quartile_ms);
  json.attribute("samples", record.samples);
  json.attribute("peer", record.peer);
  json.attribute("peer_ms", record.peer_ms ? llvm::json::Value(*record.peer_ms) : llvm::json::Value(nullptr));
  json.attribute("sm_mhz", record.sm_mhz ? llvm::json::Value(*record.sm_mhz) : llvm::json::Value(nullptr));
  json.attribute("driver", record.driver);
  json.attribute("nvrtc", record.nvrtc);
  json.attribute("nestsmith", record.nestsmith);
  json.attribute("measured_at", record.measured_at);
  json.attribute("older_text", !measured.current);
  json.attribute("decides", decides);
  json.attribute("text", measured_text(measured));
  json.attribute("how", measured_how(record));
}

} // namespace

std::string paragraph_text(const std::string &text) { return folded(text, "  ", "  "); }

std::vector<Fact> measured_facts(const MeasuredTimes &measured) {
  std::vector<Fact> facts;
  auto add = [&](const MeasuredRecord &record) {
    facts.push_back({"Measured", measured_text(record)});
    facts.push_back({"Measured by", measured_how(record.record)});
  };
  if (measured.here)
    add(*measured.here);
  else
    std::ranges::for_each(measured.elsewhere, add);
  return facts;
}

std::string analysis_text(const Analysed &analysed, const Style &style) {
  const PlanAnalysis &whole = analysed.analysis;
  std::string text;
  if (std::vector<Fact> facts = measured_facts(analysed.measured); !facts.empty())
    text += section_text({"Measured Time", std::move(facts)}, style);
  for (const KernelAnalysis &kernel : whole.kernels) {
    if (whole.kernels.size() > 1)
      text += "\n" + style.cyan("kernel " + kernel.kernel.name) + "\n";
    for (const Section &section : sections(kernel, whole))
      text += section_text(section, style);
  }
  if (std::optional<HostTime> host = host_limit(whole))
    text += section_text(host_section(*host, whole.kernels.size()), style);
  return text + section_text(roofline(whole), style) + accesses_text(whole, style);
}

std::string metrics_text(const PlanAnalysis &whole, const Style &style) {
  std::string text;
  for (const KernelAnalysis &kernel : whole.kernels) {
    Table table({{"metric"}, {"value", Align::right}, {"unit"}, {"kind"}});
    std::string list;
    for (const Metric &metric : metrics_of(kernel, whole.gpu)) {
      std::string value = metric.value ? fmt::format("{:.10g}", *metric.value) : "n/a",
                  kind(name(metric.quality));
      table.add({metric.name, value, metric.unit, kind});
      list += fmt::format("{}\n{:>20} {}  {}\n", metric.name, value, metric.unit, style.dim("[" + kind + "]"));
    }
    // The names are too long to wrap.
    text += "\n" + style.bold("Metrics of " + entry_name(kernel.kernel)) + "\n" +
            (table.fits(output_width()) ? table.text(style) : list);
  }
  return text;
}

void write_verdict(llvm::json::OStream &json, const Verdict &verdict) {
  json.attributeObject("verdict", [&] {
    json.attribute("outcome", std::string(name(verdict.outcome)));
    json.attribute("by", std::string(name(verdict.by)));
    json.attribute("ratio", json_number(verdict.ratio));
  });
}

void write_analysis(llvm::json::OStream &json, const Analysed &analysed) {
  const PlanAnalysis &whole = analysed.analysis;
  json.attribute("rung", analysed.scheduled.choice.name);
  json.attribute("shape", llvm::json::Array(analysed.scheduled.shape));
  json.attribute("dtype", dtype_name(analysed.scheduled.source(), analysed.scheduled.dtype));
  json.attribute("gpu", whole.gpu.name);
  json.attribute("arch", to_string(whole.gpu.arch));
  json.attribute("least_seconds", whole.seconds());
  json.attribute("limiter", std::string(name(whole.limiter())));
  json.attributeObject("flop_per_byte", [&] {
    json.attribute("algorithm", json_number(whole.algorithm_intensity()));
    json.attribute("asked", json_number(whole.asked_intensity()));
    json.attribute("dram", json_number(whole.dram_intensity()));
    json.attribute("ridge", whole.ridge());
  });
  json.attribute("sampled", whole.sampled());
  if (std::optional<HostTime> host = host_limit(whole))
    json.attributeObject("host", [&] {
      json.attribute("enqueue_seconds", host->enqueue);
      json.attribute("gpu_seconds", host->gpu);
      json.attribute("one_by_one_seconds", host->one_by_one);
      json.attribute("graph_seconds", host->graph);
    });
  json.attributeArray("measured", [&] {
    if (analysed.measured.here)
      json.object([&] { write_measured(json, *analysed.measured.here, whole.measured.has_value()); });
    for (const MeasuredRecord &record : analysed.measured.elsewhere)
      json.object([&] { write_measured(json, record, false); });
  });
  if (!analysed.note.empty())
    json.attribute("note", analysed.note);
  json.attributeArray("kernels", [&] {
    for (std::size_t k = 0; k < whole.kernels.size(); ++k)
      json.object([&] { write_kernel(json, whole, k); });
  });
}

} // namespace nestsmith::cli
