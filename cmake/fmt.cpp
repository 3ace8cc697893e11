// Compiles fmt once. Debian ships fmt as headers and as a shared library. A binary that can be copied must not
// need the shared library, and compiling the headers' code in every file doubles the time of a build.

#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {
// Defines the templates that format.h declares as `extern template` for char. Version 9 removed the ones for
// float, and version 10 added vformat_to.
template FMT_API auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template FMT_API auto decimal_point_impl(locale_ref) -> char;
#if FMT_VERSION < 90000
template FMT_API int format_float(double, int, float_specs, buffer<char> &);
template FMT_API int format_float(long double, int, float_specs, buffer<char> &);
template FMT_API int snprintf_float(double, int, float_specs, buffer<char> &);
template FMT_API int snprintf_float(long double, int, float_specs, buffer<char> &);
#endif
#if FMT_VERSION >= 100000
template FMT_API void vformat_to(buffer<char> &, string_view, typename vformat_args<>::type, locale_ref);
#endif
} // namespace detail
FMT_END_NAMESPACE
