#pragma once
/// Lowering, pass by pass, for who looks at what each of them makes. `lower` (lowering/lower.h) is all of it.

#include "lowering/plan.h"
#include "lowering/unit.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

/// What a nest is, and so what gives it a meaning.
enum class Form : std::uint8_t {
  program, ///< a program: the sequential interpreter runs it
  threads, ///< a kernel whose threads nothing orders yet: each store is done by all before the next one
  ordered, ///< it has its barriers; elements are named by an index for each dimension
  flat,    ///< one offset for each access: the simulator runs it
};

/// A pass, and what it leaves a nest as.
struct Pass {
  std::string_view name;
  std::function<void(Unit &)> run;
  Form form;
};

/// The table of passes, in their order.
const std::vector<Pass> &standard_passes();

/// A schedule on its way to a plan. The schedule outlives it.
class Lowering {
public:
  explicit Lowering(const Schedule &schedule, std::vector<Pass> passes = standard_passes());

  bool done() const { return next_ == passes_.size(); }
  std::size_t next() const { return next_; } ///< the number of the next pass
  /// Runs the next pass over all nests, and gives it.
  const Pass &step();
  /// Of what the last pass left; before the first, `program`.
  Form form() const { return next_ == 0 ? Form::program : passes_[next_ - 1].form; }
  /// What the verifier of the stage says of what the last pass left.
  std::optional<std::string> breach() const;
  std::string text() const; ///< the nests as programs, or the kernels

  Program program() const;   ///< the nests, one after the other; of form `program`
  kernel::Plan plan() const; ///< the kernels; of any other form

private:
  const Schedule &schedule_;
  std::vector<Pass> passes_;
  std::size_t next_ = 0;
  std::vector<Unit> units_;
};

} // namespace nestsmith
