#pragma once
/// The resources of a compiled kernel, as ptxas reports them.

#include <cstdint>

namespace nestsmith {

/// Static shared memory is per block, everything else per thread. The stack frame holds spilled registers and
/// arrays with a non-constant index.
struct KernelResources {
  int registers = 0;
  std::int64_t spill_stores = 0, spill_loads = 0; ///< bytes that the instructions move, each counted once
  std::int64_t stack_bytes = 0;
  std::int64_t shared_bytes = 0;
};

} // namespace nestsmith
