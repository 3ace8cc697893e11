#pragma once
/// The passes of lowering, for callers that inspect the output of each pass. `lower` (lowering/lower.h) runs
/// all of them.

#include "lowering/plan.h"
#include "lowering/unit.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace nestsmith {

/// The form of a nest between two passes. It determines how the nest can be executed.
enum class Form : std::uint8_t {
  program, ///< a program (dsl/ir/program.h); the sequential interpreter executes it
  threads, ///< a kernel without barriers; its meaning: every thread finishes a statement before any thread
           ///< starts the next
  ordered, ///< a kernel with barriers; an access has one index per dimension
  flat,    ///< a kernel with one offset per access; the simulator executes it
};

/// A pass over one nest, or over all nests, and the form of its output.
struct Pass {
  std::string_view name;
  std::variant<std::function<void(Unit &)>, std::function<void(std::vector<Unit> &)>> run;
  Form form;
};

/// The passes in execution order.
const std::vector<Pass> &standard_passes();

/// Lowers a schedule pass by pass. The schedule must outlive this object.
class Lowering {
public:
  explicit Lowering(const Schedule &schedule, std::vector<Pass> passes = standard_passes());

  bool done() const { return next_ == passes_.size(); }
  std::size_t next() const { return next_; } ///< index of the next pass in the list
  /// Runs the next pass over all nests and returns it. The caller must check `done` first.
  const Pass &step();
  /// The form of the nests after the last pass; `program` before the first.
  Form form() const { return next_ == 0 ? Form::program : passes_[next_ - 1].form; }
  /// The error that the verifier of the current form reports, or none. The verifier checks the nests that the
  /// last pass changed, and after the last pass all nests.
  std::optional<std::string> breach() const;
  std::string text() const; ///< the nests as programs or as kernels

  Program program() const;   ///< the nests as one program; the form must be `program`
  kernel::Plan plan() const; ///< the kernels; the form must not be `program`

private:
  const Schedule &schedule_;
  std::vector<Pass> passes_;
  std::size_t next_ = 0;
  std::vector<Unit> units_;
  std::vector<bool> changed_; ///< for each unit: whether the last pass replaced its body
};

} // namespace nestsmith
