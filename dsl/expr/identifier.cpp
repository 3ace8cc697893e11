#include "dsl/expr/identifier.h"

#include "dsl/expr/error.h"
#include "dsl/expr/printable.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <set>

namespace nestsmith {

bool in_identifier(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

bool is_identifier(const std::string &name) {
  return !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0])) &&
         std::ranges::all_of(name, in_identifier);
}

void check_identifier(const std::string &name, const char *what) {
  if (name.size() > most_identifier_length)
    throw UserError(ExitCode::usage,
                    fmt::format("{} must have at most {} letters, got {} in '{}…'; use a shorter name", what,
                                most_identifier_length, name.size(), printable(name.substr(0, 40))));
  if (!is_identifier(name))
    throw UserError(
        ExitCode::usage,
        fmt::format(
            "{} must be a C identifier, got '{}'; use letters, digits and '_', not starting with a digit", what,
            printable(name)));
}

bool is_cpp_keyword(const std::string &word) {
  static const std::set<std::string> words = {
      "alignas",     "alignof",  "and",        "and_eq",    "asm",       "auto",         "bitand",
      "bitor",       "bool",     "break",      "case",      "catch",     "char",         "char16_t",
      "char32_t",    "char8_t",  "class",      "co_await",  "co_return", "co_yield",     "compl",
      "concept",     "const",    "const_cast", "consteval", "constexpr", "constinit",    "continue",
      "decltype",    "default",  "delete",     "do",        "double",    "dynamic_cast", "else",
      "enum",        "explicit", "export",     "extern",    "false",     "float",        "for",
      "friend",      "goto",     "if",         "inline",    "int",       "long",         "mutable",
      "namespace",   "new",      "noexcept",   "not",       "not_eq",    "nullptr",      "operator",
      "or",          "or_eq",    "private",    "protected", "public",    "register",     "reinterpret_cast",
      "requires",    "return",   "short",      "signed",    "sizeof",    "static",       "static_assert",
      "static_cast", "struct",   "switch",     "template",  "this",      "thread_local", "throw",
      "true",        "try",      "typedef",    "typeid",    "typename",  "union",        "unsigned",
      "using",       "virtual",  "void",       "volatile",  "wchar_t",   "while",        "xor",
      "xor_eq"};
  return words.count(word) != 0;
}

} // namespace nestsmith
