#include "tools/pages/findings.h"

#include "runtime/model/explain.h"
#include "tools/pages/sections.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>

namespace nestsmith::cli::report {

namespace {

std::string page_of(const std::string &tutorial) { return tutorial + ".html"; }

/// One mistake, with the claim of the post and what nestsmith says about it.
Html caught(const CaughtMistake &found, Language language) {
  const Mistake &mistake = found.mistake;
  const std::string name = mistake.full_name();
  const std::string tutorial = mistake.rung.substr(0, mistake.rung.find('/'));
  return element(
      "li", {element("h3", {element("a", {{"id", name}, {"class", "address"}, {"href", "#" + name}}, {name})}),
             prose("p", "✗ " + mistake.claim, language), prose("p", "✓ " + mistake.truth, language),
             element("pre", {{"tabindex", "0"}, {"role", "region"}, {"aria-label", name}},
                     {element("code", {found.result.said.empty() ? "" : found.result.said.front()})}),
             element("p", {{"class", "quiet"}},
                     {say(Label::site_mended, language), " ",
                      element("a", {{"href", page_of(tutorial) + "#" + mistake.rung}}, {mistake.rung}), " · ",
                      element("code", {"nestsmith lint " + name})})});
}

Html corrected_figures(const std::vector<const Figure *> &figures, const std::string &title,
                       Language language) {
  Html rows;
  for (const Figure *figure : figures)
    rows += element("tr", {element("th", {{"scope", "row"}, {"lang", "en"}}, {figure->what}),
                           element("td", {number_text(figure->published)}),
                           element("td", {number_text(figure->ours)}),
                           element("td", {{"class", "note"}, {"lang", "en"}}, {figure->note})});
  auto head = [&](Label label) { return element("th", {{"scope", "col"}}, {say(label, language)}); };
  return element(
      "div", {{"class", "wide"}, {"tabindex", "0"}, {"role", "region"}, {"aria-label", title}},
      {element("table", {element("thead", {element("tr", {element("td", {}), head(Label::site_published),
                                                          head(Label::site_ours), element("td", {})})}),
                         element("tbody", {rows})})});
}

/// A file with a section for each tutorial for which `content` returns something.
std::string tutorials_file(Label title, Label text, Language language,
                           const std::function<Html(const Tutorial &)> &content) {
  Html sections, links;
  for (const Tutorial &tutorial : builtin_tutorials()) {
    Html part = content(tutorial);
    if (part.empty())
      continue;
    links += element("li", {element("a", {{"href", "#" + tutorial.name}}, {tutorial.name})});
    sections +=
        section(tutorial.name,
                element("a", {{"href", page_of(tutorial.name)}, {"lang", "en"}}, {headline(tutorial)}), {part});
  }
  std::string name(say(title, language));
  Html index = element("li", {element("a", {{"href", index_file}}, {say(Label::site_title, language)})});
  return page_file(
      name, "", language,
      element("body", {element("header", {element("h1", {name}), element("p", {say(text, language)})}),
                       element("nav", {{"aria-label", std::string(say(Label::contents, language))}},
                               {element("ul", {index, links})}),
                       element("main", {sections}), element("footer", {say(Label::made_by, language)})}));
}

} // namespace

Findings findings() {
  Findings found;
  for (const Mistake &mistake : mistakes())
    if (LintResult result = lint(mistake); result.verdict != LintVerdict::passed)
      found.mistakes.push_back({mistake, std::move(result)});
  for (const Figure &figure : figures())
    if (verdict(figure) == FigureVerdict::corrected)
      found.figures.push_back(figure);
  return found;
}

SiteLinks links_of(const Findings &found, const std::string &tutorial) {
  SiteLinks links{index_file, "", ""};
  if (std::ranges::any_of(found.mistakes,
                          [&](const CaughtMistake &each) { return each.mistake.tutorial == tutorial; }))
    links.mistakes = std::string(mistakes_file) + "#" + tutorial;
  if (std::ranges::find(found.figures, tutorial, &Figure::tutorial) != found.figures.end())
    links.figures = std::string(figures_file) + "#" + tutorial;
  return links;
}

std::string write_mistakes(const Findings &found, Language language) {
  return tutorials_file(Label::site_mistakes, Label::site_mistakes_text, language,
                        [&](const Tutorial &tutorial) {
                          Html items;
                          for (const CaughtMistake &each : found.mistakes)
                            if (each.mistake.tutorial == tutorial.name)
                              items += caught(each, language);
                          return items.empty() ? items : element("ul", {{"class", "site"}}, {items});
                        });
}

std::string write_figures(const Findings &found, Language language) {
  return tutorials_file(Label::site_figures, Label::site_figures_text, language, [&](const Tutorial &tutorial) {
    std::vector<const Figure *> own;
    for (const Figure &figure : found.figures)
      if (figure.tutorial == tutorial.name)
        own.push_back(&figure);
    return own.empty() ? Html() : corrected_figures(own, headline(tutorial), language);
  });
}

Html findings_sections(const Findings &found, Language language) {
  auto part = [&](const char *id, const char *file, Label title, Label text, std::size_t count) {
    return section(id, element("a", {{"href", file}}, {fmt::format("{} ({})", say(title, language), count)}),
                   {element("p", {say(text, language)})});
  };
  return part("mistakes", mistakes_file, Label::site_mistakes, Label::site_mistakes_text,
              found.mistakes.size()) +=
         part("figures", figures_file, Label::site_figures, Label::site_figures_text, found.figures.size());
}

} // namespace nestsmith::cli::report
