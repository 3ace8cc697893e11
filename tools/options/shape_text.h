#pragma once
/// Shapes as words of the command line.

#include "schedules/rung.h"

#include <cstddef>
#include <string>

namespace nestsmith::cli {

/// Parses "512x512x512". Throws UserError (usage) if it is malformed, has a different number of extents, or has
/// an extent below 1 or above 2^31 - 1.
Shape parse_shape(const std::string &text, std::size_t extents);
std::string to_text(const Shape &shape);
/// Parses an element of --shapes. One number is the shape with this number as every extent.
Shape parse_listed_shape(const std::string &text, std::size_t extents);
/// "512" for a shape of equal extents, otherwise as `to_text`.
std::string short_text(const Shape &shape);

} // namespace nestsmith::cli
