#include "dsl/ir/printer.h"

#include "dsl/expr/simplify.h"
#include "dsl/ir/intrinsic.h"
#include "dsl/ir/layout.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith {

namespace {

/// A line of the nest, the name by which its loop or block can be marked, and its origin.
struct Line {
  std::string text, name;
  std::vector<OriginPart> parts;
};

/// " pipelined [A_shared: 0, AB: 1]": the stages in the order in which a step runs them.
std::string text(std::vector<BlockStage> stages) {
  if (stages.empty())
    return "";
  std::stable_sort(stages.begin(), stages.end(), [](auto &a, auto &b) { return a.order < b.order; });
  std::string list;
  for (const BlockStage &x : stages)
    list += fmt::format("{}{}: {}{}", list.empty() ? "" : ", ", x.block->name, x.stage,
                        x.in_flight > 0 ? fmt::format(" + {} in flight", x.in_flight) : "");
  return " pipelined [" + list + "]";
}

/// The form of a loop. It is printed after the extent.
std::string text(const LoopForm &form) {
  auto partitioned = [](const auto &x) { return x.partitioned ? " partitioned" : ""; };
  return std::visit(Overloaded{
                        [&](const Serial &x) {
                          return text(x.pipeline) + partitioned(x) + (x.skipping ? " skipping" : "") +
                                 (x.copies > 1 ? fmt::format(" unrolled by {}", x.copies) : "");
                        },
                        [](const Unrolled &x) {
                          return " unrolled" + text(x.pipeline) + (x.joined ? " joined" : "") +
                                 (x.spread ? " spread" : "") +
                                 (x.reversed_by ? " backwards in odd " + x.reversed_by->name : "");
                        },
                        [](const Vectorized &) { return std::string(" vectorized"); },
                        [](const Tensorized &x) { return " tensorized by " + x.intrinsic.get().name; },
                        [&](const BoundTo &x) {
                          return fmt::format(" in {}{}{}{}", name(x.axis), partitioned(x),
                                             x.last_block ? " then last block" : "",
                                             x.shares_launch ? " launched with the nest before" : "");
                        },
                    },
                    form);
}

void emit(const Stmt &stmt, int depth, Bounds &bounds, std::vector<Line> &lines) {
  std::string indent(static_cast<std::size_t>(depth) * 2, ' ');
  visit(stmt, Overloaded{
                  [&](const For &loop) {
                    lines.push_back({fmt::format("{}for {} < {}{}:", indent, loop.var->name,
                                                 text_within(loop.extent, 0), text(loop.form)),
                                     loop.var->name,
                                     {loop.var}});
                    bounds.set_extent(loop.var, loop.extent);
                    emit(loop.body, depth + 1, bounds, lines);
                  },
                  [&](const Seq &seq) {
                    for (const Stmt &child : seq.stmts)
                      emit(child, depth, bounds, lines);
                  },
                  [&](const Block &block) {
                    std::string bindings, guards;
                    for (const IterVar &iter : block.iters) {
                      bindings += fmt::format("{}{}{} = {}", bindings.empty() ? "" : ", ",
                                              iter.is_summed() ? fmt::format("{} ", name(block.reducer)) : "",
                                              iter.var->name, text_within(iter.binding, 0));
                      if (iter.first.exists())
                        bindings += " from " + text_within(iter.first, 0);
                      if (iter.guarded)
                        guards +=
                            fmt::format("{}{}{} < {}", guards.empty() ? " where " : ", ",
                                        proves(Expr(0) <= iter.binding, bounds) ? "" : "0 <= ", iter.var->name,
                                        text_within(iter.extent, sum_precedence));
                    }
                    lines.push_back({fmt::format("{}block {}({}){}{}:", indent, block.id->name, bindings,
                                                 block.bulk     ? " bulk"
                                                 : block.async  ? " async"
                                                 : block.atomic ? " by atomics"
                                                                : "",
                                                 guards),
                                     block.id->name,
                                     {block.id, InitOf{block.id}}});
                    if (block.init)
                      lines.push_back(
                          {fmt::format("{}  init {}", indent, to_string(*block.init)), "", {InitOf{block.id}}});
                    lines.push_back({fmt::format("{}  {}", indent, to_string(block.body)), "", {block.id}});
                  },
              });
}

std::string shape_text(const Buffer &buffer) {
  std::string strides = buffer->strides ? " strides " + list_text(*buffer->strides) : "";
  return fmt::format("{}: {}[{}]{}", buffer->name, name(buffer->dtype), list_text(buffer->shape), strides);
}

/// "M, K multiple of 4, lda up to 65536". The defaults are omitted.
std::string sizes_text(const std::vector<Var> &sizes) {
  std::string text;
  for (const Var &var : sizes) {
    const Size &size = *var->size;
    text += (text.empty() ? "size " : ", ") + var->name;
    if (size.min != Size{}.min)
      text += fmt::format(" from {}", size.min);
    if (size.max != Size{}.max)
      text += fmt::format(" up to {}", size.max);
    if (size.multiple_of != 1)
      text += fmt::format(" multiple of {}", size.multiple_of);
  }
  return text;
}

const char *role_text(Role role) {
  switch (role) {
  case Role::output:
    return "out ";
  case Role::inout:
    return "inout ";
  case Role::input:
  case Role::temporary:
    return "";
  }
  return "";
}

/// The head of the program, and its nest `depth` levels deep.
std::vector<Line> lines_of(const Program &program, int depth) {
  std::string params;
  for (const Buffer &buffer : program.params)
    params += (params.empty() ? "" : ", ") + std::string(role_text(buffer->role)) + shape_text(buffer);
  for (const Var &scalar : program.scalars)
    params += fmt::format(", {}: {}", scalar->name, name(scalar->dtype));
  std::vector<Line> lines = {{fmt::format("{}({}):", program.name, params), "", {}}};
  if (!program.sizes.empty())
    lines.push_back({sizes_text(program.sizes), "", {}});
  for (const Buffer &buffer : temporaries(program))
    if (std::find(program.params.begin(), program.params.end(), buffer) == program.params.end())
      lines.push_back({fmt::format("{} {}{}", name(buffer->scope), shape_text(buffer),
                                   buffer->layout ? ", " + to_string(*buffer->layout) : ""),
                       "",
                       {buffer}});
  if (program.min_blocks != 0)
    lines.push_back({fmt::format("at least {} blocks on an SM", program.min_blocks), "", {}});
  if (program.launches_early)
    lines.push_back({"started while the kernel before ends", "", {}});
  for (const WarpRole &role : program.roles) {
    std::string list;
    for (const BlockId &block : role.blocks)
      list += (list.empty() ? "" : ", ") + block->name;
    lines.push_back(
        {fmt::format("{} warps{} for {}", role.warps,
                     role.registers == 0 ? "" : fmt::format(" of {} registers", role.registers), list),
         "",
         {}});
  }
  Bounds bounds;
  emit(program.body, depth, bounds, lines);
  return lines;
}

} // namespace

std::string to_string(const Store &store) {
  return fmt::format("{}[{}] = {}", store.buffer->name, list_text(store.indices), to_string(store.value));
}

std::string print(const Stmt &stmt) {
  std::vector<Line> lines;
  Bounds bounds;
  emit(stmt, 0, bounds, lines);
  std::string result;
  for (const Line &line : lines)
    result += line.text + "\n";
  return result;
}

std::string print(const Program &program) {
  std::string result;
  for (const Line &line : lines_of(program, 0))
    result += line.text + "\n";
  return result;
}

TracedText print_traced(const Program &program) {
  TracedText result;
  for (const Line &line : lines_of(program, 0)) {
    result.text += line.text + "\n";
    result.lines.push_back(origin_of(line.parts));
  }
  return result;
}

std::string print_marked(const Program &program, const std::vector<std::string> &names) {
  std::string result;
  for (const Line &line : lines_of(program, 1)) {
    result += line.text + "\n";
    if (line.name.empty() || std::find(names.begin(), names.end(), line.name) == names.end())
      continue;
    std::size_t at = line.text.find_first_not_of(' ');
    result += std::string(at, ' ') + std::string(line.text.size() - at, '^') + "\n";
  }
  return result;
}

} // namespace nestsmith
