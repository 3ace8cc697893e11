#pragma once
/// A device array between two guard bands, with checks of the accesses that a kernel made.

#include "dsl/expr/buffer.h"
#include "dsl/ir/array.h"
#include "runtime/cuda/driver.h"

#include <cstdint>
#include <string>
#include <vector>

namespace nestsmith::cuda {

class GuardedBuffer {
public:
  /// Bytes of a guard band. A multiple of 256, so that the buffer keeps the alignment of an allocation.
  static constexpr std::size_t band = 65536;

  GuardedBuffer(const Device &device, std::string name, Role role, const Array &array);

  Address address() const { return memory_.address() + band; }
  /// Writes the guard bands, and the array or, for an output, `poison` in every 32-bit word.
  void reset(const Array &array, std::uint32_t poison) const;
  /// Reads the array back. If the kernel has changed a guard band or an input, appends a sentence to
  /// `problems`.
  Array read(const Array &original, std::vector<std::string> &problems) const;
  Role role() const { return role_; }
  const std::string &name() const { return name_; }

private:
  void check_bands(const std::vector<std::byte> &content, std::vector<std::string> &problems) const;

  std::string name_;
  Role role_;
  std::size_t bytes_;
  Memory memory_;
};

/// The indices of the elements that still have the value `poison`.
std::vector<std::int64_t> poisoned_elements(const Array &array, std::uint32_t poison);

} // namespace nestsmith::cuda
