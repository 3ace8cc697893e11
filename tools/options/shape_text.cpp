#include "tools/options/shape_text.h"

#include "dsl/expr/error.h"
#include "dsl/schedule/extents.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith::cli {

Shape parse_shape(const std::string &text, std::size_t extents) {
  std::string why;
  Shape shape = parse_extents(text, why);
  if (why.empty() && shape.size() != extents)
    why = fmt::format("it has {} extent{}, expected {}", shape.size(), shape.size() == 1 ? "" : "s", extents);
  if (why.empty())
    return shape;
  std::string form = extents == 3   ? "MxNxK such as 512x512x512"
                     : extents == 1 ? "one number such as 65536"
                                    : fmt::format("{} extents joined by 'x'", extents);
  throw UserError(ExitCode::usage, fmt::format("shape '{}': {}; give {}", text, why, form));
}

Shape parse_listed_shape(const std::string &text, std::size_t extents) {
  if (text.find('x') == std::string::npos)
    return Shape(extents, parse_shape(text, 1).front());
  return parse_shape(text, extents);
}

std::string to_text(const Shape &shape) { return extents_text(shape); }

std::string short_text(const Shape &shape) {
  bool equal = std::ranges::all_of(shape, [&](std::int64_t extent) { return extent == shape.front(); });
  return equal ? std::to_string(shape.front()) : to_text(shape);
}

} // namespace nestsmith::cli
