#include "dsl/verify.h"

#include "dsl/printer.h"
#include "dsl/region.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace nestsmith {

namespace {

/// The variables and extents of the loops around a block, outermost first.
using Around = std::vector<std::pair<const Symbol *, const ExprNode *>>;

void find_blocks(const Stmt &stmt, Around &around, std::map<const Block *, Around> &found) {
  visit(stmt, Overloaded{
                  [&](const For &loop) {
                    around.emplace_back(loop.var.get(), loop.extent.get());
                    find_blocks(loop.body, around, found);
                    around.pop_back();
                  },
                  [&](const Seq &seq) {
                    for (const Stmt &child : seq.stmts)
                      find_blocks(child, around, found);
                  },
                  [&](const Block &block) { found.emplace(&block, around); },
              });
}

class Verifier {
public:
  Verifier(const Program &program, const Program *verified) : program_(program) {
    Around around;
    if (verified)
      find_blocks(verified->body, around, verified_);
  }

  std::optional<std::string> run() {
    visit_stmt(program_.body);
    for (const auto &[buffer, writers] : writers_)
      check_writers(buffer, writers);
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
                      bool open = loop.kind == LoopKind::serial || (loop.axis && !is_thread(*loop.axis));
                      if (!constant && !open)
                        fail("loop {} has the extent {}, which is no constant, and is {}", loop.var->name,
                             to_string(loop.extent), loop.axis ? name(*loop.axis) : "unrolled");
                      if (!loops_.insert(loop.var).second)
                        fail("loop {} encloses itself", loop.var->name);
                      if ((loop.kind == LoopKind::bound) != loop.axis.has_value())
                        fail("loop {} is bound without an axis or the reverse", loop.var->name);
                      if ((loop.kind == LoopKind::tensorized) != (loop.intrinsic != nullptr))
                        fail("loop {} is tensorized without an intrinsic or the reverse", loop.var->name);
                      bounds_.set_extent(loop.var, loop.extent);
                      around_.emplace_back(loop.var.get(), loop.extent.get());
                      visit_stmt(loop.body);
                      around_.pop_back();
                      loops_.erase(loop.var);
                    },
                    [&](const Seq &seq) {
                      for (const Stmt &child : seq.stmts)
                        visit_stmt(child);
                    },
                    [&](const Block &block) { visit_block(block); },
                });
  }

  void visit_block(const Block &block) {
    auto known = verified_.find(&block);
    if (known == verified_.end() || known->second != around_)
      check_block(block);
    for (const Load *access : loads_of(block))
      if (access->buffer->role == Role::temporary && access->buffer != block.body.buffer &&
          !writers_.count(access->buffer) && !is_param(access->buffer))
        fail("block {} reads {} before it is written", block.id->name, access->buffer->name);
    writers_[block.body.buffer].push_back(&block);
  }

  /// What does not depend on other blocks.
  void check_block(const Block &block) {
    std::set<Var> inside(program_.scalars.begin(), program_.scalars.end());
    inside.insert(program_.sizes.begin(), program_.sizes.end());
    for (const IterVar &iter : block.iters) {
      inside.insert(iter.var);
      check_binding(block, iter);
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
  }

  bool is_param(const Buffer &buffer) const {
    return std::find(program_.params.begin(), program_.params.end(), buffer) != program_.params.end();
  }

  void check_binding(const Block &block, const IterVar &iter) {
    walk(iter.binding, [&](const Expr &node) {
      if (const Var *var = node.as<Var>(); var && !loops_.count(*var) && !(*var)->size)
        fail("block {} binds {} to {}, which is not a loop around it", block.id->name, iter.var->name,
             (*var)->name);
      if (node.as<Load>() || node.as<Select>())
        fail("block {} binds {} to what is not quasi-affine", block.id->name, iter.var->name);
    });
    auto range = range_of(iter.binding, bounds_);
    if (!range)
      return fail("block {} binds {} to a value of unknown range", block.id->name, iter.var->name);
    if (range->low < 0)
      fail("block {} binds {} below 0", block.id->name, iter.var->name);
    auto extent = as_int(iter.extent);
    if (!(iter.guarded || (extent ? range->high < *extent : proves(iter.binding < iter.extent, bounds_))))
      fail("block {} binds {} up to {}, past its extent {}, without a guard", block.id->name, iter.var->name,
           range->high, to_string(iter.extent));
  }

  void check_first(const Block &block, const IterVar &axis) {
    if (!axis.first)
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

  void check_writers(const Buffer &buffer, const std::vector<const Block *> &writers) {
    if (writers.size() == 1)
      return;
    bool init_and_update =
        writers.size() == 2 && !reads(*writers[0], buffer) && reads(*writers[1], buffer) && !writers[1]->init;
    if (!init_and_update)
      fail("{} has {} producers", buffer->name, writers.size());
  }

  const Program &program_;
  std::map<const Block *, Around> verified_; ///< blocks that were checked where they stood
  Around around_;
  std::set<Var> loops_;
  Bounds bounds_;
  std::map<Buffer, std::vector<const Block *>> writers_;
  std::optional<std::string> breach_;
};

} // namespace

std::optional<std::string> find_breach(const Program &program, const Program *verified) {
  return Verifier(program, verified).run();
}

} // namespace nestsmith
