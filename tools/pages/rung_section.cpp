#include "tools/pages/line_costs.h"
#include "tools/pages/pictures.h"
#include "tools/tables/run_table.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <llvm/Support/FormatVariadic.h>

namespace nestsmith::cli::report {

namespace {

Html code_block(const std::string &text) { return element("pre", {element("code", {text})}); }

/// Whether the last step is a directive that was refused.
bool is_refused(const PageRung &rung) { return !rung.steps.empty() && rung.steps.back().refused; }

Html refused_badge(Language language) {
  return element("span", {{"class", "verdict bad"}}, {say(Label::refused, language)});
}

/// The refusal of the schedule, or the reports of the checks.
Html trouble(const PageRung &rung, Language language) {
  Html parts;
  if (const Failure &failure = rung.climbed.failure; !failure.message.empty()) {
    parts += element("h3", {say(Label::refused, language)});
    parts += prose("p", failure.message, language);
    if (!failure.details.empty() && !is_refused(rung)) // then the last step shows the details
      parts += code_block(failure.details);
  }
  if (std::vector<std::string> messages = rung.climbed.check.messages(); !messages.empty()) {
    bool unknown = rung.climbed.check.outcome() == CheckOutcome::not_compared;
    parts += element("h3", {say(unknown ? Label::not_compared : Label::wrong, language)});
    for (const std::string &message : messages)
      parts += prose("p", message, language);
  }
  return parts.empty() ? parts : element("div", {{"class", "trouble"}, {"role", "note"}}, {parts});
}

/// `id` may be empty. `of` says from which step the text is, if it is not the one that is shown.
Html pane(const std::string &css_class, Label label, const LinkedText &text, Language language,
          const std::string &id = "", const std::string &of = "") {
  std::string lines;
  for (const LinkedLine &line : text)
    lines += line.text + "\n";
  std::string name(say(label, language));
  std::vector<Attribute> attributes = {{"class", "pane " + css_class + (of.empty() ? "" : " stale")}};
  if (!id.empty())
    attributes.push_back({"id", id});
  if (text.empty()) // no step so far has a kernel
    attributes.push_back({"hidden", ""});
  return element("figure", attributes,
                 {element("figcaption", {element("span", {{"class", "title"}}, {name}),
                                         of.empty() ? Html() : Html(", "), of}),
                  element("pre", {{"tabindex", "0"}, {"role", "region"}, {"aria-label", name}},
                          {element("code", {lines})})});
}

/// The open obligations of a step, or its refusal: the reason why it has no kernel.
Html no_kernel(const Step &step, Language language) {
  Html items;
  if (!step.refusal.empty())
    items += element("li", {step.refusal});
  else
    for (const Obligation &obligation : step.owed)
      items += element("li", {obligation.message});
  if (items.empty())
    return {};
  return element("div", {{"class", "owed"}, {"role", "note"}},
                 {element("h4", {say(step.refusal.empty() ? Label::owed : Label::refused, language)}),
                  element("ul", {{"lang", "en"}}, {items})});
}

/// For each step, the step whose kernel the page shows: the step itself, or the last one before it with a
/// kernel. -1: there is none.
std::vector<std::int64_t> kernel_steps(const std::vector<Step> &steps) {
  std::vector<std::int64_t> shown;
  for (const Step &step : steps)
    shown.push_back(!step.cuda.empty() ? std::ssize(shown) : shown.empty() ? -1 : shown.back());
  return shown;
}

/// The data from which the script shows every step.
llvm::json::Value steps_json(const std::vector<Step> &steps, const std::vector<LineCost> &costs,
                             LineTable &lines) {
  llvm::json::Array directives, programs, kernels, cudas, owed, refusals;
  const std::vector<std::int64_t> shown = kernel_steps(steps);
  const LinkedText none;
  const LinkedText *program = &none, *kernel = &none, *cuda = &none;
  for (const Step &step : steps) {
    bool lowered = !step.cuda.empty();
    directives.push_back(step.directive);
    programs.push_back(difference(*program, step.program, lines));
    kernels.push_back(difference(*kernel, lowered ? step.kernels : *kernel, lines));
    cudas.push_back(difference(*cuda, lowered ? step.cuda : *cuda, lines));
    llvm::json::Array open;
    for (const Obligation &obligation : step.owed)
      open.push_back(static_cast<std::int64_t>(lines.index({obligation.message, {}})));
    owed.push_back(std::move(open));
    refusals.push_back(step.refusal);
    program = &step.program;
    if (lowered)
      kernel = &step.kernels, cuda = &step.cuda;
  }
  return llvm::json::Object{{"directives", std::move(directives)},
                            {"program", std::move(programs)},
                            {"kernels", std::move(kernels)},
                            {"cuda", std::move(cudas)},
                            {"kernel_of", llvm::json::Array(shown)},
                            {"costs", costs_json(costs)},
                            {"owed", std::move(owed)},
                            {"refusals", std::move(refusals)},
                            {"refused", steps.back().refused}};
}

/// The controls, which the script shows.
Html controls(std::size_t n, std::size_t last, Language language) {
  auto button = [&](const char *css_class, Label label) {
    return element("button", {{"type", "button"}, {"class", css_class}}, {say(label, language)});
  };
  std::string id = fmt::format("slider-{}", n + 1), number = std::to_string(last);
  return element("div", {{"class", "controls"}, {"hidden", ""}},
                 {element("span", {{"class", "buttons"}},
                          {button("previous", Label::previous), " ", button("next", Label::next)}),
                  element("span", {{"class", "slide"}},
                          {element("label", {{"for", id}}, {say(Label::step, language)}),
                           element("input", {{"type", "range"},
                                             {"id", id},
                                             {"min", "0"},
                                             {"max", number},
                                             {"value", number},
                                             {"autocomplete", "off"}})})});
}

/// Which text of the kernel is shown.
Html choice(Language language) {
  return element(
      "p", {{"class", "controls choice"}, {"hidden", ""}},
      {element("label",
               {element("input", {{"type", "checkbox"}, {"class", "show-kernel"}, {"autocomplete", "off"}}),
                " ", say(Label::show_kernel, language)})});
}

/// The costs of the lines of the last step, which is the kernel of the analysis.
std::vector<LineCost> costs_of(const PageRung &rung) {
  if (!rung.model || rung.steps.back().cuda.empty())
    return {};
  return line_costs(rung.model->analysis,
                    same_lines(cuda_text(rung.model->scheduled.plan()).traced.text, rung.steps.back().cuda));
}

Html steps(const Page &page, std::size_t n, Language language, LineTable &lines) {
  const PageRung &rung = page.rungs[n];
  if (rung.steps.empty())
    return {};
  const Step &last = rung.steps.back();
  std::size_t count = rung.steps.size() - 1;
  std::int64_t shown = kernel_steps(rung.steps).back();
  const Step &lowered = shown < 0 ? last : rung.steps[static_cast<std::size_t>(shown)];
  std::string of = &lowered == &last ? "" : say(Label::kernel_of, language, std::to_string(shown));
  std::vector<LineCost> costs = costs_of(rung);
  auto name = [&](const Step &step) {
    Html code = !step.directive.empty() ? element("code", {step.directive})
                : step.refused          ? Html()
                                        : Html(say(Label::computation, language));
    return step.refused ? (code += " ") += refused_badge(language) : code;
  };
  Html directives;
  for (const Step &step : rung.steps)
    directives += element("li", {name(step)});
  std::string data = fmt::format("steps-{}", n + 1);
  return element("h3", {say(Label::steps, language)}) += element(
             "div", {{"class", "steps"}, {"data-steps", data}, {"data-address", address(page, n)}},
             {element("div", {{"class", "player"}},
                      {controls(n, count, language),
                       element("p", {{"class", "directive"}, {"aria-live", "polite"}},
                               {element("span", {{"class", "count"}}, {fmt::format("{} / {}", count, count)}),
                                " ", name(last)})}),
              choice(language),
              element("div", {{"class", "panes"}},
                      {pane("program", Label::program, last.program, language),
                       element("div", {{"class", "lowered"}},
                               {no_kernel(last, language),
                                pane("kernels", Label::kernel, lowered.kernels, language, "", of),
                                pane("cuda", Label::cuda, lowered.cuda, language, cuda_pane(n), of),
                                costs.empty() ? Html()
                                              : element("p", {{"class", "quiet costs-text"}, {"hidden", ""}},
                                                        {say(Label::costs_text, language)})})}),
              element("p", {{"class", "linked-lines"}, {"role", "status"}}, {}),
              element("details", {element("summary", {say(Label::directives, language)}),
                                  element("ol", {{"class", "directives"}, {"start", "0"}}, {directives})}),
              data_block(data, llvm::formatv("{0}", steps_json(rung.steps, costs, lines)).str())});
}

} // namespace

std::string anchor(std::size_t n) { return fmt::format("rung-{}", n + 1); }

std::string address(const Page &page, std::size_t n) {
  auto of = [](const PageRung &rung) {
    std::string name = rung.name;
    std::ranges::replace_if(
        name, [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }, '_');
    return name;
  };
  std::string name = of(page.rungs[n]);
  auto end = page.rungs.begin() + static_cast<std::ptrdiff_t>(n);
  auto same = std::count_if(page.rungs.begin(), end, [&](const PageRung &rung) { return of(rung) == name; });
  return same == 0 ? name : fmt::format("{}~{}", name, same + 1);
}

std::string cuda_pane(std::size_t n) { return fmt::format("cuda-{}", n + 1); }

Html prose(Literal tag, const std::string &text, Language language, const std::string &css_class) {
  std::vector<Attribute> attributes;
  if (!css_class.empty())
    attributes.push_back({"class", css_class});
  if (language != Language::en)
    attributes.push_back({"lang", "en"});
  return element(tag, attributes, {text});
}

Html section(const std::string &id, const Html &title, std::initializer_list<Html> children) {
  Html parts;
  for (const Html &child : children)
    parts += child;
  std::string heading = id + "-heading";
  return element("section", {{"id", id}, {"aria-labelledby", heading}},
                 {element("h2", {{"id", heading}}, {title}), parts});
}

Html rung_section(const Page &page, std::size_t n, Language language, LineTable &lines) {
  const PageRung &rung = page.rungs[n];
  std::string said = verdict(rung.climbed), checked = checked_note(page, rung);
  Html badge = element("span", {{"class", said == "PASSED" ? "verdict good" : "verdict bad"}}, {said});
  return section(
      anchor(n),
      element("a", {{"id", address(page, n)}, {"class", "address"}, {"href", "#" + address(page, n)}},
              {fmt::format("{}. {}", n + 1, rung.name)}),
      {element("p", {{"class", "changes"}}, {badge, " ", element("span", {{"lang", "en"}}, {rung.summary})}),
       rung.shown() ? prose("p", title(*rung.shown()), language, "quiet") : Html(),
       checked.empty() ? Html() : prose("p", checked, language, "quiet"), trouble(rung, language),
       why(page, n, language), steps(page, n, language, lines), pictures(page, n, language)});
}

} // namespace nestsmith::cli::report
