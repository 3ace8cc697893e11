#pragma once
/// The content of a page: the results of `run`, of `explain` and of `show` for each rung.

#include "runtime/model/words.h"
#include "tools/pages/steps.h"
#include "tools/results/analysed.h"
#include "tools/results/climb.h"
#include "tools/results/published.h"
#include "tools/tables/compared_figures.h"

#include <optional>
#include <string>
#include <vector>

namespace nestsmith::cli::report {

/// The comparison with the rung of the page on which it builds. The first one is compared with the previous
/// rung of the tutorial.
struct Against {
  std::string name;
  Verdict verdict;
  Texts words; ///< as `explain` says it
  std::vector<ComparedFigure> figures;
  std::optional<std::size_t> number; ///< of the rung on the page; none: it is not on the page
};

struct PageRung {
  std::string name, summary;
  Planned planned; ///< without a schedule if it was refused
  Climbed climbed; ///< the row of `run`
  const PublishedRow *published = nullptr;
  std::optional<Analysed> model;  ///< the analysis of `explain`; none if the rung was refused
  std::string model_note;         ///< the reason why there is no analysis, or no register count
  Texts words;                    ///< the words of `explain`
  Texts advice;                   ///< the advice of `explain`; empty: none, or --no-advice
  std::optional<Against> against; ///< none: no previous rung computes the same
  std::vector<Step> steps;        ///< if a directive was refused, up to this one; else empty without a schedule

  /// The schedule that the page shows: the one of the analysis if there is one, else that of `run`; or null.
  const Scheduled *shown() const;
};

/// The table of `run`.
struct PageTable {
  std::vector<std::string> titles;
  std::vector<std::vector<std::string>>
      rows; ///< one for each rung, and one for cuBLAS if it was measured for one problem
};

/// The addresses in a site to which the page of a tutorial links. Empty: there is none.
struct SiteLinks {
  std::string index, mistakes, figures;
};

struct Page {
  std::string title;
  std::optional<Tutorial> tutorial; ///< if the rungs are those of one tutorial
  std::vector<PageRung> rungs;
  PageTable table;
  std::string where; ///< the machine of `run`
  bool measured = false;
  bool same_gpu = false; ///< measured on the GPU of the analyses
  ChosenGpu gpu;         ///< of the analyses
  std::string cublas_name;
  std::vector<const PublishedTable *> published;
  std::vector<std::string> notes;
  bool compares = false; ///< the page compares its two rungs
  SiteLinks site;        ///< on a site
  Reused reused;         ///< the page does not show it, so that it does not depend on earlier calls
};

/// A sentence if the simulator checked the rung for another problem than the page shows; otherwise empty.
std::string checked_note(const Page &page, const PageRung &rung);

/// Runs, explains and steps through the rungs, with progress on stderr. Reuses results of `results`, if it is
/// not null. Throws UserError as `run` does.
Page gather(const Context &context, std::vector<ChosenRung> choices, ResultCache *results);
/// Throws the UserError with which `gather` would refuse one of these pages, before a rung is run.
void check_plans(const Context &context, const std::vector<std::vector<ChosenRung>> &pages);

} // namespace nestsmith::cli::report
