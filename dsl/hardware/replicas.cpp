#include "dsl/hardware/replicas.h"

#include "dsl/expr/expr_text.h"
#include "dsl/hardware/vector_access.h"
#include "dsl/ir/interpret.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith {

namespace {

/// Limit on the iterations of one access that are enumerated.
constexpr std::int64_t most_iterations = 1 << 15;

using LaneMask = std::uint32_t;

/// The copies that a block accesses: for each element of the box, the lanes that have them. None: unknown.
using Copies = std::optional<std::vector<LaneMask>>;

struct WrittenCopies {
  const Block *block;
  Copies copies;
};

class ReplicaInspector {
public:
  ReplicaInspector(Placements &placements, const Buffer &buffer, const FragmentLayout &fragment)
      : program_(placements.program()), bounds_(placements.bounds()), buffer_(buffer),
        placement_(placements.of(buffer)), fragment_(fragment), box_(placement_.box()) {
    for (std::int64_t extent : box_)
      elements_ *= extent;
  }

  std::optional<std::string> run() {
    for (const Block *block : blocks_of(program_.body))
      if (block->body.buffer == buffer_ && !writes_every_copy(*block))
        partial_.push_back({block, copies(*block, block->body.indices, {}, true)});
    if (partial_.empty())
      return std::nullopt;
    for (const Block *block : blocks_of(program_.body))
      for (const Load *access : loads_of(*block))
        if (access->buffer == buffer_)
          if (auto breach = check_read(*block, *access))
            return breach;
    return std::nullopt;
  }

private:
  /// The loop of the block that is bound to a lane; null if each access is to all copies.
  const For *lane_loop(const Block &block) const {
    const For *lane = nullptr;
    for (const For *loop : loops_of(path_to(program_.body, block.id))) {
      if (loop->is<Tensorized>())
        return nullptr;
      if (loop->axis() == Axis::lane)
        lane = loop;
    }
    return lane;
  }

  std::vector<Expr> inside(const Block &block, const std::vector<Expr> &indices) const {
    return in_box(placement_, in_loops(indices, block, bounds_), bounds_);
  }

  /// Whether no index and no guard depends on the lane, so that all lanes do the same.
  bool writes_every_copy(const Block &block) const {
    const For *lane = lane_loop(block);
    if (!lane)
      return true;
    auto differs = [&](const Expr &e) { return uses(e, lane->var); };
    return fragment_.replicas() == lanes_per_warp &&
           std::ranges::none_of(inside(block, block.body.indices), differs) &&
           std::ranges::none_of(block.iters, [&](const IterVar &x) { return x.guarded && differs(x.binding); });
  }

  /// The conditions under which the block executes the access. Guards that are equal in all lanes that access
  /// an element are left out: those that do not use the lane, and those on an index of the element. None: a
  /// condition of a writer is unknown.
  std::optional<std::vector<Expr>> conditions(const Block &block, const std::vector<Expr> &indices,
                                              const Expr &mask, const Var &lane, bool writer) const {
    std::vector<Expr> result;
    auto add = [&](const Expr &condition) {
      bool known = !reads_memory(condition) && enumerable(block, {condition});
      if (known)
        result.push_back(condition);
      return known || !writer;
    };
    for (const IterVar &iter : block.iters) {
      auto is_index = [&](const Expr &index) { return index.as<Var>() && *index.as<Var>() == iter.var; };
      if (!iter.guarded || !uses(iter.binding, lane) || std::ranges::any_of(indices, is_index))
        continue;
      if (!add(Expr(0) <= iter.binding) || !add(iter.binding < iter.extent))
        return std::nullopt;
    }
    if (mask.exists())
      add(in_loops(mask, block, bounds_));
    return result;
  }

  /// The loops whose variables the expressions use; none if they use anything else than the loops of constant
  /// extents between the placement and the block.
  std::optional<std::vector<const For *>> loops_used(const Block &block, const std::vector<Expr> &all) const {
    std::vector<const For *> found;
    auto around = loops_of(path_to(program_.body, block.id));
    bool only_loops = true;
    for (const Expr &e : all)
      walk(e, [&](const Expr &node) {
        const Var *var = node.as<Var>();
        if (!var)
          return;
        auto loop = std::ranges::find_if(around, [&](const For *x) { return x->var == *var; });
        if (loop == around.end() || !as_int((*loop)->extent) ||
            std::ranges::find(placement_.loops, *loop) != placement_.loops.end())
          only_loops = false;
        else if (std::ranges::find(found, *loop) == found.end())
          found.push_back(*loop);
      });
    return only_loops ? std::optional(found) : std::nullopt;
  }
  bool enumerable(const Block &block, const std::vector<Expr> &all) const {
    return loops_used(block, all).has_value();
  }

  /// The copies that the access touches; at least these if `writer` is false, at most these otherwise.
  Copies copies(const Block &block, const std::vector<Expr> &indices, const Expr &mask, bool writer) const {
    std::vector<Expr> element = inside(block, indices), all = element;
    const For *lane = lane_loop(block);
    std::vector<Expr> executes;
    if (lane) {
      auto known = conditions(block, indices, mask, lane->var, writer);
      if (!known)
        return std::vector<LaneMask>(static_cast<std::size_t>(elements_));
      executes = *known;
      all.insert(all.end(), executes.begin(), executes.end());
      all.emplace_back(lane->var);
    }
    auto loops = loops_used(block, all);
    if (!loops)
      return std::nullopt;
    std::int64_t iterations = 1;
    for (const For *loop : *loops)
      iterations = std::min(most_iterations + 1, iterations * *as_int(loop->extent));
    if (iterations > most_iterations)
      return std::nullopt;
    std::vector<LaneMask> lanes(static_cast<std::size_t>(elements_));
    for (std::int64_t n = 0; n < iterations; ++n) {
      std::map<Var, Scalar> point;
      std::int64_t rest = n;
      for (const For *loop : *loops) {
        point[loop->var] = Scalar::of(loop->var->dtype, rest % *as_int(loop->extent));
        rest /= *as_int(loop->extent);
      }
      auto holds = [&](const Expr &condition) { return evaluate(condition, point).as<bool>(); };
      auto at = offset(element, point);
      if (at && std::ranges::all_of(executes, holds))
        lanes[static_cast<std::size_t>(*at)] |=
            lane ? LaneMask{1} << number(lane->var, point) : all_copies(element, point);
    }
    return lanes;
  }

  static std::int64_t number(const Expr &e, const std::map<Var, Scalar> &point) {
    return evaluate(e, point).as<std::int64_t>();
  }

  /// The row-major offset of the element in the box; none outside of it, where a guard is false.
  std::optional<std::int64_t> offset(const std::vector<Expr> &element,
                                     const std::map<Var, Scalar> &point) const {
    std::int64_t result = 0;
    for (std::size_t d = 0; d < element.size(); ++d) {
      std::int64_t index = number(element[d], point);
      if (index < 0 || index >= box_[d])
        return std::nullopt;
      result = result * box_[d] + index;
    }
    return result;
  }

  LaneMask all_copies(const std::vector<Expr> &element, const std::map<Var, Scalar> &point) const {
    std::vector<Expr> constant;
    for (const Expr &index : element)
      constant.emplace_back(number(index, point));
    LaneMask lanes = 0;
    for (std::int64_t replica = 0; replica < fragment_.replicas(); ++replica)
      lanes |= LaneMask{1} << number(fragment_.lane(constant, Expr(replica)), {});
    return lanes;
  }

  std::optional<std::string> check_read(const Block &block, const Load &access) const {
    Copies read = copies(block, access.indices, access.mask, false);
    for (const WrittenCopies &writer : partial_) {
      if (writer.block == &block && same_element(block, access))
        continue; // each lane reads the copy that it updates
      if (!read || !writer.copies)
        return fmt::format(
            "{} lanes have copies of each element of {}, and block {} reads {} in lanes that may "
            "not have their copy from block {}; {}",
            fragment_.replicas(), buffer_->name, block.id->name, buffer_->name, writer.block->id->name,
            remedy(*writer.block, block));
      for (std::size_t n = 0; n < read->size(); ++n)
        if (LaneMask missing = (*read)[n] & ~(*writer.copies)[n])
          return fmt::format("{} lanes have copies of each element of {}, and block {} reads the copy of "
                             "element ({}) in lane {}, but block {} writes this element {}; {}",
                             fragment_.replicas(), buffer_->name, block.id->name,
                             fmt::join(indices_of(n), ", "), std::countr_zero(missing), writer.block->id->name,
                             in_lanes((*writer.copies)[n]), remedy(*writer.block, block));
    }
    return std::nullopt;
  }

  bool same_element(const Block &block, const Load &access) const {
    return block.body.buffer == access.buffer &&
           std::ranges::equal(block.body.indices, access.indices,
                              [](const Expr &a, const Expr &b) { return same(a, b); });
  }

  std::vector<std::int64_t> indices_of(std::size_t element) const {
    std::vector<std::int64_t> result(box_.size());
    auto rest = static_cast<std::int64_t>(element);
    for (std::size_t d = box_.size(); d-- > 0; rest /= box_[d])
      result[d] = rest % box_[d];
    return result;
  }

  static std::string in_lanes(LaneMask lanes) {
    if (lanes == 0)
      return "in no lane for certain";
    std::vector<int> numbers;
    for (; lanes != 0; lanes &= lanes - 1)
      numbers.push_back(std::countr_zero(lanes));
    return fmt::format("in lane{} {} only", numbers.size() > 1 ? "s" : "", fmt::join(numbers, ", "));
  }

  std::string remedy(const Block &writer, const Block &reader) const {
    std::string choice =
        fragment_.replicas() == lanes_per_warp
            ? fmt::format("leave the loops of {} serial, so that every lane writes its copy,", writer.id->name)
            : fmt::format("bind a loop of {} to lane so that every lane writes its copy,", writer.id->name);
    return fmt::format("{} or split and bind the loops of {} and {} so that each lane reads only what it wrote",
                       choice, writer.id->name, reader.id->name);
  }

  const Program &program_;
  const Bounds &bounds_;
  const Buffer &buffer_;
  const Placement &placement_;
  const FragmentLayout &fragment_;
  std::vector<std::int64_t> box_;
  std::int64_t elements_ = 1;
  std::vector<WrittenCopies> partial_; ///< the writers that may leave out copies
};

} // namespace

std::optional<std::string> replica_breach(Placements &placements, const Buffer &buffer,
                                          const FragmentLayout &fragment) {
  if (fragment.replicas() == 1)
    return std::nullopt;
  return ReplicaInspector(placements, buffer, fragment).run();
}

} // namespace nestsmith
