// fmt, compiled once. Debian has it as headers and as a shared library; a binary that can be copied wants
// neither the library beside it, nor the headers' code in every file, which doubles the time of a build.

#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {
// What format.h declares `extern template` for chars.
template FMT_API auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template FMT_API auto decimal_point_impl(locale_ref) -> char;
} // namespace detail
FMT_END_NAMESPACE
