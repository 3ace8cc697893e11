#pragma once
/// Text beside the table of `run`: published figures, the reasons for variants and knobs, and comparisons that
/// were not made. The lines are not folded.

#include "tools/results/climb.h"
#include "tools/results/published.h"
#include "tools/tables/run_table.h"

#include <string>
#include <vector>

namespace nestsmith::cli {

/// The published table of a built-in rung's tutorial, or null.
const PublishedTable *published_table(const Context &context, const std::string &rung);
/// The published figures of a built-in rung, or null.
const PublishedRow *published_row(const Context &context, const std::string &rung);
/// The authors of published figures, a line for each tutorial, with the figures if the table omits them.
std::string published_notes(const Context &context, const std::vector<Climbed> &rows, bool in_table);

/// The reasons for variants, one line for each row.
std::string variant_notes(const std::vector<Climbed> &rows);
/// The records from which rungs take their knobs, one line for each row with a table.
std::string table_notes(const std::vector<Climbed> &rows);
/// The runs of the checks that were skipped, one line for each: "softmax: not checked: integer mode: …".
std::string skipped_notes(const std::vector<Climbed> &rows);

RunTableFacts facts_of(const Context &context, const std::vector<Planned> &planned, const Machine &machine);
/// "on the simulator, as A100 would run it (sm_80)". `gpu` is the GPU of the analyses, or null.
std::string where_text(const Machine &machine, const Gpu *gpu);
/// The most serious exit code: a wrong result precedes a refused schedule.
ExitCode code_of(const std::vector<Climbed> &rows);

} // namespace nestsmith::cli
