#include "dsl/ir/executed_tiles.h"

#include "dsl/expr/error.h"
#include "dsl/ir/region.h"
#include "dsl/ir/skip_tiles.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace nestsmith {

namespace {

class Numbers {
public:
  Numbers(const Program &program, GuardsOfResults guards)
      : program_(program), guards_(guards), bounds_(loop_bounds(program.body)) {
    walk(program.body, [&](const Stmt &stmt) {
      if (const auto *loop = as<For>(stmt); loop && loop->skipping())
        add(*loop);
      return true;
    });
  }

  bool any() const { return !tiles_.empty(); }
  const Bounds &bounds() const { return bounds_; }

  /// The binding over the numbers of tiles.
  Expr binding(const Block &block, const IterVar &axis) const {
    Expr binding = axis.binding;
    for (const auto &[loop, tile] : tiles_)
      if (find_block(loop->body, block.id) &&
          std::ranges::find(tile.lasting, block.id, &Block::id) == tile.lasting.end())
        binding = simplify(substitute(binding, tile.values), bounds_);
    return binding;
  }

  Stmt rewrite(const Stmt &stmt) const {
    const auto *block = as<Block>(stmt);
    if (!block)
      return map_children(stmt, [&](const Stmt &child) { return rewrite(child); });
    Block copy = *block;
    for (IterVar &axis : copy.iters) {
      Expr binding = this->binding(*block, axis);
      if (!same(binding, axis.binding) && axis.guarded)
        axis.guarded = !proves(Expr(0) <= binding, bounds_) || !proves(binding < axis.extent, bounds_);
      axis.binding = std::move(binding);
    }
    return make_block(std::move(copy));
  }

private:
  struct Tile {
    std::map<Var, Expr> values; ///< of the loops of waves and of blocks
    std::vector<const Block *> lasting;
  };

  void add(const For &loop) {
    auto tail = skipped_tail(program_, loop, condition_of_iteration(program_, loop));
    if (!tail)
      return;
    Var number = make_var("tile");
    bounds_.set(number, {0, tail->tiles - 1});
    tiles_.emplace_back(&loop, Tile{{{loop.var, floordiv(Expr(number), Expr(tail->blocks))},
                                     {tail->block->var, floormod(Expr(number), Expr(tail->blocks))}},
                                    guards_ == GuardsOfResults::stay ? lasting_blocks(program_, loop)
                                                                     : std::vector<const Block *>()});
  }

  const Program &program_;
  GuardsOfResults guards_;
  Bounds bounds_;
  std::vector<std::pair<const For *, Tile>> tiles_;
};

} // namespace

ExecutedTiles over_executed_tiles(const Program &program, GuardsOfResults guards) {
  const Numbers numbers(program, guards);
  ExecutedTiles result{program, numbers.bounds()};
  if (numbers.any())
    result.program.body = numbers.rewrite(program.body);
  return result;
}

static Stmt with_bindings_of(const Stmt &stmt, const Program &original) {
  const auto *block = as<Block>(stmt);
  if (!block)
    return map_children(stmt, [&](const Stmt &child) { return with_bindings_of(child, original); });
  const Block *before = find_block(original.body, block->id);
  internal_check(before && before->iters.size() == block->iters.size(), "a block has lost its axes");
  if (std::ranges::equal(block->iters, before->iters, same, &IterVar::binding, &IterVar::binding))
    return stmt;
  Block copy = *block;
  for (std::size_t n = 0; n < copy.iters.size(); ++n)
    copy.iters[n].binding = before->iters[n].binding;
  return make_block(std::move(copy));
}

Program with_bindings_of(const Program &program, const Program &original) {
  Program result = program;
  result.body = with_bindings_of(program.body, original);
  return result;
}

bool ends_inside(const ExecutedTiles &tiles, const Block &block, const IterVar &axis) {
  const Block *same = find_block(tiles.program.body, block.id);
  internal_check(same != nullptr, "the block is in the program");
  const auto of_tile = std::ranges::find(same->iters, axis.var, &IterVar::var);
  return of_tile != same->iters.end() && proves(of_tile->binding < axis.extent, tiles.bounds);
}

} // namespace nestsmith
