#include "runtime/model/explain.h"
#include "tools/pages/figures/figures.h"
#include "tools/pages/mistakes/mistakes.h"
#include "tools/pages/sections.h"

#include <fmt/format.h>

namespace nestsmith::cli::report {

namespace {

Html shell_commands(const std::string &text) {
  return element("pre", {{"tabindex", "0"}, {"role", "region"}, {"aria-label", "commands"}},
                 {element("code", {text})});
}

/// One mistake, with the claim of the post and what nestsmith says about it.
Html caught(const Mistake &mistake, const LintResult &result, Language language) {
  return element(
      "li", {element("h3", {mistake.full_name()}), prose("p", "✗ " + mistake.claim, language),
             prose("p", "✓ " + mistake.truth, language),
             element("pre", {{"tabindex", "0"}, {"role", "region"}, {"aria-label", mistake.full_name()}},
                     {element("code", {result.said.empty() ? "" : result.said.front()})}),
             element("p", {{"class", "quiet"}}, {element("code", {"nestsmith lint " + mistake.full_name()})})});
}

} // namespace

Html site_introduction(Language language) {
  return element("section", {{"class", "about"}},
                 {element("p", {say(Label::site_what, language)}),
                  element("h2", {say(Label::site_try, language)}),
                  shell_commands("./run.sh      # builds build/bin/nestsmith and runs the ladder\n"
                                 "./test.sh     # builds and runs the tests\n")});
}

Html site_mistakes(Language language) {
  Html items;
  for (const Mistake &mistake : mistakes())
    if (LintResult result = lint(mistake); result.verdict != LintVerdict::passed)
      items += caught(mistake, result, language);
  return section(
      "mistakes", say(Label::site_mistakes, language),
      {element("p", {say(Label::site_mistakes_text, language)}), element("ul", {{"class", "site"}}, {items})});
}

Html site_figures(Language language) {
  Html rows;
  for (const Figure &figure : figures())
    if (verdict(figure) == FigureVerdict::corrected)
      rows += element(
          "tr", {element("th", {{"scope", "row"}, {"lang", "en"}}, {figure.tutorial + ": " + figure.what}),
                 element("td", {number_text(figure.published)}), element("td", {number_text(figure.ours)}),
                 element("td", {{"class", "note"}, {"lang", "en"}}, {figure.note})});
  auto title = [&](Label label) { return element("th", {{"scope", "col"}}, {say(label, language)}); };
  return section(
      "figures", say(Label::site_figures, language),
      {element("p", {say(Label::site_figures_text, language)}),
       element(
           "div",
           {{"class", "wide"},
            {"tabindex", "0"},
            {"role", "region"},
            {"aria-label", std::string(say(Label::site_figures, language))}},
           {element("table", {element("thead", {element("tr", {element("td", {}), title(Label::site_published),
                                                               title(Label::site_ours), element("td", {})})}),
                              element("tbody", {rows})})})});
}

} // namespace nestsmith::cli::report
