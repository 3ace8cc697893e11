#pragma once
/// User-defined names. They become identifiers in C++, in the text of a kernel and in a trace.

#include <cstddef>
#include <string>

namespace nestsmith {

/// NVRTC 13.0 corrupts its memory if a kernel's name has 100,000 letters, and no reader needs more than these.
inline constexpr std::size_t most_identifier_length = 200;

/// An ASCII letter, a digit or `_`.
bool in_identifier(char c);

/// ASCII letters, digits and `_`, not empty and not starting with a digit.
bool is_identifier(const std::string &name);

/// Throws UserError (usage) if `name` is not an identifier or is longer than `most_identifier_length`. `what`
/// describes the name in the message: "a tensor's name".
void check_identifier(const std::string &name, const char *what);

/// Keywords of C++20. A user may use them as names: generated text spells them differently.
bool is_cpp_keyword(const std::string &word);

} // namespace nestsmith
