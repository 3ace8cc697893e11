#pragma once
/// The results of `bench` as JSON, one object per line.

#include "tools/bench/bench.h"
#include "tools/bench/bench_record.h"

#include <string>
#include <vector>

namespace nestsmith::cli {

/// The rows at one shape: an object for each row in each setting.
std::string bench_rows(const BenchShape &shape, const BenchOptions &options);
/// The last object.
std::string bench_end(const std::vector<BenchShape> &shapes, const std::string &device,
                      const std::vector<std::string> &notes);

/// The last object of `bench --record`.
std::string recorded_end(const Recorded &recorded, const std::string &file, bool passed,
                         const std::vector<std::string> &notes);

} // namespace nestsmith::cli
