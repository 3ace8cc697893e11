#include "runtime/records/knob_table.h"

#include "dsl/expr/dtype.h"
#include "dsl/expr/error.h"
#include "dsl/schedule/extents.h"
#include "runtime/records/text.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

namespace nestsmith::records {

namespace {

constexpr std::int64_t vector_elements = 4; ///< of one 128-bit access

/// Smaller shapes first.
bool is_before(const Record &a, const Record &b) {
  auto volume = [](const std::vector<std::int64_t> &extents) {
    double product = 1;
    for (std::int64_t extent : extents)
      product *= static_cast<double>(extent);
    return product;
  };
  std::vector<std::int64_t> of_a = extents_of(a), of_b = extents_of(b);
  return std::pair(volume(of_a), of_a) < std::pair(volume(of_b), of_b);
}

} // namespace

std::vector<std::int64_t> extents_of(const Record &record) {
  std::string ignored;
  return parse_extents(record.shape, ignored);
}

KnobTable::KnobTable(const std::string &text, std::string where, std::string rung)
    : where_(std::move(where)), rung_(std::move(rung)) {
  std::set<std::string> rungs;
  for (Record &record : parse_records(text, where_)) {
    if (extents_of(record).empty())
      throw UserError(
          ExitCode::usage,
          fmt::format("{}: a record has the shape '{}', expected extents joined by 'x'", where_, record.shape));
    if (!parse_dtype(record.dtype))
      throw UserError(ExitCode::usage,
                      fmt::format("{}: a record of {} has the dtype '{}', expected one such as f32", where_,
                                  record.rung, record.dtype));
    rungs.insert(record.rung);
    if (record.rung == rung_)
      records_.push_back(std::move(record));
  }
  for (const Record &record : records_)
    if (auto rank = extents_of(records_.front()).size(); extents_of(record).size() != rank)
      throw UserError(
          ExitCode::usage,
          fmt::format("{}: the records of {} have the shapes {} and {}, expected shapes of one rank", where_,
                      rung_, records_.front().shape, record.shape));
  records_ = best_of(records_);
  if (records_.empty())
    throw UserError(
        ExitCode::usage,
        fmt::format("{} has no measured record of '{}'{}; `nestsmith tune export {} -o FILE` writes them",
                    where_, rung_,
                    rungs.empty() ? "" : fmt::format(", only records of {}", fmt::join(rungs, ", ")), rung_));
  std::ranges::stable_sort(records_, is_before);
}

std::vector<std::string> KnobTable::gpus(const std::string &dtype) const {
  std::set<std::string> names;
  for (const Record &record : records_)
    if (record.dtype == dtype)
      names.insert(record.gpu);
  return {names.begin(), names.end()};
}

std::vector<const Record *> KnobTable::of_gpu(const std::string &gpu, const std::string &dtype) const {
  std::vector<const Record *> found;
  for (const Record &record : records_)
    if (record.gpu == gpu && record.dtype == dtype)
      found.push_back(&record);
  return found;
}

double distance(const Problem &problem, const Record &record) {
  std::vector<std::int64_t> extents = extents_of(record);
  double sum = 0;
  for (std::size_t n = 0; n < extents.size(); ++n) {
    double ratio = static_cast<double>(problem.extents[n]) / static_cast<double>(extents[n]);
    bool differ = (problem.extents[n] % vector_elements == 0) != (extents[n] % vector_elements == 0);
    sum += std::abs(std::log2(ratio)) + (differ && !record.symbolic ? 1 : 0);
  }
  return sum;
}

std::vector<const Record *> KnobTable::nearest(const Problem &problem) const {
  std::vector<const Record *> found = of_gpu(problem.gpu, problem.dtype);
  std::erase_if(found, [&](const Record *record) {
    return record->symbolic != problem.symbolic || extents_of(*record).size() != problem.extents.size();
  });
  std::ranges::stable_sort(found, {}, [&](const Record *record) { return distance(problem, *record); });
  return found;
}

} // namespace nestsmith::records
