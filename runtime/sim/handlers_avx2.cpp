#if defined(__x86_64__)
// Without fused multiply-add, so that the results are bit-identical to those of the baseline.
#define NESTSMITH_TARGET __attribute__((target("avx2,popcnt,bmi")))
#define NESTSMITH_HANDLER_TABLE avx2_handlers
#include "runtime/sim/handlers_impl.inc"
#endif
