#include "tools/pages/pipeline_line.h"

#include "lowering/notes.h"
#include "runtime/model/analyse.h"
#include "runtime/model/count.h"

#include <algorithm>
#include <array>
#include <deque>
#include <fmt/format.h>
#include <list>
#include <utility>

namespace nestsmith::cli::report {

namespace {

/// The steps at the start of the loop that are shown.
constexpr std::int64_t first_steps = 3;

bool has_sync(const kernel::Stmt &stmt) {
  bool found = false;
  kernel::walk(stmt, [&](const kernel::Stmt &part) {
    found = found || kernel::as<kernel::Barrier>(part) || kernel::as<kernel::Wait>(part) ||
            kernel::as<kernel::Await>(part);
  });
  return found;
}

/// The loop of the program from which a statement was made; null if none.
Var loop_of(const kernel::Stmt &stmt) {
  const Var *loop = stmt->origin ? std::get_if<Var>(&stmt->origin->front()) : nullptr;
  return loop ? *loop : nullptr;
}

const kernel::Loop *find_loop(const kernel::Kernel &kernel, const Var &var) {
  const kernel::Loop *found = nullptr;
  kernel::walk(kernel.body, [&](const kernel::Stmt &stmt) {
    const auto *loop = kernel::as<kernel::Loop>(stmt);
    if (!found && loop && loop_of(stmt) == var && !loop->over_lanes())
      found = loop;
  });
  return found;
}

std::string text_of(const kernel::Hazard &hazard) {
  std::string text = fmt::format("{} of {}", name(hazard.kind), hazard.buffer->name);
  if (hazard.reader)
    text += fmt::format(", which {} reads", hazard.reader->name);
  if (!hazard.loop)
    return text + ", in the same iteration";
  return text + fmt::format(", {} iteration{} of {} later", hazard.distance, hazard.distance == 1 ? "" : "s",
                            hazard.loop->name);
}

/// A statement of the first block. `loops` are those around it that the time line shows.
struct Executed {
  kernel::Stmt stmt;
  std::vector<model::LoopValue> loops;
  std::size_t role = 0; ///< of the warps that execute it
};

/// For each role: the statements that some of its warps executes, in program order, each once for each
/// iteration of the shown loops. If a warp executes a statement that no earlier warp executes, the list gets it
/// directly after the statement that this warp has executed before.
std::vector<std::list<Executed>> executed(const kernel::Kernel &kernel, const std::map<Var, Var> &shown) {
  struct OfRole {
    std::list<Executed> all;
    std::map<std::pair<kernel::Stmt, std::vector<model::LoopValue>>, std::list<Executed>::iterator> known;
    std::map<std::uint32_t, std::list<Executed>::iterator> next; // of each warp
  };
  std::vector<OfRole> roles(std::max<std::size_t>(1, kernel.roles.size()));
  model::each_statement(kernel, ones(kernel), 0, [&](const model::VisitedStatement &visited) {
    std::size_t role = 0;
    while (role + 1 < kernel.roles.size() && kernel.roles[role + 1].first_warp <= visited.warp)
      ++role;
    auto &[all, known, next] = roles[role];
    Executed now{visited.stmt, {}, role};
    for (const model::LoopValue &loop : visited.loops)
      if (shown.contains(loop.loop))
        now.loops.push_back(loop);
    auto [at, added] = known.try_emplace({now.stmt, now.loops});
    auto place = next.try_emplace(visited.warp, all.begin()).first;
    if (added)
      at->second = all.insert(place->second, std::move(now));
    place->second = std::next(at->second);
  });
  std::vector<std::list<Executed>> lists;
  for (OfRole &role : roles)
    lists.push_back(std::move(role.all));
  return lists;
}

/// One order of the statements of all roles: each role goes on until it awaits an event that has not come. The
/// roles that fill tiles go first, so that they run as far ahead as they may.
class Turns {
public:
  Turns(const kernel::Kernel &kernel, std::vector<std::list<Executed>> roles)
      : kernel_(kernel), roles_(std::move(roles)), counts_(kernel.channels.size()) {}

  std::vector<Executed> run() {
    std::vector<Executed> all;
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t role = roles_.size(); role-- > 0;)
        for (std::list<Executed> &list = roles_[role]; !list.empty() && !waits(list.front());) {
          const bool frees = count(list.front());
          all.push_back(std::move(list.front()));
          list.pop_front();
          moved = true;
          if (role == 0 && frees)
            break; // a slot is free
        }
    }
    return all;
  }

private:
  /// The fills of a channel that were awaited or signalled, by the event.
  struct Counts {
    std::array<std::int64_t, 2> awaited = {}, signalled = {};
  };
  static std::size_t at(kernel::Event event) { return static_cast<std::size_t>(event); }

  bool waits(const Executed &now) const {
    const auto *await = kernel::as<kernel::Await>(now.stmt);
    if (!await)
      return false;
    const Counts &counts = counts_[await->channel];
    const std::int64_t free = await->event == kernel::Event::freed ? kernel_.channels[await->channel].slots : 0;
    return counts.awaited[at(await->event)] >= free + counts.signalled[at(await->event)];
  }

  /// Returns whether the statement frees a slot.
  bool count(const Executed &now) {
    if (const auto *await = kernel::as<kernel::Await>(now.stmt))
      ++counts_[await->channel].awaited[at(await->event)];
    const auto *signal = kernel::as<kernel::Signal>(now.stmt);
    if (signal)
      ++counts_[signal->channel].signalled[at(signal->event)];
    return signal && signal->event == kernel::Event::freed;
  }

  const kernel::Kernel &kernel_;
  std::vector<std::list<Executed>> roles_;
  std::vector<Counts> counts_; ///< of each channel
};

/// Makes the time line of one loop from the statements that a thread block executes.
class LineMaker {
public:
  LineMaker(const kernel::Kernel &kernel, const Program &program, const For &loop)
      : kernel_(kernel), var_(loop.var), rows_(pipeline_rows(program, loop)), fills_(kernel.channels.size()) {
    line_.loop = loop.var->name;
    line_.pipelined = !loop.pipeline().empty();
    total_ = as_int(loop.extent).value_or(0);
    line_.rows = rows_.rows;
    executed_.resize(line_.rows.size());
    next_part_.resize(line_.rows.size());
    kernel::walk(kernel.body, [&](const kernel::Stmt &stmt) {
      const auto *made = kernel::as<kernel::Loop>(stmt);
      Var of = loop_of(stmt);
      if (made && of && (of == var_ || of == rows_.joined || rows_.spread_row.contains(of)))
        made_from_[made->var] = of;
    });
  }

  std::optional<PipelineLine> make() {
    if (line_.rows.size() < 2)
      return std::nullopt;
    line_.steps.push_back({.phase = LineStep::Phase::prologue});
    for (const Executed &next : Turns(kernel_, executed(kernel_, made_from_)).run())
      add(next);
    if (line_.extent == 0)
      return std::nullopt;
    line_.steps.back().end = line_.events.size();
    mark_drain();
    leave_out_the_middle();
    std::erase_if(line_.steps, [](const LineStep &step) {
      return step.phase != LineStep::Phase::skipped && step.begin == step.end;
    });
    for (LineEvent &event : line_.events)
      if (!event.sync)
        event.iteration += part_text(event);
    return line_;
  }

private:
  /// The steps that do not execute all nests are the drain; with roles, those after the last fill.
  void mark_drain() {
    auto fills = [&](const LineStep &step) {
      return std::ranges::any_of(rows_in(step), [&](std::size_t row) { return line_.rows[row].role > 0; });
    };
    bool filled = false;
    for (auto step = line_.steps.rbegin(); step != line_.steps.rend(); ++step) {
      filled = filled || fills(*step);
      const bool drains = line_.has_roles() ? !filled : rows_in(*step).size() < line_.rows.size();
      if (step->phase == LineStep::Phase::steady && drains)
        step->phase = LineStep::Phase::drain;
    }
  }

  void add(const Executed &now) {
    if (now.role == 0)
      follow(now);
    kernel::visit(now.stmt,
                  Overloaded{[&](const kernel::Store &store) { add_nest(now, store.async); },
                             [&](const kernel::Call &) { add_nest(now, false); },
                             [&](const kernel::BulkCopy &copy) { add_nest(now, !copy.stores()); },
                             [&](const kernel::Sync &sync) { add(now.stmt, sync); }, [](const auto &) {}});
  }

  /// Starts a step if the statement, of the main role, is the first of one.
  void follow(const Executed &now) {
    auto step = std::ranges::find(now.loops, var_, [&](const auto &at) { return made_from_.at(at.loop); });
    if (step == now.loops.end()) {
      in_loop_ = in_loop_ && !at_;
      at_.reset();
    } else if (at_ != *step) {
      // After `partition`, there is a second loop for the last iterations.
      if (!at_ || at_->loop != step->loop)
        first_ = line_.extent;
      at_ = *step;
      start(first_ + step->value);
    }
  }

  void add(const kernel::Stmt &stmt, const kernel::Sync &sync) {
    if (sync.counts_groups(kernel::Queue::calls) || sync.counts_groups(kernel::Queue::stores))
      return;
    if (std::holds_alternative<kernel::Commit>(sync.kind)) {
      groups_.push_back(std::move(issued_));
      issued_.clear();
    } else if (auto pending = sync.completes(kernel::Queue::copies)) {
      complete(*pending);
      add_sync(stmt, true, sync.hazards());
    } else if (std::holds_alternative<kernel::Barrier>(sync.kind)) {
      add_sync(stmt, false, sync.hazards());
    } else if (const auto *await = std::get_if<kernel::Await>(&sync.kind)) {
      if (std::deque<std::vector<std::size_t>> &fills = fills_[await->channel];
          await->event == kernel::Event::filled && !fills.empty()) {
        arrive_now(fills.front());
        fills.pop_front();
      }
      add_sync(stmt, true, sync.hazards());
    } else if (const auto *signal = std::get_if<kernel::Signal>(&sync.kind);
               signal && signal->event == kernel::Event::filled) {
      fills_[signal->channel].push_back(std::move(issued_));
      issued_.clear();
      apart_ = true;
    }
  }

  /// The copies of these events are complete at the next event.
  void arrive_now(std::vector<std::size_t> &copies) {
    for (std::size_t event : copies)
      line_.events[event].arrives = line_.events.size();
    copies.clear();
  }

  /// Whether the next nest, barrier or wait is shown: it is in the prologue or in the loop. `partition` can
  /// write the last iteration without a loop.
  bool is_shown() {
    if (!in_loop_ && line_.extent > 0 && line_.extent < total_)
      start(line_.extent);
    return in_loop_ || line_.extent == 0;
  }

  void start(std::int64_t iteration) {
    std::ranges::fill(next_part_, 0);
    line_.steps.back().end = line_.events.size();
    line_.steps.push_back({.iteration = iteration, .begin = line_.events.size()});
    line_.extent = iteration + 1;
    in_loop_ = true;
  }

  /// Replaces the iterations between the first and the last ones by one step. Copies that arrive in them arrive
  /// at this step.
  void leave_out_the_middle() {
    std::int64_t last_steps = std::max<std::int64_t>(2, rows_.last_stage + 1),
                 resume = std::max(total_, line_.extent) - last_steps;
    auto begin = std::ranges::find_if(line_.steps, [](auto &step) { return step.iteration >= first_steps; });
    auto end = std::ranges::find_if(line_.steps, [&](auto &step) { return step.iteration >= resume; });
    if (end <= begin || end == line_.steps.end())
      return;
    std::size_t from = begin->begin, to = end->begin;
    auto moved = [&](std::size_t event) {
      return event < from ? event : event < to ? from : event - (to - from);
    };
    *begin = {.phase = LineStep::Phase::skipped, .begin = from, .end = from};
    for (auto step = line_.steps.erase(begin + 1, end); step != line_.steps.end(); ++step)
      *step = {step->phase, step->iteration, moved(step->begin), moved(step->end)};
    line_.events.erase(line_.events.begin() + static_cast<std::ptrdiff_t>(from),
                       line_.events.begin() + static_cast<std::ptrdiff_t>(to));
    for (LineEvent &event : line_.events)
      if (event.arrives)
        event.arrives = moved(*event.arrives);
  }

  std::set<std::size_t> rows_in(const LineStep &step) const {
    std::set<std::size_t> rows;
    for (std::size_t n = step.begin; n < step.end; ++n)
      if (!line_.events[n].sync)
        rows.insert(line_.events[n].row);
    return rows;
  }

  /// The rows of the blocks from which a statement was made. The init of a block is a part of its row.
  std::set<std::size_t> rows_of(const Origin &origin) const {
    std::set<std::size_t> rows;
    for (const OriginPart &part : origin ? *origin : std::vector<OriginPart>()) {
      const auto *block = std::get_if<BlockId>(&part);
      const auto *init = std::get_if<InitOf>(&part);
      if (block || init)
        if (auto row = rows_.row_of.find(block ? *block : init->block); row != rows_.row_of.end())
          rows.insert(row->second);
    }
    return rows;
  }

  void add_nest(const Executed &now, bool async) {
    std::set<std::size_t> rows = rows_of(now.stmt->origin);
    if (rows.empty() || !is_shown())
      return;
    std::size_t number = *rows.begin();
    const LineRow &row = line_.rows[number];
    bool last = row.inner ? *row.inner == rows_.last_inner : row.stage == rows_.last_stage;
    if (!in_loop_ && (!line_.pipelined || last))
      return;
    bool again = !std::exchange(apart_, false) && line_.events.size() > line_.steps.back().begin &&
                 !line_.events.back().sync && line_.events.back().row == number;
    if (!again) {
      line_.events.push_back({.row = number, .iteration = iteration_of(number)});
      ++executed_[number];
    }
    LineEvent &event = line_.events.back();
    if (async && !event.async)
      issued_.push_back(line_.events.size() - 1);
    event.async |= async;
    if (row.parts && (!again || now.loops != part_)) {
      // The parts of a spread loop execute in their order.
      event.last_part = next_part_[number];
      if (!again)
        event.first_part = event.last_part;
      next_part_[number] = (event.last_part + 1) % *row.parts;
    }
    part_ = now.loops;
  }

  /// "[0]", or "[0–1]" if a step executes several parts of a spread loop; empty for all parts.
  std::string part_text(const LineEvent &event) const {
    const LineRow &row = line_.rows[event.row];
    if (!row.parts || (event.first_part == 0 && event.last_part + 1 == *row.parts))
      return "";
    return event.first_part == event.last_part ? fmt::format("[{}]", event.first_part)
                                               : fmt::format("[{}–{}]", event.first_part, event.last_part);
  }

  std::string iteration_of(std::size_t n) const {
    const LineRow &row = line_.rows[n];
    if (row.inner)
      return fmt::format("{}.{}", executed_[n] / rows_.inner_extent, executed_[n] % rows_.inner_extent);
    return std::to_string(
        in_loop_ && row.role == 0 ? line_.steps.back().iteration + rows_.last_stage - row.stage : executed_[n]);
  }

  /// All groups but the latest `pending` are complete at the next event.
  void complete(std::int64_t pending) {
    auto most = static_cast<std::size_t>(pending);
    for (std::size_t n = 0; n + most < groups_.size(); ++n)
      arrive_now(groups_[n]);
  }

  void add_sync(const kernel::Stmt &stmt, bool wait, std::span<const kernel::Hazard> hazards) {
    if (!is_shown())
      return;
    auto [known, added] = syncs_.try_emplace(stmt.get(), line_.syncs.size());
    if (added) {
      auto number = 1 + std::ranges::count(line_.syncs, wait, &LineSync::wait);
      LineSync sync{.name = fmt::format("{}{}", wait ? "W" : "B", number), .wait = wait};
      for (const kernel::Hazard &hazard : hazards)
        sync.hazards.push_back(text_of(hazard));
      sync.rows = rows_of(stmt->origin);
      line_.syncs.push_back(sync);
    }
    line_.events.push_back({.sync = known->second});
  }

  const kernel::Kernel &kernel_;
  Var var_; ///< of the loop
  PipelineRows rows_;
  std::map<Var, Var> made_from_; ///< the shown loops: of the kernel, and of the program
  PipelineLine line_;
  std::map<const kernel::StmtNode *, std::size_t> syncs_;
  std::vector<std::int64_t> executed_;      ///< executions of each row
  std::vector<std::int64_t> next_part_;     ///< of each row
  std::vector<model::LoopValue> part_;      ///< the shown loops at the latest nest
  std::int64_t total_ = 0;                  ///< iterations of the loop; 0: unknown
  std::int64_t first_ = 0;                  ///< iteration with which the loop of the kernel begins
  std::optional<model::LoopValue> at_ = {}; ///< the loop of the kernel, and its iteration
  bool in_loop_ = false;
  std::vector<std::size_t> issued_;              ///< copies without a group yet
  std::vector<std::vector<std::size_t>> groups_; ///< copies that have not arrived
  std::vector<std::deque<std::vector<std::size_t>>>
      fills_;          ///< of each channel: copies of fills not yet awaited
  bool apart_ = false; ///< the next nest is one of another fill
};

} // namespace

std::vector<PipelineLine> pipeline_lines(const kernel::Kernel &kernel, const Program &program) {
  std::vector<PipelineLine> lines;
  walk(program.body, [&](const Stmt &stmt) {
    const auto *loop = as<For>(stmt);
    if (!loop || loop->axis())
      return true;
    const kernel::Loop *found = find_loop(kernel, loop->var);
    if (!found || (loop->pipeline().empty() && !has_sync(found->body)))
      return true;
    if (std::optional<PipelineLine> line = LineMaker(kernel, program, *loop).make())
      lines.push_back(*line);
    return false;
  });
  return lines;
}

} // namespace nestsmith::cli::report
