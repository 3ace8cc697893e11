#pragma once
/// A compiled kernel, and its entry in the kernel cache: one line of JSON, followed by the CUBIN.

#include "dsl/ir/arch.h"
#include "runtime/cuda/ptxas_log.h"

#include <optional>
#include <string>

namespace nestsmith::cuda {

/// A compiled kernel, ready to load.
struct Compiled : KernelResources {
  std::string kernel_name;
  Arch arch;
  std::string log; ///< output of NVRTC and ptxas
  bool from_cache = false;
  double seconds = 0; ///< time to compile the kernel, or to read it from the cache
};

std::string write_entry(const Compiled &compiled);
/// None if the text is not an entry of this kernel and architecture. The numbers of the result are read from
/// the compiler's log, as after a compilation.
std::optional<Compiled> read_entry(const std::string &entry, const std::string &kernel, Arch arch);

} // namespace nestsmith::cuda
