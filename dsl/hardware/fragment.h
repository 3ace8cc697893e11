#pragma once
/// Fragment layouts: the lane and the register that hold an element of a buffer in the scope `warp`.
///
/// The index map of such a buffer has the lane as its first physical index. The other physical indices are,
/// row-major, the register. The accumulator of a matrix instruction of 16 x 8 results, in a box of any number
/// of such tiles:
///
///     i, j -> i%8*4 + j%8//2, i//16, j//8, i%16//8*2 + j%2
///
/// If the map has one more logical index than the buffer has dimensions, this last index is the *replica*:
/// several lanes hold copies of one element. `i, r -> i*4 + r, 0` keeps element i in 4 lanes. Replicas differ
/// in the lane only.

#include "dsl/ir/layout.h"

#include <optional>
#include <string>
#include <vector>

namespace nestsmith {

class FragmentLayout {
public:
  /// The layout of `buffer`, in the scope `warp` and with an index map, for a box of these extents.
  FragmentLayout(const BufferNode &buffer, const std::vector<std::int64_t> &box);

  /// The reason why the map is not a fragment layout of the box: a lane outside of [0, 32), two elements in one
  /// register of one lane, or a replica that changes the register. None if it is one.
  std::optional<std::string> breach() const;

  /// The number of lanes that hold each element.
  std::int64_t replicas() const { return replicas_; }
  /// The lane that holds the replica of an element. Indices count from the start of the box.
  Expr lane(const std::vector<Expr> &indices, const Expr &replica) const;
  /// Whether `lane` provably holds a replica of the element.
  bool holds(const Expr &lane, const std::vector<Expr> &indices, const Bounds &bounds) const;

private:
  IndexMap map_;
  std::vector<std::int64_t> box_;
  Bounds bounds_; ///< ranges of the logical indices of the map
  std::int64_t replicas_ = 1, replica_step_ = 0;
};

} // namespace nestsmith
