#include "tools/pages/pipeline_line.h"

#include "dsl/expr/simplify.h"
#include "dsl/ir/allocation.h"
#include "lowering/notes.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith::cli::report {

namespace {

/// The steps at the start of the loop that are shown.
constexpr std::int64_t first_steps = 3;

bool has_sync(const kernel::Stmt &stmt) {
  bool found = false;
  kernel::walk(stmt, [&](const kernel::Stmt &part) {
    found = found || kernel::as<kernel::Barrier>(part) || kernel::as<kernel::Wait>(part);
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

/// Executes the control flow of a kernel around one loop.
class Follower {
public:
  Follower(const kernel::Kernel &kernel, const For &loop)
      : kernel_(kernel), var_(loop.var), rows_(pipeline_rows(loop)), bounds_(bounds_of(kernel)) {
    line_.loop = loop.var->name;
    line_.pipelined = !loop.pipeline().empty();
    total_ = as_int(loop.extent).value_or(0);
    line_.rows = rows_.rows;
    executed_.resize(line_.rows.size());
    next_part_.resize(line_.rows.size());
  }

  std::optional<PipelineLine> follow() {
    if (line_.rows.size() < 2)
      return std::nullopt;
    line_.steps.push_back({.phase = LineStep::Phase::prologue});
    visit(kernel_.body);
    if (line_.extent == 0)
      return std::nullopt;
    line_.steps.back().end = line_.events.size();
    for (LineStep &step : line_.steps)
      if (step.phase == LineStep::Phase::steady && rows_in(step).size() < line_.rows.size())
        step.phase = LineStep::Phase::drain;
    std::erase_if(line_.steps, [](const LineStep &step) {
      return step.phase != LineStep::Phase::skipped && step.begin == step.end;
    });
    for (LineEvent &event : line_.events)
      if (!event.sync)
        event.iteration += part_text(event);
    return line_;
  }

private:
  void visit(const kernel::Stmt &stmt) {
    kernel::visit(stmt, Overloaded{[&](const kernel::Loop &loop) { visit_loop(loop_of(stmt), loop); },
                                   [&](const kernel::If &branch) { visit_branch(branch); },
                                   [&](const kernel::Seq &seq) {
                                     std::map<std::size_t, std::int64_t> outside = part_;
                                     for (const kernel::Stmt &part : seq.stmts)
                                       visit(part);
                                     part_ = std::move(outside);
                                   },
                                   [&](const kernel::Store &store) { add_nest(stmt->origin, store.async); },
                                   [&](const kernel::Call &) { add_nest(stmt->origin, false); },
                                   [&](const kernel::Barrier &it) { add_sync(stmt, false, it.hazards); },
                                   [&](const kernel::Wait &wait) {
                                     complete(wait.pending);
                                     add_sync(stmt, true, wait.hazards);
                                   },
                                   [&](const kernel::Commit &) {
                                     groups_.push_back(std::move(issued_));
                                     issued_.clear();
                                   },
                                   [&](const kernel::Declare &declare) {
                                     if (auto value = range_of(declare.value, bounds_))
                                       set_part(loop_of(stmt), value->low);
                                   },
                                   [&](const kernel::Arrive &) {}});
  }

  void visit_branch(const kernel::If &branch) {
    if (!proves(!branch.condition, bounds_)) // it is true, or a guard of some threads
      visit(branch.body);
    else if (branch.otherwise)
      visit(branch.otherwise);
  }

  void visit_loop(const Var &var, const kernel::Loop &loop) {
    std::optional<std::int64_t> extent = as_int(loop.extent);
    if (extent && var && (var == rows_.joined || rows_.spread_row.contains(var))) {
      for (std::int64_t step = 0; step < *extent; ++step) {
        bounds_.set(loop.var, {step, step});
        set_part(var, step);
        visit(loop.body);
      }
      return;
    }
    if (var != var_ || !extent || (line_.extent > 0 && line_.extent >= total_)) {
      visit(loop.body);
      return;
    }
    // After `partition`, there is a second loop for the last iterations.
    std::int64_t first = line_.extent, end = first + *extent,
                 last_steps = std::max<std::int64_t>(2, rows_.last_stage + 1),
                 resume = std::max(total_, end) - last_steps;
    line_.extent = end;
    for (std::int64_t k = first; k < end; ++k) {
      if (std::int64_t next = std::min(resume, end); k >= first_steps && k < next) {
        skip(next - k);
        k = next;
      }
      if (k == end)
        break;
      start(k);
      bounds_.set(loop.var, {k - first, k - first});
      visit(loop.body);
    }
    in_loop_ = false;
  }

  /// Whether the next nest, barrier or wait is shown: it is in the prologue or in the loop. `partition` can
  /// write the last iteration without a loop.
  bool is_shown() {
    if (!in_loop_ && line_.extent > 0 && line_.extent < total_)
      start(line_.extent++);
    return in_loop_ || line_.extent == 0;
  }

  /// The part of a spread loop that the next statements execute.
  void set_part(const Var &loop, std::int64_t part) {
    if (auto spread = rows_.spread_row.find(loop); spread != rows_.spread_row.end())
      part_[spread->second] = part;
  }

  void start(std::int64_t iteration) {
    std::ranges::fill(next_part_, 0);
    line_.steps.back().end = line_.events.size();
    line_.steps.push_back({.iteration = iteration, .begin = line_.events.size()});
    iteration_ = iteration;
    in_loop_ = true;
  }

  /// Leaves out iterations: the counts continue as if they had been executed.
  void skip(std::int64_t iterations) {
    line_.steps.back().end = line_.events.size();
    if (line_.steps.back().phase != LineStep::Phase::skipped) {
      model_ = line_.steps.back();
      line_.steps.push_back(
          {.phase = LineStep::Phase::skipped, .begin = line_.events.size(), .end = line_.events.size()});
    }
    for (std::size_t n = model_.begin; n < model_.end; ++n)
      if (!line_.events[n].sync)
        executed_[line_.events[n].row] += iterations;
    for (std::vector<std::size_t> &group : groups_)
      for (std::size_t event : group)
        line_.events[event].arrives = line_.events.size();
    for (std::vector<std::size_t> &group : groups_)
      group.clear();
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

  void add_nest(const Origin &origin, bool async) {
    std::set<std::size_t> rows = rows_of(origin);
    if (rows.empty() || !is_shown())
      return;
    std::size_t number = *rows.begin();
    const LineRow &row = line_.rows[number];
    bool last = row.inner ? *row.inner == rows_.last_inner : row.stage == rows_.last_stage;
    if (!in_loop_ && (!line_.pipelined || last))
      return;
    bool again = line_.events.size() > line_.steps.back().begin && !line_.events.back().sync &&
                 line_.events.back().row == number;
    if (!again) {
      line_.events.push_back({.row = number, .iteration = iteration_of(number)});
      ++executed_[number];
    }
    LineEvent &event = line_.events.back();
    if (async && !event.async)
      issued_.push_back(line_.events.size() - 1);
    event.async |= async;
    if (!row.parts)
      return;
    // Without a variable, the number of the part is a constant: it is the next one.
    auto known = part_.find(number);
    std::int64_t part = known != part_.end() ? known->second : again ? event.last_part : next_part_[number];
    if (!again)
      event.first_part = part;
    event.last_part = part;
    next_part_[number] = part + 1;
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
    return std::to_string(in_loop_ ? iteration_ + rows_.last_stage - row.stage : executed_[n]);
  }

  /// All groups but the latest `pending` are complete at the next event.
  void complete(std::int64_t pending) {
    auto most = static_cast<std::size_t>(pending);
    for (std::size_t n = 0; n + most < groups_.size(); ++n) {
      for (std::size_t event : groups_[n])
        line_.events[event].arrives = line_.events.size();
      groups_[n].clear();
    }
  }

  void add_sync(const kernel::Stmt &stmt, bool wait, const std::vector<kernel::Hazard> &hazards) {
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
  Bounds bounds_;
  PipelineLine line_;
  std::map<const kernel::StmtNode *, std::size_t> syncs_;
  std::vector<std::int64_t> executed_;       ///< executions of each row
  std::map<std::size_t, std::int64_t> part_; ///< of each row with a spread loop, where it is known
  std::vector<std::int64_t> next_part_;      ///< of each row
  LineStep model_;                           ///< the step before the ones that are left out
  std::int64_t total_ = 0;                   ///< iterations of the loop
  std::int64_t iteration_ = 0;
  bool in_loop_ = false;
  std::vector<std::size_t> issued_;              ///< copies without a group yet
  std::vector<std::vector<std::size_t>> groups_; ///< copies that have not arrived
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
    if (std::optional<PipelineLine> line = Follower(kernel, *loop).follow())
      lines.push_back(*line);
    return false;
  });
  return lines;
}

} // namespace nestsmith::cli::report
