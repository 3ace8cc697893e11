#pragma once
/// Makes text from outside safe to print: names, messages, file names and fields of databases can contain
/// escape sequences that change a terminal, and line breaks that imitate other output or end a comment.

#include <string>
#include <string_view>

namespace nestsmith {

/// The text on one line. Each control character, and each character that changes the direction or the lines of
/// text, becomes its escape `\u001b`, which JSON and C++ also use. A byte that is not UTF-8 becomes `\xff`.
std::string printable(std::string_view text);

/// The same with its line breaks and tabs. With `colours`, it also keeps the colour codes that this program
/// writes (`ESC [ number m`).
std::string printable_lines(std::string_view text, bool colours = false);

} // namespace nestsmith
