#pragma once
/// Knobs whose values must fit together, such as the sizes of a tile that the threads of a block copy.

#include "dsl/schedule/knobs.h"
#include "dsl/schedule/schedule.h"

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace nestsmith {

/// A knob with numbers as candidates. The first one is the default.
struct Choice {
  std::string name;
  std::vector<std::int64_t> candidates;
};

/// Whether the values of all choices, in their order, make a legal schedule.
using Fits = std::function<bool(std::span<const std::int64_t>)>;

/// Asks for the knobs in turn, and writes their values to `values`. Offers only the candidates that the later
/// knobs can complete to values that fit, so every combination that is offered is legal. At least one
/// combination of candidates must fit.
void choose_fitting(Knobs &knobs, std::span<const Choice> choices, const Fits &fits,
                    std::span<std::int64_t> values);

/// The same, for structured bindings.
template <std::size_t N>
std::array<std::int64_t, N> choose_fitting(Knobs &knobs, const std::array<Choice, N> &choices,
                                           const Fits &fits) {
  std::array<std::int64_t, N> values{};
  choose_fitting(knobs, std::span<const Choice>(choices), fits, std::span<std::int64_t>(values));
  return values;
}

/// Whether tiles with this number of elements fit in the shared memory of a block.
bool fit_in_shared(std::int64_t elements, DType dtype, const Target &target);

} // namespace nestsmith
