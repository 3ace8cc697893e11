#include "dsl/expr/printable.h"

#include <cstddef>
#include <cstdint>
#include <fmt/format.h>

namespace nestsmith {

namespace {

struct CodePoint {
  std::uint32_t value;
  std::size_t bytes; ///< 0: the text does not start with UTF-8
};

CodePoint first_of(std::string_view text) {
  auto byte = [&](std::size_t n) { return n < text.size() ? static_cast<unsigned char>(text[n]) : 0U; };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80)
    return {lead, 1};
  const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4)
    return {lead, 0};
  std::uint32_t value = lead & (0x7FU >> size);
  for (std::size_t n = 1; n < size; ++n) {
    if ((byte(n) & 0xC0U) != 0x80U)
      return {lead, 0};
    value = value << 6U | (byte(n) & 0x3FU);
  }
  const bool overlong = (size == 3 && value < 0x800) || (size == 4 && value < 0x10000);
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (overlong || surrogate || value > 0x10FFFF)
    return {lead, 0};
  return {value, size};
}

/// Control characters of ASCII and of ISO 6429, the separators of lines and paragraphs, and the characters of
/// the Unicode bidirectional algorithm and of joining that have no width.
bool is_unsafe(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x061C || (c >= 0x200B && c <= 0x200F) ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF;
}

/// The length of a colour code at the start of the text, or 0.
std::size_t colour_code(std::string_view text) {
  if (!text.starts_with("\x1b["))
    return 0;
  std::size_t end = text.find_first_not_of("0123456789;", 2);
  return end != std::string_view::npos && text[end] == 'm' && end < 16 ? end + 1 : 0;
}

template <class Keep> std::string escaped(std::string_view text, const Keep &keep) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    CodePoint c = first_of(text);
    std::size_t kept = keep(text);
    if (kept == 0 && c.bytes > 0 && !is_unsafe(c.value))
      kept = c.bytes;
    if (kept > 0)
      result += text.substr(0, kept);
    else if (c.bytes == 0)
      result += fmt::format("\\x{:02x}", c.value);
    else
      result += fmt::format("\\u{:04x}", c.value);
    text.remove_prefix(kept > 0 ? kept : c.bytes > 0 ? c.bytes : 1);
  }
  return result;
}

} // namespace

std::string printable(std::string_view text) {
  return escaped(text, [](std::string_view) -> std::size_t { return 0; });
}

std::string printable_lines(std::string_view text, bool colours) {
  return escaped(text, [&](std::string_view rest) -> std::size_t {
    if (rest.front() == '\n' || rest.front() == '\t')
      return 1;
    return colours ? colour_code(rest) : 0;
  });
}

} // namespace nestsmith
