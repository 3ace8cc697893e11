#pragma once
/// Chooses few kernels of a table that serve all sizes, each as one kernel whose sizes are known at launch.

#include "schedules/kernels/kernel_model.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace nestsmith::records {

/// A kernel for all sizes.
struct AnySizeKernel {
  std::size_t point = 0; ///< of the table
  int width = 1; ///< elements of the widest access: all rows are multiples of it, such as those of N and K
  bool in_parts = false; ///< blocks share a tile of the result, as many as the launch says
  bool wide = false;     ///< for extents of which 32 bits do not hold the products
};

/// The greatest extent, and leading dimension, of a kernel that is not `wide`: offsets in an array have 32
/// bits.
inline constexpr std::int64_t most_of_narrow = std::int64_t{1} << 15;

struct KernelSelection {
  std::vector<AnySizeKernel> kernels;
  /// Over the sample, the ratio of the predicted time of the best of `kernels` to that of the best point with
  /// the best number of parts: geometric mean, and the worst.
  double mean = 1, worst = 1;
};

/// A size with extents that are log-uniform from 48 to 8192, and multiples of 1, 4, 8 or 64, one of them for
/// each size, with from 2e8 to `most_operations` operations. `next` returns random numbers of 64 bits.
Extents drawn_size(const std::function<std::uint64_t()> &next, double most_operations);
/// The sizes over which a selection loses little: 1600 of at most 2e11 operations, drawn by SplitMix64.
std::vector<Extents> sample_of_sizes();

/// Selects at most `most` kernels, one after the other: the next one is that with which the cost falls most. It
/// is the sum of x + 4*x*x over the sizes, where x is the logarithm of the time of the best selected kernel
/// divided by that of the best point. Then one kernel, or two, are replaced if others lower the cost together
/// with those that stay, until none do. The sizes are those of the sample and, with 1/32 of the weight, those
/// of them with more than 2e10 operations once more. These stand for larger ones, which wide kernels with
/// vectors serve, if all rows are whole vectors, and otherwise wide kernels without. `legal` says whether a
/// kernel exists; it is asked for the best ones only, once for each. The wide kernels come first, and the first
/// one serves all rows. Empty if no wide kernel without vectors, or none with them, is legal.
KernelSelection select_kernels(const KernelModel &model, std::int64_t sms, std::size_t most,
                               const std::function<bool(const AnySizeKernel &)> &legal);

/// The kernel for the formula of the choice.
choice::Kernel kernel_for_choice(const KernelModel &model, const AnySizeKernel &kernel);

} // namespace nestsmith::records
