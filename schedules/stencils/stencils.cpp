#include "schedules/stencils/stencils.h"

#include "dsl/schedule/knobs.h"
#include "schedules/free_names.h"
#include "schedules/grids.h"
#include "schedules/rows/stages.h"

#include <array>
#include <fmt/format.h>

namespace nestsmith::stencils {

namespace {

/// The numbers are those of rows and of columns.
struct Way {
  Grid threads = {8, 32};
  Grid elements = {1, 1};    ///< of a thread, at a distance of 1
  bool in_shared = false;    ///< copy what the block reads
  bool in_registers = false; ///< copy what the thread reads
  bool edges = false;        ///< code of their own for the blocks at the edges
};

/// The loops of a stage after it was divided among blocks and threads.
struct Tiled {
  Loop row_block, column_block, thread, row;
};

/// Binds the loops over blocks.
Tiled tile(Schedule &s, BlockRef Y, const Way &way) {
  auto [i, j] = s.loops<2>(Y);
  auto [row_block, row_thread, row] = s.split<3>(i, {infer, way.threads[0], way.elements[0]},
                                                 free_names(s, {"row_block", "row_thread", "row"}));
  auto [column_block, column_thread, column] = s.split<3>(
      j, {infer, way.threads[1], way.elements[1]}, free_names(s, {"column_block", "column_thread", "column"}));
  s.reorder({row_block, column_block, row_thread, column_thread, row, column});
  s.bind(row_block, Axis::block_y);
  s.bind(column_block, Axis::block_x);
  return {row_block, column_block, s.fuse(row_thread, column_thread, free_names(s, {"thread"})), row};
}

/// All threads compute the elements of the block that the block at `at` reads, each some of them. Their number
/// need not be a multiple of the number of threads.
void share_out(Schedule &s, BlockRef block, Loop at, const Way &way) {
  s.compute_at(block, at);
  std::vector<Loop> loops = s.loops_below(block, at);
  auto [round, thread] = s.split<2>(s.fuse(loops[0], loops[1]), {infer, way.threads[0] * way.threads[1]},
                                    free_names(s, {"round", "thread"}));
  s.bind(thread, Axis::thread_x);
  s.unroll(round);
}

/// Each thread copies what it reads.
void load_in_registers(Schedule &s, BlockRef Y, const Buffer &X, Loop thread) {
  BlockRef window = s.cache_read(Y, X->name, Scope::local);
  s.compute_at(window, thread);
  for (const Loop &loop : s.loops_below(window, thread))
    s.unroll(loop);
}

void schedule(Schedule &s, BlockRef Y, const Buffer &X, const Way &way) {
  Tiled loops = tile(s, Y, way);
  if (way.in_shared)
    share_out(s, s.cache_read(Y, X->name, Scope::shared), loops.column_block, way);
  if (way.in_registers)
    load_in_registers(s, Y, X, loops.thread);
  s.bind(loops.thread, Axis::thread_x);
  if (way.elements[0] > 1)
    s.unroll(loops.row);
  if (way.edges) {
    s.partition(loops.row_block);
    s.partition(loops.column_block);
  }
}

Schedule in_tiles(const Program &program, const Target &target, const Way &way) {
  Schedule s(program, target);
  schedule(s, rows::stages_of(s).front().block, rows::input_of(program), way);
  return s;
}

Way columns(Knobs &knobs, bool edges) {
  return {.elements = {knobs.choose("rows", {8, 4, 2, 16}), 1}, .in_registers = true, .edges = edges};
}

} // namespace

Schedule by_rows(const Program &program, const Target &target) {
  return in_tiles(program, target, {.threads = {1, 256}});
}

Schedule in_blocks(const Program &program, const Target &target) { return in_tiles(program, target, {}); }

Schedule in_shared_tiles(const Program &program, const Target &target) {
  return in_tiles(program, target, {.in_shared = true});
}

Schedule in_columns(const Program &program, const Target &target, Knobs &knobs) {
  return in_tiles(program, target, columns(knobs, false));
}

Schedule with_edges(const Program &program, const Target &target, Knobs &knobs) {
  return in_tiles(program, target, columns(knobs, true));
}

Schedule step_by_step(const Program &program, const Target &target, Knobs &knobs) {
  Schedule s(program, target);
  const Way way = columns(knobs, true);
  for (const rows::Stage &stage : rows::stages_of(s))
    schedule(s, stage.block, rows::inputs_of(s, stage.block).front(), way);
  return s;
}

Schedule two_steps(const Program &program, const Target &target) {
  Schedule s(program, target);
  std::vector<rows::Stage> stages = rows::stages_of(s);
  if (stages.size() != 2)
    throw UserError(ExitCode::usage, fmt::format("{} has {} stage{}, expected two steps of a stencil",
                                                 program.name, stages.size(), stages.size() == 1 ? "" : "s"));
  const Way way = {.threads = {8, 32}, .elements = {4, 1}};
  BlockRef T = stages[0].block, Y = stages[1].block;
  s.set_scope(T, Scope::shared);
  Tiled loops = tile(s, Y, way);
  load_in_registers(s, Y, rows::inputs_of(s, Y).front(), loops.thread);
  BlockRef X = s.cache_read(T, rows::input_of(program)->name, Scope::shared);
  share_out(s, T, loops.column_block, way);
  share_out(s, X, loops.column_block, way);
  // Threads that read the end of a row, and others the start of the next one, access different banks.
  s.storage_align(X, 0, 32, 2);
  s.bind(loops.thread, Axis::thread_x);
  s.unroll(loops.row);
  return s;
}

} // namespace nestsmith::stencils
