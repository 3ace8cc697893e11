#include "tools/pages/pipeline_rows.h"

#include "dsl/ir/allocation.h"
#include "dsl/ir/pipeline.h"

#include <algorithm>
#include <span>

namespace nestsmith::cli::report {

namespace {

const For *spread_loop(const StagedNest &nest) {
  const auto *loop = as<For>(nest.stmt);
  return loop && loop->spread() ? loop : nullptr;
}

void add_row(PipelineRows &rows, const StagedNest &nest) {
  LineRow row{.stage = nest.stage};
  for (const Block *block : blocks_of(nest.stmt)) {
    row.blocks.push_back(block->id->name);
    rows.row_of[block->id] = rows.rows.size();
  }
  rows.rows.push_back(row);
}

/// The nests of a joined loop in stage `stage`, and the nests `later` of the loop around it: those that run
/// ahead come before the later ones, and those of the last stage after them (lowering/pipelines.h).
void add_joined(PipelineRows &rows, const For &inner, std::int64_t stage, std::span<const StagedNest> later) {
  std::size_t first = rows.rows.size();
  rows.joined = inner.var;
  rows.inner_extent = as_int(inner.extent).value_or(1);
  std::vector<StagedNest> nests = staged_nests(inner);
  for (const StagedNest &nest : nests)
    rows.last_inner = std::max(rows.last_inner, nest.stage);
  auto add_inner = [&](std::span<const StagedNest> part) {
    for (const StagedNest &nest : part) {
      add_row(rows, {nest.stmt, stage, nest.order});
      rows.rows.back().inner = nest.stage;
    }
  };
  auto computing = std::ranges::find(nests, rows.last_inner, &StagedNest::stage);
  add_inner({nests.begin(), computing});
  for (const StagedNest &nest : later) {
    if (const For *loop = spread_loop(nest))
      rows.spread_row[loop->var] = rows.rows.size();
    add_row(rows, nest);
    if (const For *loop = spread_loop(nest))
      rows.rows.back().parts = as_int(loop->extent);
  }
  add_inner({computing, nests.end()});
  for (std::size_t row = first; row < rows.rows.size(); ++row)
    rows.rows[row].joined = true;
}

} // namespace

PipelineRows pipeline_rows(const For &loop) {
  std::vector<StagedNest> nests;
  if (!loop.pipeline().empty())
    nests = staged_nests(loop);
  else
    for (const Stmt &nest : nests_of(loop.body))
      nests.push_back({nest, 0, 0});
  PipelineRows rows;
  for (const StagedNest &nest : nests)
    rows.last_stage = std::max(rows.last_stage, nest.stage);
  for (std::size_t n = 0; n < nests.size(); ++n) {
    const auto *inner = as<For>(nests[n].stmt);
    if (inner && inner->joined()) {
      add_joined(rows, *inner, nests[n].stage, std::span(nests).subspan(n + 1));
      break;
    }
    add_row(rows, nests[n]);
  }
  return rows;
}

} // namespace nestsmith::cli::report
