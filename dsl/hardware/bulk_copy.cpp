#include "dsl/hardware/bulk_copy.h"

#include "dsl/expr/expr_text.h"
#include "dsl/hardware/async_copy.h"
#include "dsl/hardware/vector_access.h"
#include "dsl/ir/intrinsic.h"
#include "dsl/ir/layout.h"
#include "dsl/ir/loop_digits.h"
#include "dsl/ir/roles.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <span>
#include <utility>

namespace nestsmith {

/// The same (bulk_copy.h) for a part of the mask.
static Expr excluded_inside(const Expr &mask, const Load &access, const Bounds &bounds) {
  if (const auto *op = mask.as<Binary>(); op && op->op == BinaryOp::logical_and) {
    const Expr first = excluded_inside(op->a, access, bounds);
    return first.exists() ? first : excluded_inside(op->b, access, bounds);
  }
  if (proves(mask, bounds))
    return {};
  if (const Binary *order = order_of_indices(mask))
    for (std::size_t d = 0; d < access.indices.size(); ++d) {
      const Expr &index = access.indices[d];
      const Expr inside = order->op == BinaryOp::lt ? access.buffer->shape[d] - index : index;
      if (as_int(simplify(order->b - order->a - inside, bounds)) == 0)
        return {};
    }
  return mask;
}

Expr excluded_inside(const Load &access, const Bounds &bounds) {
  return access.mask.exists() ? excluded_inside(access.mask, access, bounds) : Expr();
}

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
      : filled_(filled), bounds_(filled.bounds()), block_(block), stores_(is_bulk_store(block)),
        load_(*block.body.value.as<Load>()), array_(stores_ ? block.body.buffer : load_.buffer),
        tile_(tile_of_bulk(block)), way_(stores_ ? "to" : "from"), name_(block.id->name) {}

  std::variant<CopiedBox, std::string> run() {
    find_loops();
    check_array();
    if (!failure_.empty())
      return failure_;
    for (std::size_t first = 0; first < loops_.size(); ++first) {
      std::string before = std::exchange(failure_, "");
      if (std::optional<CopiedBox> box = box_from(first)) {
        check_parts_of_cluster();
        return failure_.empty() ? std::variant<CopiedBox, std::string>(*std::move(box)) : failure_;
      }
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

  /// The loops of the block's nest: those below the pipelined loop or, of a store, below all bound loops.
  void find_loops() {
    bool inside = stores_;
    for (const For *loop : loops_of(path_to(filled_.program().body, block_.id))) {
      if (!stores_ && inside && as_int(loop->extent) != 1)
        nest_.push_back(loop);
      if ((stores_ && loop->axis()) || (inside && loop->axis() == Axis::cluster)) {
        loops_.clear(); // the box lies below the loops over threads and blocks
        continue;
      }
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
      if (!stores_ && !loop->pipeline().empty()) {
        inside = true;
        loops_.clear();
        nest_.clear();
      }
    }
    if (!inside)
      fail("no loop around block {} is pipelined, so its tile has one copy; use role and pipeline", name_);
  }

  /// The blocks of a cluster copy each element of the tile once: all of them write to the same tile.
  void check_parts_of_cluster() {
    const auto part = std::ranges::find(nest_, Axis::cluster, &For::axis);
    const Placement &placement = filled_.of(tile_);
    if (part == nest_.end() || placement.elements == 0)
      return;
    std::vector<Expr> steps = in_loops(block_.body.indices, block_, bounds_);
    for (Expr &step : steps)
      step = simplify(step - at_start(step, nest_), bounds_);
    std::int64_t copied = 1;
    for (const For *loop : nest_)
      copied *= as_int(loop->extent).value_or(0);
    if (copied != placement.elements / placement.slots.count || !bijective(steps, nest_, bounds_))
      fail("the blocks of a cluster copy {} elements to {}, which has {}, by the loop {} of block {}, expected "
           "each element by one of them; split a loop of its tile by the number of blocks, and bind the outer "
           "part",
           copied, tile_->name, placement.elements / placement.slots.count, (*part)->var->name, name_);
  }

  void check_array() {
    const Buffer &buffer = array_;
    const auto rank = static_cast<std::int64_t>(buffer->shape.size());
    if (rank < 1 || rank > most_box_rank)
      fail("block {} copies {} {}, which has {} dimensions, but a tensor map has 1 to {}; leave the copy to "
           "threads",
           name_, way_, buffer->name, rank, most_box_rank);
    const std::int64_t multiple = bulk_alignment / byte_size(buffer->dtype);
    std::vector<Expr> strides = strides_of(*buffer);
    if (tile_->shape.size() != buffer->shape.size())
      fail("block {} copies {} {} of {} dimensions, and its tile has {}, expected the same number; leave the "
           "copy to threads",
           name_, way_, buffer->name, rank, tile_->shape.size());
    for (std::size_t d = 0; d + 1 < strides.size(); ++d)
      if (!is_multiple(strides[d], multiple, bounds_))
        fail("block {} copies {} {}, whose rows in dimension {} are {} elements apart, but in a tensor map "
             "they are a multiple of {} elements ({} bytes) apart; leave the copy to threads for this shape",
             name_, way_, buffer->name, d, to_string(strides[d]), multiple, bulk_alignment);
    if (stores_)
      check_others();
    for (const Block *other : blocks_of(filled_.program().body))
      if (!stores_ && other->body.buffer == buffer)
        fail("block {} writes {}, from which bulk copies of {} read, and no fence orders them; leave the copy "
             "to threads",
             other->id->name, buffer->name, name_);
    indices_ = in_loops(stores_ ? block_.body.indices : load_.indices, block_, bounds_);
    for (const Expr &index : indices_)
      if (index.node().data)
        fail("block {} copies {} {}[{}], whose place depends on data, but a box has one place; leave the copy "
             "to threads",
             name_, way_, buffer->name, fmt::join(texts(indices_), ", "));
    if (load_.mask.exists())
      check_mask();
    for (const IterVar &iter : block_.iters)
      if (stores_ && iter.guarded)
        check_guard(iter);
  }

  /// Nothing orders a bulk store and the accesses of other blocks. So no other block writes the array, and none
  /// reads it after the store.
  void check_others() {
    bool after = false;
    for (const Block *other : blocks_of(filled_.program().body)) {
      if (other->id == block_.id)
        after = true;
      else if (other->body.buffer == array_ || (after && reads(*other, array_)))
        fail("block {} {} {}, to which bulk stores of {} write, and nothing orders them; leave the copy to "
             "threads",
             other->id->name, access_verb(*other, array_), array_->name, name_);
    }
  }

  /// Checks that the guard excludes only elements outside of the array, which are not written.
  void check_guard(const IterVar &iter) {
    for (std::size_t d = 0; d < array_->shape.size(); ++d) {
      const Var *index = block_.body.indices[d].as<Var>();
      if (index && *index == iter.var && same(iter.extent, array_->shape[d]))
        return;
    }
    fail("block {} leaves out elements where {} is not below {}, but a bulk store leaves out only what is "
         "outside of {}; leave the copy to threads",
         name_, iter.var->name, to_string(iter.extent), array_->name);
  }

  static std::vector<std::string> texts(const std::vector<Expr> &list) {
    std::vector<std::string> result;
    for (const Expr &e : list)
      result.push_back(to_string(e));
    return result;
  }

  void check_mask() {
    Bounds axes = bounds_;
    for (const IterVar &iter : block_.iters)
      axes.set_extent(iter.var, iter.extent);
    if (const Expr part = excluded_inside(load_, axes); part.exists())
      fail("block {} copies zeros where {} is false, but a bulk copy has zeros only outside of {}; leave the "
           "copy to threads",
           name_, to_string(part), array_->name);
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
    const Buffer &source = array_;
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
        fail(
            "block {} copies {} {}[{}], whose index {} is not the start of a box and a loop; leave the copy to "
            "threads",
            name_, way_, source->name, fmt::join(texts(indices_), ", "), d);
        return std::nullopt;
      }
      box.extents.push_back(range->high + 1);
      if (box.extents.back() > most_box_extent)
        fail("the box that block {} copies {} {} has {} elements in dimension {}, expected at most {}; split "
             "a loop of its nest and move the outer part out",
             name_, way_, source->name, box.extents.back(), d, most_box_extent);
    }
    if (!bijective(steps, {loops.begin(), loops.end()}, bounds_))
      fail("the loops of block {} do not count the elements of one box of {} once; leave the copy to threads",
           name_, source->name);
    const std::int64_t row = box.extents.back() * byte_size(source->dtype);
    if (row % bulk_alignment != 0)
      fail("the box that block {} copies {} {} has rows of {} bytes, expected a multiple of {}; choose a "
           "larger tile, or leave the copy to threads",
           name_, way_, source->name, row, bulk_alignment);
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
            .offset(in_box(placement, in_loops(stores_ ? load_.indices : block_.body.indices, block_, bounds_),
                           bounds_),
                    bounds_);
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
  bool stores_;
  const Load &load_;
  const Buffer &array_, tile_; ///< in global and in shared memory
  std::string_view way_;       ///< that of the copy, seen from the array
  const std::string &name_;
  std::vector<const For *> loops_; ///< that may be of the box, outermost first
  std::vector<const For *> nest_;  ///< of a copy to a tile: all below the pipelined loop
  std::vector<Expr> indices_;      ///< of the array, in terms of loops
  std::string failure_;
};

} // namespace

bool is_bulk_store(const Block &block) { return block.bulk && block.body.buffer->scope == Scope::global; }

Buffer tile_of_bulk(const Block &block) {
  if (!is_bulk_store(block))
    return block.body.buffer;
  const auto *load = block.body.value.as<Load>();
  return load ? load->buffer : nullptr;
}

std::string store_breach(const Block &block) {
  const Buffer &array = block.body.buffer;
  const auto *load = block.body.value.as<Load>();
  if (array->scope == Scope::global && load && load->buffer->scope == Scope::shared && !load->mask.exists() &&
      load->buffer->dtype == array->dtype && !is_tuple(array->dtype) && !block.reduces() && !block.atomic)
    return "";
  return fmt::format(
      "block {} stores {} to {} in {} memory, expected a copy from shared to global memory, or from "
      "global to shared memory, without a conversion; use cache_write(…, Scope::shared)",
      block.id->name, to_string(block.body.value), array->name, name(array->scope));
}

bool is_bulk_tile(const Program &program, const Buffer &tile) {
  return std::ranges::any_of(blocks_of(program.body),
                             [&](const Block *block) { return block->bulk && tile_of_bulk(*block) == tile; });
}

std::int64_t alignment_of_bulk_tile(const BufferNode &tile) {
  const bool swizzled = tile.layout && tile.layout->swizzle;
  return box_alignment(swizzled ? bulk_alignment << tile.layout->swizzle->bits : 0);
}

/// A store is issued by the first lane of each warp: the warps are bound, and its nest has no other threads. A
/// pipelined loop executes the writer of the next tile before the store of this one has read its slot.
static std::optional<std::string> loops_of_store(const Program &program, const Block &block) {
  bool warps = false;
  for (const For *loop : loops_of(path_to(program.body, block.id))) {
    if (!loop->pipeline().empty())
      return fmt::format(
          "block {} is a bulk store below the pipelined loop {}, which does not wait until the unit has read "
          "a tile before its slot is filled again; move the store out of the loop, or leave the copy to "
          "threads",
          block.id->name, loop->var->name);
    if (!loop->axis() || !is_thread(*loop->axis()))
      continue;
    warps = warps || *loop->axis() == Axis::warp;
    if (*loop->axis() != Axis::warp)
      return fmt::format(
          "the loop {} of block {} is bound to {}, but one lane of each warp issues a bulk store, and "
          "the iterations are its box; leave it serial",
          loop->var->name, block.id->name, name(*loop->axis()));
  }
  if (warps)
    return std::nullopt;
  return fmt::format(
      "no loop around block {} is bound to warp, but one lane of each warp issues a bulk store; bind "
      "one, or leave the copy to threads",
      block.id->name);
}

std::optional<std::string> bulk_obligation(Placements &filled, const Block &block) {
  if (is_bulk_store(block)) {
    if (std::string breach = store_breach(block); !breach.empty())
      return breach;
    if (auto message = loops_of_store(filled.program(), block))
      return message;
  } else if (auto breach = async_breach(block)) {
    return std::move(breach->message);
  } else if (!role_of(filled.program(), block.id))
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
