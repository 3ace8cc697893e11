#include "tests/mutation/catalogue.h"

#include <algorithm>

namespace nestsmith::mutation {

const char *name(Error error) {
  static constexpr const char *names[] = {
      "obligation", "breach",     "refused",           "race",     "out of bounds", "unwritten read",
      "in flight",  "misaligned", "divergent barrier", "deadlock", "counter left",  "wrong value",
      "crash"};
  return names[static_cast<std::size_t>(error)];
}

const std::vector<Kind> &catalogue() {
  static const std::vector<Kind> all = [] {
    std::vector<Kind> kinds;
    for (auto *group :
         {barrier_kinds, guard_kinds, index_kinds, storage_kinds, loop_kinds, value_kinds, vector_kinds,
          launch_kinds, dependence_kinds, wrapping_kinds, arrival_kinds, copy_kinds, fragment_kinds})
      for (Kind &kind : group())
        kinds.push_back(std::move(kind));
    // A bug that causes a race or an unwritten read may also access an element that an asynchronous copy still
    // writes.
    for (Kind &kind : kinds)
      if (kind.right.contains(Error::race) || kind.right.contains(Error::unwritten_read))
        kind.right.insert(Error::in_flight);
    std::stable_partition(kinds.begin(), kinds.end(), [](const Kind &k) { return k.stage == Stage::final; });
    return kinds;
  }();
  return all;
}

} // namespace nestsmith::mutation
