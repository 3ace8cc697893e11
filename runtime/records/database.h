#pragma once
/// A database of measurements: one SQLite file, which several processes may use at the same time.

#include "dsl/schedule/knobs.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith::records {

/// The fate of a point that was tried.
enum class Outcome : std::uint8_t {
  measured,
  refused, ///< the schedule is illegal, or the compiler refused its text
  wrong,   ///< the result differs, or the kernel reads or writes out of bounds
  crashed, ///< the process ended, or the driver reported a fault such as an illegal address
  hung     ///< the kernel did not end in time
};
const char *name(Outcome outcome); ///< "measured", "refused", …
std::optional<Outcome> parse_outcome(const std::string &name);

/// One point at one shape on one machine. The fields up to `code` identify the record.
struct Record {
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

  Outcome outcome = Outcome::measured;
  std::string message; ///< reason of another outcome than `measured`
  /// The distribution of the samples in ms.
  double min_ms = 0, lower_quartile_ms = 0, median_ms = 0, upper_quartile_ms = 0, max_ms = 0;
  std::int64_t samples = 0;
  std::optional<double> sm_mhz;
  /// The median time of the fastest library, measured in turns with this point.
  std::optional<double> peer_ms;
  std::string peer;        ///< "cuBLAS 13.0.2"; empty without a library
  double operations = 0;   ///< floating-point operations of the computation
  std::string trace;       ///< the trace file, as JSON text; may be empty
  std::string nestsmith;   ///< version of this program
  std::string measured_at; ///< UTC: "2026-11-22T10:15:00Z"

  bool operator==(const Record &) const = default;
};

/// A condition on records. An empty string matches every value.
struct Query {
  std::string rung, shape, dtype, gpu;
};

/// Errors of the file (no permission, not a database, a newer schema, no space) throw UserError (usage) with
/// the path. Each function is one transaction, so a record is stored completely or not at all.
class Database {
public:
  /// The version of the schema that this program writes.
  static constexpr int schema_version = 1;

  /// Opens the file, or creates it with its folder. With `existing`, a missing file is an error.
  static Database open(const std::filesystem::path &path, bool existing = false);
  Database(Database &&) noexcept;
  Database &operator=(Database &&) noexcept;
  ~Database();

  const std::filesystem::path &path() const { return path_; }

  /// Adds the record, or replaces the one with the same identity.
  void add(const Record &record);
  void add(const std::vector<Record> &records);
  /// In the order: rung, GPU, dtype, shape, then ascending median; other outcomes than `measured` come last.
  std::vector<Record> find(const Query &query = {}) const;

private:
  struct Handle;
  Database(std::filesystem::path path, std::unique_ptr<Handle> handle);
  std::filesystem::path path_;
  std::unique_ptr<Handle> handle_;
};

/// The measured record with the least median for each GPU, dtype, shape and kind of kernel (one shape or all).
std::vector<Record> best_of(const std::vector<Record> &records);

/// Text of records: JSON with one line per record, in a fixed order, so that it can be committed and compared.
std::string to_text(const std::vector<Record> &records);
/// The bytes that the text of records may have.
inline constexpr std::size_t most_text_bytes = 64 << 20;
/// Throws UserError (usage) for malformed text. `where` names the file in messages.
std::vector<Record> parse_records(const std::string &text, const std::string &where);

} // namespace nestsmith::records
