#include "dsl/target.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace nestsmith {

namespace {

/// What differs between architectures; kilobytes are of 1024 bytes.
struct Row {
  int compute_capability;
  std::int64_t threads_per_sm, blocks_per_sm, shared_kb_per_sm, shared_kb_opt_in;
};
constexpr Row every_gpu = {0, 1024, 16, 64, 48};
constexpr Row rows[] = {
    {70, 2048, 32, 96, 96},    {75, 1024, 16, 64, 64},   {80, 2048, 32, 164, 163}, {86, 1536, 16, 100, 99},
    {87, 1536, 16, 164, 163},  {89, 1536, 24, 100, 99},  {90, 2048, 32, 228, 227}, {100, 2048, 32, 228, 227},
    {103, 2048, 32, 228, 227}, {120, 1536, 24, 100, 99}, {121, 1536, 24, 100, 99},
};

/// Architectures that compilers know, and whose limits are not listed above.
constexpr int others[] = {50, 52, 53, 60, 61, 62, 72, 88, 101, 110};

} // namespace

int compute_capability(std::string_view arch) {
  if (!arch.starts_with("sm_"))
    return 0;
  arch.remove_prefix(3);
  if (arch.ends_with('a') || arch.ends_with('f'))
    arch.remove_suffix(1);
  int number = 0;
  auto [end, error] = std::from_chars(arch.data(), arch.data() + arch.size(), number);
  bool whole = error == std::errc() && end == arch.data() + arch.size();
  return whole && (arch.size() == 2 || arch.size() == 3) && arch[0] != '0' && number >= 10 ? number : 0;
}

bool is_architecture(std::string_view arch) {
  int number = compute_capability(arch);
  bool known = std::ranges::find(rows, number, &Row::compute_capability) != std::end(rows) ||
               std::ranges::find(others, number) != std::end(others);
  return known && (!arch.ends_with('a') || number >= 90) && (!arch.ends_with('f') || number >= 100);
}

Target make_target(const std::string &arch) {
  const Row *row = std::find_if(std::begin(rows), std::end(rows),
                                [&](const Row &x) { return x.compute_capability == compute_capability(arch); });
  const Row &found = row == std::end(rows) ? every_gpu : *row;
  Target target;
  target.arch = arch;
  target.threads_per_sm = found.threads_per_sm;
  target.blocks_per_sm = found.blocks_per_sm;
  target.shared_bytes_per_sm = found.shared_kb_per_sm * 1024;
  target.shared_bytes_per_block = found.shared_kb_opt_in * 1024;
  target.shared_bytes_reserved = found.compute_capability < 80 ? 0 : 1024;
  return target;
}

std::vector<std::string> architectures() {
  std::vector<std::string> names;
  for (const Row &row : rows)
    names.push_back("sm_" + std::to_string(row.compute_capability));
  return names;
}

} // namespace nestsmith
