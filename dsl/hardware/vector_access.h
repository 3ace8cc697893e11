#pragma once
/// Vector accesses: the change of indices along a loop whose iterations become lanes, and proofs of contiguity,
/// alignment and uniformity. The primitives, the obligations and lowering use these functions.

#include "dsl/expr/simplify.h"
#include "dsl/ir/allocation.h"
#include "dsl/ir/program.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith {

/// Whether one instruction can load or store a vector of `lanes` elements: at least 2 elements, of 4, 8 or 16
/// bytes in total.
bool is_vector(DType dtype, std::int64_t lanes);
/// The lengths of vectors of this type: "2, 4 or 8" for f16.
std::string vector_lengths(DType dtype);

/// The change of an integer expression over the lanes: for each lane, its value minus its value in lane 0.
struct Motion {
  std::vector<std::int64_t> steps;
  bool still() const;      ///< 0, 0, 0, …
  bool contiguous() const; ///< 0, 1, 2, …
  bool distinct() const;   ///< all differences distinct
};
/// The motion of `e` along `loop`. None if the differences are not constants.
std::optional<Motion> motion_along(const Expr &e, const Var &loop, std::int64_t lanes, const Bounds &bounds);

/// `e` with the constant `lane` in place of the loop variable, simplified.
Expr in_lane(const Expr &e, const Var &loop, std::int64_t lane, const Bounds &bounds);

/// Whether every value of `e` is provably a multiple of n.
bool is_multiple(const Expr &e, std::int64_t n, const Bounds &bounds);

/// Whether the condition provably has the same value in all lanes. The function shows this if the condition is
/// always true, or if it is the same expression in all lanes. For a comparison of index arithmetic, it is
/// enough that the difference of the operands does not change along the loop, or that it is x < y and the
/// values of x - y in the lanes are consecutive, starting at a multiple of `lanes`.
bool is_uniform(const Expr &condition, const Var &loop, std::int64_t lanes, const Bounds &bounds);

/// Whether the condition provably holds in the first lanes only, in all or in none: x < y or x <= y, where x -
/// y grows by 1 from lane to lane. In lane n, it holds if n < y - x, or n <= y - x, with the values of lane 0.
bool holds_in_first_lanes(const Expr &condition, const Var &loop, std::int64_t lanes, const Bounds &bounds);

/// Replaces loops of one iteration, which the kernel does not contain either. The digits of a swizzle add up
/// again only if all of them belong to the same sum.
Expr without_single_loops(const Expr &e, const Bounds &bounds);

/// The indices of an access, in terms of the loops, counted from the start of the placement's box.
std::vector<Expr> in_box(const Placement &placement, std::vector<Expr> indices, const Bounds &bounds);

/// The offset of an access with these indices in terms of the loops: into a parameter, or into the live part of
/// a temporary in its layout.
Expr offset_in_memory(Placements &placements, const Buffer &buffer, std::vector<Expr> indices);

struct VectorBreach {
  const char *requirement; ///< tag of a `Requires` line of dsl/schedule/primitives/vectorize.h or tensorize.h
  std::string message;     ///< states the actual and the expected value, and ends with the remedy
};

/// Returns the first violated requirement of a loop that is vectorized, or that is tensorized with `intrinsic`.
/// None if all requirements hold. The program must be the result of `with_filled_tails` (dsl/ir/fill_tails.h).
/// If `lasting` is true, checks only the requirements that no later directive can correct. These are the
/// requirements on accesses to parameters, and on the guards of blocks with such accesses.
std::optional<VectorBreach> vector_breach(Placements &filled, const Var &loop, const Intrinsic *intrinsic,
                                          bool lasting);

/// The same with `lasting`, for a program before `with_filled_tails`. Primitives call this function.
std::optional<VectorBreach> lasting_breach(const Program &program, const Var &loop, const Intrinsic *intrinsic);

/// Whether the block copies along the vectorized loop from one vector to another: both are contiguous and
/// aligned. `filled` is as for `vector_breach`.
bool is_vector_copy(Placements &filled, const For &loop, const Block &block);

/// The block below `loop`, if there is exactly one block, and no other loops than those of extent 1 and, if
/// `loop` is tensorized, the serial loops of the nest. Otherwise null.
const Block *only_block(const For &loop);
/// The first loop over lanes that contains more than this block and the serial loops of its nest, or null.
const For *crowded_lanes(const Program &program);

} // namespace nestsmith
