#include "tools/pages/page_files.h"
#include "tools/pages/pictures.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llvm/Support/FormatVariadic.h>

namespace nestsmith::cli::report {

namespace {

/// The head of a page, with a script or without one.
Html head(const std::string &title, std::string_view script) {
  auto meta = [](const char *name, const char *content) {
    return element("meta", {{"name", name}, {"content", content}});
  };
  return element("head",
                 {element("meta", {{"charset", "utf-8"}}),
                  element("meta", {{"http-equiv", "Content-Security-Policy"},
                                   {"content", security_policy(page_css, script)}}),
                  meta("viewport", "width=device-width, initial-scale=1"), meta("color-scheme", "light dark"),
                  element("title", {title + " · nestsmith"}), own_style(page_css)});
}

/// The source of a tutorial, with its address. Only an address of https is a link.
Html source(const Tutorial &tutorial, Language language) {
  Html text = prose("span", tutorial.source, language);
  if (tutorial.url.empty())
    return text;
  text += ": ";
  if (!tutorial.url.starts_with("https://"))
    return text += tutorial.url;
  return text += element("a", {{"href", tutorial.url}, {"rel", "noreferrer noopener"}, {"class", "url"}},
                         {tutorial.url.substr(std::string_view("https://").size())});
}

Html header(const Page &page, Language language) {
  Html facts;
  auto fact = [&](Label label, const std::string &value) {
    facts += element("dt", {say(label, language)});
    facts += prose("dd", value, language);
  };
  if (page.tutorial) {
    facts += element("dt", {say(Label::source, language)});
    facts += element("dd", {source(*page.tutorial, language)});
    fact(Label::teaches, page.tutorial->teaches);
    if (!page.tutorial->next.empty())
      fact(Label::continues, page.tutorial->next);
  }
  fact(Label::machine, fmt::format("{} ({}){}{}", page.gpu.gpu.product, to_string(page.gpu.gpu.arch),
                                   page.gpu.why.empty() ? "" : "; ", page.gpu.why));
  return element("header",
                 {element("h1", {{"lang", "en"}, {"class", page.tutorial ? "title" : "names"}}, {page.title}),
                  element("dl", {facts})});
}

Html contents(const Page &page, Language language) {
  Html items;
  auto item = [&](const std::string &id, const std::string &text) {
    items += element("li", {element("a", {{"href", "#" + id}}, {text})});
  };
  if (!page.index.empty())
    items += element("li", {element("a", {{"href", page.index}}, {say(Label::site_title, language)})});
  item("climb", std::string(say(Label::climb, language)));
  if (!roofline_section(page, language).empty())
    item("roofline", std::string(say(Label::roofline, language)));
  item("run", std::string(say(Label::run_table, language)));
  for (std::size_t n = 0; n < page.rungs.size(); ++n)
    item(address(page, n), fmt::format("{}. {}", n + 1, page.rungs[n].name));
  return element("nav", {{"aria-label", std::string(say(Label::contents, language))}},
                 {element("ul", {items})});
}

/// The labels that the script shows.
llvm::json::Value script_labels(Language language) {
  auto label = [&](Label which) { return std::string(say(which, language)); };
  return llvm::json::Object{
      {"computation", label(Label::computation)}, {"owed", label(Label::owed)},
      {"refused", label(Label::refused)},         {"not_lowered", label(Label::not_lowered)},
      {"kernel_of", label(Label::kernel_of)},     {"no_kernel_yet", label(Label::no_kernel_yet)},
      {"helpers", label(Label::helpers)},         {"scrolls", label(Label::scrolls)},
      {"address", label(Label::address_of_step)}, {"links", label(Label::links)},
      {"accesses", label(Label::access_number)},  {"no_links", label(Label::no_links)}};
}

} // namespace

std::string write_page(const Page &page, Language language) {
  LineTable lines;
  Html rungs;
  for (std::size_t n = 0; n < page.rungs.size(); ++n)
    rungs += rung_section(page, n, language, lines);
  Html main = element("main", {climb_section(page, language), roofline_section(page, language),
                               table_section(page, language), rungs});
  Html body = element("body", {element("a", {{"class", "skip"}, {"href", "#" + address(page, 0)}},
                                       {say(Label::skip_to_rungs, language)}),
                               header(page, language), contents(page, language), main,
                               element("footer", {say(Label::made_by, language)}), picture_labels(language),
                               data_block("lines", llvm::formatv("{0}", lines.json()).str()),
                               data_block("labels", llvm::formatv("{0}", script_labels(language)).str()),
                               own_script(page_js)});
  return document(element("html", {{"lang", std::string(code(language))}}, {head(page.title, page_js), body}))
      .markup();
}

SitePage site_page(const Page &page, const std::string &file, Language language) {
  SitePage made{file, page.title, page.tutorial ? page.tutorial->teaches : "", {}, ""};
  made.measured = page.measured;
  double least = 0, most = 0;
  for (const PageRung &rung : page.rungs) {
    made.addresses.push_back(address(page, made.rungs.size()));
    made.rungs.push_back(rung.name);
    double rate = rate_of(page, rung);
    made.each.push_back(rate);
    least = least == 0 ? rate : rate == 0 ? least : std::min(least, rate);
    most = std::max(most, rate);
  }
  if (most > 0)
    made.rates =
        fmt::format("{} – {} ({})", rate_text(least), rate_text(most), source_of_rates(page, language));
  return made;
}

/// The bars of the rungs of a page, each with a link to its rung.
static Html small_climb(const SitePage &page, Language language) {
  double most = page.each.empty() ? 0 : std::ranges::max(page.each);
  if (most == 0)
    return {};
  Html bars;
  for (std::size_t n = 0; n < page.each.size(); ++n)
    bars += element("li", {{"class", "bar"}},
                    {element("a", {{"href", page.file + "#" + page.addresses[n]}}, {page.rungs[n]}), " ",
                     element("span", {{"class", "value"}},
                             {page.each[n] == 0 ? std::string("–") : rate_text(page.each[n])}),
                     element("svg", {{"width", "100%"}, {"height", "22"}, {"role", "img"}},
                             {element("title", {page.rungs[n]}),
                              element("rect", {{"class", page.measured ? "measured" : "modelled"},
                                               {"width", percent(page.each[n] / most)},
                                               {"y", "3"},
                                               {"height", "16"}})})});
  return section("climb", say(Label::site_climb, language, page.title),
                 {element("p", {say(Label::site_climb_text, language), " ", page.rates}),
                  element("ol", {{"class", "bars"}}, {bars})});
}

std::string write_index(const std::vector<SitePage> &pages, Language language, bool own) {
  Html items;
  for (const SitePage &page : pages)
    items += element(
        "li", {element("h2", {element("a", {{"href", page.file}, {"lang", "en"}}, {page.title})}),
               page.teaches.empty() ? Html() : prose("p", page.teaches, language),
               element("p", {{"class", "quiet"}},
                       {say(Label::rungs_from_to, language, fmt::format("{}", fmt::join(page.rungs, ", ")))}),
               page.rates.empty() ? Html() : element("p", {{"class", "quiet"}}, {page.rates})});
  std::string title = own ? "nestsmith" : std::string(say(Label::site_title, language));
  Html body = element(
      "body", {element("header", {element("h1", {title})}),
               element("main", {own ? site_introduction(language) : Html(),
                                pages.empty() ? Html() : small_climb(pages.front(), language),
                                section("tutorials", say(Label::site_title, language),
                                        {element("ul", {{"class", "site"}}, {items})}),
                                own ? site_mistakes(language) : Html(), own ? site_figures(language) : Html()}),
               element("footer", {say(Label::made_by, language)})});
  return document(element("html", {{"lang", std::string(code(language))}}, {head(title, ""), body})).markup();
}

} // namespace nestsmith::cli::report
