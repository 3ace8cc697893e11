#include "dsl/hardware/target.h"

#include "dsl/expr/error.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>

namespace nestsmith {

namespace {

/// The properties that differ between architectures. A kilobyte has 1024 bytes.
struct Row {
  int number; ///< of the architecture
  std::int64_t threads_per_sm, blocks_per_sm, shared_kb_per_sm, shared_kb_opt_in, shared_kb_reserved;
};
constexpr Row every_gpu = {0, 1024, 16, 64, 48, 0};
constexpr Row rows[] = {
    {70, 2048, 32, 96, 96, 0},   {75, 1024, 16, 64, 64, 0},    {80, 2048, 32, 164, 163, 1},
    {86, 1536, 16, 100, 99, 1},  {87, 1536, 16, 164, 163, 1},  {89, 1536, 24, 100, 99, 1},
    {90, 2048, 32, 228, 227, 1}, {100, 2048, 32, 228, 227, 1}, {103, 2048, 32, 228, 227, 1},
    {120, 1536, 24, 100, 99, 1}, {121, 1536, 24, 100, 99, 1},
};

/// Architectures that compilers know but whose limits are not listed above.
constexpr int others[] = {50, 52, 53, 60, 61, 62, 72, 88, 101, 110};

} // namespace

std::vector<Arch> known_architectures() {
  std::vector<Arch> result = architectures();
  for (int number : others)
    result.push_back({number});
  std::size_t numbers = result.size();
  for (std::size_t n = 0; n < numbers; ++n)
    for (char suffix : {'a', 'f'})
      if (has_suffix(result[n].number, suffix))
        result.push_back({result[n].number, suffix});
  std::ranges::sort(result);
  return result;
}

bool is_known(Arch arch) {
  std::vector<Arch> known = known_architectures();
  return std::ranges::find(known, arch) != known.end();
}

std::vector<Arch> architectures_with(Feature feature) {
  std::vector<Arch> result;
  for (Arch arch : known_architectures())
    if (arch.has(feature) && (arch.suffix == '\0' || !Arch{arch.number}.has(feature)))
      result.push_back(arch);
  return result;
}

std::string why_not(Feature feature, Arch arch) {
  return arch.has(feature) ? ""
                           : fmt::format("{} needs {}; got {}", name(feature),
                                         fmt::join(names(architectures_with(feature)), ", "), to_string(arch));
}

Target make_target(Arch arch) {
  const Row *row = std::ranges::find(rows, arch.number, &Row::number);
  const Row &found = row == std::end(rows) ? every_gpu : *row;
  Target target;
  target.arch = arch;
  target.threads_per_sm = found.threads_per_sm;
  target.blocks_per_sm = found.blocks_per_sm;
  target.shared_bytes_per_sm = found.shared_kb_per_sm * 1024;
  target.shared_bytes_per_block = found.shared_kb_opt_in * 1024;
  target.shared_bytes_reserved = found.shared_kb_reserved * 1024;
  return target;
}

Target make_target(std::string_view arch) {
  if (std::optional<Arch> parsed = Arch::parse(arch))
    return make_target(*parsed);
  throw UserError(ExitCode::usage,
                  fmt::format("an architecture has a name such as sm_80 or sm_90a, got '{}'; known are {}",
                              arch, fmt::join(names(known_architectures()), ", ")));
}

std::vector<Arch> architectures() {
  std::vector<Arch> arches;
  for (const Row &row : rows)
    arches.push_back({row.number});
  return arches;
}

} // namespace nestsmith
