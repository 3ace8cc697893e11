#pragma once
/// A model of the kernels of a table (schedules/kernels/kernel_table.h): their times at any size, in
/// microseconds of the host.
///
/// kernel_choice.inc has the formula. All of its terms are linear in their coefficients, which are fitted to
/// the measured times of each form by least squares of relative errors. Blocks at the edges take the time of
/// others.

#include "schedules/even_tail.h"
#include "schedules/kernels/kernel_choice.h"
#include "schedules/kernels/kernel_table.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith::records {

struct KernelChoice {
  std::size_t point = 0;  ///< position in the table
  std::int64_t parts = 1; ///< blocks that share a tile
  std::string with;       ///< as `KernelForm::with`
  /// Blocks on each multiprocessor for which the product has an even tail (schedules/even_tail.h); 0: it has
  /// none.
  std::int64_t even = 0;
  double ms = 0; ///< predicted
};

/// A product of an M x K and a K x N matrix, or a batch of products.
struct ProductSize {
  Extents extents = {};   ///< M, N and K
  std::int64_t batch = 1; ///< the number of products of this size
  /// The number of elements at whose multiples the rows along N begin, and those along K. 0: that of rows
  /// without a gap.
  std::int64_t along_n = 0, along_k = 0;
};

/// What the predicted time of a choice depends on.
struct TimeParts {
  std::int64_t blocks = 0;  ///< of the launch
  std::int64_t in_wave = 0; ///< that the GPU executes at one time
  double waves = 0;         ///< times of a whole wave; a part of one: the last wave is not full
  std::int64_t depth = 0;   ///< tiles of k of a block
  double past_edges = 0;    ///< share of the multiplications that are past the edges of the result
  double sum_ms = 0;        ///< to add the parts of a sum
  double memory_ms = 0;     ///< to move what L2 cannot hold
};

/// The sizes that were measured for a table.
struct MeasuredSizes {
  std::int64_t least_k = 0, most_k = 0;
  double least_results = 0, most_results = 0; ///< M * N
  bool contain(const Extents &extents) const;
};

/// A size at which a point has to be measured, so that the coefficients of its form can be fitted.
struct Probe {
  Extents extents = {};
  std::int64_t parts = 1;
  std::string with = {};
  bool operator==(const Probe &) const = default;
};
/// `l2_bytes`: capacity of L2; 0: no size is larger than L2. `elements`: of a vector. `ways`: the values of
/// `KernelForm::with`; empty: a tile is not shared.
std::vector<Probe> probes(const Extents &tile, std::int64_t resident, std::int64_t sms, std::int64_t l2_bytes,
                          Rows rows, std::int64_t elements, const std::vector<std::string> &ways);

class KernelModel {
public:
  /// Throws UserError (usage) if a point has too few times for its coefficients. `where` names the table.
  KernelModel(KernelTable table, const std::string &where);

  const KernelTable &table() const { return table_; }
  /// The predicted time in ms of a point, with the parts and the way of `choice`, on a GPU with `sms`
  /// multiprocessors of the same kind.
  double ms(const KernelChoice &choice, const Extents &extents, std::int64_t sms) const;
  /// The parts of this time.
  TimeParts time_parts(const KernelChoice &choice, const Extents &extents, std::int64_t sms) const;
  MeasuredSizes measured_sizes() const;
  /// All points with all numbers of parts that give each block two tiles of k or more, and with an even tail
  /// where it is predicted to gain, the fastest first. A batch has no even tails.
  std::vector<KernelChoice> rank(const Extents &extents, std::int64_t sms) const;
  /// The same for a batch of products, whose tiles are those of all products.
  std::vector<KernelChoice> rank_products(const ProductSize &product, std::int64_t sms) const;
  /// `KernelForm::any_size` of a point, at least 1: the kernel for one size has all that the other one has, so
  /// a smaller factor is that of one size only. At lines, the kernel is that for rows at vectors. With parts,
  /// it is the geometric mean over the measured numbers of parts, each of which has the factor without parts if
  /// it has none of its own. `most_any_size` if one of these kernels failed.
  double any_size(std::size_t point, Rows rows, bool with_parts) const;
  /// The relative errors of the model at the measured times of a point.
  std::vector<double> errors(std::size_t point) const;

  /// The kernels of the formula, one for each point of the table, with the forms that are fitted. The ways of
  /// their forms are those of `ways`.
  const std::vector<choice::Kernel> &kernels() const { return kernels_; }
  /// The values of `KernelForm::with`.
  const std::vector<std::string> &ways() const { return ways_; }
  choice::Machine machine(std::int64_t sms) const;
  /// M, N and K, of which rows begin at multiples of N and of K elements.
  choice::Size size(const Extents &extents) const;
  choice::Size size_of(const ProductSize &product) const;

private:
  std::optional<EvenTail> even_tail_of(std::size_t point, const choice::Size &size,
                                       const choice::Machine &machine) const;
  std::optional<KernelChoice> with_even_tail(std::size_t point, const choice::Size &size,
                                             const choice::Machine &machine) const;
  choice::Form fitted(const KernelPoint &point, Rows rows, const std::string &where) const;

  KernelTable table_;
  std::vector<std::string> ways_;
  std::vector<choice::Kernel> kernels_;
};

} // namespace nestsmith::records
