#pragma once
/// Intrinsics such as users register (dsl/hardware/intrinsics.h). Each follows from its number, which its name
/// ends in, so a trace that names one can be replayed.

#include "dsl/ir/intrinsic.h"
#include "dsl/schedule/directive.h"
#include "tests/fuzz/random.h"

#include <cstdint>
#include <string>
#include <vector>

namespace nestsmith::fuzz {

/// for k < width: total = total + a term of the operands
struct ThreadIntrinsic {
  const Intrinsic *intrinsic;
  std::int64_t width;
  Expr term;        ///< over the formal buffers
  double magnitude; ///< of the term, for the small integers of integer mode
};
/// Intrinsics of threads have the numbers from 1 on, and intrinsics of warps the numbers after them.
inline constexpr std::uint64_t thread_intrinsics = 300, warp_intrinsics_of_users = 100;

/// Registers the intrinsic if it is not registered yet.
ThreadIntrinsic thread_intrinsic(std::uint64_t number);
/// Small numbers more often: their names are like those of tensors and axes.
std::uint64_t any_thread_intrinsic(Random &random);

/// One bit of an index: dimension and position.
struct IndexBit {
  std::size_t dimension, bit;
};
/// The bits of the two indices of an element in any order: five are its lane, and the others its register. The
/// lowest bits are first.
struct BitLayout {
  std::vector<IndexBit> lane, registers;
  /// The lane and the register of an element with these index names: "i%2*16 + j%4//2, i%4//2".
  std::pair<std::string, std::string> texts(const std::string &first, const std::string &second) const;
};

/// for i < m, j < n, k < K: c[i, j] = c[i, j] + a[i, k]*b[k, j]
struct WarpIntrinsic {
  std::string name;
  std::int64_t m = 0, n = 0, k = 0;
  BitLayout c, a, b;
};
/// The dtypes of the operands, for each of which the intrinsics of a warp are registered.
bool has_warp_intrinsics(DType dtype);
WarpIntrinsic warp_intrinsic(std::uint64_t number);

/// Whether the name is that of one of them.
bool is_of_user(const std::string &name);
/// Registers the intrinsics that the directives name.
void provide_intrinsics(const std::vector<Directive> &directives);

} // namespace nestsmith::fuzz
