#pragma once
/// The sections of a page: each is in its own file, NAME_section.cpp. write_page.cpp joins them.

#include "tools/output/html.h"
#include "tools/pages/differences.h"
#include "tools/pages/labels.h"
#include "tools/pages/page.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith::cli::report {

struct Findings;

/// A bar for each rung: its measured rate, or the rate at the least time of the model and below it the rate of
/// the record, with the published figures as marks and cuBLAS as a line. `climb_section` adds all published
/// figures.
Html climb_section(const Page &page, Language language);
/// `file` is the file of the rungs to which the bars lead; empty: they are on the same page.
Html climb_bars(const Page &page, Language language, const std::string &file = "");
/// "446 GFLOP/s – 14.1 TFLOP/s (measured on NVIDIA H200, 2026-11-23)": of the records if there are some. May be
/// empty.
std::string rates_text(const Page &page, Language language);
/// The rungs below the roof of the GPU.
Html roofline_section(const Page &page, Language language);
/// The table of `run` and its notes.
Html table_section(const Page &page, Language language);
/// The section of a rung: its change, the reason why it helps, and its steps. Adds the lines of its steps to
/// `lines`.
Html rung_section(const Page &page, std::size_t n, Language language, LineTable &lines);

/// Why rung number `n` is better or worse than the one before it, what differs, and what limits it.
Html why(const Page &page, std::size_t n, Language language);

/// The whole file.
std::string write_page(const Page &page, Language language);

/// The title of a page or a tutorial as a heading, which begins with a capital: "From one thread per element
/// …". The names of rungs stay as they are.
std::string headline(const Tutorial &tutorial);
std::string headline(const Page &page);
/// A file with this body. `script` may be empty.
std::string page_file(const std::string &title, std::string_view script, Language language, const Html &body);

/// A page of a site.
struct SitePage {
  std::string file; ///< "deep_dive.html"
  std::string title, teaches;
  std::vector<std::string> rungs;
  std::string rates;     ///< as `rates_text`
  Html climb = {};       ///< the bars of its climb, which lead to its rungs
  bool recorded = false; ///< the climb has measured times of the GPU of the page
};
SitePage site_page(const Page &page, const std::string &file, Language language);
/// The source of the rates of a page: the GPU that was measured, or the model.
std::string source_of_rates(const Page &page, Language language);
/// The index of a site: a link to each page, and the climb of the first one that has measured times. With
/// `found`, it is the site of nestsmith: it says what nestsmith is, and leads to the mistakes and the figures.
std::string write_index(const std::vector<SitePage> &pages, Language language, const Findings *found = nullptr);

/// The rate of a rung in FLOP/s: measured, or at the least time of the model. 0: not known, or the result is
/// wrong.
double rate_of(const Page &page, const PageRung &rung);
double rate_at_least_time(const PageRung &rung); ///< 0: no analysis
std::string rate_text(double flops);             ///< "1.25 TFLOP/s"
/// "f32 2048x2048x2048": the problem at which a rung has this rate.
std::string problem_of(const Page &page, const PageRung &rung);
/// The address of rung number `n` on the page, as in "#ladder/tile2d". It is that of its heading. Its step 3
/// has the address "#ladder/tile2d/step3".
std::string address(const Page &page, std::size_t n);
/// The identifier of the section of rung number `n`.
std::string anchor(std::size_t n);
/// The identifier of its pane with CUDA text.
std::string cuda_pane(std::size_t n);

/// Text that a command generated. It is English in every language.
Html prose(Literal tag, const std::string &text, Language language, const std::string &css_class = "");
/// A heading, and the section that it names.
Html section(const std::string &id, const Html &title, std::initializer_list<Html> children);

} // namespace nestsmith::cli::report
