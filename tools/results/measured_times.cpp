#include "tools/results/measured_times.h"

#include "dsl/expr/outside.h"
#include "dsl/expr/printable.h"
#include "dsl/hardware/gpus.h"
#include "dsl/schedule/extents.h"
#include "lowering/lower.h"
#include "runtime/model/explain.h"
#include "runtime/records/measured.h"
#include "runtime/records/text.h"
#include "schedules/measured.h"
#include "tools/output/failure.h"
#include "tools/results/record_of.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith::cli {

namespace {

const records::MeasuredTable &own_table() {
  static const records::MeasuredTable table = [] {
    records::MeasuredTable all;
    for (const MeasuredText &measured : measured_texts()) {
      records::MeasuredTable one(measured.text, measured.file);
      for (const records::Record &record : one.records())
        all.put(record);
    }
    return all;
  }();
  return table;
}

const records::MeasuredTable &table_of(const Context &context) {
  return context.measured ? *context.measured : own_table();
}

/// The field `code` of the rung for another GPU, at the shape and dtype of `scheduled`. Empty if it is refused
/// there.
std::string code_for(const Scheduled &scheduled, const Gpu &gpu) {
  std::string code;
  failure_of([&] {
    Knobs knobs;
    Scheduled other = schedule_at(scheduled.choice, scheduled.shape, scheduled.dtype, target_of(gpu), knobs);
    code = code_of(other.plan(), other.shape);
  });
  return code;
}

/// The knobs of a record, and the default of each knob that the rung did not have when it was measured.
KnobValues with_later_knobs(const KnobValues &recorded, const Scheduled &scheduled) {
  bool older =
      std::ranges::all_of(recorded, [&](const auto &knob) { return scheduled.knobs.contains(knob.first); });
  if (!older || recorded.size() == scheduled.knobs.size())
    return recorded;
  Knobs knobs(recorded);
  failure_of(
      [&] { scheduled.choice.build(scheduled.shape, scheduled.dtype, scheduled.schedule.target(), knobs); });
  return knobs.chosen();
}

} // namespace

Option records_option() {
  return {"records", "FILE",
          "a table of measured times, as bench --record writes it; its records replace those of nestsmith"};
}

std::shared_ptr<const records::MeasuredTable> given_table(const Arguments &arguments) {
  auto path = arguments.value(records_option().name);
  if (!path)
    return nullptr;
  auto table = std::make_shared<records::MeasuredTable>(own_table());
  records::MeasuredTable given(read_outside(*path, "table", records::most_text_bytes), printable(*path));
  for (const records::Record &record : given.records())
    table->put(record);
  return table;
}

MeasuredTimes measured_times(const Context &context, const Scheduled &scheduled, const kernel::Plan &plan,
                             const Gpu &gpu) {
  MeasuredTimes times;
  records::Record place = point_of(scheduled, plan, {}, {.gpu = gpu.product});
  for (const records::Record &record : table_of(context).records()) {
    place.gpu = record.gpu;
    if (!records::same_place(record, place))
      continue;
    if (record.gpu == gpu.product) {
      if (with_later_knobs(record.knobs, scheduled) == place.knobs)
        times.here = {record, record.code == place.code};
    } else if (const Gpu *other = known_gpu(record.gpu); other && !scheduled.choice.given_knobs) {
      times.elsewhere.push_back({record, record.code == code_for(scheduled, *other)});
    }
  }
  return times;
}

const Gpu *measured_gpu(const Context &context, const std::vector<ChosenRung> &choices) {
  auto measured = [&](const ChosenRung &choice, const std::string &gpu) {
    ChosenRung explained = choice;
    if (!choice.fixed_shape)
      explained.default_shape = choice.gpu_shape;
    std::string shape = extents_text(chosen_shape(context, explained));
    std::string dtype(name(chosen_dtype(context, explained)));
    return !choice.given_knobs && !choice.fixed_shape && !context.arguments.has("symbolic") &&
           std::ranges::any_of(table_of(context).records(), [&](const records::Record &record) {
             return record.gpu == gpu && record.rung == choice.name && record.shape == shape &&
                    record.dtype == dtype && !record.symbolic;
           });
  };
  auto gpu = std::ranges::find_if(gpus(), [&](const Gpu &each) {
    return std::ranges::all_of(choices,
                               [&](const ChosenRung &choice) { return measured(choice, each.product); });
  });
  return gpu == gpus().end() || choices.empty() ? nullptr : &*gpu;
}

std::optional<MeasuredTime> deciding_time(const MeasuredTimes &times) {
  if (!times.here || !times.here->current)
    return std::nullopt;
  const records::Record &record = times.here->record;
  return MeasuredTime{record.median_ms * 1e-3, record.lower_quartile_ms * 1e-3, record.upper_quartile_ms * 1e-3,
                      fmt::format("{}, driver {}, NVRTC {}, {}, {} L2, {} {}", record.gpu, record.driver,
                                  record.nvrtc, record.launch, record.cold_l2 ? "cold" : "warm", record.dtype,
                                  record.shape)};
}

std::string measured_on(const records::Record &record) {
  return record.measured_at.substr(0, record.measured_at.find('T'));
}

std::string measured_text(const MeasuredRecord &measured) {
  const records::Record &record = measured.record;
  std::string date = measured_on(record);
  std::string text = fmt::format("{} on {}{}{}", seconds_text(record.median_ms * 1e-3), record.gpu,
                                 date.empty() ? "" : ", ", date);
  if (record.peer_ms)
    text += fmt::format(", {} {} ({})", record.peer, seconds_text(*record.peer_ms * 1e-3),
                        number_text(*record.peer_ms / record.median_ms));
  return text + (measured.current ? "" : ", measured with an older text of the kernel");
}

std::string measured_how(const records::Record &record) {
  return fmt::format(
      "nestsmith bench {} --shapes {} --dtype {} --record FILE; nestsmith {}, driver for CUDA {}, "
      "NVRTC {}, launches {}, {} L2, {} samples",
      record.rung, record.shape, record.dtype, record.nestsmith, record.driver, record.nvrtc, record.launch,
      record.cold_l2 ? "cold" : "warm", record.samples);
}

} // namespace nestsmith::cli
