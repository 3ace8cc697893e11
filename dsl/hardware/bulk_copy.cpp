#include "dsl/hardware/bulk_copy.h"

#include "dsl/expr/expr_text.h"
#include "dsl/hardware/async_copy.h"
#include "dsl/hardware/vector_access.h"
#include "dsl/ir/intrinsic.h"
#include "dsl/ir/layout.h"
#include "dsl/ir/roles.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <span>
#include <utility>

namespace nestsmith {

namespace {

/// The swizzle of a tensor map for rows of this number of bytes, or none: that of the tiles of matrix units,
/// which have rows of 128 bytes, with fewer bits for shorter rows.
std::optional<Swizzle> swizzle_of_rows(std::int64_t bytes, DType dtype) {
  Swizzle swizzle = swizzle_of_tiles(dtype);
  for (; swizzle.bits > 0; --swizzle.bits)
    if (bytes == bulk_alignment << swizzle.bits)
      return swizzle;
  return std::nullopt;
}

class BoxFinder {
public:
  BoxFinder(Placements &filled, const Block &block)
      : filled_(filled), bounds_(filled.bounds()), block_(block), source_(*block.body.value.as<Load>()),
        tile_(block.body.buffer), name_(block.id->name) {}

  std::variant<CopiedBox, std::string> run() {
    find_loops();
    check_source();
    if (!failure_.empty())
      return failure_;
    for (std::size_t first = 0; first < loops_.size(); ++first) {
      std::string before = std::exchange(failure_, "");
      if (std::optional<CopiedBox> box = box_from(first))
        return *std::move(box);
      if (!before.empty()) // that of the largest box says most
        failure_ = std::move(before);
    }
    if (failure_.empty())
      fail("block {} copies one element, expected a nest of loops below the pipelined one", name_);
    return failure_;
  }

private:
  template <class... Arguments> void fail(fmt::format_string<Arguments...> text, Arguments &&...arguments) {
    if (failure_.empty())
      failure_ = fmt::format(text, std::forward<Arguments>(arguments)...);
  }

  /// The loops of the block's nest: those below the pipelined loop.
  void find_loops() {
    bool inside = false;
    for (const For *loop : loops_of(path_to(filled_.program().body, block_.id))) {
      if (inside && as_int(loop->extent) != 1) {
        if (!loop->is<Serial>() && !loop->is<Unrolled>())
          fail("the loop {} of block {} is {}, but one thread issues a bulk copy, and the iterations are its "
               "box; "
               "leave it serial",
               loop->var->name, name_,
               loop->axis() ? fmt::format("bound to {}", nestsmith::name(*loop->axis()))
                            : std::string(nestsmith::name(loop->form)));
        loops_.push_back(loop);
      }
      if (!loop->pipeline().empty()) {
        inside = true;
        loops_.clear();
      }
    }
    if (!inside)
      fail("no loop around block {} is pipelined, so its tile has one copy; use role and pipeline", name_);
  }

  void check_source() {
    const Buffer &buffer = source_.buffer;
    const auto rank = static_cast<std::int64_t>(buffer->shape.size());
    if (rank < 1 || rank > most_box_rank)
      fail("block {} copies from {}, which has {} dimensions, but a tensor map has 1 to {}; leave the copy to "
           "threads",
           name_, buffer->name, rank, most_box_rank);
    const std::int64_t multiple = bulk_alignment / byte_size(buffer->dtype);
    std::vector<Expr> strides = strides_of(*buffer);
    if (tile_->shape.size() != buffer->shape.size())
      fail("block {} copies from {} of {} dimensions to a tile of {}, expected the same number; leave the copy "
           "to threads",
           name_, buffer->name, rank, tile_->shape.size());
    for (std::size_t d = 0; d + 1 < strides.size(); ++d)
      if (!is_multiple(strides[d], multiple, bounds_))
        fail("block {} copies from {}, whose rows in dimension {} are {} elements apart, but in a tensor map "
             "they are a multiple of {} elements ({} bytes) apart; leave the copy to threads for this shape",
             name_, buffer->name, d, to_string(strides[d]), multiple, bulk_alignment);
    for (const Block *other : blocks_of(filled_.program().body))
      if (other->body.buffer == buffer)
        fail("block {} writes {}, from which bulk copies of {} read, and no fence orders them; leave the copy "
             "to threads",
             other->id->name, buffer->name, name_);
    indices_ = in_loops(source_.indices, block_, bounds_);
    for (const Expr &index : indices_)
      if (index.node().data)
        fail(
            "block {} copies from {}[{}], whose place depends on data, but a box has one place; leave the copy "
            "to threads",
            name_, buffer->name, fmt::join(texts(indices_), ", "));
    if (source_.mask.exists())
      check_mask(source_.mask);
  }

  static std::vector<std::string> texts(const std::vector<Expr> &list) {
    std::vector<std::string> result;
    for (const Expr &e : list)
      result.push_back(to_string(e));
    return result;
  }

  /// Checks that the mask excludes only elements outside of the source.
  void check_mask(const Expr &mask) {
    const auto *op = mask.as<Binary>();
    if (op && op->op == BinaryOp::logical_and) {
      check_mask(op->a);
      check_mask(op->b);
      return;
    }
    if (proves(in_loops(mask, block_, bounds_), bounds_))
      return;
    if (op && (op->op == BinaryOp::lt || op->op == BinaryOp::le)) {
      const Expr left = in_loops(op->b, block_, bounds_) - in_loops(op->a, block_, bounds_);
      for (std::size_t d = 0; d < indices_.size(); ++d) {
        const Expr expected = op->op == BinaryOp::lt ? source_.buffer->shape[d] - indices_[d] : indices_[d];
        if (as_int(simplify(left - expected, bounds_)) == 0)
          return;
      }
    }
    fail("block {} copies zeros where {} is false, but a bulk copy has zeros only outside of {}; leave the "
         "copy to threads",
         name_, to_string(mask), source_.buffer->name);
  }

  /// With 0 for the loops of the box.
  Expr at_start(const Expr &e, std::span<const For *const> box) const {
    std::map<Var, Expr> zero;
    for (const For *loop : box)
      zero[loop->var] = Expr(0);
    return simplify(substitute(e, zero), bounds_);
  }

  /// The box of the loops from `first` on; none, with a reason in `failure_`, if they are none.
  std::optional<CopiedBox> box_from(std::size_t first) {
    const std::span<const For *const> loops = std::span(loops_).subspan(first);
    const Buffer &source = source_.buffer;
    CopiedBox box;
    std::vector<Expr> steps; // the distance of an index from the start of the box
    for (std::size_t d = 0; d < indices_.size(); ++d) {
      steps.push_back(simplify(indices_[d] - at_start(indices_[d], loops), bounds_));
      const auto range = range_of(steps.back(), bounds_);
      bool moves_alone = range && range->low == 0;
      walk(steps.back(), [&](const Expr &node) {
        const Var *var = node.as<Var>();
        moves_alone = moves_alone &&
                      (!var || std::ranges::any_of(loops, [&](const For *loop) { return loop->var == *var; }));
      });
      if (!moves_alone) {
        fail("block {} copies {}[{}], whose index {} is not the start of a box and a loop; leave the copy to "
             "threads",
             name_, source->name, fmt::join(texts(indices_), ", "), d);
        return std::nullopt;
      }
      box.extents.push_back(range->high + 1);
      if (box.extents.back() > most_box_extent)
        fail("the box that block {} copies from {} has {} elements in dimension {}, expected at most {}; split "
             "a loop of its nest and move the outer part out",
             name_, source->name, box.extents.back(), d, most_box_extent);
    }
    if (!bijective(steps, {loops.begin(), loops.end()}, bounds_))
      fail("the loops of block {} do not count the elements of one box of {} once; leave the copy to threads",
           name_, source->name);
    const std::int64_t row = box.extents.back() * byte_size(source->dtype);
    if (row % bulk_alignment != 0)
      fail("the box that block {} copies from {} has rows of {} bytes, expected a multiple of {}; choose a "
           "larger tile, or leave the copy to threads",
           name_, source->name, row, bulk_alignment);
    if (failure_.empty())
      check_tile(loops, steps, box);
    if (!failure_.empty())
      return std::nullopt;
    for (const For *loop : loops)
      box.loops.push_back(loop->var);
    return box;
  }

  /// The tile has the elements in the order of the box, or with its swizzle.
  void check_tile(std::span<const For *const> loops, const std::vector<Expr> &steps, CopiedBox &box) {
    const Placement &placement = filled_.of(tile_);
    if (placement.elements == 0) // another obligation requires a constant size
      return;
    const std::int64_t row = box.extents.back() * byte_size(tile_->dtype);
    BufferNode plain = *tile_;
    if (tile_->layout && tile_->layout->swizzle) {
      const Swizzle &stated = *tile_->layout->swizzle;
      const auto needed = swizzle_of_rows(row, tile_->dtype);
      if (!needed || stated.bits != needed->bits || stated.base != needed->base ||
          stated.shift != needed->shift)
        return fail(
            "{} is swizzled by {}, {}, {}, and the box of block {} has rows of {} bytes, expected {}; change "
            "one of them",
            tile_->name, stated.bits, stated.base, stated.shift, name_, row,
            needed ? fmt::format("swizzle({}, {}, {})", needed->bits, needed->base, needed->shift)
                   : std::string("rows of 32, 64 or 128 bytes with a swizzle"));
      box.swizzle = row;
      Layout layout = *tile_->layout;
      layout.swizzle = std::nullopt;
      plain.layout = std::make_shared<const Layout>(std::move(layout));
    }
    const Expr at =
        PlacedLayout(plain, placement.box())
            .offset(in_box(placement, in_loops(block_.body.indices, block_, bounds_), bounds_), bounds_);
    Expr expected = 0;
    for (std::size_t d = 0; d < steps.size(); ++d)
      expected = expected * Expr(box.extents[d]) + steps[d];
    const Expr start = at_start(at, loops);
    if (as_int(simplify(at - start - expected, bounds_)) != 0)
      return fail(
          "the tile {}{} has the elements of a box of {} at {}, expected them in the order of the box; change "
          "the layout, or reorder the loops",
          tile_->name, tile_->layout ? fmt::format(" ({})", to_string(*tile_->layout)) : "",
          fmt::join(box.extents, " x "), to_string(simplify(at - start, bounds_)));
    const std::int64_t size = byte_size(tile_->dtype), copy = placement.elements / placement.slots.count;
    if (!is_multiple(start * Expr(size), box_alignment(box.swizzle), bounds_) ||
        (placement.slots.count > 1 && copy * size % box_alignment(box.swizzle) != 0))
      return fail(
          "the box of block {} starts at element {} of a tile of {} bytes, expected multiples of {} bytes; "
          "choose other tiles, or leave the copy to threads",
          name_, to_string(start), copy * size, box_alignment(box.swizzle));
    if (const auto range = range_of(at, bounds_); !range || range->high >= copy)
      fail("the box of block {} has elements past the end of the tile {}, which has {}; choose tiles that "
           "divide the extent, or leave the copy to threads",
           name_, tile_->name, copy);
  }

  Placements &filled_;
  const Bounds &bounds_;
  const Block &block_;
  const Load &source_;
  const Buffer &tile_;
  const std::string &name_;
  std::vector<const For *> loops_; ///< below the pipelined loop, outermost first
  std::vector<Expr> indices_;      ///< of the source, in terms of loops
  std::string failure_;
};

} // namespace

bool is_bulk_tile(const Program &program, const Buffer &tile) {
  return std::ranges::any_of(blocks_of(program.body),
                             [&](const Block *block) { return block->bulk && block->body.buffer == tile; });
}

std::int64_t alignment_of_bulk_tile(const BufferNode &tile) {
  const bool swizzled = tile.layout && tile.layout->swizzle;
  return box_alignment(swizzled ? bulk_alignment << tile.layout->swizzle->bits : 0);
}

std::optional<std::string> bulk_obligation(Placements &filled, const Block &block) {
  if (auto breach = async_breach(block))
    return std::move(breach->message);
  if (!role_of(filled.program(), block.id))
    return fmt::format(
        "block {} is a bulk copy, but it has no role, and the bytes that arrive count for an event of a "
        "channel; use role, or async_copy in place of bulk_copy",
        block.id->name);
  auto box = copied_box(filled, block);
  return std::holds_alternative<std::string>(box) ? std::optional(std::get<std::string>(std::move(box)))
                                                  : std::nullopt;
}

std::variant<CopiedBox, std::string> copied_box(Placements &filled, const Block &block) {
  return BoxFinder(filled, block).run();
}

} // namespace nestsmith
