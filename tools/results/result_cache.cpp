#include "tools/results/result_cache.h"

#include "codegen/cuda.h"
#include "dsl/ir/printer.h"
#include "dsl/schedule/trace.h"
#include "tools/results/stored_results.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <link.h>
#include <llvm/Support/MemoryBuffer.h>
#include <sys/stat.h>

namespace nestsmith::cli {

namespace {

/// The name and the instructions of the CPU, which select the implementation of mathematical functions.
std::string cpu_identity() {
  std::ifstream info("/proc/cpuinfo");
  std::string text, line;
  while (std::getline(info, line) && !line.empty()) // an empty line ends the first CPU
    if (line.starts_with("model name") || line.starts_with("flags") || line.starts_with("Features"))
      text += line + "\n";
  return text;
}

/// The content of the executable, the version of each shared library of the process, and the CPU. Empty if the
/// executable cannot be read.
std::string program_identity() {
  auto executable = llvm::MemoryBuffer::getFile("/proc/self/exe", /*IsText=*/false,
                                                /*RequiresNullTerminator=*/false);
  if (!executable)
    return "";
  std::vector<std::string> parts = {(*executable)->getBuffer().str(), cpu_identity()};
  auto add = [](dl_phdr_info *library, std::size_t, void *to) {
    struct stat file {};
    if (::stat(library->dlpi_name, &file) == 0)
      static_cast<std::vector<std::string> *>(to)->push_back(fmt::format(
          "{} {} {}.{}", library->dlpi_name, file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec));
    return 0;
  };
  ::dl_iterate_phdr(add, &parts);
  return DiskCache::key(parts);
}

/// The GPU, and the code that was compiled for it.
std::vector<std::string> target_key(const Gpu &gpu, const std::vector<KernelResources> &compiled) {
  std::vector<std::string> parts = {gpu.name, to_string(gpu.arch)};
  for (const KernelResources &kernel : compiled)
    parts.push_back(fmt::format("{} {} {} {} {} {}", kernel.registers, kernel.spill_stores, kernel.spill_loads,
                                kernel.stack_bytes, kernel.shared_bytes,
                                std::string_view(kernel.cubin.data(), kernel.cubin.size())));
  return parts;
}

/// Only such results are stored.
bool is_good(const CheckResult &check) {
  return check.passed && !check.runs.empty() && std::ranges::all_of(check.runs, &RunResult::passed);
}

} // namespace

ResultCache::ResultCache(std::filesystem::path directory)
    : identity_(program_identity()), entries_(identity_.empty() ? "" : std::move(directory), "result") {}

std::string ResultCache::key(const char *kind, const Scheduled &scheduled, const kernel::Plan &plan,
                             const std::vector<std::string> &more) const {
  std::vector<std::string> parts = {
      kind,
      identity_,
      scheduled.choice.name,
      to_json(trace_file(scheduled.schedule, scheduled.shape, scheduled.dtype, scheduled.knobs)),
      print(scheduled.schedule.source()),
      kernel::print(plan),
      cuda_kernels(plan),
      fmt::format("{}", fmt::join(plan.values, " "))};
  parts.insert(parts.end(), more.begin(), more.end());
  return DiskCache::key(parts);
}

CheckResult ResultCache::check(const Scheduled &scheduled, const kernel::Plan &plan,
                               const std::function<CheckResult()> &compute) {
  std::string name = key("check", scheduled, plan);
  if (std::optional<std::string> text = entries_.get(name))
    if (std::optional<CheckResult> known = read_check(*text); known && is_good(*known)) {
      ++reused_.checks;
      return *known;
    }
  CheckResult result = compute();
  if (std::optional<std::string> text = check_text(result); text && is_good(result))
    entries_.put(name, *text);
  return result;
}

PlanAnalysis ResultCache::analyse(const Scheduled &scheduled, const kernel::Plan &plan, const Gpu &gpu,
                                  const std::vector<KernelResources> &compiled, AnalysisOptions options) {
  std::vector<std::string> more = target_key(gpu, compiled);
  more.push_back(std::to_string(options.max_blocks));
  more.push_back(std::to_string(options.max_requests));
  std::string name = key("analysis", scheduled, plan, more);
  if (std::optional<std::string> text = entries_.get(name))
    if (auto known = read_figures(*text); known && known->size() == plan.kernels.size()) {
      options.known = *std::move(known);
      ++reused_.analyses;
    }
  PlanAnalysis result = nestsmith::analyse(scheduled.source(), plan, gpu, compiled, options);
  if (options.known.empty())
    if (std::optional<std::string> text = figures_text(figures_of(result)))
      entries_.put(name, *text);
  return result;
}

std::string ResultCache::text(const char *kind, const Scheduled &scheduled, const kernel::Plan &plan,
                              const Gpu &gpu, const std::vector<KernelResources> &compiled,
                              const std::function<bool(const std::string &)> &is_good,
                              const std::function<std::string()> &compute) {
  std::vector<std::string> more = target_key(gpu, compiled);
  for (const auto &[knob, value] : scheduled.choice.knobs) // those that the user set
    more.push_back(fmt::format("{}={}", knob, value));
  std::string name = key(kind, scheduled, plan, more);
  if (std::optional<std::string> known = entries_.get(name); known && is_good(*known))
    return *std::move(known);
  std::string result = compute();
  entries_.put(name, result);
  return result;
}

} // namespace nestsmith::cli
