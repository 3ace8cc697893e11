#pragma once
/// A compiled kernel as the kernel cache keeps it: one line of JSON, then the CUBIN.

#include "runtime/cuda/nvrtc.h"

#include <optional>
#include <string>

namespace nestsmith::cuda {

std::string write_entry(const Compiled &compiled);
/// Nothing where the text is no such entry.
std::optional<Compiled> read_entry(const std::string &entry);

} // namespace nestsmith::cuda
