#pragma once
/// Finds the sections of a CUBIN, which is an ELF file of 64 bits.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith::model {

/// The value at the offset, or 0 past the end of the file.
template <class T> T at(const std::vector<char> &file, std::uint64_t offset) {
  T value{};
  if (offset + sizeof(T) <= file.size())
    std::memcpy(&value, file.data() + offset, sizeof(T));
  return value;
}

/// Offset and size in the file, both 0 if there is no such section.
struct Section {
  std::uint64_t begin = 0, size = 0;
};

inline Section section(const std::vector<char> &file, const std::string &name) {
  auto table = at<std::uint64_t>(file, 0x28);
  std::uint64_t entry = at<std::uint16_t>(file, 0x3A), count = at<std::uint16_t>(file, 0x3C),
                names = at<std::uint16_t>(file, 0x3E);
  auto names_at = at<std::uint64_t>(file, table + names * entry + 0x18);
  for (std::uint64_t n = 0; n < count; ++n) {
    std::uint64_t header = table + n * entry;
    std::uint64_t text = names_at + at<std::uint32_t>(file, header);
    Section found{at<std::uint64_t>(file, header + 0x18), at<std::uint64_t>(file, header + 0x20)};
    if (text + name.size() < file.size() &&
        std::string_view(file.data() + text, name.size() + 1) ==
            std::string_view(name.c_str(), name.size() + 1) &&
        found.begin + found.size <= file.size())
      return found;
  }
  return {};
}

} // namespace nestsmith::model
