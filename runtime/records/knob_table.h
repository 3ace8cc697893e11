#pragma once
/// The best knobs of one rung, by GPU, element type and shape: a table of measurements that `tune export`
/// wrote.

#include "runtime/records/record.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith::records {

/// A problem for which knobs are wanted. The fields have the forms of `Record`.
struct Problem {
  std::string gpu, dtype;
  std::vector<std::int64_t> extents;
  bool symbolic = false; ///< for a kernel for all shapes
};

class KnobTable {
public:
  /// The fastest measured record of `rung` for each GPU, dtype, shape and kind of kernel in `text`. `where`
  /// names the text in messages. Throws UserError (usage) if the text is malformed, if a record has an unknown
  /// dtype, if the shapes of the rung differ in rank, or if the rung has no measured record.
  KnobTable(const std::string &text, std::string where, std::string rung);

  const std::string &where() const { return where_; }
  const std::string &rung() const { return rung_; }
  /// The GPUs that have a record of the dtype, sorted.
  std::vector<std::string> gpus(const std::string &dtype) const;
  /// The records of the GPU and the dtype, the smallest shape first.
  std::vector<const Record *> of_gpu(const std::string &gpu, const std::string &dtype) const;

  /// The records of this GPU, dtype, kind of kernel and number of extents, by ascending `distance`; of equal
  /// ones, the smallest shape first.
  std::vector<const Record *> nearest(const Problem &problem) const;

private:
  std::string where_, rung_;
  std::vector<Record> records_; ///< the smallest shape first
};

/// The extents of the shape of a record. Empty if the text is not a shape.
std::vector<std::int64_t> extents_of(const Record &record);

/// The sum of |log2(a/b)| over the extents a of the problem and b of the record. Add 1 for each extent that
/// is a multiple of 4 in only one of the two shapes, since vectors have 4 elements, unless the record is for
/// all shapes. 0: the record is of this problem.
double distance(const Problem &problem, const Record &record);

} // namespace nestsmith::records
