#pragma once
/// Every directive that could be written down next, legal or not, with small parameters: for tests that try
/// them all, or walk through them at random.

#include "tests/dsl/support.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <unistd.h>
#include <vector>

namespace nestsmith::test {

struct Move {
  std::string text; ///< as the user would write it
  std::function<void(Schedule &)> apply;
};

/// The loops of a program, outermost first.
inline std::vector<Loop> all_loops(const Program &program) {
  std::vector<Loop> loops;
  walk(program.body, [&](const Stmt &stmt) {
    if (const auto *loop = as<For>(stmt))
      loops.push_back({loop->var});
    return true;
  });
  return loops;
}

/// The nests below a loop in the program's order, the n-th in stage n, the last stages alike; none where there
/// is one nest.
inline std::vector<Stage> stages_of(const Program &program, Loop loop, std::int64_t stages) {
  const auto *nests = as<Seq>(find_loop(program.body, loop.var)->body);
  std::vector<Stage> list;
  std::int64_t order = 0;
  for (const Stmt &nest : nests ? nests->stmts : std::vector<Stmt>{}) {
    for (const Block *block : blocks_of(nest))
      list.push_back({{block->id}, std::min(order, stages - 1), order});
    ++order;
  }
  return list;
}

inline std::vector<Move> moves_of(const Schedule &schedule) {
  std::vector<Move> moves;
  auto add = [&](std::string text, std::function<void(Schedule &)> apply) {
    moves.push_back({std::move(text), std::move(apply)});
  };
  std::vector<Loop> loops = all_loops(schedule.program());
  add("launch_bounds(2)", [](Schedule &s) { s.launch_bounds(2); });
  for (std::size_t n = 1; n < loops.size(); ++n) {
    Loop i = loops[n - 1], j = loops[n];
    add("tile(" + i.var->name + ", " + j.var->name + ", {2, 3})", [=](Schedule &s) { s.tile(i, j, {2, 3}); });
  }
  for (Loop loop : loops) {
    const std::string &at = loop.var->name;
    for (std::int64_t factor : {2, 3}) {
      std::string inner = std::to_string(factor);
      add("split(" + at + ", {infer, " + inner + "})", [=](Schedule &s) { s.split(loop, {infer, factor}); });
      add("split(" + at + ", {" + inner + ", infer})", [=](Schedule &s) { s.split(loop, {factor, infer}); });
    }
    for (Axis axis : {Axis::thread_x, Axis::thread_y, Axis::block_x})
      add("bind(" + at + ", " + std::string(name(axis)) + ")", [=](Schedule &s) { s.bind(loop, axis); });
    add("unroll(" + at + ")", [=](Schedule &s) { s.unroll(loop); });
    add("unroll_by(" + at + ", 2)", [=](Schedule &s) { s.unroll_by(loop, 2); });
    add("vectorize(" + at + ")", [=](Schedule &s) { s.vectorize(loop); });
    add("tensorize(" + at + ", dot4)", [=](Schedule &s) { s.tensorize(loop, "dot4"); });
    for (std::int64_t stages : {2, 3})
      if (auto list = stages_of(schedule.program(), loop, stages); !list.empty())
        add("pipeline(" + at + ", " + std::to_string(stages) + " stages)",
            [=](Schedule &s) { s.pipeline(loop, list); });
    add("partition(" + at + ")", [=](Schedule &s) { s.partition(loop); });
    add("last_block(" + at + ")", [=](Schedule &s) { s.last_block(loop); });
    add("double_buffer(" + at + ")", [=](Schedule &s) { s.double_buffer(loop); });
    add("join_pipelines(" + at + ")", [=](Schedule &s) { s.join_pipelines(loop); });
    add("spread(" + at + ")", [=](Schedule &s) { s.spread(loop); });
    add("rfactor(" + at + ")", [=](Schedule &s) { s.rfactor(loop); });
    for (Loop other : loops) {
      const std::string &inner = other.var->name;
      add("fuse(" + at + ", " + inner + ")", [=](Schedule &s) { s.fuse(loop, other); });
      add("snake(" + at + ", " + inner + ")", [=](Schedule &s) { s.snake(loop, other); });
      add("reorder({" + at + ", " + inner + "})", [=](Schedule &s) { s.reorder({loop, other}); });
    }
  }
  for (const Block *block : blocks_of(schedule.program().body)) {
    BlockRef ref{block->id};
    const std::string &at = block->id->name;
    add("async_copy(" + at + ")", [=](Schedule &s) { s.async_copy(ref); });
    add("compute_inline(" + at + ")", [=](Schedule &s) { s.compute_inline(ref); });
    add("reverse_compute_inline(" + at + ")", [=](Schedule &s) { s.reverse_compute_inline(ref); });
    std::set<std::string> buffers;
    for (const Load *access : loads_of(*block))
      buffers.insert(access->buffer->name);
    for (Scope scope : {Scope::shared, Scope::local}) {
      std::string to(name(scope));
      for (const std::string &buffer : buffers)
        add("cache_read(" + at + ", " + buffer + ", " + to + ")",
            [=](Schedule &s) { s.cache_read(ref, buffer, scope); });
      add("cache_write(" + at + ", " + to + ")", [=](Schedule &s) { s.cache_write(ref, scope); });
      add("set_scope(" + at + ", " + to + ")", [=](Schedule &s) { s.set_scope(ref, scope); });
    }
    for (const char *map : {"a, b -> b, a", "a, b -> b//2, a, b%2"})
      add("transform_layout(" + at + ", " + map + ")", [=](Schedule &s) { s.transform_layout(ref, map); });
    add("storage_align(" + at + ", 0, 4, 3)", [=](Schedule &s) { s.storage_align(ref, 0, 4, 3); });
    add("swizzle(" + at + ", 1, 1, 2)", [=](Schedule &s) { s.swizzle(ref, 1, 1, 2); });
    for (Loop loop : loops) {
      std::string where = at + ", " + loop.var->name + ")";
      add("compute_at(" + where, [=](Schedule &s) { s.compute_at(ref, loop); });
      add("reverse_compute_at(" + where, [=](Schedule &s) { s.reverse_compute_at(ref, loop); });
      add("decompose_reduction(" + where, [=](Schedule &s) { s.decompose_reduction(ref, loop); });
    }
  }
  return moves;
}

/// Names what was tried last, should an internal error stop the program.
class Attempt {
public:
  static void note(const Schedule &schedule, const std::string &next) {
    std::string text = trace_text(schedule) + "then " + next + "\n";
    std::size_t length = std::min(text.size(), last_.size() - 1);
    std::memcpy(last_.data(), text.data(), length);
    length_ = length;
    static const bool installed = std::signal(SIGABRT, report) != SIG_ERR;
    (void)installed;
  }

private:
  static void report(int) {
    [[maybe_unused]] auto written = write(STDERR_FILENO, last_.data(), length_);
    std::signal(SIGABRT, SIG_DFL);
  }
  inline static std::array<char, 4096> last_;
  inline static std::size_t length_ = 0;
};

/// Whether the move was legal; any error but a ScheduleError comes through.
inline bool apply(Schedule &schedule, const Move &move) {
  Attempt::note(schedule, move.text);
  try {
    move.apply(schedule);
    return true;
  } catch (const ScheduleError &) {
    return false;
  }
}

/// All schedules that up to `depth` directives make, one for each program that differs in print. `f` sees each
/// once. Of those that the last directive is added to, each `stride`-th is taken. Gives how many sequences of
/// directives were tried: those that end in a program that was there before stand for all that follow.
inline std::size_t for_each_schedule(const Program &program, std::size_t depth,
                                     const std::function<void(const Schedule &)> &f, std::size_t stride = 1) {
  std::set<std::string> seen;
  std::vector<Schedule> level{Schedule(program)};
  std::size_t tried = 0;
  for (std::size_t n = 0; n < depth; ++n) {
    std::vector<Schedule> next;
    for (std::size_t at = 0; at < level.size(); at += n + 1 < depth || n == 0 ? 1 : stride)
      for (const Move &move : moves_of(level[at])) {
        Schedule moved = level[at];
        ++tried;
        if (!apply(moved, move) || !seen.insert(print(moved.program())).second)
          continue;
        f(moved);
        if (n + 1 < depth)
          next.push_back(std::move(moved));
      }
    level = std::move(next);
  }
  return tried;
}

} // namespace nestsmith::test
