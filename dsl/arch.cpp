#include "dsl/arch.h"

#include <charconv>

namespace nestsmith {

std::optional<Arch> Arch::parse(std::string_view text) {
  if (!text.starts_with("sm_"))
    return std::nullopt;
  text.remove_prefix(3);
  Arch arch;
  if (text.ends_with('a') || text.ends_with('f')) {
    arch.suffix = text.back();
    text.remove_suffix(1);
  }
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), arch.number);
  bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && text[0] != '0' && arch.number >= 10 ? std::optional(arch) : std::nullopt;
}

std::string to_string(Arch arch) {
  return "sm_" + std::to_string(arch.number) + (arch.suffix == '\0' ? "" : std::string(1, arch.suffix));
}

std::vector<std::string> names(const std::vector<Arch> &arches) {
  std::vector<std::string> result;
  for (Arch arch : arches)
    result.push_back(to_string(arch));
  return result;
}

} // namespace nestsmith
