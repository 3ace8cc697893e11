#pragma once
/// A rung with a fragment in which every lane holds a copy.

#include "schedules/rung.h"
#include "tests/schedules/row_sums.h"

namespace nestsmith::test {

inline Rung row_sums_rung() {
  return {"",
          "row_sums",
          "a row for each warp",
          [](const Shape &shape, DType dtype, const Target &target) {
            return row_sums(shape[0], shape[1], dtype, "warp_sum", target);
          },
          {8, 64},
          {8, 64},
          {8, 64}};
}

} // namespace nestsmith::test
