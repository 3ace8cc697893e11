#pragma once
/// Selects the rungs, shapes, types and architectures of a test. The quick tests use a sample for each rung,
/// which the name of the rung determines. Together, the samples of all rungs contain all pairs. The long tests
/// use larger samples or the rest. Nets that cost much take samples in the long tests, too, and everything in
/// tests/long_run.sh, which sets NESTSMITH_FULL.

#include "schedules/rung.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace nestsmith::test {

/// The FNV-1a hash of the name, which is the same on every machine.
inline std::size_t seed_of(const Rung &rung) {
  std::uint32_t hash = 2166136261U;
  for (unsigned char c : rung.full_name())
    hash = (hash ^ c) * 16777619U;
  return hash >> 8U;
}

/// Returns `count` of these values in their order, or all others.
template <typename Value>
std::vector<Value> sample(const Rung &rung, const std::vector<Value> &all, std::size_t count,
                          bool others = false) {
  std::vector<Value> result;
  std::size_t first = seed_of(rung) % all.size();
  for (std::size_t n = 0; n < all.size(); ++n) {
    bool sampled = (n + all.size() - first) % all.size() < count;
    if (sampled != others)
      result.push_back(all[n]);
  }
  return result;
}

/// The tile of the rung, and `by` more in each dimension. A convolution, which has five, gets one image and one
/// tile of channels at most, so that it has few tiles.
inline Shape near_tile(const Rung &rung, std::int64_t by) {
  Shape shape = rung.tile;
  for (std::int64_t &extent : shape)
    extent = std::max<std::int64_t>(extent + by, 1);
  if (shape.size() == 5)
    shape.front() = 1, shape.back() = std::max<std::int64_t>(rung.tile.back() - std::abs(by), 1);
  return shape;
}

inline std::vector<std::string> architectures() {
  return {"sm_75", "sm_80",  "sm_86",  "sm_87",  "sm_88",  "sm_89",
          "sm_90", "sm_100", "sm_103", "sm_110", "sm_120", "sm_121"};
}

/// As `sample`, and all values in the long run (tests/long_run.sh).
template <typename Value>
std::vector<Value> sample_unless_full(const Rung &rung, const std::vector<Value> &all, std::size_t count) {
  return sample(rung, all, std::getenv("NESTSMITH_FULL") ? all.size() : count);
}

/// Returns the architectures that support the rung.
inline std::vector<std::string> that_take(const Rung &rung, std::vector<std::string> archs) {
  std::erase_if(archs,
                [&](const std::string &arch) { return rung.needs && !Arch::parse(arch)->has(*rung.needs); });
  return archs;
}

/// A rung, and whether to use its sample or the others.
struct Part {
  const Rung *rung;
  bool others;
};

inline std::vector<Part> parts(bool others) {
  std::vector<Part> result;
  for (const Rung &rung : builtin_rungs())
    result.push_back({&rung, others});
  return result;
}

/// Returns the name of a rung for the name of a test.
inline std::string test_name(const Rung &rung) { return rung.tutorial + "_" + rung.name; }

} // namespace nestsmith::test

/// Instantiates the tests of SUITE, whose parameter is a Part: quick tests for the samples, and long tests
/// (tests/long_tests.cmake) for the others.
#define INSTANTIATE_SAMPLED(SUITE)                                                                             \
  INSTANTIATE_TEST_SUITE_P(Rungs, SUITE, testing::ValuesIn(test::parts(false)),                                \
                           [](const auto &info) { return test::test_name(*info.param.rung); });                \
  INSTANTIATE_TEST_SUITE_P(Others, SUITE, testing::ValuesIn(test::parts(true)),                                \
                           [](const auto &info) { return test::test_name(*info.param.rung); })
