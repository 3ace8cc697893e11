#pragma once
/// `#line` directives: the compiler, a profiler and a debugger then show the line of the schedule or of the
/// computation from which a line of the kernel was made.

#include "dsl/expr/where.h"
#include "dsl/ir/origin.h"

#include <functional>
#include <string>
#include <string_view>

namespace nestsmith {

/// Where the user's source states a part of the program; a line of 0: unknown.
using SourceLines = std::function<Where(const OriginPart &)>;

/// The text with a `#line` before each line of a kernel, as far as its origin is known. A line without an
/// origin, such as a brace, belongs to the line before it. After each kernel, the text marks that its own lines
/// follow, for `with_own_lines`.
std::string with_source_lines(const TracedText &text, const SourceLines &locate);
/// Replaces these marks in a whole file by `#line` with the number of the next line in the file `name`.
std::string with_own_lines(const std::string &text, std::string_view name);

} // namespace nestsmith
