#pragma once
/// A picture of a fragment: the lane and the register that hold each element.

#include "dsl/hardware/fragment.h"
#include "dsl/ir/allocation.h"
#include "tools/results/analysed.h"

#include <optional>
#include <string>
#include <vector>

namespace nestsmith::cli {

/// The lanes and registers of the elements of a fragment. Indices count from the start of its box.
class Spots {
public:
  explicit Spots(const Placement &placement);

  const std::vector<std::int64_t> &box() const { return box_; }
  std::int64_t replicas() const { return replicas_; }
  /// The distance between the lanes of two successive replicas.
  std::int64_t replica_step() const { return replica_step_; }
  /// The lane that holds the element; if it has replicas, the first one.
  std::int64_t lane(const std::vector<std::int64_t> &element) const { return value(lane_, element); }
  std::int64_t at(const std::vector<std::int64_t> &element) const { return value(register_, element); }

private:
  std::int64_t value(const Expr &e, const std::vector<std::int64_t> &element) const;

  std::vector<std::int64_t> box_;
  std::int64_t replicas_, replica_step_ = 0;
  std::vector<Var> indices_;
  Expr lane_, register_; ///< of the element at `indices_`
};

/// The fragment of this name in the program; none if there is none.
Buffer find_fragment(const Program &program, const std::string &name);

/// Rows and columns are the last two dimensions of the box, at index 0 of the others. A cell is
/// "lane:register"; if an element has replicas, the lane of the first one. The picture shows the 16 first rows,
/// and as many columns as fit in `width`.
std::string fragment_picture(const Placement &placement, const Style &style, std::size_t width);

/// Prints the picture, or the lanes and registers of all elements of the box as JSON.
ExitCode show_fragment(const Context &context, const Scheduled &scheduled, const Buffer &fragment);

} // namespace nestsmith::cli
