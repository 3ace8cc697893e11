#include "dsl/hardware/call_rules.h"

#include "dsl/expr/expr_text.h"
#include "dsl/hardware/fragment.h"
#include "dsl/hardware/intrinsics.h"
#include "dsl/hardware/match.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith {

namespace {

class CallInspector {
public:
  CallInspector(Placements &placements, const For &loop, const Intrinsic &intrinsic)
      : placements_(placements), bounds_(placements.bounds()), loop_(loop), intrinsic_(intrinsic),
        block_(*only_block(loop)), call_(fmt::format("the call of {} at {}", intrinsic.name, loop.var->name)) {}

  std::optional<VectorBreach> run(bool lasting) {
    check_loops();
    if (lasting)
      return std::move(found_);
    check_block();
    auto nest = nest_below(loop_, bounds_);
    auto matched = nest ? match(intrinsic_, *nest, bounds_) : std::nullopt;
    if (!matched)
      fail("tensorize.meaning",
           "block {} does not compute {} any more; tensorize it after the directives that "
           "change it",
           block_.id->name, intrinsic_.name);
    if (found_)
      return std::move(found_);
    match_ = std::move(*matched);
    for (const Operand &operand : intrinsic_.operands)
      check_operand(operand);
    check_result();
    return std::move(found_);
  }

private:
  template <class... Args>
  void fail(const char *requirement, fmt::format_string<Args...> format, Args &&...args) {
    if (!found_)
      found_ = {requirement, fmt::format(format, std::forward<Args>(args)...)};
  }

  void check_loops() {
    for (const For *outer : loops_of(path_to(placements_.program().body, block_.id)))
      if (outer->axis() && overlap(*outer->axis(), Axis::lane))
        fail("tensorize.lanes",
             "{} is executed by all lanes of a warp, but it is below {}, which is bound to {}; bind only the "
             "loops of other blocks to it",
             call_, outer->var->name, name(*outer->axis()));
  }

  void check_block() {
    if (block_.init && !result_is_in_all_lanes())
      fail("tensorize.operands",
           "the init of block {} is not part of {}; use decompose_reduction, and bind its loops to the lanes "
           "that hold the elements",
           block_.id->name, call_);
    for (const IterVar &iter : block_.iters)
      if (iter.guarded && (iter.is_summed() || uses_nest(iter.binding)))
        fail("tensorize.operands",
             "block {} has the guard {} < {}, which differs between the iterations of {}; pad its operands to "
             "whole tiles with caches, or choose tiles that divide the extent",
             block_.id->name, iter.var->name, to_string(iter.extent), call_);
  }

  /// Whether the value differs between the iterations that the call executes. Otherwise it is the same in all
  /// lanes, because no loop around the call is bound to a lane.
  bool uses_nest(const Expr &e) const {
    for (const For *loop = &loop_; loop; loop = as<For>(loop->body))
      if (as_int(loop->extent) != 1 && uses(e, loop->var))
        return true;
    return false;
  }

  /// Whether the kernel may execute the init in all lanes, each on its own copy.
  bool result_is_in_all_lanes() const {
    return is_replicated(intrinsic_.result()) &&
           std::ranges::all_of(spots_of(intrinsic_.result()),
                               [](const auto &spots) { return spots.size() == lanes_per_warp; });
  }

  void check_operand(const Operand &operand) {
    const auto &access = *match_.operands.at(operand.formal).as<Load>();
    if (access.mask.exists())
      fail("tensorize.operands",
           "block {} reads {} under the mask {}, but {} has no mask; copy {} to a cache first", block_.id->name,
           access.buffer->name, to_string(access.mask), call_, access.buffer->name);
    if (const auto *rows = operand.as<Rows>())
      return check_rows(operand, *rows, access);
    if (const auto *in_tile = operand.as<InTile>())
      return check_tile(operand, *in_tile, access);
    const BufferNode &buffer = *access.buffer;
    if (buffer.scope != Scope::warp)
      return fail("tensorize.operands",
                  "the operand {} of {} is {}, in {} memory, but it must be a fragment of the scope warp; use "
                  "cache_read, cache_write or set_scope",
                  operand.formal->name, call_, buffer.name, name(buffer.scope));
    if (is_fragment(buffer) && fragment_fits(operand, access))
      return check_words(operand, access);
    fail("tensorize.operands",
         "the layout of {}{} does not give the lanes and registers of the operand {} of {}; use "
         "transform_layout "
         "with the map \"{}\"",
         buffer.name, buffer.layout ? fmt::format(" ({})", to_string(*buffer.layout)) : "",
         operand.formal->name, call_, to_string(fitting_map(operand, access)));
  }

  /// A call may write its result before it has read all of its operands.
  void check_result() {
    const BufferNode &written = *match_.operands.at(intrinsic_.result().formal).as<Load>()->buffer;
    for (const Operand &operand : intrinsic_.operands) {
      const BufferNode &read = *match_.operands.at(operand.formal).as<Load>()->buffer;
      if (operand.formal != intrinsic_.result().formal && &read == &written)
        fail("tensorize.operands",
             "{} writes its result to {} and reads {} as the operand {}, which may happen in any order; copy "
             "the "
             "operand to another fragment",
             call_, written.name, read.name, operand.formal->name);
    }
  }

  /// An intrinsic may take several consecutive registers as one word: the first one must start a word.
  void check_words(const Operand &operand, const Load &access) {
    const BufferNode &buffer = *access.buffer;
    const Placement &placement = placements_.of(access.buffer);
    std::int64_t width = operand.alignment / byte_size(buffer.dtype);
    if (width <= 1 || placement.elements == 0) // another obligation requires a constant size
      return;
    PlacedLayout layout(buffer, placement.box());
    Expr first = simplify(at_start(layout.offset(inside(access), bounds_)), bounds_);
    std::int64_t copies = placement.slots.count, copy = placement.elements / copies;
    if (!is_multiple(first, width, bounds_))
      fail(
          "tensorize.operands",
          "the layout of {} ({}) starts the operand {} of {} at register {}, which is not always a multiple of "
          "{} elements ({} bytes); use transform_layout with the map \"{}\"",
          buffer.name, to_string(*buffer.layout), operand.formal->name, call_, to_string(first), width,
          operand.alignment, to_string(fitting_map(operand, access)));
    else if (copies > 1 && copy % width != 0)
      fail("tensorize.operands",
           "{} has {} copies of {} registers for a pipeline, but the operand {} of {} must start at a multiple "
           "of {} elements ({} bytes); choose a box or a layout whose number of registers is a multiple of {}",
           buffer.name, copies, copy, operand.formal->name, call_, width, operand.alignment, width);
  }

  /// The indices of the access from the start of the box.
  std::vector<Expr> inside(const Load &access) {
    return in_box(placements_.of(access.buffer), access.indices, bounds_);
  }

  bool fragment_fits(const Operand &operand, const Load &access) {
    const Placement &placement = placements_.of(access.buffer);
    if (placement.elements == 0) // another obligation requires a constant size
      return true;
    const IndexMap &formal = operand.as<InRegisters>()->map;
    FragmentLayout fragment(*access.buffer, placement.box());
    std::vector<Expr> loops = loops_of(intrinsic_, match_, operand), indices = inside(access);
    bool replicated = formal.logical().size() > loops.size();
    auto replicas = replicated ? spots_of(operand).front().size() : 1;
    if (fragment.breach() || fragment.replicas() != static_cast<std::int64_t>(replicas))
      return false;
    Bounds bounds = bounds_;
    Var replica = make_var("r");
    bounds.set(replica, {0, fragment.replicas() - 1});
    if (replicated)
      loops.emplace_back(replica);
    std::vector<Expr> expected = formal(loops);
    if (as_int(simplify(fragment.lane(indices, replica) - expected[0], bounds)) != 0)
      return false;
    Expr at = PlacedLayout(*access.buffer, placement.box()).offset(indices, bounds);
    Expr first = simplify(at_start(at), bounds);
    return as_int(simplify(at - first - expected[1], bounds)) == 0;
  }

  /// The expression for the first element of the call.
  Expr at_start(const Expr &e) const {
    return substitute(e, [&](const Var &var) {
      return std::ranges::any_of(match_.loops, [&](const auto &x) { return x.second == var; }) ? Expr(0)
                                                                                               : Expr();
    });
  }

  /// The map of the intrinsic, repeated over the box of the buffer.
  IndexMap fitting_map(const Operand &operand, const Load &access) {
    const IndexMap &formal = operand.as<InRegisters>()->map;
    std::vector<Expr> loops = loops_of(intrinsic_, match_, operand), in_tile(loops.size());
    static constexpr const char *names[] = {"i", "j", "k", "l", "m", "n"};
    std::string logical;
    std::vector<Expr> tiles;
    Bounds bounds;
    const Placement &placement = placements_.of(access.buffer);
    for (std::size_t d = 0; d < access.indices.size(); ++d) {
      Var var = make_var(names[d % 6]);
      logical += (d == 0 ? "" : ", ") + var->name;
      std::int64_t whole = placement.elements != 0 ? placement.box()[d] : 0;
      Expr tile = var;
      for (std::size_t n = 0; n < loops.size(); ++n)
        if (uses(access.indices[d], *loops[n].as<Var>())) {
          const Expr &extent = operand.formal->shape[n];
          whole = std::max(whole, *as_int(extent)); // one nest may use a part of a tile
          in_tile[n] = floormod(var, extent);
          tile = floordiv(var, extent);
        }
      if (placement.elements != 0)
        bounds.set_extent(var, Expr(whole));
      tiles.push_back(simplify(tile, bounds));
    }
    if (formal.logical().size() > loops.size()) {
      logical += ", r";
      in_tile.emplace_back(make_var("r"));
    }
    std::vector<Expr> physical = formal(in_tile);
    std::string text = to_string(simplify(physical[0], bounds));
    for (const Expr &tile : tiles)
      if (!as_int(tile))
        text += ", " + to_string(tile);
    return IndexMap(fmt::format("{} -> {}, {}", logical, text, to_string(simplify(physical[1], bounds))));
  }

  void check_rows(const Operand &operand, const Rows &rows, const Load &access) {
    const bool writes = operand.formal == intrinsic_.result().formal;
    if (access.buffer->scope != Scope::shared)
      return fail("tensorize.operands",
                  "the operand {} of {} is {}, in {} memory, but its rows must be in shared memory; use {}",
                  operand.formal->name, call_, access.buffer->name, name(access.buffer->scope),
                  writes ? "cache_write" : "cache_read");
    Var lane = make_var("lane");
    Bounds bounds = bounds_;
    bounds.set(lane, {0, rows.lanes - 1});
    std::vector<Expr> loops = loops_of(intrinsic_, match_, operand);
    Expr offset = offset_in_memory(placements_, access.buffer, access.indices);
    auto element = [&](const Expr &n) {
      std::map<Var, Expr> values;
      for (std::size_t d = 0; d < loops.size(); ++d) {
        Expr start = substitute(rows.start[d], {{rows.lane, Expr(lane)}});
        values[*loops[d].as<Var>()] = d == rows.along ? start + n : start;
      }
      return simplify(substitute(offset, values), bounds);
    };
    Expr first = element(0);
    Var any = make_var("n");
    bounds.set(any, {0, rows.count - 1});
    bool contiguous = as_int(simplify(element(any) - first - any, bounds)) == 0; // each by itself proves more
    for (std::int64_t n = 1; n < rows.count && !contiguous; ++n)
      if (as_int(simplify(element(n) - first, bounds)) != n)
        return fail("tensorize.operands",
                    "{} {} {} consecutive elements of {} along {} in each row, but they are not contiguous; "
                    "lay out {} along it with transform_layout, or use {}",
                    call_, writes ? "writes" : "reads", rows.count, access.buffer->name,
                    to_string(loops[rows.along]), access.buffer->name, "the intrinsic for the other layout");
    std::int64_t elements = operand.alignment / byte_size(access.buffer->dtype);
    if (!is_multiple(first, elements, bounds))
      fail("tensorize.operands",
           "{} {} rows of {} from the offset {}, which is not always a multiple of {} elements ({} bytes); pad "
           "the rows with storage_align, or change the layout",
           call_, writes ? "writes" : "reads", access.buffer->name, to_string(first), elements,
           operand.alignment);
  }

  void check_tile(const Operand &operand, const InTile &in_tile, const Load &access) {
    const Buffer &buffer = access.buffer;
    if (buffer->scope != Scope::shared)
      return fail(
          "tensorize.operands",
          "the operand {} of {} is {}, in {} memory, but the matrix units read it from a tile in shared "
          "memory; use cache_read",
          operand.formal->name, call_, buffer->name, name(buffer->scope));
    const Placement &placement = placements_.of(buffer);
    if (placement.elements == 0) // another obligation requires a constant size
      return;
    const std::vector<std::int64_t> box = placement.box();
    const std::int64_t columns = columns_of_tile(buffer->dtype);
    if (!has_tile_layout(placement, in_tile.across)) {
      const Swizzle needed = swizzle_of_tiles(buffer->dtype);
      const Layout *layout = buffer->layout.get();
      return fail(
          "tensorize.operands",
          "{} reads {}, a tile of {} elements{}, expected {} ({} bytes) with the layout of {}swizzle({}, {}, "
          "{}); "
          "choose the depth of the tile, and {} it",
          call_, buffer->name, fmt::join(box, " x "),
          layout ? fmt::format(", {}", to_string(*layout)) : std::string(", which is not swizzled"),
          in_tile.across ? fmt::format("{} rows of a multiple of {} elements", columns, columns)
                         : fmt::format("a multiple of {} rows of {} elements", rows_of_swizzle, columns),
          bytes_of_tile_row,
          in_tile.across ? fmt::format("transform_layout(\"i, j -> j//{0}, i, j%{0}\") and ", columns) : "",
          needed.bits, needed.base, needed.shift, in_tile.across ? "lay out and swizzle" : "swizzle");
    }
    const std::vector<Expr> loops = loops_of(intrinsic_, match_, operand), indices = inside(access);
    auto start = [&](const Expr &index) { return simplify(at_start(index), bounds_); };
    const Expr row = start(indices[indices.size() - 2]), column = start(indices.back());
    for (std::size_t d : {0, 1}) {
      const Expr &first = d == 0 ? row : column, &index = indices[indices.size() - 2 + d];
      const std::int64_t extent = *as_int(operand.formal->shape[d]),
                         multiple = d == 0 ? rows_of_swizzle : std::min(extent, columns);
      if (as_int(simplify(index - first - loops[d], bounds_)) != 0 || !is_multiple(first, multiple, bounds_))
        return fail("tensorize.operands",
                    "{} reads {} from the {} {}, expected consecutive {}s from a multiple of {} on", call_,
                    buffer->name, d == 0 ? "row" : "column", to_string(index), d == 0 ? "row" : "column",
                    multiple);
    }
    check_group(operand, in_tile, buffer, row, column);
    check_registers();
  }

  /// Whether the elements are where matrix units read them (`InTile`).
  bool has_tile_layout(const Placement &placement, bool across) const {
    const std::vector<std::int64_t> box = placement.box();
    const Buffer &buffer = placement.buffer;
    const std::int64_t columns = columns_of_tile(buffer->dtype);
    const Swizzle needed = swizzle_of_tiles(buffer->dtype);
    const Layout *layout = buffer->layout.get();
    if (!layout || !layout->strides.empty() || !layout->swizzle || layout->swizzle->bits != needed.bits ||
        layout->swizzle->base != needed.base || layout->swizzle->shift != needed.shift || box.size() < 2)
      return false;
    const std::size_t rank = box.size();
    if (std::any_of(box.begin(), box.end() - 2, [](std::int64_t extent) { return extent != 1; }))
      return false;
    if (!across)
      return !layout->map && box.back() == columns && box[rank - 2] % rows_of_swizzle == 0;
    if (!layout->map || box.back() % columns != 0 || box[rank - 2] != columns)
      return false;
    const Expr row = layout->map->logical()[rank - 2], column = layout->map->logical()[rank - 1];
    const std::vector<Expr> expected = {floordiv(column, Expr(columns)), row, floormod(column, Expr(columns))};
    return std::ranges::equal(layout->map->physical(), expected,
                              [](const Expr &a, const Expr &b) { return same(simplify(a), simplify(b)); });
  }

  /// A thread has registers for its part of the result and for addresses.
  void check_registers() {
    constexpr std::int64_t of_multiprocessor = 65536, for_addresses = 24;
    const std::int64_t results = elements_per_lane(intrinsic_.result()),
                       threads = threads_of(placements_.program());
    if ((results + for_addresses) * threads > of_multiprocessor)
      fail("tensorize.operands",
           "{} has {} results in the registers of each of {} threads, but a thread of so large a block has {} "
           "registers; use fewer warps, or a call with fewer results",
           call_, results, threads, of_multiprocessor / threads);
  }

  /// The warps that execute a call together read the parts of an operand that it states.
  void check_group(const Operand &operand, const InTile &in_tile, const Buffer &buffer, Expr row, Expr column) {
    const std::int64_t warps = intrinsic_.warps;
    for (const For *loop : loops_of(path_to(placements_.program().body, block_.id))) {
      if (loop->axis() != Axis::warp)
        continue;
      const auto extent = as_int(loop->extent);
      if (!extent || *extent % warps != 0)
        return fail(
            "tensorize.operands",
            "{} warps execute {} together, but {}, bound to warp, has {} iterations, expected a multiple "
            "of {}",
            warps, call_, loop->var->name, to_string(loop->extent), warps);
      Var group = make_var("group"), in_group = make_var("warp");
      Bounds bounds = bounds_;
      bounds.set_extent(group, Expr(*extent / warps));
      bounds.set_extent(in_group, Expr(warps));
      auto moved = [&](const Expr &e, const Expr &warp) {
        return substitute(e, {{loop->var, Expr(group) * Expr(warps) + warp}});
      };
      auto moves = [&](const Expr &e, const Expr &by) {
        return as_int(simplify(moved(e, in_group) - moved(e, 0) - by, bounds)) == 0;
      };
      const Expr &moving = in_tile.across ? column : row, &fixed = in_tile.across ? row : column;
      const Expr part = operand.formal->shape[in_tile.across ? 1 : 0];
      const bool starts_block =
          !in_tile.across || is_multiple(moved(moving, 0), columns_of_tile(buffer->dtype), bounds);
      if (!moves(moving, in_tile.of_warp ? Expr(in_group) * part : Expr(0)) || !moves(fixed, 0) ||
          !starts_block)
        return fail(
            "tensorize.operands",
            "the {0} warps that execute {1} together read {2} from {3} {4}, expected {5}; give the warps of a "
            "group consecutive {3}s of the first operand, and the same {3}s of the other one",
            warps, call_, buffer->name, in_tile.across ? "column" : "row", to_string(moving),
            in_tile.of_warp ? fmt::format("{} {}s further for each warp", to_string(part),
                                          in_tile.across ? "column" : "row")
                            : fmt::format("the same {}", in_tile.across ? "column" : "row"));
      for (const IterVar &iter : block_.iters)
        if (iter.guarded && !moves(iter.binding, 0))
          return fail("tensorize.operands",
                      "block {} has the guard {} < {}, which differs between the {} warps that execute {} "
                      "together; choose tiles that divide the extent",
                      block_.id->name, iter.var->name, to_string(iter.extent), warps, call_);
      return;
    }
    fail("tensorize.operands", "{} warps execute {} together, but no loop around it is bound to warp", warps,
         call_);
  }

  Placements &placements_;
  const Bounds &bounds_;
  const For &loop_;
  const Intrinsic &intrinsic_;
  const Block &block_;
  std::string call_;
  Match match_;
  std::optional<VectorBreach> found_;
};

} // namespace

std::optional<VectorBreach> call_breach(Placements &filled, const For &loop, const Intrinsic &intrinsic,
                                        bool lasting) {
  return CallInspector(filled, loop, intrinsic).run(lasting);
}

} // namespace nestsmith
