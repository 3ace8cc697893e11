#include "dsl/ir/allocation.h"
#include "dsl/ir/roles.h"
#include "lowering/unit.h"

#include <fmt/format.h>
#include <map>
#include <set>

namespace nestsmith {

namespace {

/// The buffers and variables that the blocks of a nest use.
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

/// Names each nest after its last block: the buffer that this block writes or, if the last block of another
/// nest writes this buffer too, the block itself. The names differ in more than leading and repeated
/// underscores, which CUDA C does not allow.
std::vector<std::string> names_of(const std::vector<Stmt> &nests) {
  auto last = [](const Stmt &nest) { return blocks_of(nest).back(); };
  std::map<std::string, int> makers;
  std::set<std::string> taken;
  for (const Stmt &nest : nests)
    ++makers[last(nest)->body.buffer->name];
  std::vector<std::string> names;
  for (const Stmt &nest : nests) {
    const std::string &made = last(nest)->body.buffer->name;
    std::string name = makers[made] == 1 ? made : last(nest)->id->name;
    for (std::size_t at = 0; (at = name.find("__")) != std::string::npos;)
      name.erase(at, 1);
    if (name.size() > 1 && name.front() == '_')
      name.erase(0, 1);
    std::string unique = name;
    for (int n = 1; !taken.insert(unique).second; ++n)
      unique = fmt::format("{}_{}", name, n);
    names.push_back(unique);
  }
  return names;
}

} // namespace

std::vector<Program> split_nests(const Program &program) {
  std::vector<Stmt> stmts = nests_of(program.body);
  std::vector<Buffer> global = program.params;
  for (const Buffer &buffer : temporaries(program))
    if (buffer->scope == Scope::global)
      global.push_back(buffer);
  if (stmts.size() == 1) {
    Program nest = program;
    nest.params = std::move(global);
    std::erase_if(nest.roles, [&](const WarpRole &role) { return !has_block(nest.body, role); });
    return {nest};
  }
  std::vector<std::string> names = names_of(stmts);
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
    nest.name = fmt::format("{}_{}", program.name, names[nests.size()]);
    for (const Buffer &buffer : global)
      if (used.buffers.count(buffer))
        nest.params.push_back(buffer);
    for (const Var &scalar : program.scalars)
      if (used.vars.count(scalar))
        nest.scalars.push_back(scalar);
    nest.sizes = program.sizes;
    nest.body = stmt;
    nest.min_blocks = program.min_blocks;
    nest.launches_early = program.launches_early;
    for (const WarpRole &role : program.roles)
      if (has_block(stmt, role))
        nest.roles.push_back(role);
    nests.push_back(std::move(nest));
  }
  return nests;
}

} // namespace nestsmith
