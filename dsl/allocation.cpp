#include "dsl/allocation.h"

#include "dsl/error.h"
#include "dsl/layout.h"

#include <algorithm>
#include <map>
#include <set>

namespace nestsmith {

Placement place(const Program &program, const Buffer &buffer) {
  Placement result{buffer, {}, {}, 1};
  bool first = true;
  for (const Block *block : blocks_of(program.body)) {
    if (block->body.buffer != buffer && !reads(*block, buffer))
      continue;
    auto loops = loops_of(path_to(program.body, block->id));
    if (first)
      result.loops = loops;
    first = false;
    std::size_t common = 0;
    while (common < result.loops.size() && common < loops.size() && result.loops[common] == loops[common])
      ++common;
    result.loops.resize(common);
  }
  std::set<Var> fixed;
  for (const For *loop : result.loops)
    if (buffer->scope == Scope::local || !loop->axis || !is_thread(*loop->axis))
      fixed.insert(loop->var);
  auto varies = [&](const Var &var) { return !fixed.count(var); };
  Bounds bounds = loop_bounds(program.body);
  auto written = region_written(program.body, buffer, varies, bounds);
  internal_check(written.has_value(), "a temporary is never written");
  auto read = region_read(program.body, buffer, varies, bounds);
  result.region = read ? hull(*written, *read, buffer->shape, bounds) : *written;
  result.elements = PlacedLayout(*buffer, result.box()).elements();
  return result;
}

std::vector<std::int64_t> Placement::box() const {
  std::vector<std::int64_t> extents;
  for (const Span &span : region)
    extents.push_back(as_int(span.extent).value());
  return extents;
}

std::vector<Stmt> nests_of(const Stmt &root) {
  const auto *seq = as<Seq>(root);
  return seq ? seq->stmts : std::vector<Stmt>{root};
}

std::int64_t threads_of(const Program &program) {
  std::int64_t most = 1;
  for (const Stmt &nest : nests_of(program.body)) {
    std::map<Axis, std::int64_t> extents;
    walk(nest, [&](const Stmt &stmt) {
      if (const auto *loop = as<For>(stmt); loop && loop->axis && is_thread(*loop->axis))
        extents[*loop->axis] = as_int(loop->extent).value();
      return true;
    });
    std::int64_t threads = 1;
    for (auto [axis, extent] : extents)
      threads *= extent;
    most = std::max(most, threads);
  }
  return most;
}

} // namespace nestsmith
