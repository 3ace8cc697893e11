#include "schedules/library/program.h"

#include "schedules/library/accesses.h"
#include "schedules/library/parts.h"
#include "schedules/library/product.h"

#include "dsl/expr/error.h"
#include "dsl/ir/allocation.h"

#include <algorithm>
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

/// Applies `f` to a copy, so that the schedule stays as it is if `f` throws.
void change(Schedule &s, const std::function<void(Schedule &)> &f) {
  Schedule copy = s;
  f(copy);
  s = std::move(copy);
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

std::vector<Loop> joined(std::vector<Loop> a, const std::vector<Loop> &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

void put_in_order(Schedule &s, const std::vector<Loop> &loops) {
  if (loops.size() > 1)
    s.reorder(loops);
}

/// Keeps the result in registers, if it goes to global memory, and returns the block that stores it.
std::optional<BlockRef> in_registers(Schedule &s, BlockRef block) {
  const Buffer &buffer = block_of(s, block).body.buffer;
  if (buffer->scope != Scope::global || buffer->role == Role::inout)
    return std::nullopt;
  return s.cache_write(block, Scope::local);
}

/// Whether the reduction reads neighbours along its last axis, in the input that depends on the most axes.
bool reads_along_terms(const Block &block) {
  const Load *largest = nullptr;
  auto axes_in = [&](const Load *access) {
    return std::ranges::count_if(block.iters, [&](const IterVar &iter) {
      return std::ranges::any_of(access->indices, [&](const Expr &index) { return uses(index, iter.var); });
    });
  };
  for (const Load *access : loads_of(block))
    if (access->buffer != block.body.buffer && (!largest || axes_in(access) > axes_in(largest)))
      largest = access;
  const Var *axis = largest ? neighbours(largest->indices, block.iters, bounds_of(block)) : nullptr;
  return axis && block.iters.back().is_summed() && block.iters.back().var == *axis;
}

} // namespace

void elementwise(Schedule &schedule, BlockRef block) {
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
  });
}

void transpose(Schedule &schedule, BlockRef block) {
  change(schedule, [&](Schedule &s) {
    const Block own = block_of(s, block);
    if (own.reduces())
      refuse("transpose", block, "reduces; use library::reduction");
    Loops loops = loops_of("transpose", s, block);
    std::vector<const Load *> loads = loads_of(own);
    const Var *to = neighbours(own.body.indices, own.iters, bounds_of(own));
    const Var *from = loads.size() == 1 ? neighbours(loads[0]->indices, own.iters, bounds_of(own)) : nullptr;
    if (!to || !from || *to == *from)
      refuse("transpose", block,
             "does not read one buffer along another axis than it writes along; use "
             "library::elementwise");
    auto loop_of = [&](const Var &axis) {
      return Loop{*std::ranges::find(own.iters, axis, &IterVar::var)->binding.as<Var>()};
    };
    Loop row = loop_of(*from), column = loop_of(*to);
    std::vector<Loop> others = loops.spatial;
    std::erase_if(others, [&](const Loop &loop) { return loop.var == row.var || loop.var == column.var; });
    s.reorder(joined(others, {row, column}));
    std::optional<Loop> batch;
    if (!others.empty())
      batch = fuse_all(s, others);
    s.axes_from_loops(block);
    constexpr std::int64_t side = 32;
    auto [row_block, row_inside] = s.split<2>(row, {infer, side});
    auto [column_block, column_inside] = s.split<2>(column, {infer, side});
    std::vector<Loop> grid =
        joined(batch ? std::vector{*batch} : std::vector<Loop>{}, {row_block, column_block});
    s.reorder(joined(grid, {row_inside, column_inside}));
    Loop tile = fuse_all(s, grid);
    BlockRef copy = s.reindex_cache_read(block, loads[0]->buffer->name, Scope::shared);
    s.compute_at(copy, tile);
    s.bind(tile, Axis::block_x);
    auto share = [&](Loop outer, Loop inner) {
      auto [round, thread] = s.split<2>(s.fuse(outer, inner), {infer, threads});
      s.bind(thread, Axis::thread_x);
      s.unroll(round);
    };
    share(row_inside, column_inside);
    std::vector<Loop> of_copy = s.loops_below(copy, tile); // rows are neighbours in the buffer
    Loop copied_row = of_copy[of_copy.size() - 2], copied_column = of_copy.back();
    s.reorder({copied_column, copied_row});
    share(copied_column, copied_row);
    s.storage_align(copy, batch ? 1 : 0, 32, 1);
  });
}

void reduction(Schedule &schedule, BlockRef block) {
  change(schedule, [&](Schedule &s) {
    if (!block_of(s, block).reduces())
      refuse("reduction", block, "does not reduce; use library::elementwise");
    Loops loops = loops_of("reduction", s, block);
    if (!reads_along_terms(block_of(s, block)))
      return fallback(s, block);
    put_in_order(s, joined(loops.spatial, loops.reduction));
    Loop terms = loops.reduction.back();
    auto extent = as_int(find_loop(s.program().body, terms.var)->extent);
    std::int64_t shared_by = !extent || *extent > 1024 ? threads : 32;
    if (!loops.spatial.empty()) // one result is that of one block
      s.bind(fuse_all(s, loops.spatial), Axis::block_x);
    auto [step, thread] = s.split<2>(terms, {infer, shared_by});
    s.reduce_across(thread, Axis::thread_x); // one thread stores the result
  });
}

void fallback(Schedule &schedule, BlockRef block) {
  change(schedule, [&](Schedule &s) {
    Loops loops = loops_of("fallback", s, block);
    if (loops.spatial.empty())
      return; // one thread computes it
    put_in_order(s, joined(loops.spatial, loops.reduction));
    std::optional<BlockRef> stored = loops.reduction.empty() ? std::nullopt : in_registers(s, block);
    auto [grid, thread] = s.split<2>(fuse_all(s, loops.spatial), {infer, threads});
    if (stored)
      s.reverse_compute_at(*stored, thread);
    s.bind(grid, Axis::block_x);
    s.bind(thread, Axis::thread_x);
  });
}

Schedule schedule(Program program, Target target) {
  Schedule s(std::move(program), std::move(target));
  auto tried = [&](auto &&function, BlockRef block) {
    try {
      function(s, block);
      return true;
    } catch (const UserError &) {
      return false;
    }
  };
  std::vector<BlockRef> reductions;
  for (const Block *block : blocks_of(s.program().body))
    if (block->reduces())
      reductions.push_back({block->id});
  for (const BlockRef &block : reductions)
    tried([](Schedule &to, BlockRef sum) { product(to, sum); }, block);
  std::vector<BlockRef> stages;
  for (const Stmt &nest : nests_of(s.program().body))
    if (const Block *block = blocks_of(nest).front(); blocks_of(nest).size() == 1)
      stages.push_back({block->id});
  for (const BlockRef &block : stages)
    if (const Block *own = find_block(s.program().body, block.id);
        own && !own->reduces() && own->body.buffer->role == Role::temporary)
      tried([](Schedule &to, BlockRef stage) { to.compute_inline(stage); }, block);
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
