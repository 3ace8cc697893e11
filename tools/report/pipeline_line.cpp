#include "tools/report/pipeline_line.h"

#include "dsl/allocation.h"
#include "dsl/pipeline.h"
#include "dsl/simplify.h"

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

const kernel::Loop *find_loop(const kernel::Kernel &kernel, const std::string &name) {
  const kernel::Loop *found = nullptr;
  kernel::walk(kernel.body, [&](const kernel::Stmt &stmt) {
    const auto *loop = kernel::as<kernel::Loop>(stmt);
    if (!found && loop && loop->var->name == name && !loop->over_lanes())
      found = loop;
  });
  return found;
}

std::string text_of(const kernel::Hazard &hazard) {
  std::string text = fmt::format("{} of {}", name(hazard.kind), hazard.buffer);
  if (!hazard.reader.empty())
    text += fmt::format(", which {} reads", hazard.reader);
  if (hazard.loop.empty())
    return text + ", in the same iteration";
  return text + fmt::format(", {} iteration{} of {} later", hazard.distance, hazard.distance == 1 ? "" : "s",
                            hazard.loop);
}

/// Executes the control flow of a kernel around one loop.
class Follower {
public:
  Follower(const kernel::Kernel &kernel, const For &loop) : kernel_(kernel), bounds_(bounds_of(kernel)) {
    line_.loop = loop.var->name;
    line_.pipelined = !loop.pipeline().empty();
    add_rows(loop);
  }

  std::optional<PipelineLine> follow() {
    if (line_.rows.size() < 2)
      return std::nullopt;
    line_.steps.push_back({.phase = LineStep::Phase::prologue});
    visit(kernel_.body);
    if (line_.extent == 0)
      return std::nullopt;
    std::erase_if(line_.steps, [](const LineStep &step) {
      return step.phase != LineStep::Phase::skipped && step.begin == step.end;
    });
    return line_;
  }

private:
  void add_rows(const For &loop) {
    std::vector<StagedNest> nests;
    if (line_.pipelined)
      nests = staged_nests(loop);
    else
      for (const Stmt &nest : nests_of(loop.body))
        nests.push_back({nest, 0, 0});
    for (const StagedNest &nest : nests) {
      last_stage_ = std::max(last_stage_, nest.stage);
      const auto *inner = as<For>(nest.stmt);
      if (!inner || !inner->joined()) {
        add_row(nest.stmt, nest.stage, std::nullopt);
        continue;
      }
      inner_extent_ = as_int(inner->extent).value_or(1);
      for (const StagedNest &part : staged_nests(*inner)) {
        last_inner_ = std::max(last_inner_, part.stage);
        add_row(part.stmt, nest.stage, part.stage);
      }
    }
    executed_.resize(line_.rows.size());
  }

  void add_row(const Stmt &nest, std::int64_t stage, std::optional<std::int64_t> inner) {
    LineRow row{.stage = stage, .inner = inner};
    for (const Block *block : blocks_of(nest)) {
      row.blocks.push_back(block->id->name);
      row_of_[block->body.buffer->name] = line_.rows.size();
    }
    line_.rows.push_back(row);
  }

  void visit(const kernel::Stmt &stmt) {
    kernel::visit(stmt,
                  Overloaded{[&](const kernel::Loop &loop) { visit_loop(loop); },
                             [&](const kernel::If &branch) { visit_branch(branch); },
                             [&](const kernel::Seq &seq) {
                               for (const kernel::Stmt &part : seq.stmts)
                                 visit(part);
                             },
                             [&](const kernel::Store &store) { add_nest(store.buffer->name, store.async); },
                             [&](const kernel::Call &call) { add_nest(call.result().buffer->name, false); },
                             [&](const kernel::Barrier &it) { add_sync(stmt, false, it.hazards); },
                             [&](const kernel::Wait &wait) {
                               complete(wait.pending);
                               add_sync(stmt, true, wait.hazards);
                             },
                             [&](const kernel::Commit &) {
                               groups_.push_back(std::move(issued_));
                               issued_.clear();
                             },
                             [&](const kernel::Declare &) {}, [&](const kernel::Arrive &) {}});
  }

  void visit_branch(const kernel::If &branch) {
    if (!proves(!branch.condition, bounds_)) // it is true, or a guard of some threads
      visit(branch.body);
    else if (branch.otherwise)
      visit(branch.otherwise);
  }

  void visit_loop(const kernel::Loop &loop) {
    std::optional<std::int64_t> extent = as_int(loop.extent);
    if (loop.var->name != line_.loop || !extent || line_.extent > 0) {
      visit(loop.body);
      return;
    }
    line_.extent = *extent;
    std::int64_t last_steps = std::max<std::int64_t>(2, last_stage_ + 1), resume = *extent - last_steps;
    for (std::int64_t k = 0; k < *extent; ++k) {
      if (k == first_steps && k < resume) {
        skip(resume - k);
        k = resume;
      }
      start(k);
      bounds_.set(loop.var, {k, k});
      visit(loop.body);
      line_.steps.back().end = line_.events.size();
      if (std::set<std::size_t> rows = rows_in(line_.steps.back()); rows.size() < line_.rows.size())
        line_.steps.back().phase = LineStep::Phase::drain;
    }
    in_loop_ = false;
  }

  void start(std::int64_t iteration) {
    line_.steps.back().end = line_.events.size();
    line_.steps.push_back({.iteration = iteration, .begin = line_.events.size()});
    iteration_ = iteration;
    in_loop_ = true;
  }

  /// Leaves out iterations: the counts continue as if they had been executed.
  void skip(std::int64_t iterations) {
    const LineStep &model = line_.steps.back();
    for (std::size_t n = model.begin; n < model.end; ++n)
      if (!line_.events[n].sync)
        executed_[line_.events[n].row] += iterations;
    for (std::vector<std::size_t> &group : groups_)
      for (std::size_t event : group)
        line_.events[event].arrives = line_.events.size();
    for (std::vector<std::size_t> &group : groups_)
      group.clear();
    line_.steps.push_back(
        {.phase = LineStep::Phase::skipped, .begin = line_.events.size(), .end = line_.events.size()});
  }

  std::set<std::size_t> rows_in(const LineStep &step) const {
    std::set<std::size_t> rows;
    for (std::size_t n = step.begin; n < step.end; ++n)
      if (!line_.events[n].sync)
        rows.insert(line_.events[n].row);
    return rows;
  }

  void add_nest(const std::string &buffer, bool async) {
    auto found = row_of_.find(buffer);
    if (found == row_of_.end() || (line_.extent > 0 && !in_loop_))
      return;
    const LineRow &row = line_.rows[found->second];
    bool last = row.inner ? *row.inner == last_inner_ : row.stage == last_stage_;
    if (!in_loop_ && (!line_.pipelined || last))
      return;
    if (!line_.events.empty() && line_.events.size() > line_.steps.back().begin && !line_.events.back().sync &&
        line_.events.back().row == found->second) {
      if (async && !line_.events.back().async)
        issued_.push_back(line_.events.size() - 1);
      line_.events.back().async |= async;
      return;
    }
    if (async)
      issued_.push_back(line_.events.size());
    line_.events.push_back({.row = found->second, .iteration = iteration_of(found->second), .async = async});
    ++executed_[found->second];
  }

  std::string iteration_of(std::size_t n) const {
    const LineRow &row = line_.rows[n];
    if (row.inner)
      return fmt::format("{}.{}", executed_[n] / inner_extent_, executed_[n] % inner_extent_);
    return std::to_string(in_loop_ ? iteration_ + last_stage_ - row.stage : executed_[n]);
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
    if (line_.extent > 0 && !in_loop_)
      return;
    auto [known, added] = syncs_.try_emplace(stmt.get(), line_.syncs.size());
    if (added) {
      auto number = 1 + std::ranges::count(line_.syncs, wait, &LineSync::wait);
      LineSync sync{.name = fmt::format("{}{}", wait ? "W" : "B", number), .wait = wait};
      for (const kernel::Hazard &hazard : hazards) {
        sync.hazards.push_back(text_of(hazard));
        for (const std::string &buffer : {hazard.buffer, hazard.reader})
          if (auto row = row_of_.find(buffer); row != row_of_.end())
            sync.rows.insert(row->second);
      }
      line_.syncs.push_back(sync);
    }
    line_.events.push_back({.sync = known->second});
  }

  const kernel::Kernel &kernel_;
  Bounds bounds_;
  PipelineLine line_;
  std::map<std::string, std::size_t> row_of_; ///< by the buffer that it writes
  std::map<const kernel::StmtNode *, std::size_t> syncs_;
  std::vector<std::int64_t> executed_; ///< executions of each row
  std::int64_t last_stage_ = 0, last_inner_ = 0, inner_extent_ = 1, iteration_ = 0;
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
    const kernel::Loop *found = find_loop(kernel, loop->var->name);
    if (!found || (loop->pipeline().empty() && !has_sync(found->body)))
      return true;
    if (std::optional<PipelineLine> line = Follower(kernel, *loop).follow())
      lines.push_back(*line);
    return false;
  });
  return lines;
}

} // namespace nestsmith::cli::report
