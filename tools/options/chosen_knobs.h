#pragma once
/// The one place that chooses the values of knobs: by --set, by a table of records, or by the schedule.

#include "schedules/kernels/kernel_ranking.h"
#include "tools/options/chosen_rung.h"

#include <optional>
#include <string>
#include <vector>

namespace llvm::json {
class OStream;
}

namespace nestsmith::cli {

using records::PredictedPoint;
/// The choice of a kernel table (schedules/kernels/kernel_model.h).
struct KernelUse {
  /// A point, and the parts of its predicted time.
  struct Point : PredictedPoint {
    records::TimeParts parts_of_time = {};
  };
  std::string gpu; ///< of the table
  Point chosen;
  /// The next point in the order of the model that has another tile or parts.
  std::optional<Point> second;
  bool own = true; ///< the table is of the GPU of the target; otherwise its times are those of another one
  /// The sizes that were measured, if this one is outside of them: the model extrapolates.
  std::optional<records::MeasuredSizes> outside = {};
};

/// The record, or the point of a kernel table, from which a schedule takes its knobs.
struct TableUse {
  std::optional<records::Record> record; ///< none, and no kernel: the knobs have their defaults
  std::optional<KernelUse> kernel = {};
  /// Beside a record: the fastest point of the kernel table, which the record replaces.
  std::optional<KernelUse> instead_of = {};
  bool exact = false; ///< the record is of this shape
  /// The knobs that have other values than in the record, because these are not candidates or not legal here.
  std::vector<std::string> except = {};
  std::string why = {}; ///< the reason why there is no record
};

/// A schedule with its knobs, and where their values come from.
struct ChosenKnobs {
  Schedule schedule;
  KnobValues values;                ///< the value of each knob of the schedule
  std::optional<TableUse> use = {}; ///< none: the rung has no table
};
/// A knob has the first of these values: that of `given`, which is a point of a search; that of --set; that of
/// the record of this shape, unless it is of another GPU and there is a kernel table of the GPU at hand; that
/// of the point which the kernel table predicts to be the fastest one of those that are legal; that of the
/// nearest record with which the schedule is legal; the default. If the schedule is not legal with all knobs of
/// a record, one knob may have its default. `given` has the choices afterwards. Throws UserError (usage) for a
/// knob of --set or --table that the schedule does not have.
ChosenKnobs chosen_knobs(const ChosenRung &rung, const Shape &shape, DType dtype, const Target &target,
                         Knobs &given);
/// The schedule with these knobs.
Schedule schedule_of(const ChosenRung &rung, const Shape &shape, DType dtype, const Target &target);

/// The `count` points of the kernel table that its model predicts to be the fastest ones, with the value of
/// each knob. Only points with which the schedule is legal. Empty without a table for the rung.
std::vector<KnobValues> predicted_points(const ChosenRung &rung, const Shape &shape, DType dtype,
                                         const Target &target, std::size_t count);

/// The model of the kernel table that serves the target and the dtype; null: none. A rung that is no measured
/// one itself takes its knobs from tables of several rungs, by the dtype. The model lives as long as the
/// program.
const records::KernelModel *serving_model(const ChosenRung &rung, DType dtype, const Target &target);

/// "takes the knobs of 1024x1024x1024 on NVIDIA H200 (0.05421 ms, 1.077 of cuBLAS 13.1.0)".
std::string to_text(const TableUse &use);
/// What the predicted times of the kernels of a table depend on: "The first one has 1184 blocks, 2.99 waves of
/// 396, with 25 tiles of k in each. The next one …". Empty without a kernel table.
std::string why_text(const TableUse &use);
/// "as 1024x1024x1024 on NVIDIA H200", or "default knobs".
std::string short_text(const TableUse &use);
/// Writes the attribute `table`.
void write_use(llvm::json::OStream &json, const TableUse &use);

} // namespace nestsmith::cli
