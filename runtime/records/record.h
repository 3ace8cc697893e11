#pragma once
/// A record: the measurement of one point of a search.

#include "dsl/schedule/knobs.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith::records {

/// The fate of a point that was tried.
enum class Outcome : std::uint8_t {
  measured,
  refused,  ///< the schedule is illegal, or the compiler refused its text
  wrong,    ///< the result differs, or the kernel reads or writes out of bounds
  crashed,  ///< the process ended, or the driver reported a fault such as an illegal address
  hung,     ///< the kernel did not end in time
  estimated ///< not executed: `median_ms` is the time that the model of `explain` estimates
};
const char *name(Outcome outcome); ///< "measured", "refused", …
std::optional<Outcome> parse_outcome(const std::string &name);

/// The result for one point.
struct Measurement {
  Outcome outcome = Outcome::measured;
  std::string message; ///< reason of another outcome than `measured`
  /// The distribution of the samples in ms.
  double min_ms = 0, lower_quartile_ms = 0, median_ms = 0, upper_quartile_ms = 0, max_ms = 0;
  std::int64_t samples = 0;
  std::optional<double> sm_mhz;
  /// The median time of the fastest library, measured in turns with this point.
  std::optional<double> peer_ms;

  bool operator==(const Measurement &) const = default;
};

/// One point at one shape on one machine, and its result. The fields up to `code` identify the record.
struct Record : Measurement {
  std::string rung;      ///< full name: "ladder/warps"
  KnobValues knobs;      ///< the value of each knob
  std::string shape;     ///< "2048x2048x2048"
  bool symbolic = false; ///< one kernel for all shapes
  std::string dtype;     ///< "f32"
  std::string gpu;       ///< product name: "NVIDIA H200"
  std::string driver;    ///< CUDA version of the driver: "13.0"
  std::string nvrtc;     ///< version of the compiler: "13.0"
  std::string launch;    ///< "back-to-back", "single" or "graph"
  bool cold_l2 = false;
  std::string code; ///< SHA-256 of the CUDA text; empty if the point was refused before

  std::string peer;        ///< "cuBLAS 13.0.2"; empty without a library
  double operations = 0;   ///< floating-point operations of the computation
  std::string trace;       ///< the trace file, as JSON text; may be empty
  std::string nestsmith;   ///< version of this program
  std::string measured_at; ///< UTC: "2026-11-22T10:15:00Z"

  bool operator==(const Record &) const = default;
};

/// The measured record with the least median for each GPU, dtype, shape and kind of kernel (one shape or all).
std::vector<Record> best_of(const std::vector<Record> &records);

} // namespace nestsmith::records
