#include "dsl/schedule/primitives/fission.h"

#include "dsl/ir/dependence.h"
#include "dsl/schedule/primitives/edit.h"
#include "dsl/schedule/primitives/loop_names.h"

#include <fmt/format.h>

namespace nestsmith {

namespace {

constexpr std::size_t most_statements = 16;

const std::vector<Stmt> &statements_of(const Schedule::Edit &edit, const For &loop) {
  const std::string &name = loop.var->name;
  const auto *seq = as<Seq>(loop.body);
  if (!seq)
    edit.refuse("fission.several",
                fmt::format("the body of the loop {} is one statement, expected 2 to {}; place a block there "
                            "first, for example by reverse_compute_at",
                            name, most_statements),
                {name});
  if (seq->stmts.size() > most_statements)
    edit.refuse("fission.several",
                fmt::format("the body of the loop {} has {} statements, expected 2 to {}; use fission on a "
                            "loop around fewer of them",
                            name, seq->stmts.size(), most_statements),
                {name});
  return seq->stmts;
}

/// The mark of a loop names the statements after it.
void check_marks(const Schedule::Edit &edit, const For &loop) {
  const std::string &name = loop.var->name;
  walk(edit.nest_of(loop.var), [&](const Stmt &stmt) {
    if (const auto *marked = as<For>(stmt); marked && marked->last_block())
      edit.refuse("fission.place",
                  fmt::format("the last block of {} executes the statements after it, which fission of {} "
                              "would move; use fission before last_block",
                              marked->var->name, name),
                  {marked->var->name, name});
    return true;
  });
}

} // namespace

constinit const Primitive primitives::fission =
    primitive<Method<std::vector<Loop>, Loop>{&Schedule::fission}>("fission", {loop_of_nests("loop")});

std::vector<Loop> Schedule::fission(Loop handle, Caller caller) {
  Edit edit(*this, caller, primitives::fission, handle);
  const For &loop = edit.loop(handle);
  edit.require_serial("fission.serial", loop);
  const std::vector<Stmt> &stmts = statements_of(edit, loop);
  edit.require_no_pipeline_around("fission.place", loop, "use fission before it");
  check_marks(edit, loop);
  if (auto broken = broken_by_fission(edit.body(), loop.var))
    edit.refuse("fission.order",
                fmt::format("blocks {0} and {1} access elements of {2} in different iterations of {3}, and "
                            "after fission all iterations of {0} would come before those of {1}",
                            broken->first->name, broken->second->name, broken->buffer->name, loop.var->name),
                {broken->first->name, broken->second->name, loop.var->name});

  std::vector<Loop> handles;
  std::vector<std::string> names;
  std::vector<Stmt> nests;
  for (const Stmt &stmt : stmts) {
    For part = loop;
    part.body = stmt;
    if (!nests.empty()) {
      part.var = copied_loop(edit, loop.var, "_" + blocks_of(stmt).front()->id->name);
      part.body = // no loop runs backwards in odd iterations of a serial one
          substitute_loops(stmt, [&](const Var &x) { return x == loop.var ? Expr(part.var) : Expr(); });
    }
    handles.push_back({part.var});
    names.push_back(part.var->name);
    nests.push_back(make_for(std::move(part)));
  }
  edit.commit(edit.replace_loop(loop, make_seq(std::move(nests))), names);
  return handles;
}

} // namespace nestsmith
