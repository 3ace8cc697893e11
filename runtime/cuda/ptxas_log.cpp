#include "runtime/cuda/ptxas_log.h"

#include <charconv>

namespace nestsmith::cuda {
namespace {

// A log of NVRTC 12 or 13. Only the start of the second line differs between versions:
//   ptxas info    : Compiling entry function 'f' for 'sm_90'
//   ptxas info    : Function properties for f
//   ptxas         .     8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads
//   ptxas info    : Used 32 registers, used 1 barriers, 8 bytes cumulative stack size, 1024 bytes smem
constexpr std::string_view entry = "Compiling entry function '";
constexpr std::string_view properties = "Function properties for ";

template <class F> void for_each_line(std::string_view text, F f) {
  while (!text.empty()) {
    std::size_t end = text.find('\n');
    f(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

std::optional<std::string_view> after(std::string_view line, std::string_view lead) {
  std::size_t at = line.find(lead);
  if (at == std::string_view::npos)
    return std::nullopt;
  return line.substr(at + lead.size());
}

std::string_view entry_name(std::string_view line) {
  auto rest = after(line, entry);
  return rest ? rest->substr(0, rest->find('\'')) : std::string_view();
}

/// The number before `unit`: 32 in "Used 32 registers".
std::optional<std::int64_t> number_before(std::string_view line, std::string_view unit) {
  std::size_t at = line.find(unit);
  if (at == std::string_view::npos)
    return std::nullopt;
  std::size_t start = at;
  while (start > 0 && line[start - 1] >= '0' && line[start - 1] <= '9')
    --start;
  std::int64_t value = 0;
  auto [end, error] = std::from_chars(line.data() + start, line.data() + at, value);
  if (error != std::errc() || end != line.data() + at)
    return std::nullopt;
  return value;
}

} // namespace

std::vector<std::string> entry_functions(std::string_view log) {
  std::vector<std::string> names;
  for_each_line(log, [&](std::string_view line) {
    if (std::string_view name = entry_name(line); !name.empty())
      names.emplace_back(name);
  });
  return names;
}

std::optional<KernelResources> resources_of(std::string_view log, std::string_view kernel) {
  KernelResources found;
  bool in_entry = false, in_properties = false, has_frame = false, has_registers = false;
  for_each_line(log, [&](std::string_view line) {
    if (std::string_view name = entry_name(line); !name.empty()) {
      in_entry = name == kernel;
      in_properties = false;
    }
    if (!in_entry)
      return;
    // Device functions that were not inlined are listed under the entry with lines of their own.
    if (auto name = after(line, properties)) {
      in_properties = *name == kernel;
    } else if (in_properties && line.find(" bytes stack frame") != std::string_view::npos) {
      auto stack = number_before(line, " bytes stack frame");
      auto stores = number_before(line, " bytes spill stores");
      auto loads = number_before(line, " bytes spill loads");
      has_frame = stack && stores && loads;
      found.stack_bytes = stack.value_or(0);
      found.spill_stores = stores.value_or(0);
      found.spill_loads = loads.value_or(0);
    } else if (auto registers = number_before(line, " registers"); registers && !has_registers) {
      has_registers = true;
      found.registers = static_cast<int>(*registers);
      found.shared_bytes = number_before(line, " bytes smem").value_or(0);
    }
  });
  if (!has_frame || !has_registers)
    return std::nullopt;
  return found;
}

} // namespace nestsmith::cuda
