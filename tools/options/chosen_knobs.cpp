#include "tools/options/chosen_knobs.h"

#include "dsl/expr/error.h"
#include "runtime/model/gpus.h"
#include "tools/output/json.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tuple>

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

/// The GPU of the table whose records serve a target: the GPU of the target, otherwise the one with the most
/// similar architecture and number of SMs. Empty if the table has no record of the dtype.
std::string serving_gpu(const records::KnobTable &table, const std::string &dtype, const Target &target) {
  const Gpu *own = known_gpu(target.gpu);
  auto difference = [&](const std::string &product) {
    const Gpu *gpu = known_gpu(product);
    int major = gpu ? std::abs(gpu->arch.number / 10 - target.arch.number / 10) : INT_MAX;
    int minor = gpu ? std::abs(gpu->arch.number - target.arch.number) : 0;
    return std::tuple(product != target.gpu, major, minor, gpu && own ? std::abs(gpu->sms - own->sms) : 0);
  };
  std::vector<std::string> gpus = table.gpus(dtype);
  auto best = std::ranges::min_element(gpus, {}, difference);
  return best == gpus.end() ? "" : *best;
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

/// The problem for which the table is searched: GPU, dtype and shape.
records::Problem problem_of(const ChosenRung &rung, const Shape &shape, DType dtype, const Target &target) {
  std::string type = dtype_in(*rung.table, dtype);
  return {serving_gpu(*rung.table, type, target), type, shape, shape.stated.has_value()};
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
      return ChosenKnobs{std::move(schedule), given.chosen(),
                         TableUse{record, false, differences(record.knobs, given.chosen(), rung.knobs)}};
    } catch (const ScheduleError &) { // other knobs may be legal for this shape
    }
  }
  return std::nullopt;
}

} // namespace

std::string dtype_in(const records::KnobTable &table, DType dtype) {
  std::string own(name(dtype));
  return dtype == DType::u32 && table.gpus(own).empty() ? std::string(name(DType::f32)) : own;
}

ChosenKnobs chosen_knobs(const ChosenRung &rung, const Shape &shape, DType dtype, const Target &target,
                         Knobs &given) {
  std::optional<TableUse> use;
  if (rung.table) {
    records::Problem problem = problem_of(rung, shape, dtype, target);
    std::vector<const records::Record *> records = rung.table->nearest(problem);
    for (const records::Record *record : records) {
      if (rung.given_table)
        check_record(rung, *record, dtype, target);
      if (auto chosen = with_record(rung, *record, shape, dtype, target, given)) {
        chosen->use->exact = records::distance(problem, *record) == 0;
        return *std::move(chosen);
      }
    }
    use.emplace().why =
        records.empty()
            ? fmt::format("{} has no record of {} with {} extents for {}", rung.table->where(), problem.dtype,
                          shape.size(), problem.symbolic ? "all shapes" : "one shape")
            : fmt::format("no record of {} is legal for this shape", rung.table->where());
  }
  Schedule schedule = built(rung, shape, dtype, target, given);
  return {std::move(schedule), given.asked().empty() ? rung.knobs : given.chosen(), std::move(use)};
}

Schedule schedule_of(const ChosenRung &rung, const Shape &shape, DType dtype, const Target &target) {
  Knobs defaults;
  return chosen_knobs(rung, shape, dtype, target, defaults).schedule;
}

std::vector<Shape> shapes_in_table(const ChosenRung &rung, DType dtype, const Target &target, bool symbolic) {
  std::vector<Shape> shapes;
  if (!rung.table)
    return shapes;
  records::Problem problem = problem_of(rung, rung.default_shape, dtype, target);
  for (const records::Record *record : rung.table->of_gpu(problem.gpu, problem.dtype))
    if (Shape shape = records::extents_of(*record); record->symbolic == symbolic &&
                                                    shape.size() == rung.default_shape.size() &&
                                                    std::ranges::find(shapes, shape) == shapes.end())
      shapes.push_back(shape);
  return shapes;
}

std::string short_text(const TableUse &use) {
  if (!use.record)
    return "default knobs";
  return fmt::format("as {} on {}{}", use.record->shape, use.record->gpu,
                     use.except.empty() ? "" : fmt::format(", except {}", fmt::join(use.except, ", ")));
}

std::string to_text(const TableUse &use) {
  if (!use.record)
    return "takes the defaults of its knobs: " + use.why;
  const records::Record &record = *use.record;
  std::string ratio =
      record.peer_ms ? fmt::format(", {:.3f} of {}", *record.peer_ms / record.median_ms, record.peer) : "";
  return fmt::format("takes the knobs of {} on {} ({:.4g} ms{}){}", record.shape, record.gpu, record.median_ms,
                     ratio, use.except.empty() ? "" : fmt::format(" except {}", fmt::join(use.except, ", ")));
}

void write_use(llvm::json::OStream &json, const TableUse &use) {
  json.attributeObject("table", [&] {
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
  });
}

} // namespace nestsmith::cli
