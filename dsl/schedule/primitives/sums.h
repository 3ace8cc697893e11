#pragma once
/// Support for rfactor and cut_sum: the sum over a loop.

#include "dsl/schedule/primitives/edit.h"

namespace nestsmith {

/// The only block below the loop that sums over it, and whose reduction is not decomposed. Refuses with the tag
/// `requirement` if there is none. `directive` is the name of the directive, for the remedy.
const Block &find_sum(const Schedule::Edit &edit, const char *requirement, std::string_view directive,
                      const For &loop);

/// Parts of a reducer that is not commutative are contiguous ranges of the terms. Refuses with the tag
/// `requirement` if a loop of the sum is around `loop`.
void require_contiguous_ranges(const Schedule::Edit &edit, const char *requirement, std::string_view directive,
                               const Block &sum, const For &loop);

} // namespace nestsmith
