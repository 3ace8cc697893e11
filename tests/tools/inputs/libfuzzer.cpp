/// The entry point of libFuzzer for one target, which the build selects.

#include "tests/tools/inputs/targets.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  nestsmith::inputs::NESTSMITH_INPUT(std::string(reinterpret_cast<const char *>(data), size));
  return 0;
}
