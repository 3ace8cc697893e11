#pragma once
/// A random generator that gives the same choices for one seed on every host.

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace nestsmith::fuzz {

class Random {
public:
  explicit Random(std::uint64_t seed) : engine_(seed * 0x9e3779b97f4a7c15U + 0x2545f4914f6cdd1dU) {}
  /// Returns a number in [0, n).
  std::size_t below(std::size_t n) { return static_cast<std::size_t>((engine_() >> 16) % n); }
  bool chance(std::size_t percent) { return below(100) < percent; }
  template <class T> const T &pick(const std::vector<T> &list) { return list[below(list.size())]; }
  std::int64_t pick(std::initializer_list<std::int64_t> list) { return list.begin()[below(list.size())]; }
  template <class T> void shuffle(std::vector<T> &list) {
    for (std::size_t n = list.size(); n > 1; --n)
      std::swap(list[n - 1], list[below(n)]);
  }

private:
  std::mt19937_64 engine_;
};

} // namespace nestsmith::fuzz
