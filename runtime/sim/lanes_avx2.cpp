#if defined(__x86_64__)
// Without fused multiply-add, so that the results are bit-identical to those of the baseline.
#define NESTSMITH_LANES __attribute__((target("avx2,popcnt,bmi")))
#define NESTSMITH_LANES_TABLE avx2_lanes
#include "runtime/sim/lanes_impl.inc"
#endif
