#pragma once
/// The measured times that travel with the program (schedules/measured.h), and those of --records: which record
/// is about a scheduled rung.

#include "runtime/model/analysis.h"
#include "runtime/records/record.h"
#include "tools/options/scheduled.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith::cli {

/// The option --records FILE.
Option records_option();
/// The records of nestsmith with those of the file of --records, which replace them; null without the option.
/// Throws UserError (usage) if the file is malformed.
std::shared_ptr<const records::MeasuredTable> given_table(const Arguments &arguments);

/// A record at the shape and dtype of a rung, with the knobs of the rung.
struct MeasuredRecord {
  records::Record record;
  bool current = false; ///< its CUDA text is the one that is emitted now for its GPU
};

struct MeasuredTimes {
  std::optional<MeasuredRecord> here;    ///< of the GPU of the analysis
  std::vector<MeasuredRecord> elsewhere; ///< of other GPUs, by name
};

/// The records of launches back to back with a warm L2. A record of --records replaces one of the program.
/// `plan` is the plan of `scheduled` for `gpu`.
MeasuredTimes measured_times(const Context &context, const Scheduled &scheduled, const kernel::Plan &plan,
                             const Gpu &gpu);
/// A GPU of the list on which all these rungs were measured at the shape and in the dtype of an explanation,
/// with their usual knobs; null: there is none.
const Gpu *measured_gpu(const Context &context, const std::vector<ChosenRung> &choices);
/// The time that decides a comparison: that of this GPU, if its text is current.
std::optional<MeasuredTime> deciding_time(const MeasuredTimes &times);

/// "4.48 ms on NVIDIA H200, 2026-11-23, cuBLAS 13.1.0 0.055 ms (0.012)". Says if the text was an older one.
std::string measured_text(const MeasuredRecord &measured);
/// The day of the measurement: "2026-11-23". May be empty.
std::string measured_on(const records::Record &record);
/// The command that measures the record again, and its conditions.
std::string measured_how(const records::Record &record);

} // namespace nestsmith::cli
