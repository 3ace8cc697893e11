#pragma once
/// The measured times of the rungs of nestsmith, one table for each GPU.

#include <string>
#include <vector>

namespace nestsmith {

struct MeasuredText {
  std::string file; ///< "schedules/measured/h200.json"
  std::string text; ///< as `nestsmith bench --record` wrote it
};
/// The files of schedules/measured, which are embedded in the program.
const std::vector<MeasuredText> &measured_texts();

} // namespace nestsmith
