#pragma once
/// Finds rungs by name for tests.

#include "schedules/rung.h"

#include <stdexcept>
#include <string>
#include <string_view>

namespace nestsmith::test {

/// The target of rungs whose schedule is the same on every GPU.
inline const Target target;

/// Returns the rung with this full name, such as "deep_dive/naive". Throws std::out_of_range if it does not
/// exist.
inline const Rung &rung(std::string_view full_name) {
  for (const Rung &rung : builtin_rungs())
    if (rung.full_name() == full_name)
      return rung;
  throw std::out_of_range(std::string(full_name));
}

} // namespace nestsmith::test
