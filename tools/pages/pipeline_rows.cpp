#include "tools/pages/pipeline_rows.h"

#include "dsl/ir/allocation.h"
#include "dsl/ir/pipeline.h"
#include "dsl/ir/roles.h"

namespace nestsmith::cli::report {

namespace {

void add_row(PipelineRows &rows, const Program &program, const StagedNest &nest) {
  LineRow row{.stage = nest.stage};
  for (const Block *block : blocks_of(nest.stmt)) {
    if (const auto role = role_of(program, block->id))
      row.role = *role + 1; // after the main role
    row.blocks.push_back(block->id->name);
    rows.row_of[block->id] = rows.rows.size();
  }
  rows.rows.push_back(row);
}

/// The nests of a loop that is not pipelined execute in their order, and all in one stage.
PipelineStep sequence_of(const For &loop) {
  PipelineStep step;
  for (const Stmt &nest : nests_of(loop.body))
    step.nests.push_back({{nest, 0, 0}});
  return step;
}

} // namespace

PipelineRows pipeline_rows(const Program &program, const For &loop) {
  PipelineStep step = loop.pipeline().empty() ? sequence_of(loop) : pipeline_step(loop);
  PipelineRows rows{.last_stage = step.last_stage, .last_inner = step.last_inner};
  if (step.joined) {
    rows.joined = step.joined->var;
    rows.inner_extent = as_int(step.joined->extent).value_or(1);
  }
  for (std::size_t n = 0; n < step.nests.size(); ++n) {
    const StepNest &nest = step.nests[n];
    add_row(rows, program, nest.nest);
    LineRow &row = rows.rows.back();
    row.inner = nest.inner_stage;
    row.joined = step.joined && n >= step.begin_of_joined;
    if (nest.spread) {
      rows.spread_row[nest.spread->var] = n;
      row.parts = as_int(nest.spread->extent);
    }
  }
  return rows;
}

} // namespace nestsmith::cli::report
