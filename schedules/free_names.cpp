#include "schedules/free_names.h"

#include <fmt/format.h>
#include <set>

namespace nestsmith {

/// Of loops, blocks, buffers, sizes and scalars.
static std::set<std::string> names_in(const Program &program) {
  std::set<std::string> names;
  for (const Buffer &buffer : program.params)
    names.insert(buffer->name);
  for (const auto *vars : {&program.scalars, &program.sizes})
    for (const Var &var : *vars)
      names.insert(var->name);
  walk(program.body, [&](const Stmt &stmt) {
    if (const auto *loop = as<For>(stmt))
      names.insert(loop->var->name);
    if (const auto *block = as<Block>(stmt))
      names.insert({block->id->name, block->body.buffer->name});
    return true;
  });
  return names;
}

Caller free_names(const Schedule &s, const std::vector<std::string> &wanted, Where line) {
  const std::set<std::string> present = names_in(s.program());
  std::vector<std::string> chosen;
  for (const std::string &name : wanted) {
    chosen.push_back(name);
    for (int n = 1; present.contains(chosen.back()); ++n)
      chosen.back() = fmt::format("{}_{}", name, n);
  }
  return {line, chosen};
}

} // namespace nestsmith
