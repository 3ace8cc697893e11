#include "tools/results/record_of.h"

#include "codegen/cuda.h"
#include "dsl/ir/workload_info.h"
#include "runtime/cuda/cache.h"

#include <array>
#include <ctime>

namespace nestsmith::cli {

std::string code_of(const kernel::Plan &plan, const Shape &shape) {
  std::vector<std::string> parts = {cuda_kernels(plan), to_text(shape)};
  if (shape.parts_of_run > 0) // a size of its own
    parts.push_back(std::to_string(shape.parts_of_run));
  return DiskCache::key(parts);
}

records::Record point_of(const Scheduled &scheduled, const kernel::Plan &plan, const BenchSetting &setting,
                         const MeasuringMachine &machine) {
  records::Record record;
  record.rung = scheduled.choice.name;
  record.knobs = scheduled.knobs;
  record.shape = to_text(scheduled.shape);
  record.symbolic = scheduled.shape.stated.has_value();
  record.dtype = dtype_name(scheduled.source(), scheduled.dtype);
  record.gpu = machine.gpu, record.driver = machine.driver, record.nvrtc = machine.nvrtc;
  record.launch = name(setting.launch);
  record.cold_l2 = setting.cold_l2;
  record.code = code_of(plan, scheduled.shape);
  record.operations = operation_count(scheduled.source());
  record.nestsmith = version_text();
  return record;
}

std::string version_text() { return NESTSMITH_VERSION; }

std::string now_text() {
  std::time_t now = std::time(nullptr);
  std::tm parts = {};
  gmtime_r(&now, &parts);
  std::array<char, 32> text = {};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

} // namespace nestsmith::cli
