#pragma once
/// Names: what a user may call things. They become names in C++, in the text of a kernel and in a trace.

#include <string>

namespace nestsmith {

/// Letters, digits and `_`, all of ASCII, the first no digit.
bool is_identifier(const std::string &name);

/// Throws UserError(usage) where the name is none. `what` it is of: "a tensor's name".
void check_identifier(const std::string &name, const char *what);

/// Words of C++20 that no name can be. A user may take them: texts spell them otherwise.
bool is_cpp_keyword(const std::string &word);

} // namespace nestsmith
