#pragma once
/// Numbers that tell named things apart: names are not unique, and addresses differ from run to run.

#include <compare>
#include <cstdint>

namespace nestsmith {

/// The place of a thing among all that were made. Things that one thread makes are in the order in which it
/// made them, whatever other threads do meanwhile.
class SerialNumber {
public:
  SerialNumber();
  SerialNumber(const SerialNumber &) : SerialNumber() {} ///< a copy is another thing
  SerialNumber &operator=(const SerialNumber &) { return *this; }
  ~SerialNumber() = default;
  std::strong_ordering operator<=>(const SerialNumber &) const = default;
  /// One bit of 64, as a key of small sets: other things may have the same.
  std::uint64_t bit() const { return std::uint64_t{1} << value_ % 64; }

private:
  std::uint64_t value_;
};

} // namespace nestsmith
