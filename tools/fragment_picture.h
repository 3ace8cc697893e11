#pragma once
/// A picture of a fragment: the lane and the register that hold each element.

#include "dsl/allocation.h"
#include "tools/analysed.h"

#include <optional>
#include <string>

namespace nestsmith::cli {

/// The fragment of this name in the program; none if there is none.
Buffer find_fragment(const Program &program, const std::string &name);

/// Rows and columns are the last two dimensions of the box, at index 0 of the others. A cell is
/// "lane:register"; if an element has replicas, the lane of the first one. The picture shows the 16 first rows,
/// and as many columns as fit in `width`.
std::string fragment_picture(const Placement &placement, const Style &style, std::size_t width);

/// Prints the picture, or the lanes and registers of all elements of the box as JSON.
ExitCode show_fragment(const Context &context, const Scheduled &scheduled, const Buffer &fragment);

} // namespace nestsmith::cli
