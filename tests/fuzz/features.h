#pragma once
/// The features of a computation, for the report of a campaign.

#include "dsl/ir/program.h"

#include <cstdint>
#include <string>
#include <vector>

namespace nestsmith::fuzz {

struct Feature {
  std::string name; ///< "in-place updates"
  bool (*holds)(const Program &);
};

/// There are at most 32 features.
const std::vector<Feature> &features();
/// Returns a bit for each feature that the program has, in the order of features().
std::uint64_t features_of(const Program &program);

} // namespace nestsmith::fuzz
