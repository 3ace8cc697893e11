#pragma once
/// Directives as a user types them: `s.bind(j, Axis::thread_x);`, as in C++ and in the trace that `show`
/// prints.

#include "dsl/schedule/schedule.h"

#include <string>
#include <vector>

namespace nestsmith {

/// Parses directives that end with `;`, of which the last may be missing. `s.` may be left out, an axis may
/// have CUDA's name (threadIdx.x), and a scope may be a word (shared). `auto [a, b] = …` names the results.
/// Throws UserError (usage) with the place, the problem and the expected form.
std::vector<Directive> parse_directives(const std::string &text);

} // namespace nestsmith
