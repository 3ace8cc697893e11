#include "tools/options/command.h"
#include "tools/options/machine.h"
#include "tools/output/json.h"
#include "tools/output/output_file.h"
#include "tools/pages/findings.h"
#include "tools/pages/sections.h"
#include "tools/tables/run_notes.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fmt/format.h>
#include <memory>

namespace nestsmith::cli {

namespace {

using report::Language;
using report::Page;

Language chosen_language(const Context &context) {
  return context.arguments.value("lang") == "ko" ? Language::ko : Language::en;
}

/// The rung `word`, and before it the rung of --against. If one is a trace file, which has one shape, the other
/// takes this shape.
std::vector<ChosenRung> compared_rungs(const Context &context, const std::string &against,
                                       const std::string &word) {
  std::vector<ChosenRung> choices = {choose_rung(context.rungs, against), choose_rung(context.rungs, word)};
  for (std::size_t n : {0, 1}) {
    const ChosenRung &fixed = choices[n];
    ChosenRung &other = choices[1 - n];
    if (fixed.fixed_shape && !other.fixed_shape && fixed.default_shape.size() == other.default_shape.size()) {
      other.default_shape = other.gpu_shape = fixed.default_shape;
      other.default_dtype = fixed.default_dtype;
    }
  }
  return choices;
}

std::vector<ChosenRung> chosen_rungs(const Context &context) {
  const auto &words = context.arguments.positional();
  auto against = context.arguments.value("against");
  if (against && words.size() != 1)
    throw UserError(ExitCode::usage,
                    fmt::format("'report --against' compares one rung with another, expected 1 "
                                "rung beside it, got {}",
                                words.size()));
  std::vector<ChosenRung> choices =
      against ? compared_rungs(context, *against, words.front()) : choose_rungs(context.rungs, words);
  for (ChosenRung &choice : choices)
    choice = with_given_knobs(context, std::move(choice));
  if (choices.empty())
    throw UserError(ExitCode::usage, "there is no rung to report; name a trace file");
  return choices;
}

/// A file that was written.
struct Written {
  std::string path;
  std::size_t bytes = 0;
  std::vector<Climbed> rows;
  Reused reused;
};

/// The results that pages reuse; null with --no-cache.
std::unique_ptr<ResultCache> earlier_results(const Context &context) {
  return context.arguments.has("no-cache") ? nullptr : std::make_unique<ResultCache>();
}

/// Also prints the errors of the rungs on stderr.
Written write(const Context &context, const Page &page, const std::string &path) {
  std::string text = write_page(page, chosen_language(context));
  write_file(path, text);
  Written written{path, text.size(), {}, page.reused};
  for (const report::PageRung &rung : page.rungs) {
    const Climbed &row = rung.climbed;
    if (!row.failure.message.empty())
      to_stderr(fmt::format("{}: {}", row.name, row.failure.message));
    for (const std::string &message : row.check.messages())
      to_stderr(fmt::format("{}: {}", row.name, message));
    written.rows.push_back(row);
  }
  return written;
}

std::string counted(std::size_t count, const char *thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::string reused_text(const Reused &reused) {
  return reused.checks + reused.analyses == 0
             ? ""
             : fmt::format("; {} and {} reused", counted(reused.checks, "check"),
                           reused.analyses == 1 ? "1 analysis" : fmt::format("{} analyses", reused.analyses));
}

void announce(const Context &context, const Written &file) {
  if (context.json())
    out(json_line([&](llvm::json::OStream &json) {
          json.object([&] {
            json.attribute("file", file.path);
            json.attribute("bytes", static_cast<std::int64_t>(file.bytes));
            json.attribute("rungs", static_cast<std::int64_t>(file.rows.size()));
            json.attribute("passed", code_of(file.rows) == ExitCode::good);
            json.attribute("checks_reused", static_cast<std::int64_t>(file.reused.checks));
            json.attribute("analyses_reused", static_cast<std::int64_t>(file.reused.analyses));
          });
        }) +
        "\n");
  else
    out(folded_lines(fmt::format("{}: {}{:.0f} kB{}\n", file.path,
                                 file.rows.empty() ? "" : counted(file.rows.size(), "rung") + ", ",
                                 static_cast<double>(file.bytes) * 1e-3, reused_text(file.reused))));
}

/// The name of a tutorial's page, which is not in `taken`. A tutorial of a user may have any name.
std::string file_name(const std::string &tutorial, const std::vector<std::string> &taken) {
  std::string name = tutorial.empty() ? "rungs" : tutorial;
  std::ranges::replace_if(
      name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '-'; }, '_');
  while (std::ranges::find(taken, name + ".html") != taken.end())
    name += '_';
  return name + ".html";
}

/// A page for each tutorial, and then the index.
ExitCode write_site(const Context &context, const std::string &folder) {
  if (!context.arguments.positional().empty() || context.arguments.has("against"))
    throw UserError(ExitCode::usage, "'report --site' writes a page for each tutorial; name no rung");
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw UserError(ExitCode::usage, fmt::format("cannot create the folder '{}': {}", folder, error.message()));
  auto path = [&](const std::string &name) { return (std::filesystem::path(folder) / name).string(); };
  std::vector<ChosenRung> all;
  for (const Rung &rung : context.rungs)
    all.push_back(with_given_knobs(context, choose_rung(context.rungs, rung.full_name())));
  spare_other_ranks(context, all); // also the rungs of a tutorial of which none has this number of extents
  const bool own = context.rungs.data() == builtin_rungs().data();
  std::vector<std::string> tutorials, files = {report::index_file};
  if (own)
    files.insert(files.end(), {report::mistakes_file, report::figures_file});
  const std::size_t first_page = files.size();
  std::vector<std::vector<ChosenRung>> choices;
  for (std::size_t n = 0; n < all.size(); ++n) {
    const std::string &tutorial = context.rungs[n].tutorial;
    auto known = std::ranges::find(tutorials, tutorial);
    if (known == tutorials.end()) {
      known = tutorials.insert(known, tutorial);
      files.push_back(file_name(tutorial, files));
      choices.emplace_back();
    }
    choices[static_cast<std::size_t>(known - tutorials.begin())].push_back(all[n]);
  }
  for (const std::string &file : files)
    check_writable(path(file));
  report::check_plans(context, choices);
  std::vector<report::SitePage> pages;
  std::vector<Climbed> rows;
  std::unique_ptr<ResultCache> results = earlier_results(context);
  const report::Findings found = own ? report::findings() : report::Findings();
  for (std::size_t n = 0; n < choices.size(); ++n) {
    const std::string &file = files[first_page + n];
    Page page = report::gather(context, choices[n], results.get());
    page.site = links_of(found, tutorials[n]);
    Written written = write(context, page, path(file));
    announce(context, written);
    std::ranges::copy(written.rows, std::back_inserter(rows));
    pages.push_back(site_page(page, file, chosen_language(context)));
  }
  const Language language = chosen_language(context);
  auto finish = [&](const char *file, const std::string &text, const std::vector<Climbed> &of) {
    write_file(path(file), text);
    announce(context, {path(file), text.size(), of, {}});
  };
  if (own) {
    finish(report::mistakes_file, write_mistakes(found, language), {});
    finish(report::figures_file, write_figures(found, language), {});
  }
  finish(report::index_file, write_index(pages, language, own ? &found : nullptr), rows);
  return code_of(rows);
}

ExitCode run_report(const Context &context) {
  auto path = context.arguments.value("output"), site = context.arguments.value("site");
  if (path && site)
    throw UserError(ExitCode::usage, "--output and --site exclude each other; give one");
  if (site)
    return write_site(context, *site);
  if (!path)
    throw UserError(ExitCode::usage, "'report' writes a file; name it, as in -o report.html");
  std::vector<ChosenRung> choices = chosen_rungs(context);
  check_writable(*path);
  for (const ChosenRung &choice : choices)
    if (choice.fixed_shape && is_same_file(choice.name, *path))
      throw UserError(
          ExitCode::usage,
          fmt::format("the page would replace the trace '{}'; name another file with -o", choice.name));
  std::unique_ptr<ResultCache> results = earlier_results(context);
  Written written = write(context, report::gather(context, std::move(choices), results.get()), *path);
  announce(context, written);
  return code_of(written.rows);
}

} // namespace

Command report_command() {
  return {
      "report",
      "write a page with charts, explanations and steps of rungs, as one HTML file",
      "[RUNG or TUTORIAL …]",
      0,
      1000,
      {{"output", "FILE", "write the page to FILE; an error leaves no partial file", 'o'},
       {"site", "FOLDER", "write a page for each tutorial, and an index, to FOLDER"},
       {"against", "RUNG", "compare one rung with this rung"},
       {"lang",
        "LANGUAGE",
        "language of the labels and the reasons; other generated text is English",
        0,
        {"en", "ko"}},
       gpu_option(),
       shape_option(),
       symbolic_option(),
       multiple_of_option(),
       rows_multiple_of_option(),
       dtype_option(),
       set_option(),
       table_option(),
       records_option(),
       device_option(),
       arch_option(),
       {"no-advice", "", "try no changes of the schedules, which takes most of the time"},
       {"no-cache", "", "check and analyse each rung again, also if an earlier call has the result"}},
      "The page needs no network and no other file. It has the results of run, the predictions of explain, and "
      "a slider through the directives of each rung, with the program, the kernel and the CUDA C after each "
      "directive.\n\n"
      "Without a RUNG, it shows the first tutorial. The exit code is that of run.\n\n"
      "examples:\n"
      "  nestsmith report deep_dive -o deep_dive.html\n"
      "  nestsmith report mine.json --against deep_dive/shared -o mine.html\n"
      "  nestsmith report --site build/site\n",
      run_report};
}

} // namespace nestsmith::cli
