#include "dsl/expr_limits.h"

#include <fmt/format.h>

namespace nestsmith {

std::optional<std::string> too_large(const Expr &e) {
  if (e.node().depth > max_depth)
    return fmt::format("is {} operations deep, expected at most {}; write a long sum as a sum of sums of about "
                       "equal length, or compute a part of it in a stage of its own",
                       e.node().depth, max_depth);
  std::size_t nodes = 0;
  walk(e, [&](const Expr &) { ++nodes; });
  if (nodes > max_nodes)
    return fmt::format("is made of {} operations and operands, expected at most {}; compute a part of it in a "
                       "stage of its own",
                       nodes, max_nodes);
  return std::nullopt;
}

} // namespace nestsmith
