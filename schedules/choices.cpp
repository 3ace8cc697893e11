#include "schedules/choices.h"

#include <algorithm>

namespace nestsmith {

namespace {

/// Whether some values of the knobs from number `next` on fit to the values before.
bool can_complete(std::span<const Choice> choices, const Fits &fits, std::span<std::int64_t> values,
                  std::size_t next) {
  if (next == choices.size())
    return fits(values);
  return std::ranges::any_of(choices[next].candidates, [&](std::int64_t candidate) {
    values[next] = candidate;
    return can_complete(choices, fits, values, next + 1);
  });
}

} // namespace

void choose_fitting(Knobs &knobs, std::span<const Choice> choices, const Fits &fits,
                    std::span<std::int64_t> values) {
  for (std::size_t n = 0; n < choices.size(); ++n) {
    std::vector<std::int64_t> candidates = choices[n].candidates;
    std::erase_if(candidates, [&](std::int64_t candidate) {
      values[n] = candidate;
      return !can_complete(choices, fits, values, n + 1);
    });
    values[n] = knobs.choose(choices[n].name, candidates);
  }
}

bool fit_in_shared(std::int64_t elements, DType dtype, const Target &target) {
  return elements * byte_size(dtype) <= target.shared_bytes_per_block;
}

} // namespace nestsmith
