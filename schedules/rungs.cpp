#include "schedules/000/rungs.h"
#include "schedules/rung.h"

namespace nestsmith {

const std::vector<Rung> &builtin_rungs() {
  static const std::vector<Rung> rungs = {
      {"000", "naive", "one thread an element; a warp walks down a column", tutorial_000::naive, {16, 16, 16}},
      {"000",
       "coalesced",
       "one thread an element; a warp walks along a row",
       tutorial_000::coalesced,
       {16, 16, 16}},
      {"000", "shared", "32 x 32 tiles of A and B in shared memory", tutorial_000::shared, {32, 32, 32}},
      {"000", "tile1d", "64 x 64 tiles, 8 results a thread", tutorial_000::tile1d, {64, 64, 8}},
  };
  return rungs;
}

} // namespace nestsmith
