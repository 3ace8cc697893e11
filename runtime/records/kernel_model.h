#pragma once
/// A model of the kernels of a table (runtime/records/kernel_table.h): their times at any size, in
/// microseconds of the host.
///
/// A multiprocessor holds `resident` blocks. A grid of T blocks on S multiprocessors fills them T / (S *
/// resident) times, in *waves*. Each block multiplies `depth` tiles of k. The model is
///
///   time = wave(c, depth) + (waves - 1) * steady(depth)
///
/// `wave` is the time of the first wave with c blocks on each multiprocessor, a line over the depth for each
/// measured c. `steady` is what each further wave adds, a line too. The last wave, with fewer blocks, adds as
/// much less as it would take less as the first one. If several blocks share a tile, the sum of their parts
/// adds a time for the number of parts. Blocks at the edges take the time of others.
///
/// All of these are linear in their coefficients, which are fitted to the measured times of each form by least
/// squares of relative errors.

#include "runtime/records/kernel_table.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace nestsmith::records {

/// The numbers of blocks that may share a tile.
inline constexpr std::array<std::int64_t, 7> numbers_of_parts = {1, 2, 4, 8, 16, 32, 64};

struct KernelChoice {
  std::size_t point = 0;  ///< position in the table
  std::int64_t parts = 1; ///< blocks that share a tile
  double ms = 0;          ///< predicted
};

/// The sizes at which a point has to be measured, so that its form without parts and that with them can be
/// fitted.
struct Probe {
  Extents extents;
  std::int64_t parts = 1;
  bool operator==(const Probe &) const = default;
};
std::vector<Probe> probes(const Extents &tile, std::int64_t resident, std::int64_t sms, bool vectors,
                          std::int64_t elements, bool has_parts);

class KernelModel {
public:
  /// Throws UserError (usage) if a point has too few times for its coefficients. `where` names the table.
  KernelModel(KernelTable table, const std::string &where);

  const KernelTable &table() const { return table_; }
  /// The predicted time of a point in ms on a GPU with `sms` multiprocessors of the same kind.
  double ms(std::size_t point, std::int64_t parts, const Extents &extents, std::int64_t sms) const;
  /// All points with all numbers of parts that give each block two tiles of k or more, the fastest first.
  std::vector<KernelChoice> rank(const Extents &extents, std::int64_t sms) const;
  /// The relative errors of the model at the measured times of a point.
  std::vector<double> errors(std::size_t point) const;

private:
  /// One form, fitted.
  struct Fit {
    std::int64_t resident = 1;
    std::vector<std::int64_t> counts;        ///< blocks on a multiprocessor, ascending
    std::vector<double> coefficients;        ///< a constant and a slope for each count, and of `steady`
    std::map<std::int64_t, double> of_parts; ///< ms that the sum of this number of parts adds
  };

  static std::vector<double> features(const Fit &fit, std::int64_t blocks, std::int64_t depth,
                                      std::int64_t sms);
  static double without_parts(const Fit &fit, std::int64_t blocks, std::int64_t depth, std::int64_t sms);
  static double predicted(const Fit &fit, const Extents &tile, std::int64_t parts, const Extents &extents,
                          std::int64_t sms);
  std::optional<Fit> fitted(const KernelPoint &point, bool vectors, const std::string &where) const;

  KernelTable table_;
  struct Fits {
    std::optional<Fit> vectors, scalars;
  };
  std::vector<Fits> fits_; ///< one for each point
};

} // namespace nestsmith::records
