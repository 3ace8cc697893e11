#pragma once
/// Intrinsics such as users register (dsl/hardware/intrinsics.h). The number at the end of its name determines
/// an intrinsic, so a trace that contains the name can be replayed.

#include "dsl/ir/intrinsic.h"
#include "dsl/schedule/directive.h"
#include "tests/fuzz/random.h"

#include <cstdint>
#include <string>
#include <vector>

namespace nestsmith::fuzz {

/// The intrinsic `for k < width: total = total + term`, where `term` is a term of the operands.
struct ThreadIntrinsic {
  const Intrinsic *intrinsic;
  std::int64_t width;
  Expr term;        ///< over the formal buffers
  double magnitude; ///< bound of the absolute value of the term for the small integers of integer mode
};
/// Intrinsics of threads have the numbers from 1 to `thread_intrinsics`, and intrinsics of warps the numbers
/// after them.
inline constexpr std::uint64_t thread_intrinsics = 300, warp_intrinsics_of_users = 100;

/// Registers the intrinsic if it is not registered yet.
ThreadIntrinsic thread_intrinsic(std::uint64_t number);
/// Draws small numbers more often, because their names resemble those of tensors and axes.
std::uint64_t any_thread_intrinsic(Random &random);

/// One bit of an index: the dimension and the position in its index.
struct IndexBit {
  std::size_t dimension, bit;
};
/// Distributes the bits of the two indices of an element: five bits form its lane, and the others its register.
/// The lowest bits are first.
struct BitLayout {
  std::vector<IndexBit> lane, registers;
  /// Returns the lane and the register of an element with these index names, such as "i%2*16 + j%4//2" and
  /// "i%4//2".
  std::pair<std::string, std::string> texts(const std::string &first, const std::string &second) const;
};

/// The intrinsic `for i < m, j < n, k < K: c[i, j] = c[i, j] + a[i, k]*b[k, j]`.
struct WarpIntrinsic {
  std::string name;
  std::int64_t m = 0, n = 0, k = 0;
  BitLayout c, a, b;
};
/// Whether intrinsics of a warp are registered for operands of this dtype.
bool has_warp_intrinsics(DType dtype);
WarpIntrinsic warp_intrinsic(std::uint64_t number);

/// Whether the name is that of a user's intrinsic.
bool is_of_user(const std::string &name);
/// Registers the intrinsics that the directives name.
void provide_intrinsics(const std::vector<Directive> &directives);

} // namespace nestsmith::fuzz
