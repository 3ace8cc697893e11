#define NESTSMITH_LANES
#define NESTSMITH_LANES_TABLE baseline_lanes
#include "runtime/sim/lanes_impl.inc"

namespace nestsmith::sim {

const Lanes &host_lanes() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("bmi"))
    return avx2_lanes;
#endif
  return baseline_lanes;
}

} // namespace nestsmith::sim
