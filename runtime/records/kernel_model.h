#pragma once
/// A model of the kernels of a table (runtime/records/kernel_table.h): their times at any size, in
/// microseconds of the host.
///
/// A multiprocessor holds `resident` blocks. A grid of T blocks on S multiprocessors fills them T / (S *
/// resident) times, in *waves*. Each block multiplies `depth` tiles of k. The model is
///
///   time = wave(c, depth) + (waves - 1) * steady(depth) + m * memory
///
/// `wave` is the time of the first wave with c blocks on each multiprocessor, a line over the depth for each
/// measured c. `steady` is what each further wave adds, a line too. The last wave, with fewer blocks, adds as
/// much less as it would take less as the first one. `memory` is the time to move what L2 cannot hold of the
/// operands and of the result. Blocks at the edges take the time of others. All of these are linear in their
/// coefficients, which are fitted to the measured times of each form by least squares of relative errors.
///
/// If several blocks share a tile, the sum of their parts adds a time. It is a line over the number of parts,
/// if one block adds those of a tile, and over the number of all parts of all tiles, if other blocks do.

#include "runtime/records/kernel_table.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith::records {

/// The numbers of blocks that may share a tile.
inline constexpr std::array<std::int64_t, 6> numbers_of_parts = {2, 4, 8, 16, 32, 64};

struct KernelChoice {
  std::size_t point = 0;  ///< position in the table
  std::int64_t parts = 1; ///< blocks that share a tile
  std::string with;       ///< as `KernelForm::with`
  double ms = 0;          ///< predicted
};

/// A size at which a point has to be measured, so that the coefficients of its form can be fitted.
struct Probe {
  Extents extents = {};
  std::int64_t parts = 1;
  std::string with = {};
  bool operator==(const Probe &) const = default;
};
/// `ways`: the values of `KernelForm::with`; empty: a tile is not shared.
std::vector<Probe> probes(const Extents &tile, std::int64_t resident, std::int64_t sms, bool vectors,
                          std::int64_t elements, const std::vector<std::string> &ways);

class KernelModel {
public:
  /// Throws UserError (usage) if a point has too few times for its coefficients. `where` names the table.
  KernelModel(KernelTable table, const std::string &where);

  const KernelTable &table() const { return table_; }
  /// The predicted time in ms of a point, with the parts and the way of `choice`, on a GPU with `sms`
  /// multiprocessors of the same kind.
  double ms(const KernelChoice &choice, const Extents &extents, std::int64_t sms) const;
  /// All points with all numbers of parts that give each block two tiles of k or more, the fastest first.
  std::vector<KernelChoice> rank(const Extents &extents, std::int64_t sms) const;
  /// The relative errors of the model at the measured times of a point.
  std::vector<double> errors(std::size_t point) const;

private:
  /// A line: the time to add the parts is `constant` + `slope` * n.
  struct Line {
    double constant = 0, slope = 0;
    bool of_all_tiles = false; ///< n counts the parts of all tiles, not those of one
  };
  /// One form, fitted.
  struct Fit {
    std::int64_t resident = 1;
    std::vector<std::int64_t> counts; ///< blocks on a multiprocessor, ascending
    /// A constant and a slope for each count and for `steady`, and that of the memory.
    std::vector<double> coefficients;
    std::map<std::string, Line> ways; ///< to add parts
  };

  std::vector<double> features(const Fit &fit, const Extents &tile, std::int64_t parts, const Extents &extents,
                               std::int64_t sms) const;
  double without_sum(const Fit &fit, const Extents &tile, std::int64_t parts, const Extents &extents,
                     std::int64_t sms) const;
  double predicted(const Fit &fit, const KernelChoice &choice, const Extents &extents, std::int64_t sms) const;
  std::optional<Fit> fitted(const KernelPoint &point, bool vectors, const std::string &where) const;

  KernelTable table_;
  struct Fits {
    std::optional<Fit> vectors, scalars;
  };
  std::vector<Fits> fits_; ///< one for each point
};

} // namespace nestsmith::records
