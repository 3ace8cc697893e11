#pragma once
/// How a figure was obtained.

#include <cstdint>
#include <string_view>

namespace nestsmith {

/// The quality of a figure:
///   exact     a property of the lowered kernel or of the GPU; a hardware counter has the same value if the
///   compiler
///             keeps all operations
///   modelled  the result of a model; the note of the figure or the header of the model describes it
///   bound     a minimum time from the GPU's documented rates (see analysis.h)
///   unknown   not available; the value is n/a
enum class Quality : std::uint8_t { exact, modelled, bound, unknown };
std::string_view name(Quality quality); ///< "exact", "modelled", "bound", "n/a"

} // namespace nestsmith
