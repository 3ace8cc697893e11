#include "tools/pages/figures/measure.h"
#include "tools/pages/figures/posts.h"
#include "tools/pages/mistakes/examples.h"

#include <fmt/format.h>

namespace nestsmith::figure {

std::vector<Figure> of_transposed() {
  const Gpu &gpu = find_gpu("RTX 3090");
  std::vector<Figure> list;
  auto occupancy = [&](const std::string &what, LaunchResources launch, double blocks, double right,
                       const std::string &note = "") {
    Occupancy o = occupancy_of(gpu, launch);
    list.push_back({"transposed", what + ": blocks per SM", blocks, right, static_cast<double>(o.blocks),
                    FigureSource::occupancy, 0, note});
    double threads = static_cast<double>(launch.threads);
    list.push_back({"transposed", what + ": threads per SM", blocks * threads, right * threads, 32.0 * o.warps,
                    FigureSource::occupancy, 0, note});
  };
  occupancy("32 x 32 threads", {.threads = 1024}, 1, 1);
  occupancy("16 x 16 threads", {.threads = 256}, 6, 6);
  const char *reserved = "an SM of cc 8.6 has 100 KB, and each block reserves 1 KB; the post assumes 96 KB";
  occupancy("64 threads with 8 KB", {.threads = 64, .static_shared = 8192}, 12, 11, reserved);
  occupancy("64 threads with 4 KB", {.threads = 64, .static_shared = 4096}, 24, 16,
            "an SM of cc 8.6 holds at most 16 blocks");
  RungCounts printed = measure(mistake::column_of_b());
  auto add = [&](const std::string &what, double right, double ours) {
    list.push_back({"transposed", what, right, right, ours, FigureSource::counted});
  };
  add("shared as printed, TILESZ 32: sectors of a request for B", 32,
      printed.access("B").sectors_per_request());
  add("shared as printed, TILESZ 32: wavefronts of a store to B's tile", 32,
      printed.access("B_shared", true).wavefronts_per_request());
  add("shared as printed, TILESZ 32: wavefronts of a load of B's tile", 32,
      printed.access("B_shared").wavefronts_per_request());
  double once = static_cast<double>(measure("transposed/float4", {256, 256, 256}).kernel.shared_bytes);
  double twice = static_cast<double>(measure("transposed/prefetch", {256, 256, 256}).kernel.shared_bytes);
  add("prefetch: shared memory, divided by that of float4", 2, twice / once);
  return list;
}

} // namespace nestsmith::figure
