#include "tools/options/chosen_rung.h"

#include "dsl/expr/error.h"
#include "dsl/expr/expr_text.h"
#include "dsl/expr/outside.h"
#include "dsl/expr/printable.h"
#include "dsl/hardware/gpus.h"
#include "dsl/schedule/trace.h"
#include "runtime/records/text.h"
#include "schedules/kernels/kernel_table.h"
#include "schedules/workloads.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <new>
#include <set>

namespace nestsmith::cli {

namespace {

bool is_trace_file(const std::string &word) { return word.ends_with(".json"); }

std::vector<std::string> texts(const std::vector<Expr> &list) {
  std::vector<std::string> result;
  for (const Expr &e : list)
    result.push_back(to_string(e));
  return result;
}

/// The computation of a trace: that of the first rung whose program has this name, else one of
/// schedules/workloads.h. None if there is none for this shape. Adds the existing names to `known`.
std::optional<Program> find_traced(const std::vector<Rung> &rungs, const std::string &workload,
                                   const Shape &shape, DType dtype, const Target &target,
                                   std::set<std::string> &known) {
  for (const Rung &rung : rungs) {
    if (rung.default_shape.size() != shape.size())
      continue;
    try {
      Program source = rung.build(shape, dtype, target).source();
      if (source.name == workload)
        return source;
      known.insert(source.name);
    } catch (const std::exception &) { // another rung may support this shape
    }
  }
  try {
    return find_workload(workload, shape, dtype);
  } catch (const UserError &) { // it has a different number of extents
    return std::nullopt;
  }
}

/// Whether two computations have the same parameters, blocks and scalars, of any extents.
bool have_same_names(const Program &a, const Program &b) {
  auto same_parameter = [](const Buffer &x, const Buffer &y) {
    return x->name == y->name && x->role == y->role && x->shape.size() == y->shape.size();
  };
  auto names = [](const Program &program) {
    std::vector<std::string> result;
    for (const Block *block : blocks_of(program.body))
      result.push_back(block->id->name);
    for (const Var &scalar : program.scalars)
      result.push_back(scalar->name);
    return result;
  };
  return std::ranges::equal(a.params, b.params, same_parameter) && names(a) == names(b);
}

/// Throws UserError (usage) if the computation of the trace, which has the name of a workload, has another
/// shape or dtype than the trace states. Another computation may have the name, and a rung of the user's may
/// have a shape of another number of extents.
void check_computation(const TraceFile &trace, const std::string &path) {
  std::optional<Program> stated;
  try {
    if (trace.computation && trace.sizes.empty())
      stated = find_workload(trace.workload, trace.shape, trace.dtype);
  } catch (const UserError &) {
  }
  if (!stated || !have_same_names(*stated, *trace.computation))
    return;
  for (std::size_t n = 0; n < stated->params.size(); ++n) {
    const Buffer &expected = stated->params[n], &got = trace.computation->params[n];
    if ((n == 0 && expected->dtype != got->dtype) ||
        !std::ranges::equal(expected->shape, got->shape,
                            [](const Expr &a, const Expr &b) { return same(a, b); }))
      throw UserError(ExitCode::usage,
                      fmt::format("trace '{}' states the shape {} in {}, but in its computation {} is {}[{}], "
                                  "expected {}[{}]; make the trace again with show --trace json",
                                  path, to_text(trace.shape), name(trace.dtype), got->name, name(got->dtype),
                                  fmt::join(texts(got->shape), ", "), name(expected->dtype),
                                  fmt::join(texts(expected->shape), ", ")));
  }
}

/// The computation that the trace contains, if it is for this shape and dtype. A computation with sizes is for
/// every shape.
std::optional<Program> contained_program(const TraceFile &trace, const Shape &shape, DType dtype) {
  bool fits = dtype == trace.dtype && (shape == trace.shape || !trace.sizes.empty());
  return fits ? trace.computation : std::nullopt;
}

Program traced_program(const std::vector<Rung> &rungs, const TraceFile &trace, const Shape &shape, DType dtype,
                       const Target &target, const std::string &path) {
  if (auto program = contained_program(trace, shape, dtype))
    return *program;
  std::set<std::string> known;
  Shape with_part = shape; // with the size that the schedule splits a sum by
  for (const auto &[name, size] : trace.sizes)
    if (name == size_of_part)
      with_part.part = size;
  if (auto program = find_traced(rungs, trace.workload, with_part, dtype, target, known))
    return *program;
  Shape own = trace.shape;
  own.stated = shape.stated;
  if (trace.computation && own == shape)
    throw UserError(
        ExitCode::usage,
        fmt::format("trace '{}' contains the computation '{}' for {}, and no rung computes it for {}; "
                    "leave --dtype out",
                    path, trace.workload, name(trace.dtype), name(dtype)));
  if (trace.computation || (own != shape && find_traced(rungs, trace.workload, own, dtype, target, known)))
    throw UserError(
        ExitCode::usage,
        fmt::format("trace '{}' schedules the workload '{}' of shape {}, and no rung computes it for "
                    "the shape {}; leave --shape out",
                    path, trace.workload, to_text(trace.shape), to_text(shape)));
  throw UserError(
      ExitCode::usage,
      fmt::format("trace '{}' schedules the workload '{}' of shape {}, which no rung computes; known are {}",
                  path, trace.workload, to_text(shape), fmt::join(known, ", ")));
}

ChosenRung from_trace_file(const std::vector<Rung> &rungs, const std::string &file) {
  const std::string path = printable(file); // a name in messages, tables and comments
  TraceFile trace = parse_trace(read_outside(file, "trace", most_trace_bytes), path);
  if (trace.shape.empty())
    throw UserError(ExitCode::usage,
                    fmt::format("trace '{}' has no 'shape', expected the extents of its computation, "
                                "such as [64, 64, 64]; make the trace again with show --trace json",
                                path));
  try {
    parse_shape(to_text(trace.shape), trace.shape.size());
  } catch (const UserError &error) {
    throw UserError(ExitCode::usage, fmt::format("{}: {}", path, error.what()));
  }
  check_computation(trace, path);
  Shape shape = trace.shape;
  if (!trace.sizes.empty())
    shape.stated = trace.sizes.front().second;
  auto build = [&rungs, trace, path](const Shape &shape, DType dtype, const Target &target) {
    return replay(trace, traced_program(rungs, trace, shape, dtype, target, path), target, path);
  };
  return {.name = path,
          .summary = fmt::format("a trace of {} directives", trace.directives.size()),
          .default_shape = shape,
          .gpu_shape = shape,
          .tile = shape,
          .default_dtype = trace.dtype,
          .fixed_shape = true,
          .build = build,
          .knobs = trace.knobs};
}

/// Converts exceptions of a user's code to user errors with the rung's name.
template <class F> auto call_own(const Rung &rung, const char *what, const Shape &shape, const F &f) {
  auto failed = [&](const std::string &why) {
    return UserError(ExitCode::illegal_schedule,
                     fmt::format("the rung '{}' threw an exception for the shape {}: {}; fix its {} function",
                                 rung.full_name(), to_text(shape), why, what));
  };
  try {
    return f();
  } catch (const UserError &) {
    throw;
  } catch (const std::bad_alloc &) {
    throw;
  } catch (const std::exception &error) {
    throw failed(error.what());
  } catch (...) {
    throw failed("no std::exception");
  }
}

ChosenRung from_rung(const Rung &rung) {
  ChosenRung choice;
  choice.name = rung.full_name();
  choice.summary = rung.summary;
  choice.default_shape = rung.default_shape;
  choice.default_dtype = rung.dtype();
  // A rung of a different rank than a matrix product need not define all three shapes.
  bool own = rung.gpu_shape.size() == rung.default_shape.size();
  choice.gpu_shape = own ? rung.gpu_shape : rung.default_shape;
  choice.tile = rung.tile.size() == rung.default_shape.size() ? rung.tile : Shape(rung.default_shape.size(), 1);
  choice.build = [&rung](const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
    return call_own(rung, "build", shape, [&] { return rung.build(shape, dtype, target, knobs); });
  };
  if (rung.variant)
    choice.variant = [&rung](const Shape &shape, DType dtype) {
      return call_own(rung, "variant", shape, [&] { return rung.variant(shape, dtype); });
    };
  if (!rung.table.empty())
    choice.table = std::make_shared<records::KnobTable>(rung.table, "the table of " + choice.name, rung.tuned);
  choice.kernels = rung.kernels;
  choice.kernel_tables = rung.kernel_tables;
  return choice;
}

[[noreturn]] void unknown_rung(const std::vector<Rung> &rungs, const std::string &word) {
  std::vector<std::string> full, names;
  for (const Rung &rung : rungs) {
    full.push_back(rung.full_name());
    if (!rung.tutorial.empty() && std::ranges::find(full, rung.tutorial) == full.end())
      full.push_back(rung.tutorial);
    names.push_back(rung.name);
  }
  // If only the short name is similar, suggest the full name.
  std::vector<std::string> near = nearest(word, full);
  for (const std::string &name : nearest(word, names))
    for (const Rung &rung : rungs)
      if (rung.name == name && near.size() < 3 && std::ranges::find(near, rung.full_name()) == near.end())
        near.push_back(rung.full_name());
  throw UserError(ExitCode::usage,
                  with_names(fmt::format("unknown rung '{}'; `nestsmith list` shows them", word), near));
}

} // namespace

ChosenRung choose_rung(const std::vector<Rung> &rungs, const std::string &word) {
  if (is_trace_file(word))
    return from_trace_file(rungs, word);
  // The name of a tutorial never selects a rung of another one: `transposed` is not `principles/transposed`.
  if (!word.empty() && std::ranges::find(rungs, word, &Rung::tutorial) != rungs.end())
    throw UserError(
        ExitCode::usage,
        fmt::format("'{}' is a tutorial, expected one rung; `nestsmith list {}` shows its rungs", word, word));
  std::vector<const Rung *> found;
  for (const Rung &rung : rungs)
    if (rung.full_name() == word || rung.name == word)
      found.push_back(&rung);
  if (found.empty())
    unknown_rung(rungs, word);
  if (found.size() > 1) {
    std::vector<std::string> names;
    for (const Rung *rung : found)
      names.push_back(rung->full_name());
    throw UserError(ExitCode::usage,
                    fmt::format("'{}' is the name of several rungs; say {}", word, quoted_list(names)));
  }
  return from_rung(*found[0]);
}

/// A kernel table of --table replaces all tables of the choice. It is of the rung, or of one whose tables the
/// rung takes, and of the GPU of --gpu, if that is given.
static void take_kernel_table(ChosenRung &choice, std::string text, const std::string &where,
                              const std::optional<std::string> &gpu) {
  std::set<std::string> rungs;
  if (choice.kernels)
    rungs.insert(choice.name);
  else
    for (const std::string &known : choice.kernel_tables)
      rungs.insert(records::parse_kernel_table(known, "a kernel table of " + choice.name).rung);
  const records::KernelTable table = records::parse_kernel_table(text, where);
  const std::string &rung = table.rung;
  if (!rungs.contains(rung)) {
    const std::string taken =
        rungs.empty() ? "no kernel table" : "one of " + quoted_list({rungs.begin(), rungs.end()});
    throw UserError(ExitCode::usage, fmt::format("{} is a kernel table of '{}', but '{}' takes {}", where, rung,
                                                 choice.name, taken));
  }
  if (gpu && find_gpu(*gpu).product != table.gpu)
    throw UserError(
        ExitCode::usage,
        fmt::format("{} has the times of {}, expected those of {}, as --gpu says; make a table with "
                    "`nestsmith tune {} --table` on that GPU, or leave --table out",
                    where, table.gpu, find_gpu(*gpu).product, rung));
  choice.table = nullptr;
  choice.kernel_tables = {std::move(text)};
}

ChosenRung with_given_knobs(const Context &context, ChosenRung choice) {
  if (auto path = context.arguments.value("table")) {
    if (choice.fixed_shape)
      throw UserError(ExitCode::usage, fmt::format("'{}' is a trace file, which contains its schedule; leave "
                                                   "--table out",
                                                   choice.name));
    std::string text = read_outside(*path, "table", records::most_text_bytes);
    if (records::is_kernel_table(text)) {
      take_kernel_table(choice, std::move(text), printable(*path), context.arguments.value("gpu"));
    } else {
      std::string rung = choice.table ? choice.table->rung() : choice.name;
      choice.table = std::make_shared<records::KnobTable>(text, printable(*path), rung);
    }
    choice.given_table = true;
  }
  return with_set_knobs(context, std::move(choice));
}

ChosenRung with_set_knobs(const Context &context, ChosenRung choice) {
  if (auto given = context.arguments.value("set")) {
    choice.knobs = parse_knobs(*given);
    choice.given_knobs = true;
  }
  return choice;
}

ChosenRung given_rung(const Context &context) {
  return with_given_knobs(context, choose_rung(context.rungs, context.arguments.positional()[0]));
}

std::optional<Arch> arch_of_trace(const Context &context) {
  const std::vector<std::string> &words = context.arguments.positional();
  if (words.empty() || !is_trace_file(words[0]))
    return std::nullopt;
  const std::string path = printable(words[0]);
  const TraceFile trace = parse_trace(read_outside(words[0], "trace", most_trace_bytes), path);
  std::optional<Arch> arch = Arch::parse(trace.arch);
  if (!arch || !is_known(*arch))
    throw UserError(
        ExitCode::usage,
        fmt::format("trace '{}' states the target '{}', expected an architecture such as sm_80; give "
                    "one with --arch",
                    path, printable(trace.arch)));
  return arch;
}

std::vector<ChosenRung> choose_rungs(const std::vector<Rung> &rungs, const std::vector<std::string> &words) {
  std::vector<ChosenRung> choices;
  for (const std::string &word : words) {
    bool tutorial = false;
    for (const Rung &rung : rungs)
      if (rung.tutorial == word) {
        choices.push_back(from_rung(rung));
        tutorial = true;
      }
    if (!tutorial)
      choices.push_back(choose_rung(rungs, word));
  }
  if (words.empty())
    for (const Rung &rung : rungs)
      if (rung.tutorial == rungs.front().tutorial)
        choices.push_back(from_rung(rung));
  return choices;
}

std::string spare_other_ranks(const Context &context, std::vector<ChosenRung> &choices) {
  auto given = context.arguments.value("shape");
  if (!given)
    return "";
  auto extents = static_cast<std::size_t>(std::ranges::count(*given, 'x')) + 1;
  auto fits = [&](const ChosenRung &choice) { return choice.default_shape.size() == extents; };
  if (std::ranges::none_of(choices, fits))
    return "";
  std::vector<std::string> spared;
  for (ChosenRung &choice : choices)
    if (!fits(choice)) {
      choice.own_shape = true;
      spared.push_back(choice.name);
    }
  return spared.empty()
             ? ""
             : fmt::format("--shape {} has {} extents, which {} {} not take: run at a shape of {}", *given,
                           extents, fmt::join(spared, ", "), spared.size() > 1 ? "do" : "does",
                           spared.size() > 1 ? "their own" : "its own");
}

/// The value of an option of a symbolic kernel.
static std::optional<std::int64_t> multiple_of_sizes(const Context &context, const char *option) {
  auto unit = context.arguments.number(option);
  constexpr std::int64_t most = std::int64_t{1}
                                << 30; // the least common multiple of two of these is in 64 bits
  if (unit == 0)
    throw UserError(ExitCode::usage,
                    fmt::format("option '--{}' must be a number of at least 1, got '0'", option));
  if (unit > most)
    throw UserError(ExitCode::usage,
                    fmt::format("option '--{}' must be a number of at most {}, got '{}'", option, most, *unit));
  return unit;
}

std::optional<std::int64_t> given_multiple(const Context &context) {
  return multiple_of_sizes(context, "multiple-of");
}

Shape chosen_shape(const Context &context, const ChosenRung &choice) {
  auto given = context.arguments.value("shape");
  Shape shape =
      given && !choice.own_shape ? parse_shape(*given, choice.default_shape.size()) : choice.default_shape;
  auto unit = given_multiple(context), of_rows = multiple_of_sizes(context, "rows-multiple-of");
  for (auto [given_unit, option] : {std::pair(unit, "multiple-of"), std::pair(of_rows, "rows-multiple-of")})
    if (given_unit && !context.arguments.has("symbolic"))
      throw UserError(
          ExitCode::usage,
          fmt::format("--{} applies to the sizes of a symbolic kernel; give --symbolic too", option));
  if (!shape.stated)
    shape.stated = choice.default_shape.stated; // a trace file's
  if (context.arguments.has("symbolic"))
    shape.stated = Size{.multiple_of = unit.value_or(1)};
  shape.row_multiple = of_rows.value_or(1);
  return shape;
}

DType chosen_dtype(const Context &context, const ChosenRung &choice) {
  auto given = context.arguments.value("dtype");
  return given ? *parse_dtype(*given) : choice.default_dtype;
}

} // namespace nestsmith::cli
