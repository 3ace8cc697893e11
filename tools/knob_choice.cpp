#include "tools/knob_choice.h"

#include "dsl/expr/error.h"
#include "dsl/expr/outside.h"
#include "dsl/expr/printable.h"
#include "runtime/model/gpus.h"
#include "runtime/records/text.h"

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
void check_record(const Choice &choice, const records::Record &record, DType dtype, const Target &target) {
  Shape shape = records::extents_of(record);
  if (record.symbolic)
    shape.stated = Size{};
  const Gpu *gpu = known_gpu(record.gpu);
  Knobs knobs(record.knobs);
  try {
    choice.build(shape, dtype, gpu ? target_of(*gpu) : target, knobs);
    knobs.refuse_unknown();
  } catch (const ScheduleError &) { // such as a kernel for multiples of 4, which the record does not state
  } catch (const UserError &error) {
    throw UserError(error.code(), fmt::format("{}: the record of {}: {}; export the table again",
                                              choice.table->where(), name_of(record), error.what()));
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

} // namespace

std::string dtype_in(const records::KnobTable &table, DType dtype) {
  std::string own(name(dtype));
  return dtype == DType::u32 && table.gpus(own).empty() ? std::string(name(DType::f32)) : own;
}

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

Schedule Choice::with_knobs(const Shape &shape, DType dtype, const Target &target, Knobs &used) const {
  if (!given_knobs)
    return build(shape, dtype, target, used);
  used.fix(knobs);
  try {
    Schedule schedule = build(shape, dtype, target, used);
    used.refuse_unknown();
    return schedule;
  } catch (const ScheduleError &) {
    throw;
  } catch (const UserError &error) {
    throw UserError(error.code(), fmt::format("{}: {}", name, error.what()));
  }
}

Schedule Choice::schedule(const Shape &shape, DType dtype, const Target &target, Knobs &used,
                          std::optional<TableUse> *use) const {
  if (!table)
    return with_knobs(shape, dtype, target, used);
  records::Problem problem;
  problem.dtype = dtype_in(*table, dtype);
  problem.gpu = serving_gpu(*table, problem.dtype, target);
  problem.extents = shape;
  problem.symbolic = shape.stated.has_value();
  std::vector<const records::Record *> records = table->nearest(problem);
  for (const records::Record *record : records) {
    if (given_table)
      check_record(*this, *record, dtype, target);
    for (const KnobValues &preferred : with_one_default(record->knobs)) {
      Knobs attempt = used;
      attempt.prefer(preferred);
      try {
        Schedule schedule = with_knobs(shape, dtype, target, attempt);
        if (!schedule.obligations().empty())
          continue;
        used = attempt;
        if (use)
          *use = TableUse{*record, records::distance(problem, *record) == 0,
                          differences(record->knobs, used.chosen(), knobs)};
        return schedule;
      } catch (const ScheduleError &) { // other knobs may be legal for this shape
      }
    }
  }
  if (use) {
    *use = TableUse();
    (*use)->why = records.empty()
                      ? fmt::format("{} has no record of {} with {} extents for {}", table->where(),
                                    problem.dtype, shape.size(), problem.symbolic ? "all shapes" : "one shape")
                      : fmt::format("no record of {} is legal for this shape", table->where());
  }
  return with_knobs(shape, dtype, target, used);
}

Choice with_given_knobs(const Context &context, Choice choice) {
  if (auto path = context.arguments.value("table")) {
    if (choice.fixed_shape)
      throw UserError(ExitCode::usage, fmt::format("'{}' is a trace file, which contains its schedule; leave "
                                                   "--table out",
                                                   choice.name));
    std::string rung = choice.table ? choice.table->rung() : choice.name;
    choice.table = std::make_shared<records::KnobTable>(read_outside(*path, "table", records::most_text_bytes),
                                                        printable(*path), rung);
    choice.given_table = true;
  }
  if (auto given = context.arguments.value("set")) {
    choice.knobs = parse_knobs(*given);
    choice.given_knobs = true;
  }
  return choice;
}

std::string form_text(const Scheduled &scheduled) {
  std::string form = scheduled.variant ? scheduled.variant->name : "";
  if (!scheduled.use)
    return form;
  return form + (form.empty() ? "" : ", ") +
         (scheduled.use->record ? "as " + scheduled.use->record->shape : "default knobs");
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
