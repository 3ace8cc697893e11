#include "dsl/allocation.h"
#include "lowering/unit.h"

#include <fmt/format.h>
#include <set>

namespace nestsmith {

namespace {

/// What the blocks of a nest touch.
struct Used {
  std::set<Buffer> buffers;
  std::set<Var> vars;

  void add(const Expr &e) {
    walk(e, [&](const Expr &node) {
      if (const auto *access = node.as<Load>())
        buffers.insert(access->buffer);
      if (const Var *var = node.as<Var>())
        vars.insert(*var);
    });
  }
  void add(const Store &store) {
    buffers.insert(store.buffer);
    add(store.value);
    for (const Expr &index : store.indices)
      add(index);
  }
};

} // namespace

std::vector<Program> split_nests(const Program &program) {
  std::vector<Stmt> stmts = nests_of(program.body);
  if (stmts.size() == 1)
    return {program};
  std::vector<Buffer> global = program.params;
  for (const Buffer &buffer : temporaries(program))
    if (buffer->scope == Scope::global)
      global.push_back(buffer);
  std::vector<Program> nests;
  for (const Stmt &stmt : stmts) {
    Used used;
    std::vector<const Block *> blocks = blocks_of(stmt);
    for (const Block *block : blocks) {
      used.add(block->body);
      if (block->init)
        used.add(*block->init);
    }
    Program nest;
    nest.name = fmt::format("{}_{}", program.name, blocks.back()->id->name);
    for (const Buffer &buffer : global)
      if (used.buffers.count(buffer))
        nest.params.push_back(buffer);
    for (const Var &scalar : program.scalars)
      if (used.vars.count(scalar))
        nest.scalars.push_back(scalar);
    nest.body = stmt;
    nest.min_blocks = program.min_blocks;
    nests.push_back(std::move(nest));
  }
  return nests;
}

} // namespace nestsmith
