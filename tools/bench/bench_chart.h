#pragma once
/// The results of `bench` as a chart in SVG.

#include "tools/bench/bench.h"

#include <string>
#include <vector>

namespace nestsmith::cli {

/// A panel for each setting: TFLOP/s by shape, one line for each competitor, with its name at the end of the
/// line. Lines of peers are dashed. The background is transparent, and the colours are readable on white and on
/// black. `subtitle` names the GPU.
std::string bench_chart(const std::vector<BenchShape> &shapes, const std::vector<BenchSetting> &settings,
                        const std::string &subtitle);

} // namespace nestsmith::cli
