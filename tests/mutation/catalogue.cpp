#include "tests/mutation/catalogue.h"

#include <algorithm>

namespace nestsmith::mutation {

namespace {

const char *name(Refusal refusal) {
  static constexpr const char *names[] = {"obligation", "breach", "refused"};
  return names[static_cast<std::size_t>(refusal)];
}
const char *name(BadRun run) { return run == BadRun::crash ? "crash" : "wrong value"; }

/// Errors of one kind have consecutive bits.
constexpr std::size_t kind_bits = 16;

} // namespace

const char *name(Error error) {
  return std::visit([](auto kind) { return name(kind); }, error);
}

std::uint64_t bits_of(const Errors &errors) {
  std::uint64_t bits = 0;
  for (Error error : errors)
    bits |= std::uint64_t{1} << (error.index() * kind_bits +
                                 std::visit([](auto kind) { return static_cast<std::size_t>(kind); }, error));
  return bits;
}

Errors errors_of(std::uint64_t bits) {
  Errors errors;
  for (std::size_t n = 0; n < 3 * kind_bits; ++n)
    if (bits >> n & 1) {
      if (n < kind_bits)
        errors.insert(static_cast<Refusal>(n));
      else if (n < 2 * kind_bits)
        errors.insert(static_cast<sim::ErrorKind>(n - kind_bits));
      else
        errors.insert(static_cast<BadRun>(n - 2 * kind_bits));
    }
  return errors;
}

const std::vector<Kind> &catalogue() {
  static const std::vector<Kind> all = [] {
    std::vector<Kind> kinds;
    for (auto *group : {barrier_kinds, guard_kinds, index_kinds, storage_kinds, loop_kinds, value_kinds,
                        vector_kinds, launch_kinds, dependence_kinds, wrapping_kinds, arrival_kinds,
                        atomic_kinds, copy_kinds, fragment_kinds})
      for (Kind &kind : group())
        kinds.push_back(std::move(kind));
    // A bug that causes a race or an unwritten read may also access an element that an asynchronous copy still
    // writes.
    for (Kind &kind : kinds)
      if (kind.right.contains(errors::race) || kind.right.contains(errors::unwritten_read))
        kind.right.insert(errors::in_flight);
    std::stable_partition(kinds.begin(), kinds.end(), [](const Kind &k) { return k.stage == Stage::final; });
    return kinds;
  }();
  return all;
}

} // namespace nestsmith::mutation
