#include "schedules/transposed/post_tiles.h"

#include "schedules/choices.h"

namespace nestsmith::transposed {

PostTiles choose_tiles(Knobs &knobs, Fetch fetch, DType dtype, const Target &target) {
  auto [tilesz, btsz, wid] =
      choose_fitting<3>(knobs, {Choice{"tilesz", {16, 8, 32}}, {"btsz", {4, 2, 8}}, {"wid", {16, 8, 32, 64}}},
                        [&](std::span<const std::int64_t> x) {
                          std::int64_t elements = x[0] * x[1] * x[2]; // of the tile of one operand
                          return x[1] % fetch.width == 0 && elements % (x[0] * x[0] * fetch.width) == 0 &&
                                 fit_in_shared(2 * elements * fetch.buffers, dtype, target);
                        });
  return {tilesz, btsz, wid};
}

} // namespace nestsmith::transposed
