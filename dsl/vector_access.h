#pragma once
/// Vector accesses: how indices move along a loop whose iterations become lanes, and proofs of contiguity,
/// alignment and uniformity. Shared by the primitives, the obligations and lowering.

#include "dsl/allocation.h"
#include "dsl/program.h"
#include "dsl/simplify.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith {

/// Whether CUDA has a vector type of `lanes` elements that one instruction loads or stores: 8 or 16 bytes, of
/// elements of 4 bytes or more.
bool is_vector(DType dtype, std::int64_t lanes);

/// The difference between an integer's value in each lane and its value in lane 0.
struct Motion {
  std::vector<std::int64_t> steps;
  bool still() const;      ///< 0, 0, 0, …
  bool contiguous() const; ///< 0, 1, 2, …
  bool distinct() const;   ///< all differences distinct
};
/// The motion of `e` along `loop`; none if it is not constant.
std::optional<Motion> motion_along(const Expr &e, const Var &loop, std::int64_t lanes, const Bounds &bounds);

/// `e` with the number `lane` for the loop variable, simplified.
Expr in_lane(const Expr &e, const Var &loop, std::int64_t lane, const Bounds &bounds);

/// Whether every value of `e` is provably a multiple of n.
bool is_multiple(const Expr &e, std::int64_t n, const Bounds &bounds);

/// Whether the condition provably has one value in all lanes: it is always true, its operands keep their
/// distance along the loop, or it is x < y and the lanes of x - y form an aligned group of `lanes` numbers.
bool is_uniform(const Expr &condition, const Var &loop, std::int64_t lanes, const Bounds &bounds);

struct VectorBreach {
  const char *requirement; ///< tag of a `Requires` line of dsl/primitives/vectorize.h or tensorize.h
  std::string message;     ///< states got and expected and ends with the remedy
};

/// The obstacle to vector accesses for a loop that is vectorized, or tensorized by `intrinsic`; none if there
/// is no obstacle. The tails of the program must be filled (dsl/fill_tails.h). With `lasting`, checks only what
/// no later directive can correct: accesses to parameters, and guards of blocks that make them.
std::optional<VectorBreach> vector_breach(Placements &filled, const Var &loop, const Intrinsic *intrinsic,
                                          bool lasting);

/// The lasting obstacle in a program whose tails are not filled. Directives call this.
std::optional<VectorBreach> lasting_breach(const Program &program, const Var &loop, const Intrinsic *intrinsic);

/// The block below `loop` if it is the only one and all loops around it have extent 1; else null.
const Block *only_block(const For &loop);

} // namespace nestsmith
