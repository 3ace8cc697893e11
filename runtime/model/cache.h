#pragma once
/// A cache of lines of 128 bytes that are filled sector by sector, 16 ways or fewer, least recently used out.

#include <cstdint>
#include <vector>

namespace nestsmith::model {

class Cache {
public:
  explicit Cache(std::int64_t bytes)
      : sets_((static_cast<std::uint64_t>(bytes) / 128 + most_ways - 1) / most_ways),
        ways_(sets_ == 0 ? 0 : static_cast<std::uint64_t>(bytes) / 128 / sets_), lines_(sets_ * ways_) {}

  /// Looks up sectors of a line (a bit for each) and has them all afterwards. Gives those that were there.
  std::uint32_t load(std::uint64_t line, std::uint32_t sectors) {
    Line *found = find(line);
    if (!found)
      return 0;
    std::uint32_t present = found->present & sectors;
    found->present |= sectors;
    return present;
  }
  /// The same for a store. Gives those that held what memory does not have yet.
  std::uint32_t store(std::uint64_t line, std::uint32_t sectors) {
    Line *found = find(line);
    if (!found)
      return 0;
    std::uint32_t dirty = found->dirty & sectors;
    found->present |= sectors;
    found->dirty |= sectors;
    return dirty;
  }

private:
  static constexpr std::uint64_t most_ways = 16;
  struct Line {
    std::uint64_t number = 0;
    std::uint64_t used = 0; ///< when; 0: never
    std::uint32_t present = 0, dirty = 0;
  };

  /// The line, or the one that made room for it; null in a cache of nothing.
  Line *find(std::uint64_t number) {
    if (ways_ == 0)
      return nullptr;
    // Lines that are a power of two apart must not meet in a set.
    Line *set = lines_.data() + (number * 0x9E3779B97F4A7C15u >> 20) % sets_ * ways_;
    Line *oldest = set;
    for (Line *line = set; line != set + ways_; ++line) {
      if (line->number == number && line->used != 0) {
        line->used = ++now_;
        return line;
      }
      if (line->used < oldest->used)
        oldest = line;
    }
    *oldest = {number, ++now_, 0, 0};
    return oldest;
  }

  std::uint64_t sets_, ways_, now_ = 0;
  std::vector<Line> lines_;
};

} // namespace nestsmith::model
