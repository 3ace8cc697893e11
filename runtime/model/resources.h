#pragma once
/// The resources of a compiled kernel, as ptxas reports them.

#include <cstdint>
#include <vector>

namespace nestsmith {

/// `shared_bytes` is static shared memory per block. The other numbers are per thread. The stack frame contains
/// spilled registers and arrays that are accessed with a non-constant index.
struct KernelResources {
  int registers = 0;
  /// Bytes that the spill instructions move, each instruction counted once.
  std::int64_t spill_stores = 0, spill_loads = 0;
  std::int64_t stack_bytes = 0;
  std::int64_t shared_bytes = 0;
  std::vector<char> cubin; ///< the machine code, as an ELF file; empty: unknown
};

} // namespace nestsmith
