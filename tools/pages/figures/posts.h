#pragma once
/// The figures of each post, one file each.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

/// The source of one of our figures:
///   counted    exact count of the lowered kernel
///   data       data sheet of the GPU
///   occupancy  cuda_occupancy.h; in a build without it, from threads, blocks and shared memory
///   modelled   cache model
///   predicted  ratio of two estimated times (runtime/model/estimate.h); without NVRTC, of two least times
///   estimated  rate by the estimated time, beside the rate of another kernel that uses the same technique
enum class FigureSource : std::uint8_t { counted, data, occupancy, modelled, predicted, estimated };
std::string_view name(FigureSource source);

struct Figure {
  std::string tutorial; ///< "deep_dive"
  std::string what;     ///< "shared: loads of global memory for a result, K = 1024"
  double published = 0; ///< value in the post
  double right = 0; ///< correct value: equal to `published`, or the corrected value if the post has an error
  double ours = 0;
  FigureSource source = FigureSource::counted;
  /// Allowed relative difference between `ours` and `right`; not 0 if the post rounds its value.
  double tolerance = 0;
  std::string note = {}; ///< description of the error of the post, or of the limits of the model
};

namespace figure {

std::vector<Figure> of_deep_dive();
std::vector<Figure> of_transposed();
std::vector<Figure> of_tiling();
std::vector<Figure> of_tvm_steps();
std::vector<Figure> of_principles();

} // namespace figure

} // namespace nestsmith
