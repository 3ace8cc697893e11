#include "tools/pages/findings.h"
#include "tools/pages/sections.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith::cli::report {

namespace {

Html shell_commands(const std::string &text) {
  return element("pre", {{"tabindex", "0"}, {"role", "region"}, {"aria-label", "commands"}},
                 {element("code", {text})});
}

Html introduction(Language language) {
  return element("section", {{"class", "about"}},
                 {element("p", {say(Label::site_what, language)}),
                  element("h2", {say(Label::site_try, language)}),
                  shell_commands("./run.sh      # builds build/bin/nestsmith and runs the ladder\n"
                                 "./test.sh     # builds and runs the tests\n")});
}

/// The climb of the first page with measured times, or of the first page.
Html climb_of(const std::vector<SitePage> &pages, Language language) {
  if (pages.empty())
    return {};
  auto page = std::ranges::find(pages, true, &SitePage::recorded);
  if (page == pages.end())
    page = pages.begin();
  return section("climb", say(Label::site_climb, language, page->title),
                 {element("p", {say(Label::site_climb_text, language)}), page->climb});
}

} // namespace

SitePage site_page(const Page &page, const std::string &file, Language language) {
  SitePage made{file, headline(page), page.tutorial ? page.tutorial->teaches : "", {}, ""};
  for (const PageRung &rung : page.rungs) {
    made.rungs.push_back(rung.name);
    made.recorded |= page.measured || (rung.model && rung.model->measured.here);
  }
  made.rates = rates_text(page, language);
  made.climb = climb_bars(page, language, file);
  return made;
}

std::string write_index(const std::vector<SitePage> &pages, Language language, const Findings *found) {
  Html items;
  for (const SitePage &page : pages)
    items += element(
        "li", {element("h2", {element("a", {{"href", page.file}, {"lang", "en"}}, {page.title})}),
               page.teaches.empty() ? Html() : prose("p", page.teaches, language),
               element("p", {{"class", "quiet"}},
                       {say(Label::rungs_from_to, language, fmt::format("{}", fmt::join(page.rungs, ", ")))}),
               page.rates.empty() ? Html() : element("p", {{"class", "quiet"}}, {page.rates})});
  std::string title = found ? "nestsmith" : std::string(say(Label::site_title, language));
  return page_file(
      title, "", language,
      element("body", {element("header", {element("h1", {title})}),
                       element("main", {found ? introduction(language) : Html(), climb_of(pages, language),
                                        section("tutorials", say(Label::site_title, language),
                                                {element("ul", {{"class", "site"}}, {items})}),
                                        found ? findings_sections(*found, language) : Html()}),
                       element("footer", {say(Label::made_by, language)})}));
}

} // namespace nestsmith::cli::report
