#include "schedules/library/tile_knobs.h"

#include "dsl/expr/error.h"
#include "schedules/even_tail.h"
#include "schedules/grids.h"
#include "schedules/kernels/kernel_choice.h"
#include "schedules/variant.h"

#include <algorithm>
#include <array>
#include <bit>
#include <fmt/format.h>
#include <numeric>
#include <string>

namespace nestsmith::library {

namespace {

constexpr std::int64_t of_an_access = 4; ///< elements, of 16 bytes

/// The candidates with `one` before the others: the first candidate is the default.
template <class T> std::vector<T> first(const T &one, std::vector<T> candidates) {
  std::erase(candidates, one);
  candidates.insert(candidates.begin(), one);
  return candidates;
}

/// Elements of less than 4 bytes are too narrow to be transposed by asynchronous copies.
bool may_copy_async(DType dtype, const Target &target) {
  return byte_size(dtype) >= 4 && target.arch.has(Feature::cp_async);
}

constexpr std::int64_t registers_of_sm = 65536;

/// Registers of an element, or of its sum.
std::int64_t words(DType dtype) { return std::max<std::int64_t>(4, byte_size(dtype)) / 4; }

/// Bytes of the sums of a tile in shared memory, whose rows are padded.
std::int64_t staged_bytes(const RegisterTiles &tiles, DType dtype) {
  return tiles.tile(0) * ((tiles.tile(1) + 31) / 32 * 32 + 4) * 4 * words(dtype);
}

/// Bytes of shared memory of a block. Staged sums take the place of the tiles.
std::int64_t shared_bytes(const RegisterTiles &tiles, const Target &target, DType dtype) {
  const std::int64_t row = (tiles.tile(0) + 31) / 32 * 32 + 4 + tiles.tile(1),
                     bytes = tiles.stages * tiles.k * row * byte_size(dtype);
  return std::max(bytes, tiles.staged ? staged_bytes(tiles, dtype) : 0) + target.shared_bytes_reserved;
}

/// The usual number of blocks on an SM of a kernel that has more than the multiplication: sizes, or the sum of
/// parts. The compiler keeps as many addresses and loads of parts in registers as it may: without a bound, as
/// many as the results of small tiles need, so that half as many blocks are resident.
std::int64_t blocks_beside(std::int64_t of_addresses, const RegisterTiles &tiles, const Target &target,
                           DType dtype, std::int64_t most) {
  const auto &[rows, columns] = tiles.results;
  std::int64_t elements = rows * columns + 2 * (rows + columns); // two copies of the operands
  if (!tiles.async)
    elements += (tiles.tile(0) + tiles.tile(1)) * tiles.k / tiles.threads(); // loaded before they are stored
  const std::int64_t registers = tiles.threads() * (elements * words(dtype) + of_addresses);
  return std::min({most, std::max<std::int64_t>(1, registers_of_sm / registers),
                   target.shared_bytes_per_sm / shared_bytes(tiles, target, dtype)});
}

/// The asynchronous copies of a thread for one tile of k, if rows allow no wider ones. Copies that transpose
/// have one element.
std::int64_t copies_of_thread(const RegisterTiles &tiles, const Shape &shape) {
  const std::int64_t along_a = shape.transposed.a ? std::gcd(shape.known(0), of_an_access) : 1,
                     along_b = shape.transposed.b ? 1 : std::gcd(shape.known(1), of_an_access);
  return (tiles.tile(0) / along_a + tiles.tile(1) / along_b) * tiles.k / tiles.threads();
}

/// The registers of a thread for addresses and masks. On an H200, 464x880x2108 in 5 parts takes 0.81 of the
/// time with 4 resident blocks of 32x128 instead of 3, and 225x675x4607 in 6 parts takes 1.24 with 8 resident
/// blocks of 64x32 instead of 5: its threads have 24 copies of an element for each tile.
std::int64_t registers_of_addresses(const RegisterTiles &tiles, const Shape &shape, bool whole) {
  constexpr std::int64_t usual = 64, of_loads = 48, of_a_copy = 12, few_copies = 16;
  if (!tiles.async)
    return of_loads;
  if (whole || shape.stated)
    return usual;
  return usual + of_a_copy * std::max<std::int64_t>(0, copies_of_thread(tiles, shape) - few_copies);
}

/// Whether each block of a product has an SM for itself.
bool has_few_blocks(const RegisterTiles &tiles, const Shape &shape, const Target &target) {
  const std::array<long long, 3> extents = {shape[0], shape[1], shape[2]},
                                 tile = {tiles.tile(0), tiles.tile(1), tiles.k};
  return records::choice::tiles_of(extents.data(), tile.data()) * tiles.split_k <= multiprocessors(target);
}

/// Whether results of single elements are stored faster by rows, through shared memory. On an H200, they are by
/// wide tiles: 2342x4033x392 takes 0.84 of the time with 32x256. With square tiles, and with pairs of elements,
/// the time is about the same, or up to 1.08 of it.
bool gains_by_rows(const RegisterTiles &tiles, const Shape &shape) {
  constexpr std::int64_t wide = 8;
  return !shape.is_multiple(1, 2) && tiles.tile(1) >= wide * tiles.tile(0);
}

/// Whether an operand is stored along k, and its rows or columns allow bulk copies of it stored along those.
bool has_rows_to_pack(const Shape &shape) {
  return (!shape.transposed.a && shape.is_multiple(0, of_an_access)) ||
         (shape.transposed.b && shape.is_multiple(1, of_an_access));
}

/// Candidates for the number of blocks on an SM, for which the SM has enough registers and shared memory, the
/// usual one first. 0 states no number. A thread also needs registers for its results and for the operands.
std::vector<std::int64_t> candidates_for_blocks(const RegisterTiles &tiles, const Target &target, DType dtype,
                                                std::int64_t usual) {
  std::int64_t registers = tiles.threads() * (tiles.results[0] * tiles.results[1] + 24) * words(dtype);
  std::int64_t shared = shared_bytes(tiles, target, dtype);
  std::vector<std::int64_t> candidates = first<std::int64_t>(usual, {3, 2, 0, 1, 4, 5, 6, 8});
  std::erase_if(candidates, [&](std::int64_t n) {
    return n * registers > registers_of_sm || n * shared > target.shared_bytes_per_sm;
  });
  return candidates;
}

/// The blocks that are resident at the same time: `blocks` on each multiprocessor or, if no number is stated,
/// the most for which a multiprocessor has enough registers and shared memory.
std::int64_t blocks_of_grid(const Target &target, std::int64_t blocks,
                            const std::vector<std::int64_t> &resident) {
  std::int64_t each = std::max({blocks, std::int64_t{1}, blocks == 0 ? std::ranges::max(resident) : 0});
  return multiprocessors(target) * each;
}

} // namespace

std::optional<Variant> register_variant(const Shape &shape, DType dtype) {
  std::int64_t fewest = std::max<std::int64_t>(2, 4 / byte_size(dtype)); // no vector is shorter than 4 bytes
  RowOf a = rows_of_a(shape, fewest), b = rows_of_b(shape, fewest);
  const RowOf c = {"C", "N", 1};
  a.may_end_inside = shape.transposed.a; // asynchronous copies that transpose take single elements
  b.may_end_inside = !shape.transposed.b;
  if (byte_size(dtype) > 4)
    return scalar_unless_multiples(shape, {{c.axis, c.extent}, {a.axis, a.extent}, {b.axis, b.extent}},
                                   of_an_access);
  std::vector<RowOf> rows = {b, c, a};
  if (fewest == 2 && b.extent == c.extent &&
      shape.row_multiple == 1) // with more, those of C have other vectors: 4 bytes for each element
    rows = {{"B and C", "N", 1}, a};
  return narrow_unless_multiples(shape, rows, of_an_access);
}

RegisterTiles choose_register_tiles(const Shape &shape, DType dtype, const Target &target, Knobs &knobs,
                                    bool persistent) {
  // Elements of 4 bytes are copied asynchronously, also if they are transposed.
  if (!persistent && byte_size(dtype) == 4 && target.arch.has(Feature::mbarrier) && knobs.flag("roles"))
    return choose_register_tiles_with_roles(shape, dtype, target, knobs);
  RegisterTiles tiles;
  tiles.width = of_an_access;
  tiles.warps =
      choose_grid(knobs, "warps",
                  first<std::string>(shape.stated ? "4x2" : "2x2",
                                     {"2x2", "4x2", "2x4", "1x1", "1x2", "2x1", "1x4", "4x1", "1x8", "8x1"}));
  tiles.lanes = choose_grid(knobs, "lanes", {"4x8", "8x4", "2x16", "16x2"});
  tiles.results = choose_grid(knobs, "results",
                              {"8x8", "4x4", "4x8", "8x4", "8x12", "12x8", "8x16", "16x8", "4x16", "16x4"});
  tiles.zigzag = knobs.flag("zigzag", true);
  tiles.async = may_copy_async(dtype, target) && knobs.flag("async");
  tiles.prefetch = tiles.async || knobs.flag("prefetch", true);
  tiles.fragments = knobs.flag("fragments");
  tiles.columns = knobs.flag("columns");
  tiles.snake = knobs.flag("snake");
  tiles.k = knobs.choose("bk", {16, 8, 32});
  tiles.group =
      knobs.choose("group", shape.stated ? std::vector<std::int64_t>{1} : std::vector<std::int64_t>{1, 4, 8});
  tiles.stages = tiles.async ? knobs.choose("stages", {3, 2, 4}) : tiles.prefetch ? 2 : 1;
  choose_parts(tiles, shape, tiles.k, knobs);
  // As powers of 2, all of these divide it.
  if (tiles.split_k >= 8 && !tiles.two_kernels &&
      std::has_single_bit(static_cast<std::uint64_t>(tiles.split_k)))
    tiles.groups_of_parts =
        knobs.choose("groups_of_parts", first<std::int64_t>(usual_groups(tiles.split_k), {1, 2, 4, 8}));
  tiles.joined = tiles.async && tiles.fragments && knobs.flag("joined");
  tiles.spread = tiles.joined && knobs.flag("spread");
  if (tiles.spread)
    tiles.copy_steps = knobs.choose("copy_steps", {5, 0, 4, 3, 2, 1});
  // The last tile of k gets code of its own.
  tiles.last_k = (tiles.prefetch || (tiles.split_k == 1 && !shape.is_multiple(2, tiles.k))) &&
                 knobs.flag("last_k", shape.stated.has_value());
  if (!persistent && tiles.split_k == 1 && !shape.is_multiple(1, of_an_access) &&
      staged_bytes(tiles, dtype) <= target.shared_bytes_per_block)
    tiles.staged = knobs.flag("staged", gains_by_rows(tiles, shape));
  const bool whole = !register_variant(shape, dtype); // all rows allow the widest accesses
  auto beside_addresses = [&](std::int64_t most) {
    return blocks_beside(registers_of_addresses(tiles, shape, whole), tiles, target, dtype, most);
  };
  std::int64_t usual = 3;
  if (shape.stated)
    usual = tiles.async ? beside_addresses(5) : whole ? 2 : 0; // addresses for all sizes take many registers
  else if (tiles.split_k > 1 && !has_few_blocks(tiles, shape, target))
    usual = std::max(usual, beside_addresses(8));
  const std::vector<std::int64_t> resident = candidates_for_blocks(tiles, target, dtype, usual);
  tiles.blocks = knobs.choose("blocks", resident);
  if (persistent)
    tiles.persistent = blocks_of_grid(target, tiles.blocks, resident);
  else if (!shape.stated && tiles.split_k == 1)
    tiles.even_places = multiprocessors(target) * choose_even(knobs, {shape[0], shape[1], shape[2]},
                                                              {tiles.tile(0), tiles.tile(1), tiles.k}, target);
  return tiles;
}

/// Four warps fill the tiles. Without registers of their own, the other warps have too few for 16x8 results.
/// The last tile of k always has code of its own: with a condition before the wait for the next tile, ptxas
/// moves the multiplications of the last k before the wait, and nothing hides the latency of the loads after
/// it.
RegisterTiles choose_register_tiles_with_roles(const Shape &shape, DType dtype, const Target &target,
                                               Knobs &knobs) {
  const bool moves = target.arch.has(Feature::setmaxnreg);
  RegisterTiles tiles = {
      .warps = choose_grid(knobs, "warps", {"2x4", "4x2", "2x2"}),
      .lanes = {4, 8},
      .results = choose_grid(knobs, "results",
                             first<std::string>(moves ? "16x8" : "8x8", {"16x8", "8x16", "8x8", "8x4", "4x4"})),
      .zigzag = true,
      .async = true,
      .fragments = true,
      .joined = true,
      .columns = knobs.flag("columns"),
      .snake = true,
      .last_k = true,
      .k = knobs.choose("bk", {16, 8, 32}),
      .group = knobs.choose("group",
                            shape.stated ? std::vector<std::int64_t>{1} : std::vector<std::int64_t>{8, 1, 4}),
      .stages = 2,
      .width = of_an_access,
      // With 40, the loads of ragged sizes spill: 7424x1136x3848 takes 1.20 of the time (one H200).
      .load = {4, moves ? 56 : 0, target.arch.has(Feature::tma) && knobs.flag("bulk")}};
  const std::int64_t row = (tiles.tile(0) + 31) / 32 * 32 + 4 + tiles.tile(1),
                     stage = row * tiles.k * byte_size(dtype) + 16; // and two events
  std::vector<std::int64_t> stages = {4, 3, 6, 5, 2};
  std::erase_if(stages, [&](std::int64_t n) { return n * stage > target.shared_bytes_per_block; });
  if (stages.empty())
    throw UserError(ExitCode::usage,
                    fmt::format("two copies of the tiles need {} bytes of shared memory, but {} has {}; choose "
                                "smaller warps, results or bk",
                                2 * stage, to_string(target.arch), target.shared_bytes_per_block));
  tiles.stages = knobs.choose("stages", stages);
  if (knobs.flag("persistent"))
    tiles.persistent = multiprocessors(target);
  choose_parts(tiles, shape, tiles.k, knobs);
  const std::int64_t sms = multiprocessors(target); // each has one block
  if (!shape.stated && tiles.split_k == 1) {
    const Extents extents = {shape[0], shape[1], shape[2]}, tile = {tiles.tile(0), tiles.tile(1), tiles.k};
    tiles.even_places =
        sms * choose_even(knobs, extents, tile, target, terms_of_a_part, 1, PartsOfTail::unequal_too);
    if (tiles.even_places == 0 && choose_helped(knobs, extents, tile, target, sms))
      tiles.helped_places = sms;
  }
  tiles.packed = tiles.load.bulk && has_rows_to_pack(shape) && tiles.helped_places == 0 && knobs.flag("packed");
  // With an even tail, an early start gains 1 % at eight of nine sizes, and takes 1.29 of the time at
  // 780x1436x5852 (one H200). The knob is asked all the same, because the points of tables have it.
  tiles.early = target.arch.has(Feature::griddepcontrol) && knobs.flag("early") && tiles.even_places == 0;
  return tiles;
}

} // namespace nestsmith::library
