#pragma once
/// The format of a compiled kernel in the kernel cache: one line of JSON, followed by the CUBIN.

#include "runtime/cuda/nvrtc.h"

#include <optional>
#include <string>

namespace nestsmith::cuda {

std::string write_entry(const Compiled &compiled);
/// None if the text is not an entry of this kernel and architecture. The numbers of the result are read from
/// the compiler's log, as after a compilation.
std::optional<Compiled> read_entry(const std::string &entry, const std::string &kernel, Arch arch);

} // namespace nestsmith::cuda
