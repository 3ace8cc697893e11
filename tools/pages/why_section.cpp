#include "runtime/model/explain.h"
#include "tools/output/text_diff.h"
#include "tools/pages/sections.h"
#include "tools/tables/explain_text.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace nestsmith::cli::report {

namespace {

/// A label of `compare` with its heading: "global loads: sectors per request".
std::vector<std::string> full_labels(const std::vector<ComparedFigure> &figures) {
  std::vector<std::string> labels;
  std::string heading;
  for (const ComparedFigure &figure : figures) {
    bool below = figure.label.starts_with("  ");
    if (!below)
      heading = figure.label.substr(0, figure.label.find(':'));
    labels.push_back(below ? heading + ": " + figure.label.substr(2) : figure.label);
  }
  return labels;
}

/// The row with the largest relative change among the labels with this beginning; none if no change is noticed.
std::optional<std::size_t> most_changed(const std::vector<ComparedFigure> &figures,
                                        const std::vector<std::string> &labels, std::string_view beginning) {
  std::optional<std::size_t> most;
  auto size = [&](std::size_t n) { return std::fabs(std::log(figures[n].change)); };
  for (std::size_t n = 0; n < figures.size(); ++n) {
    if (labels[n].starts_with(beginning) && figures[n].change > 0 && size(n) > 0.05 &&
        (!most || size(n) > size(*most)))
      most = n;
  }
  return most;
}

/// The rows of the figures that moved: the least time, the resource that limited it, the estimated time, and
/// the count that changed most: of the accesses that this resource serves if there is one, and of loads before
/// stores.
std::vector<std::size_t> moved(const std::vector<ComparedFigure> &figures,
                               const std::vector<std::string> &labels) {
  const std::string &limiter = figures.front().a;
  std::vector<std::size_t> rows;
  for (std::size_t n = 0; n < figures.size(); ++n)
    if (labels[n] == "least time" || labels[n] == "least time: " + limiter ||
        labels[n].starts_with("estimated time"))
      rows.push_back(n);
  std::vector<std::string_view> order;
  if (limiter == name(Resource::shared))
    order = {"shared loads", "shared stores"};
  else if (limiter == name(Resource::l1) || limiter == name(Resource::l2))
    order = {"global loads", "global stores"};
  else if (limiter == name(Resource::dram))
    order = {"DRAM bytes"};
  order.insert(order.end(), {"bytes requested", "shared loads", "global loads"});
  std::optional<std::size_t> cause;
  for (std::string_view beginning : order)
    cause = cause ? cause : most_changed(figures, labels, beginning);
  if (cause)
    rows.push_back(*cause);
  return rows;
}

Html pair_of_bars(double change) {
  double most = std::max(1.0, change);
  auto bar = [&](double value, const char *y, const char *css_class) {
    return element("rect", {{"class", css_class}, {"width", percent(value / most)}, {"y", y}, {"height", "8"}});
  };
  return element("svg", {{"class", "pair"}, {"width", "100%"}, {"height", "20"}, {"aria-hidden", "true"}},
                 {bar(1, "1", "before"), bar(change, "11", "after")});
}

Html figure_row(const ComparedFigure &figure, const std::string &label, bool drawn) {
  bool changed = figure.change != 0 && figure.a != figure.b;
  return element(
      "tr",
      {element("th", {{"scope", "row"}}, {label}), element("td", {figure.a}), element("td", {figure.b}),
       element("td", {changed                ? fmt::format("{}×", number_text(figure.change))
                      : figure.a == figure.b ? "="
                                             : ""}),
       drawn ? element("td", {{"class", "drawn"}}, {changed ? pair_of_bars(figure.change) : Html()}) : Html()});
}

Html figures_table(const Against &against, const std::string &name, const std::vector<std::size_t> &rows,
                   bool drawn, Language language) {
  std::vector<std::string> labels = full_labels(against.figures);
  Html body;
  for (std::size_t row : rows)
    body += figure_row(against.figures[row], labels[row], drawn);
  Html head = element("tr", {element("th", {{"scope", "col"}}, {say(Label::figure, language)}),
                             element("th", {{"scope", "col"}}, {with_breaks(against.name)}),
                             element("th", {{"scope", "col"}}, {with_breaks(name)}),
                             element("th", {{"scope", "col"}}, {say(Label::change, language)}),
                             drawn ? element("td", {}) : Html()});
  return element("div",
                 {{"class", "wide"},
                  {"tabindex", "0"},
                  {"role", "region"},
                  {"aria-label", std::string(say(Label::figure, language))}},
                 {element("table", {element("thead", {head}), element("tbody", {body})})});
}

/// The changed lines of two texts, each with up to three unchanged lines around it.
Html diff_block(const std::string &name, const std::string &before, const std::string &after) {
  constexpr std::size_t context = 3;
  std::vector<DiffLine> lines = diff_lines(before, after);
  std::vector<bool> shown(lines.size(), false);
  for (std::size_t n = 0; n < lines.size(); ++n)
    if (lines[n].sign != DiffSign::same)
      for (std::size_t m = n - std::min(n, context); m <= std::min(lines.size() - 1, n + context); ++m)
        shown[m] = true;
  Html code;
  for (std::size_t n = 0; n < lines.size(); ++n) {
    const std::vector<Attribute> line = {{"class", "line"}};
    if (shown[n])
      code += lines[n].sign == DiffSign::added     ? element("ins", line, {lines[n].text})
              : lines[n].sign == DiffSign::removed ? element("del", line, {lines[n].text})
                                                   : element("span", line, {lines[n].text});
    else if (n == 0 || shown[n - 1])
      code += element("span", line, {"⋮"});
    else
      continue;
    code += "\n";
  }
  return element("pre", {{"tabindex", "0"}, {"role", "region"}, {"aria-label", name}},
                 {element("code", {code})});
}

std::string directives_of(const PageRung &rung) {
  std::string text;
  for (const Step &step : rung.steps)
    text += step.directive.empty() ? "" : step.directive + "\n";
  return text;
}

/// As `diff` shows two rungs.
Html differences(const PageRung &before, const PageRung &rung, bool open, Language language) {
  if (before.steps.empty() || rung.steps.empty())
    return {};
  const Step &a = before.steps.back(), &b = rung.steps.back();
  Html parts;
  auto part = [&](Label label, const std::string &x, const std::string &y) {
    if (x != y)
      parts += element("h4", {say(label, language)}) += diff_block(std::string(say(label, language)), x, y);
  };
  part(Label::directives, directives_of(before), directives_of(rung));
  part(Label::program, joined(a.program), joined(b.program));
  part(Label::kernel, joined(a.kernels), joined(b.kernels));
  std::vector<Attribute> attributes = {{"class", "differences"}};
  if (open)
    attributes.push_back({"open", ""});
  return element("details", attributes,
                 {element("summary", {say(Label::differences, language, before.name)}), parts});
}

} // namespace

Html why(const Page &page, std::size_t n, Language language) {
  const PageRung &rung = page.rungs[n];
  Html parts;
  if (rung.model)
    for (const Fact &fact : measured_facts(rung.model->measured))
      parts += prose("p", fmt::format("{}: {}", fact.label, fact.value), language,
                     fact.label == "Measured" ? "measured-time" : "quiet");
  if (rung.against) {
    std::vector<std::size_t> all(rung.against->figures.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    Label heading = rung.against->verdict.outcome == Outcome::better ? Label::why_better
                    : rung.against->verdict.outcome == Outcome::same ? Label::why_same
                                                                     : Label::why_worse;
    parts += element("h3", {{"class", fmt::format("outcome {}", name(rung.against->verdict.outcome))}},
                     {say(heading, language, rung.against->name)});
    parts += element("p", {rung.against->words.in(language)});
    parts += figures_table(*rung.against, rung.name,
                           moved(rung.against->figures, full_labels(rung.against->figures)), true, language);
    parts += element("details", {element("summary", {say(Label::all_figures, language)}),
                                 figures_table(*rung.against, rung.name, all, false, language)});
    if (rung.against->number)
      parts += differences(page.rungs[*rung.against->number], rung, page.compares, language);
  }
  if (rung.model) {
    parts += element("h3", {say(Label::limits, language)});
    parts += element("p", {rung.words.in(language)});
    if (const std::string &advice = rung.advice.in(language); !advice.empty())
      parts += element("p", {{"class", "advice"}}, {advice});
  }
  return parts;
}

} // namespace nestsmith::cli::report
