#pragma once
/// Charts of lines in SVG, for the files of `bench` and `tune --sweep`.

#include <optional>
#include <string>
#include <vector>

namespace nestsmith::cli {

/// A line of a panel. A place without a value has no point.
struct ChartLine {
  std::string name;
  std::vector<std::optional<double>> values; ///< one for each place
  bool dashed = false;
};

struct ChartPanel {
  std::string title;               ///< the unit and the condition: "TFLOP/s, launches back to back, warm L2"
  std::vector<std::string> places; ///< labels below the horizontal axis
  std::vector<ChartLine> lines;
  std::string axis = {};                               ///< what the places are; may be empty
  std::string without_values = "nothing was measured"; ///< text of a panel without any value
};

/// The panels below each other, under a heading. The vertical axis begins at 0. Each line has its name at its
/// end. The background is transparent, and the colours are readable on white and on black.
std::string line_chart(const std::string &heading, const std::vector<ChartPanel> &panels);

} // namespace nestsmith::cli
