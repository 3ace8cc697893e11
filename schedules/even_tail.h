#pragma once
/// Even tails: how the tiles of a product fill a GPU to the end.
///
/// A grid of tiles that is no multiple of the thread blocks that a GPU executes at one time leaves most of its
/// multiprocessors idle in the last wave. With an even tail, the first rows of tiles are computed whole, and
/// each tile of the others by several blocks, which multiply parts of k. These come last in the same launch:
///
///     40 tiles, 16 blocks at one time    without: 16 + 16 + 8         3 waves
///     30 whole tiles, 10 in 4 parts      with:    30 + 10*4/4 = 40    2.5 waves, and the sum of the parts
///
/// `library::product` makes them (`even_places` of its tiles).
///
/// If the last wave is nearly full, tiles in equal parts gain nothing. In two unequal parts, each tile
/// of the last wave has a block for most of k, and the places that are left multiply the rest of all of them:
///
///     30 tiles, 16 blocks at one time    without: 16 + 14             2 waves
///     16 whole tiles, 14 in two parts    with:    14 parts of 7/8     1.88 waves
///                                        and beside them 14 of 1/8
///
/// The loops of both parts and of whole tiles are one loop in the kernel (lowering/share_code.h).
///
/// With helped tiles, a few blocks
/// multiply the last tiles of k of all tiles of the last rows. They are a kernel of their own, beside which the
/// others execute. Then each block multiplies the other tiles of k of one tile, and adds what the helpers have
/// stored:
///
///     30 tiles, 16 blocks at one time    without: 16 + 14                     2 waves
///     16 whole tiles, 14 helped          with: 2 blocks help 7 tiles each     1.89 waves
///                                        by 1/8 of k, and begin 0.88 later
///
/// `library::product` makes them, too (`helped_places` of its tiles). Both kernels execute side by side, so if
/// their loops together are larger than the cache of instructions, they slow each other down (docs/gpu.md).

#include "schedules/grids.h"

#include <cstdint>
#include <optional>

namespace nestsmith {

struct EvenTail {
  std::int64_t whole_rows = 0; ///< rows of tiles that are computed whole, at least one
  std::int64_t parts = 1;      ///< of each tile of the other rows
  std::int64_t of_part = 0;    ///< tiles of k of each part but the last; 0: the parts are equal
  double waves = 0;            ///< the time without the sum of the parts, in times of a whole tile
};

/// An element of a part takes as long to add as this number of multiplications, by a thread block alone on a
/// multiprocessor: of 128 multiplications in a clock, and of 1024 by matrix units, at 80 GB/s for one block.
inline constexpr double terms_of_a_part = 10, terms_of_a_part_by_units = 80;

/// Unequal parts are for kernels with roles that multiply in registers: others do not share their loops over k.
enum class PartsOfTail : std::uint8_t { equal, unequal_too };

/// The even tail with the least time for a product in these tiles, of which a GPU computes `places` at one
/// time. A part has 4 tiles of k or more, and there are at most 16 parts. None unless it gains 2 %, or 1 % with
/// two unequal parts, which replace equal ones if they gain 0.5 % more.
std::optional<EvenTail> even_tail(const Extents &extents, const Extents &tile, std::int64_t places,
                                  double terms = terms_of_a_part, PartsOfTail parts = PartsOfTail::equal);

struct HelpedTail {
  std::int64_t whole_rows = 0; ///< rows of tiles that are computed whole, at least one
  std::int64_t helpers = 0;    ///< thread blocks that help the tiles of the other rows, one after the other
  std::int64_t own = 0;        ///< tiles of k that the block of such a tile multiplies itself
  double waves = 0;            ///< the time, in times of a whole tile
};

/// The helped tiles with the least time for a product in these tiles, of which a GPU computes `places` at one
/// time. None if the time without helpers is as long, or up to 1 % longer.
std::optional<HelpedTail> helped_tail(const Extents &extents, const Extents &tile, std::int64_t places);

/// With fewer than 64 threads, a multiprocessor holds more blocks than these.
inline constexpr std::int64_t most_resident_blocks = 16;

/// The knob `even`: the number of thread blocks on each multiprocessor, of 1 to `most_blocks`, for which the
/// product gets an even tail, of those numbers for which there is one. 0, the default: it gets none. The knob
/// is not asked if there is none.
std::int64_t choose_even(Knobs &knobs, const Extents &extents, const Extents &tile, const Target &target,
                         double terms = terms_of_a_part, std::int64_t most_blocks = most_resident_blocks,
                         PartsOfTail parts = PartsOfTail::equal);

/// The knob `helped`: whether a few blocks help the tiles of the last rows (`HelpedTail`). The knob is not
/// asked if it gains no time, or if the target has no early launches.
bool choose_helped(Knobs &knobs, const Extents &extents, const Extents &tile, const Target &target,
                   std::int64_t places);

} // namespace nestsmith
