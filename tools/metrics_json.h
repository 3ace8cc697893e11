#pragma once
/// The metrics of a kernel as JSON. Include this from .cpp files only: it needs LLVM's headers.

#include "runtime/model/metrics.h"
#include "tools/json.h"

namespace nestsmith::cli {

/// Writes the attribute "metrics", an array of {"name", "unit", "kind", "value", "note"}. `value` is null if
/// the metric is not available. bench/ncu_compare.py reads it.
inline void write_metrics(llvm::json::OStream &json, const std::vector<Metric> &metrics) {
  json.attributeArray("metrics", [&] {
    for (const Metric &metric : metrics)
      json.object([&] {
        json.attribute("name", metric.name);
        json.attribute("unit", metric.unit);
        json.attribute("kind", std::string(name(metric.kind)));
        json.attribute("value", metric.value ? json_number(*metric.value) : llvm::json::Value(nullptr));
        if (!metric.note.empty())
          json.attribute("note", metric.note);
      });
  });
}

} // namespace nestsmith::cli
