#pragma once
/// What ptxas says of the kernels that it compiled (`--ptxas-options=-v`).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith::cuda {

/// What one kernel takes. Registers are for a thread; shared memory is static and for a block; the rest is
/// for a thread: the stack frame holds spilled registers and arrays indexed by no constant.
struct Resources {
  int registers = 0;
  std::int64_t spill_stores = 0, spill_loads = 0; ///< bytes moved by the instructions, each counted once
  std::int64_t stack_bytes = 0;
  std::int64_t shared_bytes = 0;
};

/// The entry functions of a log, in its order.
std::vector<std::string> entry_functions(std::string_view log);
/// What the log says of one of them; nothing where it says too little.
std::optional<Resources> resources_of(std::string_view log, std::string_view kernel);

} // namespace nestsmith::cuda
