#pragma once
/// Pictures of the data of a rung, at the shape of its analysis. Each shows the first thread block of a kernel,
/// and is in its own file, NAME_picture.cpp.

#include "tools/pages/ownership.h"
#include "tools/pages/sections.h"

#include <string>
#include <vector>

namespace nestsmith::cli::report {

/// All pictures of rung number `n`; nothing if it has no analysis.
Html pictures(const Page &page, std::size_t n, Language language);
/// The labels that the script of the pictures shows, as a data block of the page.
Html picture_labels(Language language);

/// A kernel of a rung. `id` is a prefix for identifiers.
struct PicturedKernel {
  const Analysed &model;
  std::size_t number; ///< of the kernel in the plan
  const FirstBlock &block;
  std::string id;
  Language language;
  std::string pane;                           ///< identifier of the pane with the CUDA text of the rung
  const std::vector<std::size_t> &pane_lines; ///< for each line of the CUDA text, its number in the pane, or 0

  const KernelAnalysis &kernel() const { return model.analysis.kernels[number]; }
};

/// The threads, and grids of the elements that they own. `owners_json` is for the script.
Html ownership_picture(const PicturedKernel &kernel);
llvm::json::Value owners_json(const FirstBlock &block);
/// The list of accesses, each with its line of CUDA and its cost. The script draws the one that is selected.
Html access_picture(const PicturedKernel &kernel);
llvm::json::Value accesses_json(const PicturedKernel &kernel);
/// The time lines of the kernel's loops, as tables. The script shows the hazards of a barrier or a wait.
Html pipeline_picture(const PicturedKernel &kernel);
/// Blocks on an SM, with the limits, and waves over all SMs.
Html occupancy_picture(const PicturedKernel &kernel);

} // namespace nestsmith::cli::report
