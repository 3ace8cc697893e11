#include "dsl/expr/serial.h"

#include <atomic>

namespace nestsmith {

SerialNumber::SerialNumber() {
  static std::atomic<std::uint64_t> made = 0;
  value_ = ++made;
}

} // namespace nestsmith
