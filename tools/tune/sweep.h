#pragma once
/// `tune --sweep`: the times of a rung over all values of one or two of its knobs.

#include "tools/tune/tuning.h"

#include <optional>
#include <string>
#include <vector>

namespace nestsmith::cli {

/// One combination of values of the swept knobs. The other knobs have the values of --set, or their defaults,
/// which may depend on the swept values.
struct SweptPoint {
  std::vector<std::string> values; ///< of the swept knobs
  KnobValues knobs;                ///< of all knobs; only the swept ones if the schedule was refused
  std::optional<double> seconds = std::nullopt;
  std::string why = {};   ///< the reason why there is no time
  std::string other = {}; ///< the knobs that are not swept and have other values than at the default: "wid=32"
  bool wrong = false;     ///< measured, with another result than the other points
};

struct Sweep {
  /// One or two. Numbers are in ascending order, other candidates in the order of the schedule. `chosen` is the
  /// default.
  std::vector<Knob> knobs;
  /// The last knob varies fastest. A value of the second knob that is no candidate beside a value of the first
  /// has no point.
  std::vector<SweptPoint> points;
  bool measured = false;
  std::string source; ///< "measured on NVIDIA H200, launches back to back, warm L2"

  const SweptPoint *find(const std::vector<std::string> &values) const;
  /// The point with the default of each swept knob; null if there is none.
  const SweptPoint *usual() const;
};

/// The points of --sweep KNOB or KNOB,KNOB. Throws UserError (usage) if the rung has no knobs or not these, or
/// if --set sets one of them.
Sweep swept(const Context &context, const Tuning &tuning, const std::string &names);

/// Sets the estimated times. `why` is the reason why there is no measurement.
void estimate(const Context &context, const Tuning &tuning, Sweep &sweep, const std::string &why);
/// Sets the measured times. Stores each result in `database`, if it is not null.
void measure(Tuning &tuning, Sweep &sweep, TuneMeasurer &measurer, records::Database *database);

/// A table: a row for each value of the first knob, and with two knobs a column for each value of the second.
/// Below it are the reasons for missing times.
std::string sweep_text(const Sweep &sweep, const Style &style);
/// The times as a chart in SVG: a line for each value of the second knob.
std::string sweep_chart(const Sweep &sweep, const std::string &heading);
/// Writes the attributes of the sweep.
void write_sweep(llvm::json::OStream &json, const Sweep &sweep);

} // namespace nestsmith::cli
