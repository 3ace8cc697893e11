#include "runtime/records/measured.h"

#include "dsl/expr/error.h"
#include "runtime/records/fields.h"
#include "runtime/records/text.h"

#include <algorithm>
#include <fmt/format.h>
#include <tuple>

namespace nestsmith::records {

namespace {

auto place_of(const Record &record) {
  return std::tie(record.gpu, record.rung, record.dtype, record.shape, record.symbolic, record.launch,
                  record.cold_l2);
}

} // namespace

bool same_place(const Record &a, const Record &b) { return place_of(a) == place_of(b); }

MeasuredTable::MeasuredTable(const std::string &text, const std::string &where)
    : records_(parse_records(text, where)) {
  std::ranges::sort(records_, {}, place_of);
  for (const Record &record : records_)
    if (record.outcome != Outcome::measured)
      throw UserError(ExitCode::usage,
                      fmt::format("{}: a record of {} at {} has the outcome '{}', expected 'measured'", where,
                                  record.rung, record.shape, name(record.outcome)));
  if (auto twice = std::ranges::adjacent_find(records_, same_place); twice != records_.end())
    throw UserError(ExitCode::usage, fmt::format("{}: two records of {} at {} in {} on {}; expected one", where,
                                                 twice->rung, twice->shape, twice->dtype, twice->gpu));
}

bool MeasuredTable::has(const Record &point) const {
  return std::ranges::any_of(records_, [&](const Record &record) { return same_identity(record, point); });
}

void MeasuredTable::put(Record record) {
  internal_check(record.outcome == Outcome::measured, "a measured time");
  auto at = std::ranges::lower_bound(records_, place_of(record), {}, place_of);
  if (at != records_.end() && same_place(*at, record))
    *at = std::move(record);
  else
    records_.insert(at, std::move(record));
}

std::string MeasuredTable::text() const { return to_text(records_, true); }

} // namespace nestsmith::records
