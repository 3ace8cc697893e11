#pragma once
/// The resources that a compiled kernel takes, as ptxas reports them.

#include <cstdint>

namespace nestsmith {

/// Registers are for a thread; shared memory is static and for a block; the rest is for a thread. The stack
/// frame holds spilled registers and arrays whose index is not constant.
struct KernelResources {
  int registers = 0;
  std::int64_t spill_stores = 0, spill_loads = 0; ///< bytes moved by the instructions, each counted once
  std::int64_t stack_bytes = 0;
  std::int64_t shared_bytes = 0;
};

} // namespace nestsmith
