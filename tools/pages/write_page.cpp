#include "tools/pages/page_files.h"
#include "tools/pages/pictures.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
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
  return element("header", {element("h1", {{"lang", "en"}, {"class", page.tutorial ? "title" : "names"}},
                                    {headline(page)}),
                            element("dl", {facts})});
}

Html contents(const Page &page, Language language) {
  Html items;
  auto item = [&](const std::string &id, const std::string &text) {
    items += element("li", {element("a", {{"href", "#" + id}}, {text})});
  };
  auto of_site = [&](const std::string &address, Label label) {
    if (!address.empty())
      items += element("li", {element("a", {{"href", address}}, {say(label, language)})});
  };
  of_site(page.site.index, Label::site_title);
  of_site(page.site.mistakes, Label::site_mistakes);
  of_site(page.site.figures, Label::site_figures);
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

std::string headline(const Tutorial &tutorial) {
  std::string title = tutorial.title;
  if (!title.empty())
    title.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(title.front())));
  return title;
}

std::string headline(const Page &page) { return page.tutorial ? headline(*page.tutorial) : page.title; }

std::string page_file(const std::string &title, std::string_view script, Language language, const Html &body) {
  return document(element("html", {{"lang", std::string(code(language))}}, {head(title, script), body}))
      .markup();
}

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
  return page_file(headline(page), page_js, language, body);
}

} // namespace nestsmith::cli::report
