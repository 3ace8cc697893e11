#include "runtime/tune/space.h"
#include "tools/analysed.h"
#include "tools/command.h"
#include "tools/explain_text.h"
#include "tools/json.h"
#include "tools/machine.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mutex>

namespace nestsmith::cli {

namespace {

constexpr std::int64_t most_points = 20'000, usual_trials = 200, usual_best = 10;

using tune::Point;
using tune::Space;

/// "138 points: 62 left, 76 removed", and the number of removed points for each reason.
std::string counts_text(const Space &space) {
  std::int64_t removed = space.tried() - static_cast<std::int64_t>(space.points.size());
  std::string text = fmt::format("{} points{}: {} left, {} removed\n", space.tried(),
                                 space.complete ? "" : " of a larger space", space.points.size(), removed);
  std::vector<std::pair<std::string, std::int64_t>> reasons(space.removed.begin(), space.removed.end());
  std::ranges::stable_sort(reasons, std::greater{}, &std::pair<std::string, std::int64_t>::second);
  for (const auto &[reason, count] : reasons)
    text += folded(reason, "        ", fmt::format("{:>6}  ", count));
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
               {"least time", Align::right},
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
    json.attributeObject("knobs", [&] {
      for (const auto &[name, value] : point.knobs)
        json.attribute(name, value);
    });
    if (!point.prediction)
      return;
    json.attribute("least_seconds", json_number(point.prediction->seconds));
    json.attribute("bound_by", std::string(name(point.prediction->limiter)));
    json.attribute("registers", point.prediction->registers ? llvm::json::Value(*point.prediction->registers)
                                                            : llvm::json::Value(nullptr));
    json.attribute("spilled_bytes", point.prediction->spilled_bytes);
    json.attribute("occupancy", point.prediction->occupancy);
  });
}

void write_json(llvm::json::OStream &json, const Space &space, const Choice &choice, const Shape &shape,
                DType dtype, const Gpu &gpu) {
  json.object([&] {
    json.attribute("rung", choice.name);
    json.attribute("shape", llvm::json::Array(shape));
    json.attribute("dtype", std::string(name(dtype)));
    json.attribute("gpu", gpu.name);
    json.attributeArray("knobs", [&] {
      for (const Knob &knob : space.knobs)
        json.object([&] {
          json.attribute("name", knob.name);
          json.attribute("candidates", llvm::json::Array(knob.candidates));
        });
    });
    json.attribute("tried", space.tried());
    json.attribute("complete", space.complete);
    json.attributeObject("removed", [&] {
      for (const auto &[reason, count] : space.removed)
        json.attribute(reason, count);
    });
    json.attributeArray("points", [&] {
      for (const Point &point : space.points)
        write_point(json, point);
    });
  });
}

/// The points of a rung at --shape and --dtype, for one GPU.
class Tuning {
public:
  explicit Tuning(const Context &context)
      : context_(context), choice_(chosen(context)), gpu_(choose_gpu(context)),
        shape_(chosen_shape(context, choice_)), dtype_(chosen_dtype(context, choice_)) {}

  ExitCode run();

private:
  static Choice chosen(const Context &context);
  tune::Built build(Knobs &knobs) const;
  std::uint64_t seed() const {
    return static_cast<std::uint64_t>(context_.arguments.number("seed").value_or(1));
  }
  Space points();
  void rank(Space &space);

  const Context &context_;
  Choice choice_;
  ChosenGpu gpu_;
  Shape shape_;
  DType dtype_;
  Progress progress_;
  std::string note_; ///< reason why registers are unknown, or empty
};

Choice Tuning::chosen(const Context &context) {
  Choice choice = given_rung(context);
  if (choice.fixed_shape)
    throw UserError(ExitCode::usage,
                    fmt::format("'{}' is a trace, which has no open choices; name a rung", choice.name));
  choice.default_shape = choice.gpu_shape;
  return choice;
}

tune::Built Tuning::build(Knobs &knobs) const {
  Scheduled scheduled = schedule_choice(context_, choice_, target_of(gpu_.gpu), knobs);
  return {scheduled.source(), scheduled.plan()};
}

Space Tuning::points() {
  auto build_point = [&](Knobs &knobs) { return build(knobs); };
  auto report = [&](std::size_t done) {
    progress_.step(fmt::format("{} points built", done));
    return true;
  };
  Space space = tune::enumerate(build_point, choice_.knobs, most_points, report);
  if (!space.complete)
    space = tune::sample(build_point, choice_.knobs, most_points, seed(), report);
  return space;
}

void Tuning::rank(Space &space) {
  tune::thin_out(space, context_.arguments.number("trials").value_or(usual_trials), seed());
  std::mutex mutex;
  std::size_t total = space.points.size();
  auto resources = [&](const kernel::Plan &plan) {
    std::string note;
    std::vector<KernelResources> compiled = resources_if_possible(plan, gpu_.gpu, note);
    std::lock_guard lock(mutex);
    note_ = note;
    return compiled;
  };
  auto report = [&](std::size_t done) {
    progress_.step(fmt::format("{} of {} points compiled and analysed", done, total));
    return true;
  };
  tune::predict(
      space, [&](Knobs &knobs) { return build(knobs); }, gpu_.gpu, resources, 0, report);
  tune::prune(space, {});
}

ExitCode Tuning::run() {
  Space space = points();
  if (space.knobs.empty())
    throw UserError(ExitCode::usage,
                    fmt::format("'{}' has no knobs; a schedule function with choices takes Knobs as its fourth "
                                "parameter (dsl/knobs.h)",
                                choice_.name));
  std::string listed = space_text(space, context_.style);
  bool ranked = !context_.arguments.has("space");
  if (ranked)
    rank(space);
  progress_.clear();
  if (context_.json()) {
    out(json_text(
        [&](llvm::json::OStream &json) { write_json(json, space, choice_, shape_, dtype_, gpu_.gpu); }));
    return ExitCode::good;
  }
  std::string text = context_.style.bold(fmt::format("{}  {} {}  {}", choice_.name, name(dtype_),
                                                     to_text(shape_), gpu_.gpu.product)) +
                     "\n\n" + (ranked ? counts_text(space) : listed);
  if (ranked)
    text += "\n" + best_text(space, context_.arguments.number("best").value_or(usual_best), context_.style) +
            "\n" +
            context_.style.dim(folded_lines(
                "This is the order of the model of `explain`, not of a measurement. The model does not know "
                "latency, barriers and dispatch stalls. Use a point with --set." +
                (note_.empty() ? "" : " " + note_ + "."))) +
            "\n";
  out(text);
  return ExitCode::good;
}

} // namespace

Command tune_command() {
  return {"tune",
          "find the best values for the knobs of a schedule",
          "RUNG",
          1,
          1,
          {{"space", "", "only list the knobs, and count the legal and the refused points"},
           {"seed", "N", "seed of the choice of points, if there are more points than trials (1)"},
           {"trials", "N", fmt::format("maximum number of points to compile and analyse ({})", usual_trials)},
           {"best", "N", fmt::format("number of points to print ({})", usual_best)},
           set_option(),
           shape_option(),
           symbolic_option("--shape selects the shape of the prediction"),
           multiple_of_option(),
           dtype_option(),
           gpu_option(),
           arch_option("the architecture of the GPU")},
          "examples:\n  nestsmith tune ladder/warps --space\n"
          "  nestsmith tune ladder/warps --gpu H200 --shape 4096x4096x4096 --best 5\n"
          "  nestsmith tune ladder/warps --set bk=16 --trials 50\n"
          "  nestsmith run ladder/warps --set bk=16,warps=2x4\n",
          [](const Context &context) { return Tuning(context).run(); }};
}

} // namespace nestsmith::cli
