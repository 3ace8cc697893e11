#include "dsl/schedule/primitives/cut.h"

#include "dsl/expr/expr_text.h"
#include "dsl/schedule/primitives/edit.h"
#include "dsl/schedule/primitives/loop_names.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace nestsmith {

namespace {

constexpr std::size_t most_points = 15;

/// The first iteration of each part, and the extent of the loop.
std::vector<Expr> bounds_of_parts(const Schedule::Edit &edit, const For &loop,
                                  const std::vector<std::int64_t> &points) {
  const std::string &name = loop.var->name;
  if (points.empty() || points.size() > most_points)
    edit.refuse("cut.points", fmt::format("got {} points, expected 1 to {}", points.size(), most_points),
                {name});
  Bounds bounds = loop_bounds(edit.body());
  std::vector<Expr> ends{Expr(0)};
  for (std::int64_t point : points)
    ends.push_back(point > 0 ? Expr(point) : simplify(loop.extent + Expr(point), bounds));
  ends.push_back(loop.extent);
  std::string iterations = as_int(loop.extent)
                               ? to_string(loop.extent)
                               : fmt::format("{}, which depends on sizes", to_string(loop.extent));
  for (std::size_t n = 0; n < points.size(); ++n) {
    // A point of 0 is the start of the loop, and not its end.
    bool inside =
        points[n] != 0 && proves(Expr(1) <= ends[n + 1], bounds) && proves(ends[n + 1] < loop.extent, bounds);
    if (!inside)
      edit.refuse("cut.points",
                  fmt::format("the point {} is not inside of the loop {} for all sizes: the number of "
                              "iterations is {}; choose points from 1 on and below it, or negative ones that "
                              "count from the end, or state a larger minimum of the size",
                              points[n], name, iterations),
                  {name});
    if (!proves(ends[n] < ends[n + 1], bounds))
      edit.refuse("cut.points",
                  fmt::format("the point {} is not after the point {} for all sizes, so the part between them "
                              "may have no iterations of {}, whose number is {}; state the points in ascending "
                              "order",
                              points[n], points[n - 1], name, iterations),
                  {name});
  }
  return ends;
}

/// The init of a sum over the loop would set elements again that an earlier part began.
[[noreturn]] void refuse_init(const Schedule::Edit &edit, const Block &block, const For &loop) {
  edit.refuse("cut.init",
              fmt::format("block {0} sums over {1}, and in a later part of {1} its init would set elements "
                          "again that an earlier part may have begun; use decompose_reduction first",
                          block.id->name, loop.var->name),
              {loop.var->name, block.id->name});
}

void check_inits(const Schedule::Edit &edit, const For &loop) {
  for (const Block *block : blocks_of(loop.body)) {
    bool elements = std::ranges::any_of(
        block->iters, [&](const IterVar &iter) { return !iter.is_summed() && uses(iter.binding, loop.var); });
    if (block->init && elements && is_loop_of_sum(*block, loop.var))
      refuse_init(edit, *block, loop);
  }
}

/// The temporaries that only blocks below the loop use. Each iteration of the loop writes the elements that it
/// reads: a temporary is complete before its readers, so it is no sum over the loop.
std::vector<Buffer> temporaries_below(const Schedule::Edit &edit, const For &loop) {
  std::vector<Buffer> below = temporaries(edit.program());
  std::erase_if(below, [&](const Buffer &buffer) {
    return std::ranges::any_of(blocks_of(edit.body()), [&](const Block *block) {
      bool outside = !find_block(loop.body, block->id);
      return touches(*block, buffer) &&
             (outside || (block->body.buffer == buffer && is_loop_of_sum(*block, loop.var)));
    });
  });
  return below;
}

/// Makes the statements of one part, with loops, blocks and temporaries of its own.
class PartCopy {
public:
  PartCopy(Schedule::Edit &edit, std::string suffix) : edit_(edit), suffix_(std::move(suffix)) {}

  Stmt of(const Stmt &body, const std::vector<Buffer> &temporaries) {
    Stmt result = copy_of(body);
    for (const Buffer &buffer : temporaries) {
      auto copy = std::make_shared<BufferNode>(*buffer);
      copy->name = named_like(buffer->name);
      result = replace_buffer(result, buffer, copy);
    }
    return result;
  }

private:
  /// A block and the temporary that it writes have the same name.
  const std::string &named_like(const std::string &name) {
    auto [known, first] = names_.try_emplace(name);
    if (first)
      known->second = edit_.name(name + suffix_);
    return known->second;
  }

  const BlockId &block_like(const BlockId &id) {
    auto [known, first] = blocks_.try_emplace(id.get());
    if (first)
      known->second = std::make_shared<const BlockSymbol>(
          BlockSymbol{named_like(id->name), nullptr, id->where, id->part_of ? id->part_of : id});
    return known->second;
  }

  Stmt copy_of(const Stmt &stmt) {
    if (const auto *block = as<Block>(stmt)) {
      Block copy = *block;
      copy.id = block_like(block->id);
      return make_block(std::move(copy));
    }
    const auto *loop = as<For>(stmt);
    if (!loop)
      return map_children(stmt, [&](const Stmt &child) { return copy_of(child); });
    For copy = *loop;
    copy.var = copied_loop(edit_, loop->var, suffix_);
    loops_[loop->var] = copy.var;
    if (!loop->pipeline().empty()) {
      std::vector<BlockStage> stages = loop->pipeline();
      for (BlockStage &stage : stages)
        stage.block = block_like(stage.block);
      copy = with_pipeline(std::move(copy), std::move(stages));
    }
    if (auto outer = loops_.find(loop->reversed_by()); loop->reversed_by() && outer != loops_.end())
      std::get<Unrolled>(copy.form).reversed_by = outer->second;
    copy.body = substitute_loops(copy_of(loop->body),
                                 [&](const Var &var) { return var == loop->var ? Expr(copy.var) : Expr(); });
    return make_for(std::move(copy));
  }

  Schedule::Edit &edit_;
  std::string suffix_;
  std::map<std::string, std::string> names_;
  std::map<const BlockSymbol *, BlockId> blocks_;
  std::map<Var, Var> loops_;
};

/// Drops the inits of the sums over the loop in a part after the first: the sums have begun.
Stmt without_begun_inits(const Schedule::Edit &edit, const Stmt &stmt, const For &part, const Bounds &bounds) {
  const auto *block = as<Block>(stmt);
  if (!block)
    return map_children(stmt,
                        [&](const Stmt &child) { return without_begun_inits(edit, child, part, bounds); });
  if (!block->init || !is_loop_of_sum(*block, part.var))
    return stmt;
  bool begun = std::ranges::any_of(block->iters, [&](const IterVar &iter) {
    Expr first = iter.first.exists() ? iter.first : Expr(0);
    return iter.is_summed() && proves(in_loops(first, *block, bounds) < iter.binding, bounds);
  });
  if (!begun)
    refuse_init(edit, *block, part);
  Block copy = *block;
  copy.init.reset();
  return make_block(std::move(copy));
}

} // namespace

constinit const Primitive primitives::cut =
    primitive<Method<std::vector<Loop>, Loop, std::vector<std::int64_t>>{&Schedule::cut}>(
        "cut", {loop("loop"), points("points", "loop")});

std::vector<Loop> Schedule::cut(Loop handle, std::vector<std::int64_t> points, Caller caller) {
  Edit edit(*this, caller, primitives::cut, handle, points);
  const For &loop = edit.loop(handle);
  edit.require_serial("cut.serial", loop);
  edit.require_no_pipeline_around("cut.pipeline", loop, fmt::format("cut {} before it", loop.var->name));
  check_inits(edit, loop);
  std::vector<Expr> ends = bounds_of_parts(edit, loop, points);

  Bounds bounds = loop_bounds(edit.body());
  std::vector<Buffer> temporaries = temporaries_below(edit, loop);
  std::vector<For> parts;
  std::vector<Stmt> nests;
  for (std::size_t n = 0; n + 1 < ends.size(); ++n) {
    std::string suffix = fmt::format("_part{}", n);
    Var var = part_of_loop(edit, loop.var, suffix, n);
    Stmt body = n == 0 ? loop.body : PartCopy(edit, suffix).of(loop.body, temporaries);
    body = substitute_loops(body, [&](const Var &x) { return x == loop.var ? Expr(var) + ends[n] : Expr(); });
    parts.push_back({var, simplify(ends[n + 1] - ends[n], bounds), Serial{}, body});
    nests.push_back(make_for(parts.back()));
  }
  bounds = loop_bounds(make_seq({edit.body(), make_seq(nests)}));
  std::vector<Loop> handles;
  std::vector<std::string> names;
  for (std::size_t n = 0; n < parts.size(); ++n) {
    For &part = parts[n];
    part.body = refresh_bindings(part.body, bounds);
    if (n > 0)
      part.body = without_begun_inits(edit, part.body, part, bounds);
    nests[n] = make_for(part);
    handles.push_back({part.var});
    names.push_back(part.var->name);
  }
  edit.commit(edit.replace_loop(loop, make_seq(nests)), names);
  return handles;
}

} // namespace nestsmith
