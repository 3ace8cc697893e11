#include "runtime/cuda/cache.h"
#include "runtime/cuda/nvrtc.h"
#include "tools/options/command.h"
#include "tools/options/machine.h"
#include "tools/output/json.h"
#include "tools/output/output_file.h"
#include "tools/output/table.h"
#include "tools/results/analysed.h"
#include "tools/tables/explain_text.h"
#include "tools/tune/common_points.h"
#include "tools/tune/sweep.h"
#include "tools/tune/table_maker.h"
#include "tools/tune/tune_model.h"
#include "tools/tune/tune_records.h"
#include "tools/tune/tuning.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <functional>
#include <list>

namespace nestsmith::cli {

namespace {

constexpr std::size_t most_reasons = 10;

using tune::Point;
using tune::Space;

/// "138 points: 62 left, 76 removed", and the number of removed points for each reason.
std::string counts_text(const Space &space) {
  std::int64_t removed = space.tried() - static_cast<std::int64_t>(space.points.size());
  std::string text = fmt::format("{} points{}: {} left, {} removed\n", space.tried(),
                                 space.complete ? "" : " of a larger space", space.points.size(), removed);
  std::vector<std::pair<std::string, std::int64_t>> reasons(space.removed.begin(), space.removed.end());
  std::ranges::stable_sort(reasons, std::greater{}, &std::pair<std::string, std::int64_t>::second);
  std::int64_t others = 0;
  for (std::size_t n = 0; n < reasons.size(); ++n)
    if (n < most_reasons)
      text += folded(reasons[n].first, "        ", fmt::format("{:>6}  ", reasons[n].second));
    else
      others += reasons[n].second;
  if (others > 0)
    text +=
        fmt::format("{:>6}  for {} other reasons (--json lists them)\n", others, reasons.size() - most_reasons);
  return text;
}

std::string space_text(const Space &space, const Style &style) {
  Table knobs({{"knob"}, {"candidates, the default first"}});
  for (const Knob &knob : space.knobs)
    knobs.add({knob.name, fmt::format("{}", fmt::join(knob.candidates, ", "))});
  return knobs.text(style) + "\n" + counts_text(space);
}

std::string best_text(const Space &space, std::int64_t best, const Style &style) {
  Table table({{"", Align::right},
               {"estimated", Align::right},
               {"bound by"},
               {"registers", Align::right},
               {"occupancy", Align::right},
               {"knobs"}});
  for (std::size_t n = 0; n < std::min(space.points.size(), static_cast<std::size_t>(best)); ++n) {
    const tune::Prediction &prediction = *space.points[n].prediction;
    table.add({std::to_string(n + 1), seconds_text(prediction.seconds), std::string(name(prediction.limiter)),
               prediction.registers ? std::to_string(*prediction.registers) : "n/a",
               percent_text(prediction.occupancy), to_string(space.points[n].knobs)});
  }
  return table.text(style);
}

void write_point(llvm::json::OStream &json, const Point &point) {
  json.object([&] {
    json.attributeBegin("knobs");
    write_knobs(json, point.knobs);
    json.attributeEnd();
    if (!point.prediction)
      return;
    json.attribute("estimated_seconds", json_number(point.prediction->seconds));
    json.attribute("bound_by", std::string(name(point.prediction->limiter)));
    json.attribute("registers", point.prediction->registers ? llvm::json::Value(*point.prediction->registers)
                                                            : llvm::json::Value(nullptr));
    json.attribute("spilled_bytes", point.prediction->spilled_bytes);
    json.attribute("occupancy", point.prediction->occupancy);
  });
}

/// The attributes of the space.
void write_space(llvm::json::OStream &json, const Tuning &tuning) {
  json.attribute("rung", tuning.choice().name);
  json.attribute("shape", llvm::json::Array(tuning.shape()));
  json.attribute("dtype", std::string(name(tuning.dtype())));
  json.attribute("gpu", tuning.gpu().name);
  json.attributeArray("knobs", [&] {
    for (const Knob &knob : tuning.space().knobs)
      json.object([&] {
        json.attribute("name", knob.name);
        json.attribute("candidates", llvm::json::Array(knob.candidates));
      });
  });
  json.attribute("tried", tuning.space().tried());
  json.attribute("complete", tuning.space().complete);
  json.attributeObject("removed", [&] {
    for (const auto &[reason, count] : tuning.space().removed)
      json.attribute(reason, count);
  });
  json.attributeArray("points", [&] {
    for (const Point &point : tuning.space().points)
      write_point(json, point);
  });
}

TuneOptions chosen_options(const Context &context) {
  TuneOptions options;
  options.trials = context.arguments.number("trials").value_or(options.trials);
  if (options.trials < 1)
    throw UserError(ExitCode::usage, "option '--trials' must be at least 1, got '0'");
  options.minutes = context.arguments.real("minutes");
  options.seed = static_cast<std::uint64_t>(context.arguments.number("seed").value_or(1));
  std::string way = context.arguments.value("search").value_or("learn");
  options.way = way == "exhaustive" ? tune::SearchMethod::exhaustive
                : way == "random"   ? tune::SearchMethod::random
                                    : tune::SearchMethod::learn;
  options.setting.launch = launch_mode(context.arguments.value("launch").value_or("back-to-back"));
  options.shard = chosen_shard(context.arguments.value("shard"), process_environment());
  options.setting.cold_l2 = context.arguments.value("l2") == "cold";
  return options;
}

ChosenRung chosen_rung(const Context &context) {
  ChosenRung choice = with_set_knobs(context, choose_rung(context.rungs, context.arguments.positional()[0]));
  if (choice.fixed_shape)
    throw UserError(ExitCode::usage,
                    fmt::format("'{}' is a trace, which has no open choices; name a rung", choice.name));
  if (choice.table)
    throw UserError(ExitCode::usage,
                    fmt::format("'{}' takes its knobs from a table of records of '{}'; tune that rung",
                                choice.name, choice.table->rung()));
  choice.default_shape = choice.gpu_shape;
  return choice;
}

std::string heading(const Context &context, const Tuning &tuning, const std::string &gpu) {
  return context.style.bold(fmt::format("{}  {} {}  {}", tuning.choice().name, name(tuning.dtype()),
                                        to_text(tuning.shape()), gpu)) +
         "\n\n";
}

std::string notes_text(const Context &context, std::vector<std::string> notes) {
  std::string text;
  for (const std::string &note : notes)
    text += context.style.dim(folded_lines(note)) + "\n";
  return text;
}

ExitCode list_space(const Context &context, Tuning &tuning) {
  if (context.json())
    out(json_text([&](llvm::json::OStream &json) { json.object([&] { write_space(json, tuning); }); }));
  else
    out(heading(context, tuning, tuning.gpu().product) + space_text(tuning.space(), context.style));
  return ExitCode::good;
}

/// The order of the model. `why` is the reason why there is no measurement.
void rank_by_model(const Context &context, Tuning &tuning, const std::string &why) {
  std::optional<records::Database> database;
  std::string not_stored;
  auto with_database = [&](const std::function<void()> &use) {
    try {
      use();
    } catch (const UserError &error) { // the order is good without it, unless the user named the database
      if (context.arguments.has("db"))
        throw;
      database.reset();
      not_stored = fmt::format("not stored: {}", error.what());
    }
  };
  with_database([&] { database = open_given_database(context, tuning.shard()); }); // before the search
  tuning.rank();
  if (database)
    with_database([&] { tuning.store_estimates(*database); });
  if (context.json()) {
    out(json_text([&](llvm::json::OStream &json) {
      json.object([&] {
        write_space(json, tuning);
        json.attribute("measured", false);
        json.attribute("interrupted", tuning.interrupted());
        json.attribute("database", database ? llvm::json::Value(database->path().string()) : nullptr);
      });
    }));
    return;
  }
  std::vector<std::string> notes = tuning.notes();
  notes.insert(
      notes.begin(),
      why + ": this is the order of the model of `explain`, not of a measurement. Its estimate counts "
            "latency, barriers and waves; without NVRTC it is the least time, which counts none of them");
  if (database)
    notes.push_back(fmt::format("stored as estimates in {}", database->path().string()));
  if (!not_stored.empty())
    notes.push_back(not_stored);
  notes.emplace_back("use a point with --set");
  out(heading(context, tuning, tuning.gpu().product) + counts_text(tuning.space()) + "\n" +
      best_text(tuning.space(), context.arguments.number("best").value_or(usual_best), context.style) + "\n" +
      notes_text(context, notes));
}

ExitCode measure_points(const Context &context, Tuning &tuning, TuneMeasurer &measurer,
                        std::vector<records::Record> &found) {
  std::optional<records::Database> database = open_given_database(context, tuning.shard());
  found = tuning.measure(measurer, database ? &*database : nullptr);
  bool wrong =
      std::ranges::any_of(found, [](const auto &record) { return record.outcome == records::Outcome::wrong; });
  ExitCode code = wrong ? ExitCode::wrong_result : ExitCode::good;
  if (context.json()) {
    out(json_text([&](llvm::json::OStream &json) {
      json.object([&] {
        write_space(json, tuning);
        json.attribute("measured", true);
        json.attribute("interrupted", tuning.interrupted());
        json.attribute("database", database ? llvm::json::Value(database->path().string()) : nullptr);
        json.attributeArray("records", [&] {
          for (const records::Record &record : found)
            write_record(json, record);
        });
      });
    }));
    return code;
  }
  std::vector<std::string> notes = tuning.notes();
  if (tuning.shard().count > 1)
    notes.push_back(fmt::format("process {} of {} (from {}): it tried the default point and its part of the "
                                "others; `nestsmith tune merge` joins the databases",
                                tuning.shard().index, tuning.shard().count, tuning.shard().source));
  if (tuning.interrupted())
    notes.insert(notes.begin(), "interrupted; the same command continues");
  notes.push_back(database ? fmt::format("stored in {}", database->path().string())
                           : "not stored: no folder for the database is known; name a file with --db");
  notes.push_back(fmt::format("use a point with --set: nestsmith run {} --set …", tuning.choice().name));
  auto best = static_cast<std::size_t>(context.arguments.number("best").value_or(usual_best));
  out(heading(context, tuning, measurer.machine().gpu) + counts_text(tuning.space()) + "\n" +
      records_text(found, best, context.style) + "\n" + notes_text(context, notes));
  return code;
}

/// The last table of --shapes.
void show_common_points(const Context &context, const std::vector<CommonPoint> &list, std::size_t shapes,
                        bool measured) {
  if (context.json()) {
    out(json_text([&](llvm::json::OStream &json) {
      json.object([&] {
        json.attribute("measured", measured);
        json.attributeArray("of_all_shapes", [&] {
          for (const CommonPoint &point : list)
            json.object([&] {
              json.attributeBegin("knobs");
              write_knobs(json, point.knobs);
              json.attributeEnd();
              json.attribute("mean_speed", point.mean);
              json.attribute("worst_speed", point.worst);
            });
        });
      });
    }));
    return;
  }
  Table table({{"", Align::right}, {"mean", Align::right}, {"worst", Align::right}, {"knobs"}});
  auto best = static_cast<std::size_t>(context.arguments.number("best").value_or(usual_best));
  for (std::size_t n = 0; n < std::min(list.size(), best); ++n)
    table.add({std::to_string(n + 1), fmt::format("{:.3f}", list[n].mean), fmt::format("{:.3f}", list[n].worst),
               to_string(list[n].knobs)});
  out("\n" +
      context.style.bold(
          fmt::format("one configuration for all {} shapes{}", shapes, measured ? "" : ", estimated")) +
      "\n\n" + (list.empty() ? "none of the best points is legal at all shapes\n" : table.text(context.style)) +
      "\n" +
      context.style.dim(folded_lines(
          measured ? "mean, worst: the speed relative to the best point of each shape"
                   : "mean, worst: the estimated speed relative to the best point of each shape, by the model "
                     "of `explain`, not measured")) +
      "\n");
}

/// Searches at each of --shapes, and then for the best point of all of them.
ExitCode measure_shapes(const Context &context, std::list<Tuning> &tunings, TuneMeasurer &measurer) {
  ExitCode code = ExitCode::good;
  std::vector<std::vector<records::Record>> found;
  for (Tuning &tuning : tunings) {
    tuning.enumerate(false);
    code = std::max(code, measure_points(context, tuning, measurer, found.emplace_back()));
    if (tuning.interrupted())
      return code;
  }
  if (tunings.size() == 1)
    return code;
  std::optional<records::Database> database = open_given_database(context, tunings.front().shard());
  show_common_points(context, common_points(tunings, found, measurer, database ? &*database : nullptr),
                     tunings.size(), true);
  return code;
}

/// The same by the model. `why` is the reason why there is no measurement.
ExitCode rank_shapes(const Context &context, std::list<Tuning> &tunings, const std::string &why) {
  for (Tuning &tuning : tunings) {
    tuning.enumerate(false);
    rank_by_model(context, tuning, "not measured, because " + why);
    if (tuning.interrupted())
      return ExitCode::good;
  }
  if (tunings.size() > 1)
    show_common_points(context, estimated_common_points(tunings), tunings.size(), false);
  return ExitCode::good;
}

/// Refuses the options that a sweep does not use.
void check_sweep_options(const Context &context) {
  if (!context.arguments.has("sweep")) {
    if (context.arguments.has("chart"))
      throw UserError(ExitCode::usage, "--chart draws the times of --sweep; name a knob with --sweep KNOB");
    return;
  }
  for (const char *other : {"space", "search", "seed", "trials", "minutes", "shard", "best", "output", "all"})
    if (context.arguments.has(other))
      throw UserError(ExitCode::usage,
                      fmt::format("--sweep tries all values of its knobs once; leave --{} out", other));
}

/// The times over the values of the knobs of --sweep: measured with `measurer`, or estimated if it is null.
ExitCode sweep_knobs(const Context &context, Tuning &tuning, TuneMeasurer *measurer, const std::string &why) {
  Sweep sweep = swept(context, tuning, *context.arguments.value("sweep"));
  if (measurer) {
    std::optional<records::Database> database = open_given_database(context, tuning.shard());
    measure(tuning, sweep, *measurer, database ? &*database : nullptr);
  } else {
    estimate(context, tuning, sweep, why);
  }
  std::string gpu = measurer ? measurer->machine().gpu : tuning.gpu().product;
  if (auto path = context.arguments.value("chart"))
    write_file(*path, sweep_chart(sweep, fmt::format("{}  {} {}", tuning.choice().name, name(tuning.dtype()),
                                                     to_text(tuning.shape()))));
  if (context.json())
    out(json_text([&](llvm::json::OStream &json) {
      json.object([&] {
        json.attribute("rung", tuning.choice().name);
        json.attribute("shape", llvm::json::Array(tuning.shape()));
        json.attribute("dtype", std::string(name(tuning.dtype())));
        json.attribute("gpu", gpu);
        write_sweep(json, sweep);
      });
    }));
  else
    out(heading(context, tuning, gpu) + sweep_text(sweep, context.style));
  bool wrong = std::ranges::any_of(sweep.points, &SweptPoint::wrong);
  return wrong ? ExitCode::wrong_result : ExitCode::good;
}

/// The shapes of --shapes, or that of --shape.
std::vector<Shape> tuned_shapes(const Context &context, const ChosenRung &choice, const Shape &shape) {
  if (!context.arguments.has("shapes"))
    return {shape};
  for (const char *other : {"shape", "sweep", "space", "table"})
    if (context.arguments.has(other))
      throw UserError(ExitCode::usage,
                      fmt::format("--shapes searches at each shape of its list; leave --{} out", other));
  std::vector<Shape> shapes;
  for (const std::string &text : context.arguments.list("shapes", "")) {
    Shape each = parse_listed_shape(text, choice.default_shape.size());
    each.stated = shape.stated;
    if (std::ranges::find(shapes, each) == shapes.end())
      shapes.push_back(std::move(each));
  }
  return shapes;
}

/// Refuses the options that a kernel table does not use.
void check_table_options(const Context &context) {
  if (context.arguments.has("table"))
    for (const char *other : {"space", "sweep", "search", "seed", "trials", "minutes", "best", "all", "shape",
                              "symbolic", "multiple-of", "arch"})
      if (context.arguments.has(other))
        throw UserError(
            ExitCode::usage,
            fmt::format("--table measures all points of the rung once, at sizes of its own, on the GPU "
                        "of this machine; leave --{} out",
                        other));
}

/// The GPU of the process that measures a kernel table. Throws UserError (no_device) without one.
const TuneMachine &machine_of_table(TuneMeasurer &measurer) {
  try {
    return measurer.machine();
  } catch (const UserError &error) {
    if (error.code() != ExitCode::no_device)
      throw;
    throw UserError(
        ExitCode::no_device,
        "tune --table measures on a GPU, and there is none that can be used; `nestsmith doctor` says "
        "what was found; without a GPU, `tune RUNG --table --gpu NAME` compiles the kernels, and `tune RUNG` "
        "orders points by the model");
  }
}

/// `tune --table --gpu`: the part of `tune --table` that needs no GPU.
ExitCode compile_table(const Context &context, const ChosenRung &choice, const TuneOptions &options) {
  for (const char *other : {"output", "db"})
    if (context.arguments.has(other))
      throw UserError(
          ExitCode::usage,
          fmt::format("--table with --gpu measures nothing, so that there is nothing to write; leave "
                      "--{} out, and repeat the command without --gpu on the GPU",
                      other));
  ChosenGpu gpu = choose_gpu(context);
  cuda::Nvrtc::get().known_arch(to_string(gpu.gpu.arch)); // throws without an NVRTC that knows it
  if (std::string why = DiskCache::standard().why_not_writable(); !why.empty())
    throw UserError(ExitCode::usage,
                    fmt::format("the compiled kernels cannot be kept: {}; set NESTSMITH_CACHE to "
                                "a folder of your own",
                                why));
  TableMaker maker(context, choice, chosen_dtype(context, choice), std::move(gpu), options);
  const std::size_t kernels = maker.compile_only();
  if (maker.interrupted())
    throw UserError(ExitCode::usage, "interrupted; the same command continues");
  for (const std::string &note : maker.notes())
    to_stderr("nestsmith: " + note);
  out(fmt::format("{} kernels of the table are compiled in {}; on the GPU, the same command without --gpu only "
                  "measures if NESTSMITH_CACHE names a copy of this folder\n",
                  kernels, DiskCache::standard().directory().string()));
  return ExitCode::good;
}

/// `tune --table`.
ExitCode make_table(const Context &context, const ChosenRung &choice, const TuneOptions &options) {
  check_has_points(choice);
  if (context.arguments.has("gpu"))
    return compile_table(context, choice, options);
  TuneMeasurer measurer;
  ChosenGpu gpu = choose_gpu(context);
  const std::string &product = machine_of_table(measurer).gpu;
  if (product != gpu.gpu.product)
    throw UserError(
        ExitCode::usage,
        fmt::format("a kernel table needs the number of multiprocessors and the limits of {}, which "
                    "is not in nestsmith's list of GPUs",
                    product));
  std::optional<records::Database> database = open_given_database(context, options.shard);
  TableMaker maker(context, choice, chosen_dtype(context, choice), std::move(gpu), options);
  maker.measure(measurer, database ? &*database : nullptr);
  if (maker.interrupted())
    throw UserError(ExitCode::usage, "interrupted; the same command continues");
  records::KernelTable table = maker.table(measurer.machine());
  if (auto path = context.arguments.value("output"))
    write_file(*path, records::to_text(table));
  else
    out(records::to_text(table));
  for (const std::string &note : maker.notes())
    to_stderr("nestsmith: " + note);
  return ExitCode::good;
}

ExitCode tune_rung(const Context &context) {
  std::optional<tune::Parent> parent = tune::Parent::connect();
  TuneOptions options = chosen_options(context);
  ChosenRung choice = chosen_rung(context);
  Shape shape = chosen_shape(context, choice);
  if (auto device = visible_device(options.shard, process_environment()))
    setenv("CUDA_VISIBLE_DEVICES", device->c_str(), 1);
  if (parent)
    return serve_measurements(context, *parent, choice, shape, options.setting);
  if (context.arguments.has("table"))
    return make_table(context, choice, options);
  std::list<Tuning> tunings;
  for (const Shape &each : tuned_shapes(context, choice, shape))
    tunings.emplace_back(context, choice, each, chosen_dtype(context, choice), choose_gpu(context), options);
  const bool sweeps = context.arguments.has("sweep");
  if (context.arguments.has("space")) {
    tunings.front().enumerate(true);
    return list_space(context, tunings.front());
  }
  auto without_gpu = [&](const std::string &why) {
    return sweeps ? sweep_knobs(context, tunings.front(), nullptr, why) : rank_shapes(context, tunings, why);
  };
  if (context.arguments.has("gpu") || context.arguments.has("arch"))
    return without_gpu("--gpu or --arch names a GPU");
  TuneMeasurer measurer;
  try {
    measurer.machine();
  } catch (const UserError &error) {
    if (error.code() != ExitCode::no_device)
      throw;
    return without_gpu("there is no GPU that can be used");
  }
  if (sweeps)
    return sweep_knobs(context, tunings.front(), &measurer, "");
  return measure_shapes(context, tunings, measurer);
}

/// Refuses options of other words, so that nobody relies on them.
void check_options_of_word(const Context &context, const std::string &word) {
  struct Rule {
    std::vector<const char *> options;
    const char *purpose;
    std::vector<std::string_view> words; ///< that take them; "" is a rung
  };
  static const std::vector<Rule> rules = {
      {{"sweep"}, "varies the knobs of a RUNG", {""}},
      {{"table"}, "measures the points of a RUNG", {""}},
      {{"space"}, "lists the points of a RUNG", {""}},
      {{"set"}, "fixes knobs of a RUNG", {""}},
      {{"launch", "l2"}, "is for the measurements of a RUNG", {""}},
      {{"search", "minutes", "shard", "shapes", "symbolic", "multiple-of", "arch"},
       "is for the search of a RUNG",
       {""}},
      {{"seed", "trials"}, "is for the search of a RUNG", {"", "model"}},
      {{"best"}, "limits the points that are printed", {"", "show"}},
      {{"all"}, "is for `tune export`", {"export"}},
      {{"output"}, "is for `tune export` and --table", {"", "export"}},
      {{"shape"}, "selects records or the shape of a search", {"", "show", "export", "model"}},
      {{"dtype"}, "selects records or the type of a search", {"", "show", "export", "model"}},
      {{"gpu"}, "selects records or the GPU of a search", {"", "show", "export", "model"}}};
  const bool of_records = word == "model" || find_records_command(word);
  for (const auto &[options, purpose, words] : rules) {
    if (std::ranges::find(words, of_records ? std::string_view(word) : "") != words.end())
      continue;
    for (const char *option : options)
      if (context.arguments.has(option))
        throw UserError(ExitCode::usage, fmt::format("--{} {}; leave it out of `tune {}`", option, purpose,
                                                     of_records ? word : "RUNG"));
  }
  if (!of_records && context.arguments.has("output") && !context.arguments.has("table"))
    throw UserError(ExitCode::usage,
                    "--output is for `tune export` and --table; leave it out of `tune RUNG`, whose "
                    "results are in the database");
}

ExitCode run_tune(const Context &context) {
  check_table_options(context);
  check_sweep_options(context);
  const std::string &word = context.arguments.positional()[0];
  check_options_of_word(context, word);
  if (word == "model")
    return compare_with_model(context);
  if (auto command = find_records_command(word))
    return command(context);
  if (context.arguments.positional().size() > 1)
    throw UserError(ExitCode::usage,
                    fmt::format("tune takes one RUNG, got '{}' too", context.arguments.positional()[1]));
  return tune_rung(context);
}

} // namespace

Command tune_command() {
  return {
      "tune",
      "find the best values for the knobs of a schedule, by measurement or by the model",
      "RUNG",
      1,
      1000,
      {{"space", "", "only list the knobs, and count the legal and the refused points"},
       {"sweep", "KNOB[,KNOB]",
        "the time at each value of one knob, or of two, with the others at their defaults or those of --set"},
       {"chart", "FILE", "with --sweep: also write a chart of the times to FILE, in SVG"},
       {"shapes", "LIST",
        "search at each of these shapes, with commas between them, and for one configuration for all of them"},
       {"table", "",
        "measure the points of the rung for a kernel table, by which fast/best chooses for any shape"},
       {"search", "WAY", "learn, random or exhaustive (learn)", 0, {"learn", "random", "exhaustive"}},
       {"seed", "N", "seed of the search (1)"},
       {"trials", "N", fmt::format("maximum number of points to try ({})", TuneOptions{}.trials)},
       {"minutes", "M", "maximum duration of the measurements"},
       {"shard", "I/N", "try only the points of process I of N; default: the rank by Slurm, Open MPI or PMI"},
       {"launch",
        "WAY",
        "single, back-to-back or graph (back-to-back)",
        0,
        {"single", "back-to-back", "graph"}},
       {"l2", "STATE", "warm or cold (warm)", 0, {"warm", "cold"}},
       {"db", "FILE", "the database of results (" + standard_database_text() + ")"},
       {"best", "N", fmt::format("number of points to print ({})", usual_best)},
       {"output", "FILE", "with export and --table: write to FILE instead of stdout", 'o'},
       {"all", "", "with export: all records instead of the best ones"},
       set_option(),
       shape_option(),
       symbolic_option("--shape selects the shape of the measurement"),
       multiple_of_option(),
       dtype_option(),
       gpu_option(),
       arch_option("the architecture of the GPU")},
      "On a GPU, the points are measured as `bench` does, in a process of their own, and each result is "
      "compared with that of cuBLAS, or of the first point. Without a GPU, or with --gpu or --arch, the points "
      "are ordered by the estimated time of `explain`, and stored as estimates. A search begins with the "
      "points that the kernel table of the rung predicts to be the fastest; without a table, a measured search "
      "estimates up to 48 points, and begins with the best of them. Ctrl-C ends the search; the same command "
      "continues it.\n\n"
      "With --table, the points that the rung states are measured instead, each at about twenty sizes, and the "
      "table is written as text. It needs a GPU, takes minutes, and continues after Ctrl-C. With --shard, each "
      "process measures its part; after `tune merge`, the same command without --shard writes the table. With "
      "--gpu NAME, the kernels are only compiled, into the cache that `doctor` names, which needs no GPU.\n\n"
      "The database:\n"
      "  tune show [RUNG]         the best records\n"
      "  tune export [RUNG]       the best records as text, to commit\n"
      "  tune import FILE …       add the records of such text\n"
      "  tune merge FILE …        add the records of other databases\n"
      "  tune model [RUNG]        compare the order of the model with the measured order\n\n"
      "examples:\n  nestsmith tune ladder/warps --space\n"
      "  nestsmith tune ladder/warps --shape 4096x4096x4096 --minutes 5\n"
      "  nestsmith tune ladder/warps --gpu H200 --set bk=16 --trials 50\n"
      "  nestsmith run ladder/warps --set bk=16,warps=2x4\n"
      "  nestsmith tune tiling/shared --sweep block_size --chart tiles.svg\n"
      "  nestsmith tune fast/gemm --table -o fast.gemm.json\n"
      "  nestsmith tune show ladder/warps\n",
      run_tune};
}

} // namespace nestsmith::cli
