#include "dsl/hardware/fragment_rules.h"

#include "dsl/expr/expr_text.h"
#include "dsl/hardware/fragment.h"
#include "dsl/hardware/replicas.h"
#include "dsl/hardware/vector_access.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith {

namespace {

class FragmentUses {
public:
  FragmentUses(Placements &placements, const Buffer &buffer)
      : placements_(placements), program_(placements.program()), bounds_(placements.bounds()), buffer_(buffer),
        placement_(placements.of(buffer)), fragment_(*buffer, placement_.box()) {}

  std::optional<std::string> run() {
    if (auto reason = fragment_.breach())
      return fmt::format("the layout of {} ({}) is not a fragment layout of its {} elements: {}", buffer_->name,
                         to_string(*buffer_->layout), fmt::join(placement_.box(), " x "), *reason);
    for (const For *loop : placement_.loops)
      if (loop->axis() && overlap(*loop->axis(), Axis::lane))
        return fmt::format(
            "{} is a fragment, one copy for each warp, but all of its uses are below {}, which is bound "
            "to {}; move its blocks out of that loop",
            buffer_->name, loop->var->name, name(*loop->axis()));
    for (const Block *block : blocks_of(program_.body))
      if (touches(*block, buffer_))
        if (auto breach = check(*block))
          return breach;
    return replica_breach(placements_, buffer_, fragment_);
  }

private:
  std::optional<std::string> check(const Block &block) const {
    const For *lane = nullptr;
    for (const For *loop : loops_of(path_to(program_.body, block.id))) {
      if (loop->is<Tensorized>())
        return std::nullopt; // the call checks the layouts of its operands
      if (loop->axis() && overlap(*loop->axis(), Axis::lane))
        lane = loop;
    }
    if (!lane && fragment_.replicas() == lanes_per_warp)
      return std::nullopt; // every lane executes the block on its own copy
    if (!lane || lane->axis() != Axis::lane)
      return fmt::format(
          "{} is a fragment, spread over the lanes of a warp, but block {} {} it {}; bind a loop of "
          "{} to lane so that each lane accesses the elements that it holds, or tensorize the nest",
          buffer_->name, block.id->name, access_verb(block, buffer_),
          lane ? fmt::format("below {}, which is bound to {}", lane->var->name, name(*lane->axis()))
               : "without a loop that is bound to lane",
          block.id->name);
    if (block.body.buffer == buffer_)
      if (auto breach = check_access(block, block.body.indices, *lane, "writes"))
        return breach;
    for (const Load *access : loads_of(block))
      if (access->buffer == buffer_)
        if (auto breach = check_access(block, access->indices, *lane, "reads"))
          return breach;
    return std::nullopt;
  }

  std::optional<std::string> check_access(const Block &block, const std::vector<Expr> &indices, const For &lane,
                                          const char *verb) const {
    std::vector<Expr> inside = in_box(placement_, in_loops(indices, block, bounds_), bounds_);
    if (fragment_.holds(lane.var, inside, bounds_))
      return std::nullopt;
    return fmt::format(
        "block {} {} {}[{}] in lane {}, but lane {} holds this element; split and fuse the loops of {} "
        "so that the loop bound to lane gives the lane of the layout ({})",
        block.id->name, verb, buffer_->name, joined(inside), lane.var->name,
        to_string(simplify(fragment_.lane(inside, Expr(0)), bounds_)), block.id->name,
        to_string(*buffer_->layout));
  }

  static std::string joined(const std::vector<Expr> &indices) {
    std::string text;
    for (const Expr &index : indices)
      text += (text.empty() ? "" : ", ") + to_string(index);
    return text;
  }

  Placements &placements_;
  const Program &program_;
  const Bounds &bounds_;
  const Buffer &buffer_;
  const Placement &placement_;
  FragmentLayout fragment_;
};

} // namespace

std::optional<std::string> fragment_breach(Placements &placements, const Buffer &buffer) {
  if (!is_fragment(*buffer))
    return fmt::format(
        "{} is in the scope warp, but no layout gives the lane and the register of its elements; use "
        "transform_layout with a map whose first index is the lane, as in \"i, j -> i%8*4 + j%8//2, "
        "i//8, j//8, j%2\"",
        buffer->name);
  if (placements.of(buffer).elements == 0) // another obligation requires a constant size
    return std::nullopt;
  return FragmentUses(placements, buffer).run();
}

} // namespace nestsmith
