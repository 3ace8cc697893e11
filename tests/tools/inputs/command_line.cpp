/// Fuzz target for command lines: parses the options, a rung and a shape, and lowers the schedule.

#include "tests/tools/inputs/targets.h"

#include "dsl/expr/error.h"
#include "dsl/schedule/trace.h"
#include "tests/files.h"
#include "tools/options/command.h"
#include "tools/options/scheduled.h"
#include "tools/output/output_file.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>

namespace nestsmith::inputs {

namespace {

void choose(const std::vector<std::string> &words) {
  const std::vector<cli::Option> options = {
      cli::shape_option(), cli::symbolic_option(), cli::multiple_of_option(),  cli::dtype_option(),
      cli::set_option(),   {"step", "N", ""},      {"output", "FILE", "", 'o'}};
  cli::Arguments arguments("emit", words, options);
  cli::Context context{builtin_rungs(), arguments, cli::Style(cli::Colour::never)};
  arguments.number("step");
  for (cli::ChosenRung &choice : cli::choose_rungs(context.rungs, arguments.positional())) {
    Shape shape = cli::chosen_shape(context, choice);
    internal_check(cli::parse_shape(cli::to_text(shape), shape.size()) == shape,
                   "a shape reads as it is written");
    cli::schedule_choice(context, choice).plan(3);
    return; // the other rungs of a tutorial are schedules of nestsmith
  }
}

} // namespace

void command_line(const std::string &bytes) {
  static const test::TemporaryFolder folder;
  llvm::SmallVector<llvm::StringRef, 8> lines;
  llvm::StringRef(bytes).split(lines, '\n');
  const std::string path = (folder / "trace.json").string();
  std::vector<std::string> words;
  for (std::size_t n = 1; n < lines.size(); ++n)
    words.push_back(lines[n] == "FILE.json" ? path : lines[n].str());
  refused_or_done([&] {
    if (std::string text = lines.front().str(); !text.empty()) {
      if (parse_trace(text, path).directives.size() > most_directives)
        return;
      cli::write_file(path, text);
    }
    choose(words);
  });
}

} // namespace nestsmith::inputs
