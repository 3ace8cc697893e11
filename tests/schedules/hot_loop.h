#pragma once
/// What the hottest loop of a compiled kernel consists of, read off its CUBIN.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith::test {

struct HotLoop {
  int instructions = 0, ffma = 0;
  double ffma_share() const { return instructions ? static_cast<double>(ffma) / instructions : 0; }
};

/// The loop with the most FFMA instructions, as it is laid out, of the kernel in an ELF file for a GPU. An
/// instruction of sm_70 or later has 16 bytes, the low 12 bits of which are its opcode; a loop is what a
/// backward branch spans. The offset of a branch counts from the next instruction: in bytes up to sm_8x,
/// from sm_90 on in words of 4 of which the low 8 bits stand apart. Read off what CUDA 13 makes.
class HotLoopFinder {
public:
  explicit HotLoopFinder(const std::vector<char> &cubin)
      : data_(cubin), sm_(at<std::uint32_t>(0x30) >> 8 & 0xFF) {}

  HotLoop find(const std::string &kernel) const {
    HotLoop best;
    auto [begin, size] = section(".text." + kernel);
    for (std::uint64_t end = 0; end + 16 <= size; end += 16) {
      std::int64_t target = branch_target(begin, static_cast<std::int64_t>(end));
      if (target < 0 || target >= static_cast<std::int64_t>(end))
        continue;
      HotLoop loop;
      for (auto offset = static_cast<std::uint64_t>(target); offset <= end; offset += 16) {
        ++loop.instructions;
        loop.ffma += (at<std::uint64_t>(begin + offset) & 0xFF) == 0x23;
      }
      if (loop.ffma > best.ffma)
        best = loop;
    }
    return best;
  }

private:
  template <class T> T at(std::uint64_t offset) const {
    T value{};
    if (offset + sizeof(T) <= data_.size())
      std::memcpy(&value, data_.data() + offset, sizeof(T));
    return value;
  }

  /// Where a section of the ELF file lies; empty where there is none of the name.
  std::pair<std::uint64_t, std::uint64_t> section(const std::string &name) const {
    auto table = at<std::uint64_t>(0x28);
    std::uint64_t entry = at<std::uint16_t>(0x3A), count = at<std::uint16_t>(0x3C),
                  names = at<std::uint16_t>(0x3E);
    auto names_at = at<std::uint64_t>(table + names * entry + 0x18);
    for (std::uint64_t n = 0; n < count; ++n) {
      std::uint64_t header = table + n * entry;
      std::uint64_t text = names_at + at<std::uint32_t>(header);
      if (text < data_.size() && std::string_view(data_.data() + text) == name)
        return {at<std::uint64_t>(header + 0x18), at<std::uint64_t>(header + 0x20)};
    }
    return {0, 0};
  }

  static std::int64_t signed_value(std::uint64_t value, int bits) {
    return static_cast<std::int64_t>(value << (64 - bits)) >> (64 - bits);
  }

  /// From the start of the kernel; -1 where the instruction is no branch.
  std::int64_t branch_target(std::uint64_t begin, std::int64_t offset) const {
    auto low = at<std::uint64_t>(begin + static_cast<std::uint64_t>(offset));
    auto high = at<std::uint64_t>(begin + static_cast<std::uint64_t>(offset) + 8);
    if ((low & 0xFFF) != 0x947 && (low & 0xFFF) != 0x547)
      return -1;
    std::int64_t jump = sm_ >= 90 ? 4 * (signed_value((high & 0x3FFFF) << 30 | low >> 34, 48) << 8 |
                                         static_cast<std::int64_t>(low >> 16 & 0xFF))
                                  : signed_value((high & 0x3FFFF) << 32 | low >> 32, 50);
    return offset + 16 + jump;
  }

  const std::vector<char> &data_;
  std::uint32_t sm_;
};

} // namespace nestsmith::test
