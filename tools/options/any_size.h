#pragma once
/// The kernels of a rung for all sizes, as `emit --dispatch` takes them and `tune --table` measures them.

#include "schedules/kernels/kernel_selection.h"
#include "schedules/rung.h"
#include "tools/options/chosen_knobs.h"

#include <optional>

namespace nestsmith::cli {

/// The shape with the limits of the kernel. Its extents are those at which it is measured. The rows of A, B and
/// C are multiples of its width.
Shape any_size_shape(const records::Extents &extents, int width, bool wide, const Transposed &transposed = {});

/// The same for a kernel of a selection.
Shape any_size_shape(const records::AnySizeKernel &kernel, const Transposed &transposed = {});

/// The knobs of a point that a kernel for all sizes takes. Its blocks are in the plain order, because the
/// arithmetic for groups of tiles takes registers in each step of k; if its copies are asynchronous, the number
/// of resident blocks is the usual one of such kernels. If `in_parts`, the launch chooses how many blocks share
/// a tile; `parts_knob` is the knob that says so.
KnobValues any_size_knobs(KnobValues point, const std::string &parts_knob = "", bool in_parts = false);

/// The schedule of the kernel. None: it is not legal, it needs checks at launch, the rung has another schedule
/// for these knobs, or its sizes are not known at launch only.
std::optional<ChosenKnobs> any_size_schedule(const ChosenRung &rung, const KnobValues &knobs,
                                             const Shape &shape, DType dtype, const Target &target);
/// The same for a kernel of a selection among the points of the table.
std::optional<ChosenKnobs> any_size_schedule(const ChosenRung &rung, const records::KernelTable &table,
                                             const records::AnySizeKernel &kernel, DType dtype,
                                             const Target &target, const Transposed &transposed = {});

/// The most kernels of a file of `emit --dispatch`.
inline constexpr std::size_t most_kernels_of_file = 12;

} // namespace nestsmith::cli
