#include "tools/bench/bench_json.h"

#include "tools/output/json.h"

namespace nestsmith::cli {

namespace {

void write_optional(llvm::json::OStream &json, const char *key, const std::optional<double> &value) {
  json.attribute(key, value ? llvm::json::Value(*value) : llvm::json::Value(nullptr));
}

void write_row(llvm::json::OStream &json, const BenchShape &shape, const BenchRow &row,
               const BenchSetting &setting, std::size_t number, const BenchOptions &options) {
  json.attribute("name", row.name);
  json.attribute("peer", row.peer);
  json.attribute("shape", llvm::json::Array(shape.shape));
  json.attribute("dtype", shape.dtype);
  json.attribute("launch", name(setting.launch));
  json.attribute("l2", setting.cold_l2 ? "cold" : "warm");
  if (row.computation)
    json.attribute("computation", shape.computations[*row.computation]);
  if (row.failure.code != ExitCode::good) {
    json.attribute("error", row.failure.message);
    json.attribute("exit_code", static_cast<int>(row.failure.code));
    return;
  }
  const BenchTime &time = row.times[number];
  if (!time.variant.empty())
    json.attribute("variant", time.variant);
  json.attribute("median_ms", time.ms.median);
  json.attribute("min_ms", time.ms.min);
  json.attribute("lower_quartile_ms", time.ms.lower_quartile);
  json.attribute("upper_quartile_ms", time.ms.upper_quartile);
  json.attribute("max_ms", time.ms.max);
  json.attribute("rounds", options.rounds);
  json.attribute("pause_ms", options.pause_ms);
  json.attribute("launches_per_round", time.launches);
  json.attribute("tflops", row.tflops(number));
  write_optional(json, "ratio_to_best_peer", shape.ratio(row, number));
  json.attribute("host_us", time.host_us);
  write_optional(json, "sm_mhz", time.sm_mhz);
  write_optional(json, "watts", row.watts);
}

} // namespace

std::string bench_rows(const BenchShape &shape, const BenchOptions &options) {
  std::string lines;
  for (std::size_t n = 0; n < options.settings.size(); ++n)
    for (const BenchRow &row : shape.rows)
      lines += json_line([&](llvm::json::OStream &json) {
                 json.object([&] { write_row(json, shape, row, options.settings[n], n, options); });
               }) +
               "\n";
  return lines;
}

std::string bench_end(const std::vector<BenchShape> &shapes, const std::string &device,
                      const std::vector<std::string> &notes) {
  return json_line([&](llvm::json::OStream &json) {
           json.object([&] {
             json.attribute("passed", code_of(shapes) == ExitCode::good);
             json.attribute("device", device);
             json.attribute("notes", llvm::json::Array(notes));
           });
         }) +
         "\n";
}

std::string recorded_end(const Recorded &recorded, const std::string &file, bool passed,
                         const std::vector<std::string> &notes) {
  return json_line([&](llvm::json::OStream &json) {
           json.object([&] {
             json.attribute("passed", passed);
             json.attribute("file", file);
             json.attribute("measured", static_cast<std::int64_t>(recorded.measured));
             json.attribute("known", static_cast<std::int64_t>(recorded.known));
             json.attribute("notes", llvm::json::Array(notes));
           });
         }) +
         "\n";
}

} // namespace nestsmith::cli
