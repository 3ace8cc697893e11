#include "tools/exercises/exercise.h"
#include "tools/options/command.h"
#include "tools/output/json.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith::cli {

namespace {

const Exercise &chosen_exercise(const std::string &wanted) {
  std::vector<std::string> names;
  for (const Exercise &exercise : exercises()) {
    if (exercise.name == wanted)
      return exercise;
    names.push_back(exercise.name);
  }
  throw UserError(ExitCode::usage,
                  with_hint(fmt::format("there is no exercise '{}'; `nestsmith exercise` lists them", wanted),
                            wanted, names));
}

std::string labelled(const std::string &label, const std::string &text, const Style &style) {
  return folded(text, std::string(14, ' '), "  " + style.dim(fmt::format("{:<12}", label)));
}

/// Quotes a text for the shell.
std::string quoted(const std::string &text) {
  return text.find_first_of(" ;(){},\"") == std::string::npos ? text : "'" + text + "'";
}

ExitCode list_exercises(const Context &context) {
  if (context.json()) {
    out(json_text([&](llvm::json::OStream &json) {
      json.array([&] {
        for (const Exercise &exercise : exercises())
          json.object([&] {
            json.attribute("name", exercise.name);
            json.attribute("title", exercise.title);
            json.attribute("task", exercise.task);
            json.attribute("hints", static_cast<std::int64_t>(exercise.hints.size()));
          });
      });
    }));
    return ExitCode::good;
  }
  std::string text;
  for (const Exercise &exercise : exercises())
    text += context.style.bold(fmt::format("{:<10}", exercise.name)) + "  " + exercise.title + "\n";
  text +=
      context.style.dim(folded_lines("\nnestsmith exercise NAME shows a task, nestsmith exercise NAME ANSWER "
                                     "checks an answer on the simulator.")) +
      "\n";
  out(text);
  return ExitCode::good;
}

ExitCode show_exercise(const Context &context, const Exercise &exercise) {
  std::string example = fmt::format("nestsmith exercise {} {}", exercise.name, quoted(exercise.example));
  if (context.json()) {
    out(json_text([&](llvm::json::OStream &json) {
      json.object([&] {
        json.attribute("name", exercise.name);
        json.attribute("task", exercise.task);
        json.attribute("text", exercise.text());
        json.attribute("example", example);
      });
    }));
    return ExitCode::good;
  }
  const Style &style = context.style;
  std::string text =
      style.bold(exercise.name + ": " + exercise.title) + "\n" + folded_lines(exercise.task) + "\n\n";
  text += folded_code(exercise.text()) + "\n";
  text += labelled("answer", example, style) +
          labelled("hint", fmt::format("nestsmith exercise {} --hint", exercise.name), style);
  out(text);
  return ExitCode::good;
}

ExitCode show_hint(const Context &context, const Exercise &exercise) {
  std::string given = context.arguments.value("hint").value_or("");
  std::size_t number = 1, count = exercise.hints.size();
  if (!given.empty()) {
    bool digits = given.size() == 1 && given[0] >= '1' && given[0] <= '9';
    number = digits ? static_cast<std::size_t>(given[0] - '0') : 0;
    if (number == 0 || number > count)
      throw UserError(ExitCode::usage,
                      fmt::format("there is no hint '{}' of the exercise {}: expected a number from 1 "
                                  "to {}",
                                  given, exercise.name, count));
  }
  const std::string &hint = exercise.hints[number - 1];
  if (context.json()) {
    out(json_text([&](llvm::json::OStream &json) {
      json.object([&] {
        json.attribute("name", exercise.name);
        json.attribute("hint", hint);
        json.attribute("number", static_cast<std::int64_t>(number));
        json.attribute("hints", static_cast<std::int64_t>(count));
      });
    }));
    return ExitCode::good;
  }
  std::string text = labelled(fmt::format("hint {} of {}", number, count), hint, context.style);
  if (number < count)
    text += labelled("next", fmt::format("nestsmith exercise {} --hint={}", exercise.name, number + 1),
                     context.style);
  out(text);
  return ExitCode::good;
}

void write_result(llvm::json::OStream &json, const Exercise &exercise, const ExerciseResult &result) {
  json.object([&] {
    json.attribute("name", exercise.name);
    json.attribute("solved", result.solved());
    if (!result.refused.empty())
      json.attribute("refused", result.refused);
    json.attribute("wrong", llvm::json::Array(result.wrong));
    json.attributeArray("measured", [&] {
      for (const Measured &figure : result.measured)
        json.object([&] {
          json.attribute("what", figure.what);
          json.attribute("got", json_number(figure.got));
          json.attribute("goal", figure.goal);
          json.attribute("reached", figure.reached);
        });
    });
    json.attribute("kernel", result.kernel);
  });
}

ExitCode judge(const Context &context, const Exercise &exercise, const std::string &answer) {
  ExerciseResult result = exercise.judge(answer);
  ExitCode code = result.solved() ? ExitCode::good : ExitCode::wrong_result;
  if (context.json()) {
    out(json_text([&](llvm::json::OStream &json) { write_result(json, exercise, result); }));
    return code;
  }
  const Style &style = context.style;
  auto mark = [&](bool good) { return good ? style.green("✓") : style.red("✗"); };
  std::string text = fmt::format("{} {}\n", mark(result.solved()),
                                 style.bold(exercise.name + (result.solved() ? ": solved" : ": not yet")));
  if (!result.refused.empty())
    text += labelled("refused", result.refused, style);
  else
    text += fmt::format("  {} {}\n", mark(result.wrong.empty()),
                        result.wrong.empty() ? "the results are right: no race, no read of unwritten memory"
                                             : "the simulator found a fault");
  if (!result.wrong.empty())
    text += labelled("", result.wrong.front(), style);
  for (const Measured &figure : result.measured)
    text += folded(fmt::format("{}: {:.4g} ({})", figure.what, figure.got, figure.goal), "    ",
                   fmt::format("  {} ", mark(figure.reached)));
  if (!result.solved())
    text += labelled("hint", fmt::format("nestsmith exercise {} --hint", exercise.name), style);
  out(text);
  return code;
}

ExitCode run_exercise(const Context &context) {
  const std::vector<std::string> &words = context.arguments.positional();
  bool hint = context.arguments.has("hint");
  if (words.empty() && hint)
    throw UserError(ExitCode::usage, "--hint needs the name of an exercise: nestsmith exercise NAME --hint");
  if (words.empty())
    return list_exercises(context);
  const Exercise &exercise = chosen_exercise(words[0]);
  if (hint && words.size() > 1)
    throw UserError(ExitCode::usage, "--hint and an answer exclude each other: use one of them");
  if (hint)
    return show_hint(context, exercise);
  return words.size() > 1 ? judge(context, exercise, words[1]) : show_exercise(context, exercise);
}

} // namespace

Command exercise_command() {
  return {"exercise",
          "list exercises, and check and count an answer on the simulator",
          "[EXERCISE [ANSWER]]",
          0,
          2,
          {{.name = "hint",
            .value = "N",
            .help = "print a hint instead; each says more than the one before; default: 1",
            .optional_value = true}},
          "The exit code is 0 if the answer solves the exercise, 1 if it does not yet, and 2 if it cannot be "
          "read.\n\n"
          "examples:\n"
          "  nestsmith exercise\n"
          "  nestsmith exercise row\n"
          "  nestsmith exercise row 's.bind(i_thread, Axis::thread_x); s.bind(j_thread, Axis::thread_y);'\n"
          "  nestsmith exercise row --hint\n",
          run_exercise};
}

} // namespace nestsmith::cli
