#pragma once
/// Loops whose iterations are the lanes of vectors: what moves how along them, and what can be proved.
/// Shared by the primitives, the obligations and lowering.

#include "dsl/allocation.h"
#include "dsl/program.h"
#include "dsl/simplify.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith {

/// Whether CUDA has a vector of so many elements that is loaded and stored at once: 8 or 16 bytes.
bool is_vector(DType dtype, std::int64_t lanes);

/// An integer's value in each lane, less that in lane 0.
struct Motion {
  std::vector<std::int64_t> steps;
  bool still() const;      ///< 0, 0, 0, …
  bool contiguous() const; ///< 0, 1, 2, …
  bool distinct() const;   ///< no two lanes alike
};
/// How `e` moves along `loop`; none where that is not constant.
std::optional<Motion> motion_along(const Expr &e, const Var &loop, std::int64_t lanes, const Bounds &bounds);

/// `e` with a number for the loop variable, simplified.
Expr in_lane(const Expr &e, const Var &loop, std::int64_t lane, const Bounds &bounds);

/// Whether every value of `e` is provably a multiple of n.
bool is_multiple(const Expr &e, std::int64_t n, const Bounds &bounds);

/// Whether the condition provably has one value in all lanes: it does not use the loop, or it is x < y and
/// x - y runs through whole groups of `lanes` numbers.
bool is_uniform(const Expr &condition, const Var &loop, std::int64_t lanes, const Bounds &bounds);

/// What stands between a loop that is vectorized, or tensorized by `intrinsic`, and vector accesses, with got
/// and expected and what to do; none where nothing does. The program's tails are filled (dsl/fill_tails.h).
/// With `lasting` only what no later directive can mend: accesses of parameters, and guards of those who make
/// them.
std::optional<std::string> vector_breach(Placements &filled, const Var &loop, const Intrinsic *intrinsic,
                                         bool lasting);

/// The same for a program whose tails are not filled yet, of what lasts: for directives.
std::optional<std::string> lasting_breach(const Program &program, const Var &loop, const Intrinsic *intrinsic);

/// The only block below, with nothing around it but loops of one iteration; null where there is more.
const Block *only_block(const For &loop);

} // namespace nestsmith
