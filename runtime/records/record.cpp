#include "runtime/records/record.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace nestsmith::records {

namespace {

constexpr std::array outcomes = {"measured", "refused", "wrong", "crashed", "hung", "estimated"};

} // namespace

const char *name(Outcome outcome) { return outcomes[static_cast<std::size_t>(outcome)]; }

std::optional<Outcome> parse_outcome(const std::string &name) {
  auto found = std::ranges::find(outcomes, name);
  if (found == outcomes.end())
    return std::nullopt;
  return static_cast<Outcome>(found - outcomes.begin());
}

std::vector<Record> best_of(const std::vector<Record> &records) {
  std::map<std::tuple<std::string, std::string, std::string, bool>, const Record *> best;
  for (const Record &record : records)
    if (record.outcome == Outcome::measured) {
      const Record *&known = best[{record.gpu, record.dtype, record.shape, record.symbolic}];
      if (!known || record.median_ms < known->median_ms)
        known = &record;
    }
  std::vector<Record> list;
  for (const auto &[key, record] : best)
    list.push_back(*record);
  return list;
}

} // namespace nestsmith::records
