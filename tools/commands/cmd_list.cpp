#include "tools/options/command.h"
#include "tools/output/json.h"
#include "tools/results/analysed.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith::cli {

namespace {

/// The rungs of a tutorial, and its description.
struct Group {
  std::string name;
  const Tutorial *tutorial = nullptr; ///< null: no description
  std::vector<const Rung *> rungs;
};

std::vector<Group> groups_of(const Context &context) {
  std::vector<Group> groups;
  for (const Rung &rung : context.rungs) {
    auto known = std::ranges::find(groups, rung.tutorial, &Group::name);
    if (known == groups.end()) {
      auto tutorial = std::ranges::find(context.tutorials, rung.tutorial, &Tutorial::name);
      groups.push_back({rung.tutorial, tutorial == context.tutorials.end() ? nullptr : &*tutorial, {}});
      known = std::prev(groups.end());
    }
    known->rungs.push_back(&rung);
  }
  return groups;
}

/// All tutorials, or the named one.
std::vector<Group> chosen_tutorials(const Context &context) {
  std::vector<Group> groups = groups_of(context);
  if (context.arguments.positional().empty())
    return groups;
  const std::string &wanted = context.arguments.positional()[0];
  std::vector<std::string> names;
  for (const Group &group : groups)
    if (!group.name.empty())
      names.push_back(group.name);
  if (std::ranges::find(names, wanted) == names.end())
    throw UserError(ExitCode::usage,
                    names.empty() ? fmt::format("there is no tutorial '{}'; these rungs have none", wanted)
                                  : with_hint(fmt::format("there is no tutorial '{}', expected {}", wanted,
                                                          quoted_list(names)),
                                              wanted, names));
  std::erase_if(groups, [&](const Group &group) { return group.name != wanted; });
  return groups;
}

/// " (at 8192x8192x8192 on L4)", for a rung that shows its effect there.
std::string lesson_text(const Rung &rung) {
  return rung.lesson ? fmt::format(" (at {} on {})", to_text(rung.lesson->shape), rung.lesson->gpu) : "";
}

/// The full name of the rung on which this one builds. Empty if there is none.
std::string baseline_of(const Context &context, const Rung &rung) {
  auto before = rung_before(context.rungs, choose_rung(context.rungs, rung.full_name()));
  return before ? before->name : "";
}

/// The tutorial, with a line for each rung.
std::string group_text(const Group &group, const Style &style) {
  std::string text;
  if (!group.name.empty()) {
    std::string title = group.tutorial ? ": " + group.tutorial->title : "";
    text = folded(style.bold(group.name) + title, "  ", "");
  }
  if (group.tutorial) {
    text += folded(group.tutorial->source, "           ", "  source   ");
    if (!group.tutorial->url.empty())
      text += folded(group.tutorial->url, "           ", "  url      ");
    text += folded(group.tutorial->teaches, "           ", "  teaches  ");
    if (!group.tutorial->next.empty())
      text += folded(group.tutorial->next, "           ", "  next     ");
    text += "\n";
  }
  std::size_t width = 0;
  for (const Rung *rung : group.rungs)
    width = std::max(width, display_width(rung->full_name()));
  std::string margin(group.name.empty() ? 0 : 2, ' ');
  for (const Rung *rung : group.rungs) {
    std::string gap(rung->summary.empty() ? 0 : width + 2 - display_width(rung->full_name()), ' ');
    text += folded(rung->summary + lesson_text(*rung), margin + std::string(width + 2, ' '),
                   margin + style.bold(rung->full_name()) + gap);
  }
  return text;
}

void write_json(const Context &context, const std::vector<Group> &groups) {
  out(json_text([&](llvm::json::OStream &json) {
    json.object([&] {
      json.attributeArray("tutorials", [&] {
        for (const Group &group : groups)
          if (group.tutorial)
            json.object([&] {
              json.attribute("tutorial", group.name);
              json.attribute("title", group.tutorial->title);
              json.attribute("source", group.tutorial->source);
              json.attribute("teaches", group.tutorial->teaches);
              if (!group.tutorial->next.empty())
                json.attribute("next", group.tutorial->next);
              if (!group.tutorial->url.empty())
                json.attribute("url", group.tutorial->url);
            });
      });
      json.attributeArray("rungs", [&] {
        for (const Group &group : groups)
          for (const Rung *rung : group.rungs)
            json.object([&] {
              json.attribute("name", rung->full_name());
              json.attribute("tutorial", rung->tutorial);
              json.attribute("summary", rung->summary);
              json.attribute("default_shape", llvm::json::Array(rung->default_shape));
              if (std::string before = baseline_of(context, *rung); !before.empty())
                json.attribute("against", before);
              if (rung->lesson)
                json.attributeObject("lesson", [&] {
                  json.attribute("gpu", rung->lesson->gpu);
                  json.attribute("shape", llvm::json::Array(rung->lesson->shape));
                });
            });
      });
    });
  }));
}

ExitCode run_list(const Context &context) {
  std::vector<Group> groups = chosen_tutorials(context);
  if (context.json()) {
    write_json(context, groups);
    return ExitCode::good;
  }
  std::string text;
  for (const Group &group : groups)
    text += (text.empty() ? "" : "\n") + group_text(group, context.style);
  out(text);
  return ExitCode::good;
}

} // namespace

Command list_command() {
  return {"list", "list the tutorials, their topics and their rungs",          "[TUTORIAL]", 0, 1,
          {},     "examples:\n  nestsmith list\n  nestsmith list tvm_steps\n", run_list};
}

} // namespace nestsmith::cli
