#pragma once
/// A model of a cache: lines of 128 bytes that are filled sector by sector, up to 16 ways, LRU replacement.

#include <cstdint>
#include <vector>

namespace nestsmith::model {

class Cache {
public:
  explicit Cache(std::int64_t bytes)
      : sets_((static_cast<std::uint64_t>(bytes) / 128 + most_ways - 1) / most_ways),
        ways_(sets_ == 0 ? 0 : static_cast<std::uint64_t>(bytes) / 128 / sets_) {}

  /// Looks up sectors of a line (a mask with one bit per sector) and fills the sectors that are missing.
  /// Returns the mask of the sectors that hit.
  std::uint32_t load(std::uint64_t line, std::uint32_t sectors) {
    Line *found = find(line);
    if (!found)
      return 0;
    std::uint32_t present = found->present & sectors;
    found->present |= sectors;
    return present;
  }
  /// Writes sectors of a line. Returns the mask of the sectors that were already dirty.
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
    std::uint64_t used = 0; ///< time of the last use; 0: never
    std::uint32_t present = 0, dirty = 0;
  };

  /// Returns the line with this number. If it is not in the cache, it replaces the least recently used line of
  /// its set. Null if the cache has no capacity.
  Line *find(std::uint64_t number) {
    if (ways_ == 0)
      return nullptr;
    if (lines_.empty()) // on the first use, because a small kernel uses few of a GPU's caches
      lines_.resize(sets_ * ways_);
    // Hash the number: lines whose distance is a power of two must not share a set.
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
