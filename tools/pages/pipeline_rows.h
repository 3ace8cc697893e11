#pragma once
/// The rows of a time line: the nests of a loop that is pipelined or contains barriers.

#include "dsl/ir/program.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith::cli::report {

/// A nest of the loop. `inner` is the stage in a joined loop (dsl/schedule/primitives/join_pipelines.h).
struct LineRow {
  std::vector<std::string> blocks = {};
  std::int64_t stage = 0;
  std::optional<std::int64_t> inner = std::nullopt;
  bool joined = false; ///< the steps of a joined loop execute it, or parts of it
  std::optional<std::int64_t> parts =
      std::nullopt;     ///< the iterations of its spread loop (dsl/schedule/primitives/spread.h)
  std::size_t role = 0; ///< of its warps: position in `Kernel::roles`
};

struct PipelineRows {
  std::vector<LineRow> rows = {};             ///< in the order in which a step executes them
  std::map<BlockId, std::size_t> row_of = {}; ///< by the blocks of the row
  std::map<Var, std::size_t> spread_row = {}; ///< by the variable of its spread loop
  Var joined = {};                            ///< the variable of the joined loop; null if there is none
  std::int64_t last_stage = 0;
  std::int64_t last_inner = 0, inner_extent = 1; ///< of the joined loop
};

/// `program` has the roles of the blocks.
PipelineRows pipeline_rows(const Program &program, const For &loop);

} // namespace nestsmith::cli::report
