#pragma once
/// Hardware axes to which a loop can be bound.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace nestsmith {

enum class Axis : std::uint8_t { block_x, block_y, block_z, thread_x, thread_y, thread_z };

inline constexpr std::array<Axis, 6> all_axes = {Axis::block_x,  Axis::block_y,  Axis::block_z,
                                                 Axis::thread_x, Axis::thread_y, Axis::thread_z};
constexpr bool is_thread(Axis axis) { return axis >= Axis::thread_x; }

/// CUDA's spelling: "blockIdx.x", …, "threadIdx.z". Throws UserError (usage) for a value that is not an
/// enumerator.
std::string_view name(Axis axis);
/// The inverse of `name`; none for other text.
std::optional<Axis> parse_axis(std::string_view text);

} // namespace nestsmith
