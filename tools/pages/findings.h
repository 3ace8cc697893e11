#pragma once
/// The findings in the posts are the mistakes that `lint` catches, and the published figures that are wrong. A
/// site has one page of the mistakes, and one of the figures.

#include "tools/output/html.h"
#include "tools/pages/figures/figures.h"
#include "tools/pages/labels.h"
#include "tools/pages/mistakes/mistakes.h"
#include "tools/pages/page.h"

#include <string>
#include <vector>

namespace nestsmith::cli::report {

struct CaughtMistake {
  Mistake mistake;
  LintResult result;
};

struct Findings {
  std::vector<CaughtMistake> mistakes;
  std::vector<Figure> figures;
};

/// Runs the examples, which takes seconds.
Findings findings();
/// The links of the page of a tutorial: to its part of a page, if there is one.
SiteLinks links_of(const Findings &found, const std::string &tutorial);

/// The names of the files of a site.
inline constexpr const char *index_file = "index.html", *mistakes_file = "mistakes.html",
                            *figures_file = "figures.html";
/// The files. Each has a section for each tutorial, with the name of the tutorial as its address, and each
/// mistake has an address: "mistakes.html#tvm_steps/thread_extents".
std::string write_mistakes(const Findings &found, Language language);
std::string write_figures(const Findings &found, Language language);
/// The sections of the index that lead to them.
Html findings_sections(const Findings &found, Language language);

} // namespace nestsmith::cli::report
