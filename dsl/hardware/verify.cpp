#include "dsl/hardware/verify.h"

#include "dsl/expr/expr_text.h"
#include "dsl/expr/simplify.h"
#include "dsl/hardware/vector_access.h"
#include "dsl/ir/atomics.h"
#include "dsl/ir/executed_tiles.h"
#include "dsl/ir/parts.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace nestsmith {

namespace {

/// The blocks of a verified program, each with the loops around it.
class Verified {
public:
  explicit Verified(const Program *program) {
    if (program)
      find(program->body, nowhere);
  }

  /// Whether the verified program has the block in loops with the same variables and extents.
  bool holds(const Block &block, const std::vector<const For *> &around) const {
    auto known = std::find_if(blocks_.begin(), blocks_.end(), [&](const auto &x) { return x.first == &block; });
    if (known == blocks_.end())
      return false;
    std::size_t at = known->second;
    for (auto loop = around.rbegin(); loop != around.rend(); ++loop, at = levels_[at].around)
      if (at == nowhere || levels_[at].loop->var != (*loop)->var ||
          levels_[at].loop->extent.get() != (*loop)->extent.get())
        return false;
    return at == nowhere;
  }

private:
  static constexpr std::size_t nowhere = ~std::size_t{0};
  struct Level {
    const For *loop;
    std::size_t around; ///< the level of the loop around it
  };

  void find(const Stmt &stmt, std::size_t around) {
    visit(stmt, Overloaded{
                    [&](const For &loop) {
                      levels_.push_back({&loop, around});
                      find(loop.body, levels_.size() - 1);
                    },
                    [&](const Seq &seq) {
                      for (const Stmt &child : seq.stmts)
                        find(child, around);
                    },
                    [&](const Block &block) { blocks_.emplace_back(&block, around); },
                });
  }

  std::vector<Level> levels_;
  /// Each block with the level of its innermost loop.
  std::vector<std::pair<const Block *, std::size_t>> blocks_;
};

class Verifier {
public:
  Verifier(const Program &program, const Program *verified) : program_(program), verified_(verified) {}

  std::optional<std::string> run() {
    if (const For *loop = crowded_lanes(program_))
      fail("loop {} is {}, but does not contain one block in the serial loops of its nest", loop->var->name,
           name(loop->form));
    visit_stmt(program_.body);
    for (std::size_t n = 0; n < writers_.size(); ++n)
      check_writers(n);
    return breach_;
  }

private:
  template <class... Args> void fail(fmt::format_string<Args...> format, Args &&...args) {
    if (!breach_)
      breach_ = fmt::format(format, std::forward<Args>(args)...);
  }

  void visit_stmt(const Stmt &stmt) {
    visit(stmt, Overloaded{
                    [&](const For &loop) {
                      auto constant = as_int(loop.extent);
                      auto range = constant ? Range{*constant, *constant} : range_of(loop.extent, {});
                      if (!range || range->low < 1)
                        fail("loop {} has the extent {}", loop.var->name, to_string(loop.extent));
                      bool open = loop.is<Serial>() || (loop.axis() && !is_thread(*loop.axis()));
                      if (!constant && !open)
                        fail("loop {} has the extent {}, which is no constant, and is {}", loop.var->name,
                             to_string(loop.extent), loop.axis() ? name(*loop.axis()) : "unrolled");
                      if (is_around(loop.var))
                        fail("loop {} encloses itself", loop.var->name);
                      around_.push_back(&loop);
                      visit_stmt(loop.body);
                      around_.pop_back();
                    },
                    [&](const Seq &seq) {
                      for (const Stmt &child : seq.stmts)
                        visit_stmt(child);
                    },
                    [&](const Block &block) { visit_block(block); },
                });
  }

  bool is_around(const Var &var) const {
    return std::any_of(around_.begin(), around_.end(), [&](const For *loop) { return loop->var == var; });
  }

  void visit_block(const Block &block) {
    if (!verified_.holds(block, around_))
      check_block(block);
    for (const Load *access : loads_of(block))
      if (access->buffer->role == Role::temporary && access->buffer != block.body.buffer &&
          !is_written(access->buffer) && !is_param(access->buffer))
        fail("block {} reads {} before it is written", block.id->name, access->buffer->name);
    writers_.push_back(&block);
  }

  /// Checks the invariants of a block that do not depend on other blocks.
  void check_block(const Block &block) {
    Bounds bounds;
    for (const For *loop : around_)
      bounds.set_extent(loop->var, loop->extent);
    std::set<Var> inside(program_.scalars.begin(), program_.scalars.end());
    inside.insert(program_.sizes.begin(), program_.sizes.end());
    for (const IterVar &iter : block.iters) {
      inside.insert(iter.var);
      check_binding(block, iter, bounds);
      check_first(block, iter);
    }
    auto check_body = [&](const Expr &e) {
      walk(e, [&](const Expr &node) {
        if (const Var *var = node.as<Var>(); var && !inside.count(*var))
          fail("block {} uses {}, which is neither its own variable nor a scalar", block.id->name,
               (*var)->name);
      });
    };
    auto check_store = [&](const Store &store) {
      for (const Expr &index : store.indices)
        check_body(index);
      check_body(store.value);
    };
    check_store(block.body);
    if (block.init)
      check_store(*block.init);
    check_sum(block);
  }

  /// A directive may take a sum apart: it relies on this form.
  void check_sum(const Block &block) {
    const std::string &name = block.id->name;
    bool sums = block.reduces();
    if (block.atomic && (!sums || block.init || !has_atomic(block.reducer, block.body.buffer->dtype)))
      fail("block {} combines by atomics, but is no update by a reducer that has atomic operations", name);
    if (!sums && block.init)
      fail("block {} has an init, but no reduction axis", name);
    if (!sums)
      return;
    auto check_axes = [&](const Expr &e, const char *what) {
      for (const IterVar &iter : block.iters)
        if (iter.is_summed() && uses(e, iter.var))
          fail("{} of block {} uses the reduction axis {}", what, name, iter.var->name);
    };
    for (const Expr &index : block.body.indices)
      check_axes(index, "the store");
    auto term = term_of(block);
    if (!term)
      fail("block {} has a reduction axis, but its value {} is not {}", name, to_string(block.body.value),
           block.reducer == Reducer::sum ? std::string("the element that it stores to plus a term")
                                         : fmt::format("the {} of the element that it stores to and a term",
                                                       nestsmith::name(block.reducer)));
    else if (any_node(*term, [&](const Expr &e) {
               const auto *access = e.as<Load>();
               return access && access->buffer == block.body.buffer;
             }))
      fail("the sum of block {} has a term that reads {}, which the sum overwrites", name,
           block.body.buffer->name);
    if (!block.init)
      return;
    if (block.init->buffer != block.body.buffer ||
        !std::ranges::equal(block.init->indices, block.body.indices, same))
      fail("the init of block {} stores to another element than its sum", name);
    check_axes(block.init->value, "the init");
  }

  bool is_written(const Buffer &buffer) const {
    return std::any_of(writers_.begin(), writers_.end(),
                       [&](const Block *block) { return block->body.buffer == buffer; });
  }
  bool is_param(const Buffer &buffer) const {
    return std::find(program_.params.begin(), program_.params.end(), buffer) != program_.params.end();
  }

  const ExecutedTiles &executed_tiles() {
    if (!tiles_)
      tiles_ = over_executed_tiles(program_);
    return *tiles_;
  }

  void check_binding(const Block &block, const IterVar &iter, const Bounds &bounds) {
    walk(iter.binding, [&](const Expr &node) {
      if (const Var *var = node.as<Var>(); var && !is_around(*var) && !(*var)->size)
        fail("block {} binds {} to {}, which is not a loop around it", block.id->name, iter.var->name,
             (*var)->name);
      if (node.as<Load>() || node.as<Select>())
        fail("block {} binds {} to an expression that is not quasi-affine", block.id->name, iter.var->name);
    });
    auto range = range_of(iter.binding, bounds);
    if (!range)
      return fail("block {} binds {} to a value of unknown range", block.id->name, iter.var->name);
    if (range->low < 0 && !iter.guarded)
      fail("block {} binds {} below 0, without a guard", block.id->name, iter.var->name);
    auto extent = as_int(iter.extent);
    if (!(iter.guarded || (extent ? range->high < *extent : proves(iter.binding < iter.extent, bounds)) ||
          ends_inside(executed_tiles(), block, iter)))
      fail("block {} binds {} up to {}, past its extent {}, without a guard", block.id->name, iter.var->name,
           range->high, to_string(iter.extent));
  }

  void check_first(const Block &block, const IterVar &axis) {
    if (!axis.first.exists())
      return;
    if (axis.kind != IterKind::reduction)
      fail("block {} gives its spatial axis {} a first value", block.id->name, axis.var->name);
    walk(axis.first, [&](const Expr &node) {
      const Var *var = node.as<Var>();
      if (var && !(*var)->size &&
          std::none_of(block.iters.begin(), block.iters.end(),
                       [&](const IterVar &iter) { return iter.var == *var && iter.kind == IterKind::spatial; }))
        fail("block {} begins its sum over {} at {}, which is no spatial axis of it", block.id->name,
             axis.var->name, (*var)->name);
    });
  }

  /// Checks the producers of the buffer that the n-th block writes.
  void check_writers(std::size_t n) {
    const Block &first = *writers_[n];
    const Buffer &buffer = first.body.buffer;
    auto writes = [&](const Block *block) { return block->body.buffer == buffer; };
    auto next = writers_.begin() + static_cast<std::ptrdiff_t>(n) + 1;
    std::int64_t others = std::count_if(next, writers_.end(), writes);
    // A single producer is correct, and a later one of several was checked with the first.
    if (others == 0 || std::any_of(writers_.begin(), std::prev(next), writes))
      return;
    const Block &second = **std::find_if(next, writers_.end(), writes);
    bool init_and_update = others == 1 && !reads(first, buffer) && reads(second, buffer) && !second.init;
    bool parts = std::all_of(next, writers_.end(), [&](const Block *block) {
      return !writes(block) || whole_of(block->id) == whole_of(first.id);
    });
    bool begins = first.init || !reads(first, buffer) || is_param(buffer); // an earlier nest may begin it
    if (!init_and_update && !(parts && begins))
      fail("{} has {} producers", buffer->name, others + 1);
  }

  const Program &program_;
  std::optional<ExecutedTiles> tiles_; ///< made when it is needed
  Verified verified_;
  std::vector<const For *> around_;    ///< the loops, outermost first
  std::vector<const Block *> writers_; ///< the blocks so far
  std::optional<std::string> breach_;
};

} // namespace

std::optional<std::string> find_breach(const Program &program, const Program *verified) {
  return Verifier(program, verified).run();
}

} // namespace nestsmith
