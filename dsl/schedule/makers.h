#pragma once
/// Which directive made each loop, block and buffer of a schedule, and where the user's source states it.

#include "dsl/ir/origin.h"
#include "dsl/schedule/schedule.h"

#include <cstddef>
#include <map>
#include <string>

namespace nestsmith {

class Makers {
public:
  /// Refers to the schedule.
  explicit Makers(const Schedule &schedule);

  /// The number of the directive, from 1; 0: it is a part of the computation.
  std::size_t directive_of(const OriginPart &part) const;
  /// The line of the directive. For a part of the computation, the line of the stage.
  Where where(const OriginPart &part) const;

private:
  const Schedule &schedule_;
  std::map<Var, std::size_t> loops_; ///< the first step with each loop
  std::map<BlockId, std::size_t> blocks_;
  std::map<std::string, std::size_t> buffers_;
};

/// The number of the last directive that changed the value of `property(program)`, from 1; 0: none did.
template <class F> std::size_t last_change(const Schedule &schedule, const F &property) {
  std::size_t n = schedule.trace().size();
  const auto last = property(schedule.step(n));
  while (n > 0 && property(schedule.step(n - 1)) == last)
    --n;
  return n;
}

/// The layout of the buffer, which has the same name in all steps; without a map or padding if the program does
/// not have the buffer.
Layout layout_in(const Program &program, const Buffer &buffer);

} // namespace nestsmith
