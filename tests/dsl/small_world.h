#pragma once
/// Every directive that could be written down next, legal or not, with small parameters: for tests that try
/// them all, or walk through them at random.

#include "dsl/schedule/primitives/registry.h"
#include "tests/dsl/support.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <unistd.h>
#include <vector>

namespace nestsmith::test {

/// The loops of a program, outermost first.
inline std::vector<Argument> loop_names(const Program &program) {
  std::vector<Argument> loops;
  walk(program.body, [&](const Stmt &stmt) {
    if (const auto *loop = as<For>(stmt))
      loops.emplace_back(LoopName{loop->var->name});
    return true;
  });
  return loops;
}

/// The nests below a loop in the program's order, the n-th in stage n, the last stages alike; none where there
/// is one nest.
inline std::vector<StageName> stages_of(const Schedule &schedule, const LoopName &loop, std::int64_t stages) {
  const auto *nests = as<Seq>(find_loop(schedule.program().body, schedule.loop(loop.name).var)->body);
  std::vector<StageName> list;
  std::int64_t order = 0;
  for (const Stmt &nest : nests ? nests->stmts : std::vector<Stmt>{}) {
    for (const Block *block : blocks_of(nest))
      list.push_back({block->id->name, std::min(order, stages - 1), order});
    ++order;
  }
  return list;
}

/// The sizes that the computation declares.
inline std::vector<Argument> sizes_of(const Schedule &schedule) {
  std::vector<Argument> sizes;
  for (const Var &size : schedule.program().sizes)
    sizes.emplace_back(Word{size->name});
  return sizes;
}

/// The buffers that a block reads.
inline std::vector<Argument> buffers_read_by(const Schedule &schedule, const BlockName &block) {
  std::set<std::string> names;
  for (const Load *access : loads_of(*find_block(schedule.program().body, schedule.block(block.name).id)))
    names.insert(access->buffer->name);
  std::vector<Argument> buffers;
  for (const std::string &name : names)
    buffers.emplace_back(Word{name});
  return buffers;
}

/// Returns the arguments that the small world tries for a parameter: each loop and block, and a few values of
/// the other kinds. `of`
/// is the argument that the parameter refers to, or null.
inline std::vector<Argument> choices_of(const Schedule &schedule, const primitives::Parameter &parameter,
                                        const Argument *of) {
  using Factors = std::vector<std::int64_t>;
  std::vector<Argument> choices;
  switch (parameter.kind) {
  case ParameterKind::loop:
  case ParameterKind::outer_loop:
  case ParameterKind::inner_loop:
  case ParameterKind::near_loop:
  case ParameterKind::loop_of_nests:
    return loop_names(schedule.program());
  case ParameterKind::next_loop:
    choices = loop_names(schedule.program());
    choices.erase(choices.begin(), std::next(std::ranges::find(choices, *of)));
    choices.resize(std::min<std::size_t>(choices.size(), 1));
    return choices;
  case ParameterKind::loops:
    for (const Argument &a : loop_names(schedule.program()))
      for (const Argument &b : loop_names(schedule.program()))
        choices.emplace_back(std::vector{std::get<LoopName>(a), std::get<LoopName>(b)});
    return choices;
  case ParameterKind::block:
    for (const Block *block : blocks_of(schedule.program().body))
      choices.emplace_back(BlockName{block->id->name});
    return choices;
  case ParameterKind::blocks:
    for (const Block *block : blocks_of(schedule.program().body))
      choices.emplace_back(std::vector{BlockName{block->id->name}});
    return choices;
  case ParameterKind::stages:
    for (std::int64_t stages : {2, 3})
      if (auto list = stages_of(schedule, std::get<LoopName>(*of), stages); !list.empty())
        choices.emplace_back(list);
    return choices;
  case ParameterKind::integer:
    return {parameter.usual};
  case ParameterKind::factors:
    if (parameter.count == 2)
      return {Factors{2, 3}};
    return {Factors{infer, 2}, Factors{2, infer}, Factors{infer, 3}, Factors{3, infer}};
  case ParameterKind::points:
    return {Factors{1}};
  case ParameterKind::axis:
    return {Word{"threadIdx.x"}, Word{"threadIdx.y"}, Word{"blockIdx.x"}};
  case ParameterKind::scope:
    return {Word{"shared"}, Word{"local"}};
  case ParameterKind::size:
    return sizes_of(schedule);
  case ParameterKind::buffer:
    return buffers_read_by(schedule, std::get<BlockName>(*of));
  case ParameterKind::intrinsic:
    return {Word{"dot4"}};
  case ParameterKind::index_map:
    return {Word{"a, b -> b, a"}, Word{"a, b -> b//2, a, b%2"}};
  }
  internal_error("not a kind of parameter");
}

/// Every directive of every primitive with these choices. Of the arguments, those that refer to others vary
/// fastest.
inline std::vector<Directive> moves_of(const Schedule &schedule) {
  std::vector<Directive> moves;
  for (const Primitive &primitive : all_primitives()) {
    std::vector<std::vector<Argument>> begun = {std::vector<Argument>(primitive.count)};
    auto choose = [&](std::size_t at) {
      const primitives::Parameter &parameter = primitive.slots[at];
      std::vector<std::vector<Argument>> next;
      for (std::vector<Argument> &arguments : begun) {
        const Argument *of = parameter.of.empty() ? nullptr : &arguments[primitive.position_of(parameter)];
        for (const Argument &choice : choices_of(schedule, parameter, of)) {
          next.push_back(arguments);
          next.back()[at] = choice;
        }
      }
      begun = std::move(next);
    };
    for (bool refers : {false, true})
      for (std::size_t at = 0; at < primitive.count; ++at)
        if (primitive.slots[at].of.empty() != refers)
          choose(at);
    for (std::vector<Argument> &arguments : begun)
      moves.push_back({std::string(primitive.name), std::move(arguments), {}});
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
inline bool apply(Schedule &schedule, const Directive &move) {
  Attempt::note(schedule, to_cpp(move));
  try {
    nestsmith::apply(schedule, move, "the small world");
    return true;
  } catch (const ScheduleError &) {
    return false;
  }
}

/// A fixed random sample: `take()` is true for about one call in `one_in`.
class Sample {
public:
  explicit Sample(std::size_t one_in = 1) : one_in_(one_in) {}
  bool take() { return one_in_ == 1 || random_() % one_in_ == 0; }

private:
  std::size_t one_in_;
  std::minstd_rand random_{1};
};

/// How many sequences of directives there are, and how many of them were tried.
struct Sequences {
  std::size_t tried = 0, all = 0;
};

/// Makes schedules of up to `depth` directives, and calls `f` once for each program that differs in print. All
/// sequences of fewer than `depth` directives are tried, and of those of `depth` directives the sample. A
/// sequence that ends in a program that was there before stands for all that follow.
inline Sequences for_each_schedule(const Program &program, std::size_t depth,
                                   const std::function<void(const Schedule &)> &f, Sample sample = Sample()) {
  std::set<std::string> seen;
  std::vector<Schedule> level{Schedule(program)};
  Sequences sequences;
  for (std::size_t n = 0; n < depth; ++n) {
    std::vector<Schedule> next;
    for (const Schedule &schedule : level)
      for (const Directive &move : moves_of(schedule)) {
        ++sequences.all;
        if (n > 0 && n + 1 == depth && !sample.take())
          continue;
        ++sequences.tried;
        Schedule moved = schedule;
        if (!apply(moved, move) || !seen.insert(print(moved.program())).second)
          continue;
        f(moved);
        if (n + 1 < depth)
          next.push_back(std::move(moved));
      }
    level = std::move(next);
  }
  return sequences;
}

} // namespace nestsmith::test
