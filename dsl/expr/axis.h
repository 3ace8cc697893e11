#pragma once
/// Hardware axes to which a loop can be bound.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace nestsmith {

/// `warp` and `lane` are digits of threadIdx.x: warp = threadIdx.x // 32 and lane = threadIdx.x % 32. A kernel
/// that uses one of them has no other thread axis than threadIdx.x.
///
/// `cluster` is blockIdx.z of a kernel in which the thread blocks along this axis form a cluster: they run at
/// the same time, and bulk copies of one write to the shared memory of all (dsl/hardware/cluster.h). A kernel
/// that uses it has no loop on blockIdx.z.
enum class Axis : std::uint8_t { block_x, block_y, block_z, cluster, thread_x, thread_y, thread_z, warp, lane };

inline constexpr std::array<Axis, 9> all_axes = {Axis::block_x,  Axis::block_y,  Axis::block_z,
                                                 Axis::cluster,  Axis::thread_x, Axis::thread_y,
                                                 Axis::thread_z, Axis::warp,     Axis::lane};
/// The axes of `blockIdx` and of `threadIdx`, in the order x, y, z.
inline constexpr std::array<Axis, 3> block_axes = {Axis::block_x, Axis::block_y, Axis::block_z};
inline constexpr std::array<Axis, 3> thread_axes = {Axis::thread_x, Axis::thread_y, Axis::thread_z};

/// The number of lanes of a warp.
inline constexpr std::int64_t lanes_per_warp = 32;
constexpr bool is_part_of_warps(Axis axis) { return axis == Axis::warp || axis == Axis::lane; }
/// The axis of `blockIdx` or `threadIdx` whose index determines the index on this axis: itself, or the one of
/// which it is a digit.
constexpr Axis whole_of(Axis axis) {
  return is_part_of_warps(axis) ? Axis::thread_x : axis == Axis::cluster ? Axis::block_z : axis;
}
/// Whether the index on the axis numbers thread blocks. If not, it numbers the threads of a block, or parts of
/// them.
constexpr bool is_block(Axis axis) { return std::ranges::find(block_axes, whole_of(axis)) != block_axes.end(); }
constexpr bool is_thread(Axis axis) { return !is_block(axis); }
/// The dimension of `blockIdx` or `threadIdx` on which the axis depends: 0, 1 or 2 for x, y or z.
constexpr std::size_t dimension(Axis axis) {
  const std::array<Axis, 3> &axes = is_block(axis) ? block_axes : thread_axes;
  return static_cast<std::size_t>(std::ranges::find(axes, whole_of(axis)) - axes.begin());
}
/// Whether the index on the axis `whole` determines the index on the axis `part`.
constexpr bool determines(Axis whole, Axis part) { return whole == part || whole == whole_of(part); }
/// Whether both axes depend on the same index of a thread or block.
constexpr bool overlap(Axis a, Axis b) { return determines(a, b) || determines(b, a); }

/// CUDA's spelling: "blockIdx.x", …, "threadIdx.z"; or "cluster", "warp", "lane". Throws UserError (usage) for
/// a value that is not an enumerator.
std::string_view name(Axis axis);
/// The inverse of `name`; none for other text.
std::optional<Axis> parse_axis(std::string_view text);

} // namespace nestsmith
