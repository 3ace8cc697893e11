#pragma once
/// The name of a GPU architecture.

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

/// {90, 'a'} is sm_90a: code for compute capability 9.0. Suffix 'a' permits the instructions that only this
/// architecture has, and 'f' those of its family.
struct Arch {
  int number = 0;
  char suffix = '\0'; ///< 'a', 'f', or none

  /// None if the text is not an architecture name. The architecture need not exist: "sm_42" is a name.
  static std::optional<Arch> parse(std::string_view text);
  auto operator<=>(const Arch &) const = default;
};

std::string to_string(Arch arch); ///< "sm_90a"
std::vector<std::string> names(const std::vector<Arch> &arches);

} // namespace nestsmith
