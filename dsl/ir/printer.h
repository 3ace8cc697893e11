#pragma once
/// Programs as text.

#include "dsl/expr/expr_text.h"
#include "dsl/ir/origin.h"

#include <string>
#include <vector>

namespace nestsmith {

std::string to_string(const Store &store);

/// The whole program: one line of parameters, one line for each temporary, then the nest.
std::string print(const Program &program);
/// The same, with the origin of each line.
TracedText print_traced(const Program &program);
std::string print(const Stmt &stmt);
/// The nest with the loops and blocks of these names underlined.
std::string print_marked(const Program &program, const std::vector<std::string> &names);

} // namespace nestsmith
