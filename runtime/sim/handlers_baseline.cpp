#define NESTSMITH_TARGET
#define NESTSMITH_HANDLER_TABLE baseline_handlers
#include "runtime/sim/handlers_impl.inc"

namespace nestsmith::sim {

const HandlerTable &host_handlers() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("bmi"))
    return avx2_handlers;
#endif
  return baseline_handlers;
}

} // namespace nestsmith::sim
