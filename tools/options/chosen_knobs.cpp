#include "tools/options/chosen_knobs.h"

#include "dsl/expr/error.h"
#include "dsl/hardware/gpus.h"
#include "tools/output/json.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith::cli {

namespace {

/// "f32 1024x1024x1024 on NVIDIA H200".
std::string name_of(const records::Record &record) {
  return fmt::format("{} {}{} on {}", record.dtype, record.shape,
                     record.symbolic ? " by one kernel for all shapes" : "", record.gpu);
}

/// Builds the schedule of a record at its own shape, so that a table with other knobs than those of the
/// schedule is refused.
void check_record(const ChosenRung &rung, const records::Record &record, DType dtype, const Target &target) {
  Shape shape = records::extents_of(record);
  if (record.symbolic)
    shape.stated = Size{};
  const Gpu *gpu = known_gpu(record.gpu);
  Knobs knobs(record.knobs);
  try {
    rung.build(shape, dtype, gpu ? target_of(*gpu) : target, knobs);
    knobs.refuse_unknown();
  } catch (const ScheduleError &) { // such as a kernel for multiples of 4, which the record does not state
  } catch (const UserError &error) {
    throw UserError(error.code(), fmt::format("{}: the record of {}: {}; export the table again",
                                              rung.table->where(), name_of(record), error.what()));
  }
}

/// The values, and then the values without each of them.
std::vector<KnobValues> with_one_default(const KnobValues &values) {
  std::vector<KnobValues> lists = {values};
  for (const auto &[name, value] : values) {
    lists.push_back(values);
    lists.back().erase(name);
  }
  return lists;
}

/// The knobs of the record that have another value in the schedule, except those of --set.
std::vector<std::string> differences(const KnobValues &record, const KnobValues &chosen,
                                     const KnobValues &set) {
  std::vector<std::string> names;
  for (const auto &[name, value] : record)
    if (auto found = chosen.find(name); found != chosen.end() && found->second != value && !set.contains(name))
      names.push_back(name);
  return names;
}

/// The schedule with the knobs of --set, if any.
Schedule built(const ChosenRung &rung, const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  if (!rung.given_knobs)
    return rung.build(shape, dtype, target, knobs);
  knobs.fix(rung.knobs);
  try {
    Schedule schedule = rung.build(shape, dtype, target, knobs);
    knobs.refuse_unknown();
    return schedule;
  } catch (const ScheduleError &) {
    throw;
  } catch (const UserError &error) {
    throw UserError(error.code(), fmt::format("{}: {}", rung.name, error.what()));
  }
}

/// The dtype of the records that serve `dtype`: for ring mode (u32) f32, whose operations are the same, unless
/// the table has records of u32.
std::string dtype_in(const records::KnobTable &table, DType dtype) {
  std::string own(name(dtype));
  return dtype == DType::u32 && table.gpus(own).empty() ? std::string(name(DType::f32)) : own;
}

/// The problem for which the table is searched: GPU, dtype and shape.
records::Problem problem_of(const ChosenRung &rung, const Shape &shape, DType dtype, const Target &target) {
  std::string type = dtype_in(*rung.table, dtype);
  return {serving_gpu(rung.table->gpus(type), target), type, shape, shape.stated.has_value()};
}

/// The schedule with the knobs of this record, or with all except one. None: it is not legal.
std::optional<ChosenKnobs> with_record(const ChosenRung &rung, const records::Record &record,
                                       const Shape &shape, DType dtype, const Target &target, Knobs &given) {
  for (const KnobValues &preferred : with_one_default(record.knobs)) {
    Knobs attempt = given;
    attempt.prefer(preferred);
    try {
      Schedule schedule = built(rung, shape, dtype, target, attempt);
      if (!schedule.obligations().empty())
        continue;
      given = attempt;
      TableUse use;
      use.record = record;
      use.except = differences(record.knobs, given.chosen(), rung.knobs);
      return ChosenKnobs{std::move(schedule), given.chosen(), std::move(use)};
    } catch (const ScheduleError &) { // other knobs may be legal for this shape
    }
  }
  return std::nullopt;
}

} // namespace

const records::KernelModel *serving_model(const ChosenRung &rung, DType dtype, const Target &target) {
  return records::serving_model(rung.kernel_tables, rung.kernels ? rung.name : "", dtype, target, rung.name);
}

namespace {

using records::point_of;

/// Whether the schedule did not ask for one of the knobs of a point.
bool lacks_knobs(const KnobValues &chosen, const KnobValues &point) {
  return std::ranges::any_of(point, [&](const auto &knob) {
    return !chosen.contains(knob.first) && !records::asks_for_nothing(knob.first, knob.second);
  });
}

/// A point of a kernel table with which the schedule is legal.
struct LegalPoint {
  std::size_t place; ///< in the order of the model
  Schedule schedule;
  Knobs knobs;
};

/// The order of the model, and the first `count` points of it with which the schedule is legal.
struct LegalPoints {
  const records::KernelModel *model = nullptr; ///< null: there is none for one shape
  std::vector<records::KernelChoice> order;
  std::vector<LegalPoint> points;
};

LegalPoints legal_points(const ChosenRung &rung, const Shape &shape, DType dtype, const Target &target,
                         const Knobs &given, std::size_t count) {
  LegalPoints found;
  const records::KernelModel *model = serving_model(rung, dtype, target);
  if (!model || shape.stated || shape.size() != 3)
    return found;
  found.model = model;
  found.order = records::ranked(*model, {.extents = {shape[0], shape[1], shape[2]}}, target);
  for (std::size_t n = 0;
       n < std::min(found.order.size(), records::most_attempts) && found.points.size() < count; ++n) {
    const PredictedPoint point = point_of(model->table(), found.order[n]);
    Knobs attempt = given;
    attempt.prefer(point.knobs);
    try {
      Schedule schedule = built(rung, shape, dtype, target, attempt);
      const KnobValues chosen = attempt.chosen();
      auto has = [&](const std::string &knob, std::int64_t value) {
        auto it = chosen.find(knob);
        return it != chosen.end() && it->second == std::to_string(value);
      };
      const bool other_parts = found.order[n].parts > 1 && !has(model->table().parts_knob, point.parts);
      const bool other_tail = found.order[n].even > 0 && !has(model->table().even_knob, point.even);
      // The time of the point is not that of a kernel with other parts, nor that of another schedule.
      bool other =
          other_parts || other_tail || lacks_knobs(chosen, model->table().points[found.order[n].point].knobs);
      if (schedule.obligations().empty() && !other)
        found.points.push_back({n, std::move(schedule), std::move(attempt)});
    } catch (const ScheduleError &) { // other points may be legal for this shape
    }
  }
  return found;
}

/// The point at this place of the order, and the next one that has another tile or parts.
KernelUse use_of(const records::KernelModel &model, const std::vector<records::KernelChoice> &order,
                 std::size_t place, const Shape &shape, const Target &target) {
  const Extents extents = {shape[0], shape[1], shape[2]};
  auto at = [&](std::size_t n) {
    return KernelUse::Point{point_of(model.table(), order[n]),
                            model.time_parts(order[n], extents, records::multiprocessors_for(model, target))};
  };
  KernelUse use{model.table().gpu, at(place), std::nullopt, model.table().gpu == target.gpu};
  for (std::size_t next = place + 1; next < order.size() && !use.second; ++next)
    if (const PredictedPoint other = point_of(model.table(), order[next]);
        other.tile != use.chosen.tile || other.parts != use.chosen.parts ||
        (other.even > 0) != (use.chosen.even > 0))
      use.second = at(next);
  if (const records::MeasuredSizes sizes = model.measured_sizes(); !sizes.contain(extents))
    use.outside = sizes;
  return use;
}

/// The schedule with the knobs of the fastest legal point of a kernel table. None: there is no table for one
/// shape, or none of its points is legal.
std::optional<ChosenKnobs> with_kernel(const ChosenRung &rung, const Shape &shape, DType dtype,
                                       const Target &target, Knobs &given) {
  LegalPoints found = legal_points(rung, shape, dtype, target, given, 1);
  if (found.points.empty())
    return std::nullopt;
  auto &[place, schedule, knobs] = found.points.front();
  given = knobs;
  TableUse use;
  use.kernel = use_of(*found.model, found.order, place, shape, target);
  use.except = differences(use.kernel->chosen.knobs, given.chosen(), rung.knobs);
  return ChosenKnobs{std::move(schedule), given.chosen(), std::move(use)};
}

} // namespace

std::vector<KnobValues> predicted_points(const ChosenRung &rung, const Shape &shape, DType dtype,
                                         const Target &target, std::size_t count) {
  std::vector<KnobValues> points;
  for (const LegalPoint &point : legal_points(rung, shape, dtype, target, {}, count).points)
    points.push_back(point.knobs.chosen());
  return points;
}

ChosenKnobs chosen_knobs(const ChosenRung &rung, const Shape &shape, DType dtype, const Target &target,
                         Knobs &given) {
  std::optional<TableUse> use;
  if (rung.table) {
    records::Problem problem = problem_of(rung, shape, dtype, target);
    std::vector<const records::Record *> records = rung.table->nearest(problem);
    bool exact = !records.empty() && records::distance(problem, *records.front()) == 0;
    // The kernel table of the GPU at hand knows more of it than a record of another one.
    const records::KernelModel *model = serving_model(rung, dtype, target);
    bool other_gpu = problem.gpu != target.gpu && model && model->table().gpu == target.gpu;
    if ((!exact || other_gpu) && !rung.given_table)
      if (auto chosen = with_kernel(rung, shape, dtype, target, given))
        return *std::move(chosen);
    for (const records::Record *record : records) {
      if (rung.given_table)
        check_record(rung, *record, dtype, target);
      if (auto chosen = with_record(rung, *record, shape, dtype, target, given)) {
        chosen->use->exact = records::distance(problem, *record) == 0;
        if (model && !shape.stated && shape.size() == 3 && !rung.given_table)
          if (const auto order = records::ranked(*model, {.extents = {shape[0], shape[1], shape[2]}}, target);
              !order.empty())
            chosen->use->instead_of = use_of(*model, order, 0, shape, target);
        return *std::move(chosen);
      }
    }
    use.emplace().why =
        records.empty()
            ? fmt::format("{} has no record of {} with {} extents for {}", rung.table->where(), problem.dtype,
                          shape.size(), problem.symbolic ? "all shapes" : "one shape")
            : fmt::format("no record of {} is legal for this shape", rung.table->where());
  }
  if (!rung.table && !rung.kernel_tables.empty() && (!rung.kernels || rung.given_table)) {
    if (auto chosen = with_kernel(rung, shape, dtype, target, given))
      return *std::move(chosen);
    if (rung.given_table && !serving_model(rung, dtype, target))
      throw UserError(ExitCode::usage,
                      fmt::format("the kernel table of --table is of {}, expected one of {}; make it with "
                                  "nestsmith tune --table --dtype {}",
                                  records::kernel_model(rung.kernel_tables.front(), rung.name).table().dtype,
                                  name(dtype), name(dtype)));
    use.emplace().why = fmt::format("no kernel table of {} serves {} with {} extents for {}", rung.name,
                                    name(dtype), shape.size(), shape.stated ? "all shapes" : "one shape");
  }
  Schedule schedule = built(rung, shape, dtype, target, given);
  return {std::move(schedule), given.asked().empty() ? rung.knobs : given.chosen(), std::move(use)};
}

Schedule schedule_of(const ChosenRung &rung, const Shape &shape, DType dtype, const Target &target) {
  Knobs defaults;
  return chosen_knobs(rung, shape, dtype, target, defaults).schedule;
}

/// "tiles of 128x128x16, each shared by 4 blocks: 0.1234 ms".
static std::string predicted_text(const PredictedPoint &point) {
  return fmt::format("tiles of {}x{}x{}{}: {:.4g} ms", point.tile[0], point.tile[1], point.tile[2],
                     point.parts > 1  ? fmt::format(", each shared by {} blocks", point.parts)
                     : point.even > 0 ? ", the last ones shared by several blocks"
                                      : "",
                     point.ms);
}

/// "The first one has 1184 blocks, 2.99 waves of 396, with 25 tiles of k in each, and 1.6 % of the
/// multiplications are past the edges".
static std::string reason_text(const std::string &subject, const records::TimeParts &parts) {
  const std::string waves = parts.waves < 0.01 ? "less than 0.01" : fmt::format("{:.2f}", parts.waves);
  std::string text =
      fmt::format("{} has {} block{}, {} waves of {}, with {} tile{} of k in each", subject, parts.blocks,
                  parts.blocks == 1 ? "" : "s", waves, parts.in_wave, parts.depth, parts.depth == 1 ? "" : "s");
  if (parts.past_edges >= 0.0005)
    text += fmt::format("; {:.1f} % of the multiplications are past the edges",
                        std::min(99.9, 100 * parts.past_edges));
  if (parts.sum_ms > 0)
    text += fmt::format("; the sum of the parts takes {:.3g} ms", parts.sum_ms);
  if (parts.memory_ms > 0)
    text += fmt::format("; what L2 cannot hold takes {:.3g} ms", parts.memory_ms);
  return text;
}

std::string why_text(const TableUse &use) {
  const KernelUse *kernel = use.kernel ? &*use.kernel : use.instead_of ? &*use.instead_of : nullptr;
  if (!kernel)
    return "";
  const std::string first = use.kernel ? "The first one" : "The one of the table",
                    text = reason_text(first, kernel->chosen.parts_of_time);
  return use.kernel && kernel->second ? text + ". " + reason_text("The next one", kernel->second->parts_of_time)
                                      : text;
}

/// Whether the model knows such sizes, and this GPU.
static std::string limits_text(const KernelUse &use) {
  std::string text;
  if (use.outside)
    text = fmt::format(
        ". This shape is outside of the sizes of the table, results of {:.0f} to {:.0f} elements "
        "and K of {} to {}: the model extrapolates",
        use.outside->least_results, use.outside->most_results, use.outside->least_k, use.outside->most_k);
  return use.own ? text : text + ". The times are those of that GPU";
}

static void write_predicted(llvm::json::OStream &json, const KernelUse::Point &point) {
  json.attribute("tile", llvm::json::Array(point.tile));
  json.attribute("parts", point.parts);
  json.attribute("even", point.even);
  json.attribute("predicted_ms", point.ms);
  json.attribute("blocks", point.parts_of_time.blocks);
  json.attribute("blocks_of_wave", point.parts_of_time.in_wave);
  json.attribute("waves", point.parts_of_time.waves);
  json.attribute("depth", point.parts_of_time.depth);
  json.attribute("past_edges", point.parts_of_time.past_edges);
  json.attribute("sum_ms", point.parts_of_time.sum_ms);
  json.attribute("memory_ms", point.parts_of_time.memory_ms);
}

std::string short_text(const TableUse &use) {
  if (use.kernel)
    return fmt::format("as predicted for {}{}", use.kernel->gpu,
                       use.except.empty() ? "" : fmt::format(", except {}", fmt::join(use.except, ", ")));
  if (!use.record)
    return "default knobs";
  return fmt::format("as {} on {}{}", use.record->shape, use.record->gpu,
                     use.except.empty() ? "" : fmt::format(", except {}", fmt::join(use.except, ", ")));
}

std::string to_text(const TableUse &use) {
  if (use.kernel) {
    const auto &[gpu, chosen, second, own, outside] = *use.kernel;
    std::string text = fmt::format("takes the kernel that the kernel table of {} predicts to be the fastest, "
                                   "with {}",
                                   gpu, predicted_text(chosen));
    if (!use.except.empty())
      text += fmt::format(", except {}", fmt::join(use.except, ", "));
    if (second)
      text += fmt::format("; the next one has {}", predicted_text(*second));
    return text + limits_text(*use.kernel);
  }
  if (!use.record)
    return "takes the defaults of its knobs: " + use.why;
  const records::Record &record = *use.record;
  std::string ratio =
      record.peer_ms ? fmt::format(", {:.3f} of {}", *record.peer_ms / record.median_ms, record.peer) : "";
  std::string text =
      fmt::format("takes the knobs of {} on {} ({:.4g} ms{}){}", record.shape, record.gpu, record.median_ms,
                  ratio, use.except.empty() ? "" : fmt::format(" except {}", fmt::join(use.except, ", ")));
  if (use.instead_of)
    text += fmt::format(", which was searched. Of the kernel table of {}, the fastest has {}{}",
                        use.instead_of->gpu, predicted_text(use.instead_of->chosen),
                        use.instead_of->own ? "" : ", on that GPU");
  return text;
}

void write_use(llvm::json::OStream &json, const TableUse &use) {
  json.attributeObject("table", [&] {
    if (use.kernel) {
      json.attribute("gpu", use.kernel->gpu);
      write_predicted(json, use.kernel->chosen);
      json.attribute("extrapolated", use.kernel->outside.has_value());
      if (use.kernel->second)
        json.attributeObject("next", [&] {
          write_predicted(json, *use.kernel->second);
          json.attribute("knobs", to_string(use.kernel->second->knobs));
        });
      json.attribute("except", llvm::json::Array(use.except));
      return;
    }
    if (!use.record) {
      json.attribute("why_not", use.why);
      return;
    }
    json.attribute("rung", use.record->rung);
    json.attribute("gpu", use.record->gpu);
    json.attribute("shape", use.record->shape);
    json.attribute("symbolic", use.record->symbolic);
    json.attribute("exact", use.exact);
    json.attribute("except", llvm::json::Array(use.except));
    json.attribute("median_ms", use.record->median_ms);
    if (use.instead_of)
      json.attributeObject("next", [&] {
        write_predicted(json, use.instead_of->chosen);
        json.attribute("knobs", to_string(use.instead_of->chosen.knobs));
      });
  });
}

} // namespace nestsmith::cli
