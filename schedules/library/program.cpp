#include "schedules/library/program.h"

#include "schedules/library/accesses.h"
#include "schedules/library/attempt.h"
#include "schedules/library/contraction.h"
#include "schedules/library/parts.h"
#include "schedules/library/product.h"
#include "schedules/rows/rows.h"

#include "dsl/expr/error.h"
#include "dsl/ir/allocation.h"
#include "dsl/ir/workload_info.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <functional>
#include <optional>

namespace nestsmith::library {

namespace {

constexpr std::int64_t threads = 256;

[[noreturn]] void refuse(const char *function, BlockRef block, const std::string &why) {
  throw UserError(ExitCode::illegal_schedule,
                  fmt::format("library::{}: block {} {}", function, Schedule::name(block), why));
}

/// The loops of a block whose axes are loops: spatial ones in the order of the dimensions that the block
/// writes, so that the last one is of neighbours, and those of the reduction.
struct Loops {
  std::vector<Loop> spatial, reduction;
};

Loops loops_of(const char *function, const Schedule &s, BlockRef handle) {
  const Block &block = block_of(s, handle);
  Loops loops;
  auto loop_of = [&](const IterVar &iter) {
    const Var *loop = iter.binding.as<Var>();
    if (!loop || !find_loop(s.program().body, *loop)->is<Serial>())
      refuse(function, handle, "has loops that other directives changed; use it before them");
    return Loop{*loop};
  };
  for (const Stmt &nest : nests_of(s.program().body))
    if (find_block(nest, handle.id) && blocks_of(nest).size() > 1)
      refuse(function, handle, "is not in a nest of its own; use it before moving blocks into one nest");
  for (const Expr &index : block.body.indices)
    for (const IterVar &iter : block.iters)
      if (!iter.is_summed() && uses(index, iter.var)) {
        Loop loop = loop_of(iter);
        if (std::ranges::none_of(loops.spatial, [&](const Loop &other) { return other.var == loop.var; }))
          loops.spatial.push_back(loop);
      }
  for (const IterVar &iter : block.iters)
    if (iter.is_summed())
      loops.reduction.push_back(loop_of(iter));
  return loops;
}

void put_in_order(Schedule &s, const std::vector<Loop> &loops) {
  if (loops.size() > 1)
    s.reorder(loops);
}

/// Keeps the result in registers, if it goes to global memory, and returns the block that stores it.
std::optional<BlockRef> in_registers(Schedule &s, BlockRef block) {
  const Buffer &buffer = block_of(s, block).body.buffer;
  if (buffer->scope != Scope::global || (buffer->role == Role::inout && !block_of(s, block).init))
    return std::nullopt;
  return s.cache_write(block, Scope::local);
}

/// The input that depends on the most axes; null if there is none.
const Load *largest_input(const Block &block) {
  const Load *largest = nullptr;
  auto axes_in = [&](const Load *access) {
    return std::ranges::count_if(block.iters, [&](const IterVar &iter) {
      return std::ranges::any_of(access->indices, [&](const Expr &index) { return uses(index, iter.var); });
    });
  };
  for (const Load *access : loads_of(block))
    if (access->buffer != block.body.buffer && (!largest || axes_in(access) > axes_in(largest)))
      largest = access;
  return largest;
}

/// The number of neighbours along the axis that each input gives in one access of 16 bytes or less. 1: scalars.
std::int64_t width_of_inputs(const Block &block, const IterVar &axis) {
  std::int64_t width = 16;
  for (const Load *access : loads_of(block))
    if (access->buffer != block.body.buffer)
      if (std::int64_t own =
              width_of(access->buffer, access->indices, access->mask, axis, width, bounds_of(block)))
        width = own;
  for (const Load *access : loads_of(block))
    if (access->buffer != block.body.buffer && width * byte_size(access->buffer->dtype) < 4)
      return 1;
  return width;
}

constexpr std::int64_t warp_size = 32;
constexpr std::int64_t enough_blocks = 512; ///< for the bandwidth of a large GPU
constexpr std::int64_t loads_in_flight = 4; ///< of a thread
constexpr std::int64_t warps_of_block = 4;  ///< if each has a result of its own
/// Terms of a result that one thread adds, at most: where neighbouring threads read neighbours, and where a
/// thread reads neighbours itself.
constexpr std::int64_t most_of_thread = 32, few_of_thread = 16;
constexpr std::int64_t steps_of_warp = 8; ///< at most, if a warp has all terms of a result

/// The extent of the loop, or `otherwise` if it is known only at launch.
std::int64_t extent_or(const Schedule &s, const Loop &loop, std::int64_t otherwise) {
  return as_int(find_loop(s.program().body, loop.var)->extent).value_or(otherwise);
}

std::int64_t number_of(const Schedule &s, const std::vector<Loop> &loops) {
  std::int64_t number = 1;
  for (const Loop &loop : loops)
    number *= extent_or(s, loop, enough_blocks);
  return number;
}

/// The steps of a thread, a power of two, for which `blocks` results with `terms` each, of which a block takes
/// `at_once`, give enough blocks. 0: each result is that of one block.
std::int64_t steps_of_parts(std::int64_t blocks, std::int64_t terms, std::int64_t at_once) {
  if (blocks >= enough_blocks)
    return 0;
  std::int64_t steps = 64;
  while (steps > loads_in_flight && blocks * terms < enough_blocks * steps * at_once)
    steps /= 2;
  return terms > steps * at_once ? steps : 0;
}

/// The handles of a reduction whose `terms` have their loops. `result` is the name of the array of the results.
Reduction handles_of(const Schedule &s, BlockRef sum, BlockRef terms, const std::string &result) {
  Reduction made;
  made.sum = made.result = sum;
  made.terms = terms;
  for (const Block *block : blocks_of(s.program().body))
    if (block->body.buffer->name == result)
      made.result = {block->id};
  for (const Loop &loop : s.loops(terms)) {
    const std::optional<Axis> axis = find_loop(s.program().body, loop.var)->axis();
    (!axis ? made.steps : is_block(*axis) ? made.blocks : made.threads).push_back(loop);
  }
  return made;
}

/// Each thread loads `width` neighbours at once, and the loads of several steps are in flight together. Returns
/// the copies to registers.
std::vector<BlockRef> load_ahead(Schedule &s, BlockRef own, Loop step, Loop element, std::int64_t width) {
  std::vector<BlockRef> copies;
  if (width > 1) {
    std::vector<std::string> inputs;
    for (const Load *access : loads_of(block_of(s, own)))
      if (access->buffer != block_of(s, own).body.buffer &&
          std::ranges::find(inputs, access->buffer->name) == inputs.end())
        inputs.push_back(access->buffer->name);
    const std::vector<Loop> loops = s.loops(own);
    for (const std::string &input : inputs) {
      BlockRef copy = copies.emplace_back(s.reindex_cache_read(own, input, Scope::local));
      s.compute_at(copy, loops[loops.size() - 2]);
      by_vectors(s, s.loops_below(copy, loops[loops.size() - 2]), true);
    }
    s.unroll(element);
  }
  if (extent_or(s, step, loads_in_flight + 1) > 1)
    s.unroll_by(step, std::min(loads_in_flight, extent_or(s, step, loads_in_flight)));
  return copies;
}

/// The handles where the last block combines the parts of the others.
Reduction with_parts(const Schedule &s, Reduction made, Loop part, const std::string &result) {
  made.result = handles_of(s, made.sum, made.terms, result).result;
  made.parts = part;
  return made;
}

/// Binds the loops over the results, if there are any.
void bind_results(Schedule &s, const std::vector<Loop> &loops, Axis axis) {
  if (!loops.empty())
    s.bind(fuse_all(s, loops), axis);
}

/// The threads of a warp, of a block or of several blocks share the terms of a result, `width` neighbours each.
Reduction reduce_along_terms(Schedule &s, BlockRef block, const Loops &loops, std::int64_t width) {
  const std::string result = block_of(s, block).body.buffer->name;
  put_in_order(s, concatenated({loops.spatial, loops.reduction}));
  Loop terms = loops.reduction.back();
  std::int64_t results = number_of(s, loops.spatial), extent = extent_or(s, terms, threads * steps_of_warp);
  const bool constant =
      std::ranges::all_of(loops.reduction, [&](const Loop &loop) { return known_extent(s, loop).has_value(); });
  bool alone = loops.reduction.size() == 1;
  if (!alone && (constant || extent < warp_size * width)) { // a short axis is for few threads
    terms = fuse_all(s, loops.reduction);
    s.axes_from_loops(block);
    extent = extent_or(s, terms, threads * steps_of_warp);
    const Block &own = block_of(s, block);
    width = std::min(width, width_of_inputs(own, *std::ranges::find_if(own.iters, &IterVar::is_summed)));
    alone = true;
  }
  auto load = [&](BlockRef own, Loop step, Loop element) {
    std::vector<BlockRef> copies = load_ahead(s, own, step, element, width);
    Reduction made = handles_of(s, block, own, result);
    made.copies = std::move(copies);
    made.steps.pop_back(); // the loop over the elements
    if (width > 1)
      made.elements = element;
    return made;
  };
  if (std::int64_t steps = alone ? steps_of_parts(results, extent, threads * width) : 0) {
    auto [part, step, thread, element] = s.split<4>(terms, {infer, steps, threads, width});
    bind_results(s, loops.spatial, Axis::block_y); // there are few
    s.reduce_across(part, Axis::block_x);          // the last block adds the results
    Reduction made = load(s.reduce_across(thread, Axis::thread_x), step, element);
    s.reduce_across(s.split<2>(s.loops(block).back(), {infer, threads})[1], Axis::thread_x);
    return with_parts(s, made, part, result);
  }
  if (results > 1 && extent <= warp_size * width * steps_of_warp) {
    auto [outer, warp] =
        s.split<2>(loops.spatial.back(),
                   {infer, std::min(warps_of_block, extent_or(s, loops.spatial.back(), warps_of_block))});
    std::vector<Loop> of_grid = loops.spatial;
    of_grid.back() = outer;
    auto [step, lane, element] = s.split<3>(terms, {infer, warp_size, width});
    s.bind(fuse_all(s, of_grid), Axis::block_x);
    s.bind(warp, Axis::warp);
    return load(s.reduce_across(lane, Axis::lane), step, element);
  }
  auto [step, thread, element] = s.split<3>(terms, {infer, threads, width});
  bind_results(s, loops.spatial, Axis::block_x);
  return load(s.reduce_across(thread, Axis::thread_x), step, element);
}

/// Terms of neighbouring results are neighbours: a warp has 32 results, and the warps of a block share their
/// terms.
Reduction reduce_across_terms(Schedule &s, BlockRef block, const Loops &loops, Loop column) {
  const std::string result = block_of(s, block).body.buffer->name;
  std::vector<Loop> others = loops.spatial;
  std::erase_if(others, [&](const Loop &loop) { return loop.var == column.var; });
  put_in_order(s, concatenated({others, {column}, loops.reduction}));
  Loop terms = fuse_all(s, loops.reduction);
  const std::int64_t extent = extent_or(s, terms, threads * steps_of_warp);
  const std::int64_t lanes = std::min(warp_size, extent_or(s, column, warp_size));
  const auto rows_of_block =
      static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(threads / lanes)));
  auto [of_grid, lane] = s.split<2>(column, {infer, lanes});
  const std::int64_t blocks = number_of(s, concatenated({others, {of_grid}}));
  Loop grid = fuse_all(s, concatenated({others, {of_grid}}));
  const std::int64_t steps_of_part = steps_of_parts(blocks, extent, rows_of_block);
  s.bind(grid, steps_of_part > 0 ? Axis::block_y : Axis::block_x); // there are few for parts
  if (steps_of_part > 0) {
    auto [part, step, row] = s.split<3>(terms, {infer, steps_of_part, rows_of_block});
    s.reorder({part, lane, step, row});
    s.reduce_across(part, Axis::block_x);
    s.bind(lane, Axis::thread_x);
    const BlockRef own = s.reduce_across(row, Axis::thread_y);
    s.unroll_by(step, loads_in_flight);
    const std::vector<Loop> of_sum = s.loops(block); // of the last block: those of a tile, and of the parts
    s.bind(*std::find_if(of_sum.rbegin() + 1, of_sum.rend(),
                         [&](const Loop &loop) { return extent_or(s, loop, 0) == lanes; }),
           Axis::thread_x);
    s.reduce_across(s.split<2>(of_sum.back(), {infer, rows_of_block})[1], Axis::thread_y);
    return with_parts(s, handles_of(s, block, own, result), part, result);
  }
  auto [step, row] = s.split<2>(terms, {infer, rows_of_block});
  s.bind(lane, Axis::thread_x);
  const BlockRef own = s.reduce_across(row, Axis::thread_y);
  if (extent > rows_of_block)
    s.unroll_by(step, std::min(loads_in_flight, (extent + rows_of_block - 1) / rows_of_block));
  return handles_of(s, block, own, result);
}

} // namespace

Elementwise elementwise(Schedule &schedule, BlockRef block) {
  Elementwise made;
  change(schedule, [&](Schedule &s) {
    if (block_of(s, block).reduces())
      refuse("elementwise", block, "reduces; use library::reduction");
    Loops loops = loops_of("elementwise", s, block);
    if (loops.spatial.empty())
      refuse("elementwise", block, "has no axis");
    const Block &own = block_of(s, block);
    const Var *last = neighbours(own.body.indices, own.iters, bounds_of(own));
    auto is_last = [&](const IterVar &iter) {
      return last && iter.var == *last && same(iter.binding, Expr(loops.spatial.back().var));
    };
    std::int64_t width = std::ranges::any_of(own.iters, is_last) ? width_of(own, *last) : 1;
    while (width > 1 && width * byte_size(own.body.buffer->dtype) > 16)
      width /= 2;
    if (width * byte_size(own.body.buffer->dtype) < 4)
      width = 1;
    put_in_order(s, loops.spatial);
    auto [grid, thread, element] = s.split<3>(fuse_all(s, loops.spatial), {infer, threads, width});
    s.bind(grid, Axis::block_x);
    s.bind(thread, Axis::thread_x);
    if (width > 1)
      s.vectorize(element);
    made = {block, grid, thread, width > 1 ? std::optional(element) : std::nullopt};
  });
  return made;
}

Transpose transpose(Schedule &schedule, BlockRef block) {
  Transpose made;
  change(schedule, [&](Schedule &s) {
    const Block own = block_of(s, block);
    if (own.reduces())
      refuse("transpose", block, "reduces; use library::reduction");
    Loops loops = loops_of("transpose", s, block);
    std::vector<const Load *> loads = loads_of(own);
    const Var *to = neighbours(own.body.indices, own.iters, bounds_of(own));
    const Var *from = loads.size() == 1 ? neighbours(loads[0]->indices, own.iters, bounds_of(own)) : nullptr;
    const bool crosses = to && from && *to != *from &&
                         std::ranges::any_of(loads[0]->indices, [&](const Expr &e) { return uses(e, *to); });
    if (!crosses) // such as a row that is read again for each column
      refuse("transpose", block,
             "does not read one buffer along another axis than it writes along; use "
             "library::elementwise");
    auto loop_of = [&](const Var &axis) {
      return Loop{*std::ranges::find(own.iters, axis, &IterVar::var)->binding.as<Var>()};
    };
    Loop row = loop_of(*from), column = loop_of(*to);
    std::vector<Loop> others = loops.spatial;
    std::erase_if(others, [&](const Loop &loop) { return loop.var == row.var || loop.var == column.var; });
    s.reorder(concatenated({others, {row, column}}));
    std::optional<Loop> batch;
    if (!others.empty())
      batch = fuse_all(s, others);
    s.axes_from_loops(block);
    constexpr std::int64_t side = 32;
    auto [row_block, row_inside] = s.split<2>(row, {infer, side});
    auto [column_block, column_inside] = s.split<2>(column, {infer, side});
    std::vector<Loop> grid =
        concatenated({batch ? std::vector{*batch} : std::vector<Loop>{}, {row_block, column_block}});
    s.reorder(concatenated({grid, {row_inside, column_inside}}));
    Loop tile = fuse_all(s, grid);
    BlockRef copy = s.reindex_cache_read(block, loads[0]->buffer->name, Scope::shared);
    s.compute_at(copy, tile);
    s.bind(tile, Axis::block_x);
    auto share = [&](Loop outer, Loop inner) {
      auto [round, thread] = s.split<2>(s.fuse(outer, inner), {infer, threads});
      s.bind(thread, Axis::thread_x);
      s.unroll(round);
      return std::array{thread, round};
    };
    const auto [thread, element] = share(row_inside, column_inside);
    std::vector<Loop> of_copy = s.loops_below(copy, tile); // rows are neighbours in the buffer
    Loop copied_row = of_copy[of_copy.size() - 2], copied_column = of_copy.back();
    s.reorder({copied_column, copied_row});
    const auto [tile_thread, tile_element] = share(copied_column, copied_row);
    s.storage_align(copy, batch ? 1 : 0, 32, 1);
    made = {block, copy, tile, thread, element, tile_thread, tile_element};
  });
  return made;
}

/// Whether a result has at most `most` terms, for all sizes.
static bool has_few_terms(const Schedule &s, const Loops &loops, std::int64_t most) {
  std::int64_t terms = 1;
  for (const Loop &loop : loops.reduction) {
    const std::optional<std::int64_t> extent = known_extent(s, loop);
    if (!extent || __builtin_mul_overflow(terms, *extent, &terms))
      return false;
  }
  return terms <= most;
}

Reduction reduction(Schedule &schedule, BlockRef block) {
  const Block own = block_of(schedule, block);
  if (!own.reduces())
    refuse("reduction", block, "does not reduce; use library::elementwise");
  const Loops loops = loops_of("reduction", schedule, block);
  const Load *input = largest_input(own);
  const Var *along = input ? neighbours(input->indices, own.iters, bounds_of(own)) : nullptr;
  Reduction made;
  auto attempt = [&](const std::function<Reduction(Schedule &)> &f) {
    return is_changed(schedule, [&](Schedule &s) { made = f(s); });
  };
  std::vector<std::int64_t> widths; // of the accesses of a thread, if threads share the terms of a result
  if (!along) {
    if (!has_few_terms(schedule, loops, most_of_thread))
      widths = {1};
  } else if (const IterVar &axis = *std::ranges::find(own.iters, *along, &IterVar::var); !axis.is_summed()) {
    const Loop loop{*axis.binding.as<Var>()};
    if (!has_few_terms(schedule, loops, most_of_thread) &&
        attempt([&](Schedule &s) { return reduce_across_terms(s, block, loops, loop); }))
      return made;
  } else if (*axis.binding.as<Var>() == loops.reduction.back().var &&
             !has_few_terms(schedule, loops, few_of_thread)) {
    widths = {width_of_inputs(own, axis), 1};
  }
  for (std::int64_t width : widths)
    if (attempt([&](Schedule &s) { return reduce_along_terms(s, block, loops, width); }))
      return made;
  fallback(schedule, block);
  return handles_of(schedule, block, block, own.body.buffer->name);
}

Fallback fallback(Schedule &schedule, BlockRef block) {
  const Loops loops = loops_of("fallback", schedule, block);
  Fallback made{block, block, {}, {}, loops.reduction};
  if (loops.spatial.empty())
    return made; // one thread computes it
  auto made_of = [&](const std::optional<BlockRef> &stored, Loop grid, Loop thread) {
    made.result = stored.value_or(block);
    made.blocks = grid;
    made.threads = thread;
  };
  auto by_threads = [&](Schedule &s, bool registers) {
    put_in_order(s, concatenated({loops.spatial, loops.reduction}));
    std::optional<BlockRef> stored = registers ? in_registers(s, block) : std::nullopt;
    auto [grid, thread] = s.split<2>(fuse_all(s, loops.spatial), {infer, threads});
    if (stored)
      s.reverse_compute_at(*stored, thread);
    s.bind(grid, Axis::block_x);
    s.bind(thread, Axis::thread_x);
    made_of(stored, grid, thread);
  };
  auto by_axis = [&](Schedule &s, bool registers) {
    // The last loop with a warp of iterations, or the longest one.
    auto length = [&](const Loop &loop) { return std::min(warp_size, extent_or(s, loop, warp_size)); };
    const Loop last = *std::ranges::max_element(loops.spatial.rbegin(), loops.spatial.rend(), {}, length);
    std::vector<Loop> grid = loops.spatial;
    std::erase_if(grid, [&](const Loop &loop) { return loop.var == last.var; });
    put_in_order(s, concatenated({grid, {last}, loops.reduction}));
    std::optional<BlockRef> stored = registers ? in_registers(s, block) : std::nullopt;
    auto [outer, thread] = s.split<2>(last, {infer, std::min(threads, extent_or(s, last, threads))});
    if (stored)
      s.reverse_compute_at(*stored, thread);
    grid.push_back(outer);
    const Loop blocks = fuse_all(s, grid);
    s.bind(blocks, Axis::block_x);
    s.bind(thread, Axis::thread_x);
    made_of(stored, blocks, thread);
  };
  auto attempt = [&](auto &way, bool registers) {
    return is_changed(schedule, [&](Schedule &s) { way(s, registers); });
  };
  // The last threads of several axes have no box of results, and those of axes with sizes have no guard.
  const bool reduces = !loops.reduction.empty();
  if ((reduces && (attempt(by_threads, true) || attempt(by_axis, true))) || attempt(by_threads, false))
    return made;
  change(schedule, [&](Schedule &s) { by_axis(s, false); });
  return made;
}

/// Whether the stages are those of `rows::in_registers`: reductions of rows and, as the last one, a result for
/// each element, of constant extents.
static bool is_of_rows(const Program &program) {
  const std::vector<const Block *> blocks = blocks_of(program.body);
  const Block &result = *blocks.back();
  if (blocks.size() < 2 || !blocks.front()->reduces() || result.reduces() || result.iters.size() != 2)
    return false;
  const Expr &rows = result.iters[0].extent, &columns = result.iters[1].extent;
  if (!as_int(rows) || as_int(columns).value_or(0) < warp_size) // shorter rows leave lanes of a warp idle
    return false;
  auto is_row = [](const Block &block, const Load *access) { // with the axes of the block as they are
    return std::ranges::equal(access->indices, block.iters, [](const Expr &index, const IterVar &iter) {
      return same(index, Expr(iter.var));
    });
  };
  const std::vector<const Load *> read = loads_of(*blocks.front());
  if (std::ranges::none_of(read, [&](const Load *access) { return is_row(*blocks.front(), access); }))
    return false;
  return std::ranges::all_of(blocks, [&](const Block *block) {
    const std::size_t axes = block->iters.size();
    const bool summed = axes == 2 && block->iters[1].is_summed();
    return (axes == 1 || (axes == 2 && !block->iters[0].is_summed())) && block->reduces() == summed &&
           same(block->iters[0].extent, rows) && (axes == 1 || same(block->iters[1].extent, columns)) &&
           (block->body.buffer->role == Role::temporary) == (block != &result);
  });
}

/// The schedule of a program of rows, such as a softmax, that reads each row once; none for other programs.
static std::optional<Schedule> schedule_of_rows(const Program &program, const Target &target) {
  if (!is_of_rows(program))
    return std::nullopt;
  try {
    const Shape shape(constant_shape(blocks_of(program.body).back()->body.buffer));
    Knobs knobs;
    return rows::in_registers(program, shape, target, knobs);
  } catch (const UserError &) { // such as one whose reads have masks
    return std::nullopt;
  }
}

Schedule schedule(Program program, Target target, std::vector<std::string> *refused) {
  if (std::optional<Schedule> of_rows = schedule_of_rows(program, target))
    return *std::move(of_rows);
  Schedule s(std::move(program), std::move(target));
  std::string why; // the last attempt failed
  auto tried = [&](auto &&function, BlockRef block) {
    try {
      function(s, block);
      return true;
    } catch (const UserError &error) {
      why = first_line(error);
      return false;
    }
  };
  std::vector<BlockRef> products;
  for (const Block *block : blocks_of(s.program().body))
    if (block->reduces() && is_product_of_matrices(s, {block->id}))
      products.push_back({block->id});
    else if (const std::string reason = why_no_product(s, {block->id}); refused && !reason.empty())
      refused->push_back(reason);
  for (const BlockRef &block : products) {
    why.clear();
    tried([&](Schedule &to, BlockRef sum) { why = product(to, sum).without_units; }, block);
    if (refused && !why.empty())
      refused->push_back(why);
  }
  std::vector<BlockRef> stages;
  for (const Stmt &nest : nests_of(s.program().body))
    if (const Block *block = blocks_of(nest).front(); blocks_of(nest).size() == 1)
      stages.push_back({block->id});
  for (const BlockRef &block : stages)
    if (const Block *own = find_block(s.program().body, block.id);
        own && !own->reduces() && own->body.buffer->role == Role::temporary)
      is_changed(s, [&](Schedule &to) { to.compute_inline(block); }); // or a kernel
  for (const BlockRef &block : stages) {
    const Block *own = find_block(s.program().body, block.id);
    if (!own)
      continue;
    if (own->reduces() ? tried(reduction, block) : tried(transpose, block) || tried(elementwise, block))
      continue;
    fallback(s, block);
  }
  return s;
}

} // namespace nestsmith::library
