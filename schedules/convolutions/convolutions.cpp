#include "schedules/convolutions/convolutions.h"

#include "schedules/free_names.h"
#include "schedules/rows/stages.h"
#include "schedules/tensor/tiles.h"
#include "schedules/variant.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith::convolutions {

namespace {

/// The loops of Y.
struct Loops {
  Loop n, h, w, k, r, s, c;
};

Loops loops_of(Schedule &s, BlockRef Y) {
  auto [n, h, w, k, r, t, c] = s.loops<7>(Y);
  return {n, h, w, k, r, t, c};
}

/// The stage of the computation, and what it reads.
struct Stage {
  BlockRef Y;
  std::string X, F;
};

Stage stage_of(const Schedule &s) {
  BlockRef Y = rows::stages_of(s).front().block;
  std::vector<Buffer> inputs = rows::inputs_of(s, Y);
  if (inputs.size() != 2)
    throw UserError(
        ExitCode::usage,
        fmt::format("the first stage of {}, {}, reads {} buffer{}, expected the images and the filters of "
                    "a convolution",
                    s.source().name, s.name(Y), inputs.size(), inputs.size() == 1 ? "" : "s"));
  return {Y, inputs[0]->name, inputs[1]->name};
}

/// Binds the loops over tiles of pixels and of channels. The first axis of the grid has no limit that the rows
/// of all images exceed.
void bind_tiles(Schedule &s, Loop n, Loop h_block, Loop w_block, Loop k_block) {
  s.bind(s.fuse(n, h_block, free_names(s, {"rows"})), Axis::block_x);
  s.bind(w_block, Axis::block_y);
  s.bind(k_block, Axis::block_z);
}

void unroll_all(Schedule &s, const std::vector<Loop> &loops) {
  for (const Loop &loop : loops)
    if (s.extent(loop) > 1)
      s.unroll(loop);
}

/// Of a thread that fills a tile: with 4, some shapes spill registers on sm_90.
constexpr std::int64_t loads_in_flight = 2;

/// On a multiprocessor. If the number is not stated, NVRTC 13.5 spills registers on sm_90 to make room for
/// more.
constexpr std::int64_t blocks_at_once = 2;

/// All threads copy what the block reads in each iteration of `at`, `width` neighbouring channels at a time.
void share_out(Schedule &s, BlockRef copy, Loop at, std::int64_t threads, std::int64_t width) {
  s.compute_at(copy, at);
  std::vector<Loop> loops = s.loops_below(copy, at);
  Loop all = loops.back(), element = all;
  if (width > 1) {
    auto [group, lane] = s.split<2>(all, {infer, width});
    all = group, element = lane;
  }
  for (std::size_t n = loops.size() - 1; n-- > 0;)
    all = s.fuse(loops[n], all);
  auto [round, thread] = s.split<2>(all, {infer, threads}, free_names(s, {"round", "thread"}));
  s.bind(thread, Axis::thread_x);
  if (s.extent(round) > loads_in_flight)
    s.unroll_by(round, loads_in_flight);
  else
    s.unroll(round);
  if (width > 1)
    s.vectorize(element);
}

/// How many channels of X and of Y are accessed at once.
struct Widths {
  std::int64_t in = 1, out = 1;
};

constexpr std::int64_t threads_in_registers = 256, pixels_of_tile = 16;

/// 2 x 8 x 16 threads, each with 8 pixels of a row and 4 channels. A warp has pixels of two rows, which are in
/// different banks of shared memory.
Schedule by_register_tiles(const Program &program, const Target &target, Widths filled, std::int64_t out) {
  Schedule s(program, target);
  const Stage stage = stage_of(s);
  BlockRef Y = stage.Y;
  auto [n, h, w, k, r, t, c] = loops_of(s, Y);
  auto [h_block, h_thread] = s.split<2>(h, {infer, 8});
  auto [w_block, w_thread, pixel] =
      s.split<3>(w, {infer, 2, 8}, free_names(s, {"w_block", "w_thread", "pixel"}));
  auto [k_block, k_thread, channel] =
      s.split<3>(k, {infer, 16, 4}, free_names(s, {"k_block", "k_thread", "channel"}));
  auto [c_block, c_step] = s.split<2>(c, {infer, 8}, free_names(s, {"c_block", "c_step"}));
  s.reorder(
      {n, h_block, w_block, k_block, w_thread, h_thread, k_thread, c_block, c_step, r, t, pixel, channel});
  Loop thread = s.fuse(s.fuse(w_thread, h_thread), k_thread, free_names(s, {"thread"}));
  BlockRef out_block = s.cache_write(Y, Scope::local);
  s.reverse_compute_at(out_block, thread);
  bind_tiles(s, n, h_block, w_block, k_block);
  s.bind(thread, Axis::thread_x);
  for (bool image : {true, false}) {
    BlockRef tile = s.cache_read(Y, image ? stage.X : stage.F, Scope::shared);
    BlockRef own = s.cache_read(Y, s.name(tile), Scope::local);
    Loop at = image ? r : t;
    s.compute_at(own, at);
    std::vector<Loop> loops = s.loops_below(own, at);
    if (!image && out > 1) {
      s.vectorize(loops.back());
      loops.pop_back();
    }
    unroll_all(s, loops);
    share_out(s, tile, c_block, threads_in_registers, image ? filled.in : filled.out);
  }
  s.unroll(t);
  s.unroll(pixel);
  s.unroll(channel);
  std::vector<Loop> stored = s.loops_below(out_block, thread);
  if (out > 1 && filled.out == out) {
    s.vectorize(stored.back());
    stored.pop_back();
  }
  unroll_all(s, stored);
  s.launch_bounds(blocks_at_once);
  return s;
}

} // namespace

Schedule by_element(const Program &program, const Target &target) {
  Schedule s(program, target);
  BlockRef Y = stage_of(s).Y;
  auto [n, h, w, k, r, t, c] = loops_of(s, Y);
  auto [w_block, w_thread] = s.split<2>(w, {infer, 8});
  auto [k_block, k_thread] = s.split<2>(k, {infer, 32}, free_names(s, {"k_block", "k_thread"}));
  s.reorder({n, h, w_block, k_block, w_thread, k_thread});
  Loop thread = s.fuse(w_thread, k_thread, free_names(s, {"thread"}));
  s.reverse_compute_at(s.cache_write(Y, Scope::local), thread);
  bind_tiles(s, n, h, w_block, k_block);
  s.bind(thread, Axis::thread_x);
  return s;
}

Schedule in_tiles(const Program &program, const Target &target) {
  Schedule s(program, target);
  const Stage stage = stage_of(s);
  BlockRef Y = stage.Y;
  auto [n, h, w, k, r, t, c] = loops_of(s, Y);
  auto [h_block, h_thread] = s.split<2>(h, {infer, 4});
  auto [w_block, w_thread] = s.split<2>(w, {infer, 8});
  auto [k_block, k_thread] = s.split<2>(k, {infer, 16}, free_names(s, {"k_block", "k_thread"}));
  auto [c_block, c_step] = s.split<2>(c, {infer, 8}, free_names(s, {"c_block", "c_step"}));
  s.reorder({n, h_block, w_block, k_block, h_thread, w_thread, k_thread, c_block, r, t, c_step});
  Loop thread = s.fuse(s.fuse(h_thread, w_thread), k_thread, free_names(s, {"thread"}));
  s.reverse_compute_at(s.cache_write(Y, Scope::local), thread);
  bind_tiles(s, n, h_block, w_block, k_block);
  s.bind(thread, Axis::thread_x);
  for (const std::string &operand : {stage.X, stage.F})
    share_out(s, s.cache_read(Y, operand, Scope::shared), c_block, 4 * 8 * 16, 1);
  s.unroll(c_step);
  s.launch_bounds(blocks_at_once);
  return s;
}

Schedule in_registers(const Program &program, const Target &target) {
  return by_register_tiles(program, target, {}, 1);
}

Schedule in_vectors(const Program &program, const Shape &shape, const Target &target) {
  DType stored = rows::input_of(program)->dtype;
  Widths filled = {std::min<std::int64_t>(8, rows::vector_width(shape, stored, 3)),
                   std::min<std::int64_t>(4, rows::vector_width(shape, stored, 4))};
  return by_register_tiles(program, target, filled, 4);
}

std::optional<Variant> vector_variant(const Shape &shape, DType dtype) {
  return scalar_unless_multiples(shape, {{"C", 3}, {"K", 4}}, std::max<std::int64_t>(2, 4 / byte_size(dtype)));
}

namespace {

/// Lanes and registers of a fragment, as those of `tensor::Instruction`.
std::string group_of_lane(const tensor::Instruction &instruction) {
  std::int64_t width = instruction.width;
  return width == 1 ? "c%4" : fmt::format("c%{}//{}", 4 * width, width);
}

std::string register_of_lane(const tensor::Instruction &instruction) {
  return instruction.width == 1 ? "" : fmt::format(", c%{}", instruction.width);
}

std::string pixels_layout(const tensor::Instruction &i) {
  return fmt::format("n, h, w, c -> w%8*4 + {}, h, w//16, c//{}, c%{}//{}, w%16//8{}", group_of_lane(i),
                     8 * i.width, 8 * i.width, 4 * i.width, register_of_lane(i));
}

std::string filters_layout(const tensor::Instruction &i) {
  return fmt::format("r, s, c, k -> k%8*4 + {}, r, s, c//{}, k//8, c%{}//{}{}", group_of_lane(i), 8 * i.width,
                     8 * i.width, 4 * i.width, register_of_lane(i));
}

constexpr const char *results_layout = "n, h, w, k -> w%8*4 + k%8//2, h, w//16, k//8, w%16//8, k%2";

constexpr std::int64_t warps_of_rows = 2, warps_of_channels = 2, rows_of_warp = 4, channels_of_warp = 32;

/// Loads the operand of one tap to the registers of the warp: by ldmatrix, or element by element of each lane.
void load_fragment(Schedule &s, std::vector<Loop> loops, bool image, bool by_ldmatrix,
                   const tensor::Instruction &instruction) {
  const Loop last = loops.back(), row = loops[loops.size() - 2];
  loops.resize(loops.size() - 2);
  if (!by_ldmatrix) {
    std::vector<Loop> own = image ? tensor::to_lanes(s, row, last, instruction.width)
                                  : tensor::to_lanes(s, last, row, instruction.width);
    if (image && instruction.width > 1) {
      s.vectorize(own.back());
      own.pop_back();
    }
    unroll_all(s, own);
  } else if (image) {
    s.tensorize(row, "ldmatrix_a");
  } else {
    auto [tile, inside] = s.split<2>(last, {infer, 16});
    s.reorder({tile, row, inside});
    s.tensorize(row, "ldmatrix_b2");
    loops.push_back(tile);
  }
  unroll_all(s, loops);
}

Schedule by_products(const Program &program, const Shape &shape, const Target &target, bool async) {
  Schedule s(program, target);
  const Stage stage = stage_of(s);
  BlockRef Y = stage.Y;
  DType stored = rows::input_of(program)->dtype;
  const bool rounded = any_node(find_block(program.body, Y.id)->body.value,
                                [](const Expr &node) { return node.dtype() == DType::tf32; });
  const tensor::Instruction instruction = tensor::instruction_for(rounded ? DType::tf32 : stored);
  auto [n, h, w, k, r, t, c] = loops_of(s, Y);
  BlockRef out = s.cache_write(Y, Scope::warp);
  auto [h_block, h_warp, row] =
      s.split<3>(h, {infer, warps_of_rows, rows_of_warp}, free_names(s, {"h_block", "h_warp", "row"}));
  auto [w_block, pixel] = s.split<2>(w, {infer, pixels_of_tile}, free_names(s, {"w_block", "pixel"}));
  auto [k_block, k_warp, k_tile, channel] =
      s.split<4>(k, {infer, warps_of_channels, channels_of_warp / 8, 8},
                 free_names(s, {"k_block", "k_warp", "k_tile", "channel"}));
  auto [c_block, c_inside] = s.split<2>(c, {infer, instruction.k()}, free_names(s, {"c_block", "c_inside"}));
  s.reorder(
      {n, h_block, w_block, k_block, h_warp, k_warp, c_block, r, t, row, k_tile, pixel, channel, c_inside});
  s.transform_layout(Y, results_layout);
  Loop warp = s.fuse(h_warp, k_warp, free_names(s, {"warp"}));
  s.reverse_compute_at(out, warp);
  bind_tiles(s, n, h_block, w_block, k_block);
  s.bind(warp, Axis::warp);
  constexpr std::int64_t threads = 32 * warps_of_rows * warps_of_channels;
  std::vector<BlockRef> copies;
  for (bool image : {true, false}) {
    BlockRef tile = s.cache_read(Y, image ? stage.X : stage.F, Scope::shared);
    BlockRef fragment = s.cache_read(Y, s.name(tile), Scope::warp);
    s.transform_layout(fragment, image ? pixels_layout(instruction) : filters_layout(instruction));
    s.compute_at(fragment, t);
    std::int64_t width = rows::vector_width(shape, stored, image ? 3 : 4);
    share_out(s, tile, c_block, threads, width);
    tensor::swizzle_rows(s, tile, image ? instruction.k() : warps_of_channels * channels_of_warp,
                         byte_size(stored));
    bool by_ldmatrix = instruction.width == 2;
    load_fragment(s, s.loops_below(fragment, t), image, by_ldmatrix, instruction);
    copies.push_back(tile);
    async = async && width * byte_size(stored) >= 4;
  }
  BlockRef init = s.decompose_reduction(Y, c_block);
  std::vector<Loop> cleared = s.loops_below(init, warp);
  s.reorder({cleared[0], cleared[2], cleared[1], cleared[3]});
  s.unroll(cleared[0]);
  unroll_all(s, tensor::to_lanes(s, cleared[2], s.fuse(cleared[1], cleared[3]), 2));
  s.tensorize(pixel, instruction.name);
  unroll_all(s, {t, row, k_tile});
  if (async) {
    for (const BlockRef &copy : copies)
      s.async_copy(copy);
    s.double_buffer(c_block);
  }
  std::vector<Loop> stores = s.loops_below(out, warp);
  unroll_all(s, {stores.begin(), stores.end() - 2});
  std::vector<Loop> own = tensor::to_lanes(s, stores[stores.size() - 2], stores.back(), 2);
  if (shape.is_multiple(4, 2)) {
    s.vectorize(own.back());
    own.pop_back();
  }
  unroll_all(s, own);
  return s;
}

} // namespace

Schedule on_matrix_units(const Program &program, const Shape &shape, const Target &target) {
  return by_products(program, shape, target, false);
}

Schedule with_async_copies(const Program &program, const Shape &shape, const Target &target) {
  return by_products(program, shape, target, true);
}

} // namespace nestsmith::convolutions
