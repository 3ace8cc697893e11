/// The conditions that lowering requires of a schedule: capacity, ownership and placement.

#include "dsl/expr/expr_text.h"
#include "dsl/hardware/async_copy.h"
#include "dsl/hardware/fragment_rules.h"
#include "dsl/hardware/shared_plan.h"
#include "dsl/hardware/vector_access.h"
#include "dsl/ir/allocation.h"
#include "dsl/ir/dependence.h"
#include "dsl/ir/fill_tails.h"
#include "dsl/ir/intrinsic.h"
#include "dsl/ir/last_block.h"
#include "dsl/ir/layout.h"
#include "dsl/schedule/between_nests.h"
#include "dsl/schedule/schedule.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>

namespace nestsmith {

namespace {

/// A program that contains only the nest. The checks here do not use its parameters.
Program as_program(const Program &program, const Stmt &nest) {
  Program alone = program;
  alone.body = nest;
  return alone;
}

/// Finds the obligations of one nest.
class Inspector {
public:
  Inspector(const Schedule &schedule, const Stmt &nest)
      : schedule_(schedule), placements_(as_program(schedule.program(), nest)), last_(find_last_block(nest)) {
    extents_ = axis_extents(nest);
  }

  std::vector<Obligation> run() {
    for (const Buffer &buffer : temporaries(program_))
      if (buffer->scope != Scope::global)
        check_temporary(buffer);
    for (const Block *block : blocks_of(program_.body)) {
      check_sum(*block);
      check_writer(*block);
    }
    check_init_and_update();
    check_last_block();
    if (is_complete()) { // an incomplete nest already has an obligation
      check_vectors();
      check_async_copies();
    }
    check_shared_capacity();
    check_launch_bounds();
    return std::move(found_);
  }

private:
  void owe(const std::string &culprit, std::string message) {
    found_.push_back({std::move(message), maker(schedule_, culprit), culprit});
  }
  /// The same, but blames the last directive of these kinds that names the block `culprit`. If there is none,
  /// or if `culprit` is empty, blames the last directive of these kinds. If the schedule has no such directive,
  /// its program came with the property.
  void owe(std::initializer_list<std::string_view> ops, const std::string &culprit, std::string message) {
    for (bool named : {true, false}) // the block may have been merged into another
      for (std::size_t n = schedule_.trace().size(); n-- > 0;) {
        const Directive &directive = schedule_.trace()[n];
        const auto *block = std::get_if<BlockName>(&directive.arguments.front());
        std::string name = block ? block->name : "";
        bool meant = !named || culprit.empty() || culprit == name;
        if (meant && std::find(ops.begin(), ops.end(), directive.op) != ops.end())
          return found_.push_back({std::move(message), n + 1, named ? name : culprit});
      }
    found_.push_back({std::move(message), 0, culprit});
  }
  std::string writer_of(const Buffer &buffer) const {
    for (const Block *block : blocks_of(program_.body))
      if (block->body.buffer == buffer)
        return block->id->name;
    return "";
  }

  void check_temporary(const Buffer &buffer) {
    std::string culprit = writer_of(buffer);
    const Placement &placement = placements_.of(buffer);
    for (auto [axis, extent] : extents_) {
      bool needed = buffer->scope == Scope::local || !is_thread(axis) ||
                    (buffer->scope == Scope::warp && axis == Axis::warp);
      if (needed && !is_around(placement.loops, axis) && extent > 1 && !is_only_in_last_block(buffer, axis))
        return owe(
            culprit,
            fmt::format("{0} is {1}, one copy for each {2}, but it is used outside of the loop bound to {3}; "
                        "split and bind the loops of {4} to {3} like those of its other blocks, or bring them "
                        "below one such loop with reverse_compute_at or compute_at",
                        buffer->name, name(buffer->scope), owner_of(*buffer), name(axis),
                        outside_of(axis, buffer)));
    }
    if (buffer->scope == Scope::warp)
      if (auto message = fragment_breach(placements_, buffer))
        return owe(culprit, *message);
    if (placement.elements == 0)
      return owe(
          culprit,
          fmt::format("{} has {} elements in {} memory, which depends on sizes known only at launch; split the "
                      "loops of its readers, then move it below a loop over a constant tile with compute_at",
                      buffer->name, box_text(placement.region), name(buffer->scope)));
    if (buffer->scope != Scope::warp && buffer->layout && buffer->layout->map)
      if (auto collision = not_invertible(*buffer->layout->map, placement.box()))
        return owe({"transform_layout"}, culprit,
                   fmt::format(
                       "the layout of {} is not invertible over the {} elements in memory at one time: {}; use "
                       "transform_layout after compute_at, or keep the remainder of each division in the map",
                       buffer->name, fmt::join(placement.box(), " x "), *collision));
    if (in_registers(buffer->scope))
      check_owner(buffer, placement);
  }

  /// The first block that uses the buffer and has no loop bound to the axis around it, or all blocks.
  std::string outside_of(Axis axis, const Buffer &buffer) const {
    for (const Block *block : blocks_of(program_.body))
      if (touches(*block, buffer) && !is_around(loops_of(path_to(program_.body, block->id)), axis))
        return block->id->name;
    return "its blocks";
  }

  /// Whether one of the loops is bound so that it gives the index on the axis.
  static bool is_around(const std::vector<const For *> &loops, Axis axis) {
    return std::ranges::any_of(
        loops, [&](const For *loop) { return loop->axis() && determines(*loop->axis(), axis); });
  }

  /// The axis along which the elements of a fragment are spread; none for any other buffer.
  static std::optional<Axis> fragment_axis(const BufferNode &buffer) {
    return buffer.scope == Scope::warp ? std::optional(Axis::lane) : std::nullopt;
  }
  /// The group that has a copy of its own.
  static const char *owner_of(const BufferNode &buffer) {
    return buffer.scope == Scope::local ? "thread" : buffer.scope == Scope::warp ? "warp" : "block";
  }

  /// Whether only the last block along the axis uses the buffer.
  bool is_only_in_last_block(const Buffer &buffer, Axis axis) const {
    return std::ranges::all_of(blocks_of(program_.body), [&](const Block *block) {
      return !touches(*block, buffer) || is_last_along(*block, axis);
    });
  }

  /// A counter belongs to one iteration of the loops around the marked loop. So these loops and the marked loop
  /// must be all loops on block axes.
  void check_last_block() {
    if (!last_)
      return;
    std::vector<const For *> around = loops_of(path_to(program_.body, last_->loop->var));
    walk(program_.body, [&](const Stmt &stmt) {
      const auto *loop = as<For>(stmt);
      if (loop && loop->axis() && !is_thread(*loop->axis()) && std::ranges::find(around, loop) == around.end())
        found_.push_back(
            {fmt::format(
                 "the loop {} is bound to {}, but it is not around {}, whose last block continues; bind "
                 "{} to a thread axis, or leave it serial",
                 loop->var->name, name(*loop->axis()), last_->loop->var->name, loop->var->name),
             annotated(loop->var->name), loop->var->name});
      return true;
    });
  }

  static std::string box_text(const Region &region) {
    std::string text;
    for (const Span &span : region)
      text += fmt::format("{}{}", text.empty() ? "" : " x ", to_string(span.extent));
    return text;
  }

  /// If a loop below the placement of the buffer is bound to a thread axis again, other threads run its
  /// iterations. Each of these threads must have filled the elements that it reads.
  void check_owner(const Buffer &buffer, const Placement &placement) {
    for (const Block *block : blocks_of(program_.body)) {
      if (!touches(*block, buffer))
        continue;
      auto loops = loops_of(path_to(program_.body, block->id));
      for (std::size_t n = placement.loops.size(); n < loops.size(); ++n)
        if (loops[n]->axis() && loops[n]->axis() != fragment_axis(*buffer) && !placement.filled_by_owner)
          return owe(block->id->name,
                     fmt::format("{} is {}, one copy for each {}, but block {} uses it below {}, which "
                                 "is bound to {} again and runs on other {}s; use shared memory, leave {} "
                                 "serial, or fuse, split and bind the loops of all blocks that use {} in the "
                                 "same way, so that each {} reads only elements that it wrote",
                                 buffer->name, name(buffer->scope), owner_of(*buffer), block->id->name,
                                 loops[n]->var->name, name(*loops[n]->axis()), owner_of(*buffer),
                                 loops[n]->var->name, buffer->name, owner_of(*buffer)));
    }
    std::int64_t bytes = placement.elements * byte_size(buffer->dtype);
    std::int64_t limit = schedule_.target().register_bytes_per_thread;
    if (bytes > limit)
      owe(writer_of(buffer),
          fmt::format("{} takes {} bytes for each thread, but {} has {} bytes of registers; bring it "
                      "under an inner loop with compute_at, or use smaller tiles",
                      buffer->name, bytes, to_string(schedule_.target().arch), limit));
  }

  /// For each axis whose threads or blocks share the buffer of the block: the innermost loop around the block
  /// that is bound to the axis, or null.
  std::map<Axis, const For *> sharing_loops(const Block &block) const {
    bool shared = block.body.buffer->scope == Scope::shared;
    std::map<Axis, const For *> innermost;
    for (auto [axis, extent] : extents_)
      if (extent > 1 && (!shared || is_thread(axis)) && !is_last_along(block, axis))
        innermost[axis] = nullptr;
    for (const For *loop : loops_of(path_to(program_.body, block.id)))
      for (auto &[axis, around] : innermost)
        if (loop->axis() && determines(*loop->axis(), axis))
          around = loop;
    return innermost;
  }

  /// Whether only the last block along the axis executes the block.
  bool is_last_along(const Block &block, Axis axis) const {
    return last_ && last_->loop->axis() == axis && last_->is_after(block);
  }

  std::vector<Expr> written_element(const Block &block) const {
    std::vector<Expr> indices;
    for (const Expr &index : block.body.indices)
      indices.push_back(in_loops(index, block, bounds_));
    return indices;
  }

  /// Expressions that are equal in two instances of the block only if both write the same element. Where the
  /// block executes, the binding of a guarded axis with one value is 0. A strided slice has such an axis:
  /// Y[t//2] where t % 2 < 1.
  std::vector<Expr> known_of_element(const Block &block) const {
    std::vector<Expr> known = written_element(block);
    for (const IterVar &iter : block.iters)
      if (iter.guarded && as_int(iter.extent) == 1)
        known.push_back(iter.binding);
    return known;
  }

  /// The ranges of loop variables in the iterations that execute the block: a guarded axis limits a variable
  /// that is its binding, apart from loops of one iteration.
  Bounds bounds_of_executed(const Block &block) const {
    Bounds bounds = bounds_;
    for (const IterVar &iter : block.iters) {
      Linear binding = linearize(iter.binding, bounds_);
      std::erase_if(binding.terms, [&](const Term &term) {
        auto range = range_of(term.digit, bounds_);
        return range && range->low == 0 && range->high == 0;
      });
      if (!iter.guarded || !as_int(iter.extent) || binding.terms.size() != 1 || binding.constant != 0)
        continue;
      const auto &[factor, digit] = binding.terms.front();
      const Var *var = digit.as_var();
      auto range = var ? bounds.find(*var) : std::nullopt;
      if (range && factor == 1)
        bounds.set(*var, {range->low, std::min(range->high, *as_int(iter.extent) - 1)});
    }
    return bounds;
  }

  /// The guards that hold wherever the block executes. The guards of axes that index its buffer are not among
  /// them, because lowering may fill tails.
  static std::vector<GuardedValue> guards_of_loops(const Block &block) {
    std::vector<GuardedValue> guards;
    for (const IterVar &iter : block.iters)
      if (iter.guarded && !indexes_result(block, iter))
        guards.push_back({iter.binding, iter.extent});
    return guards;
  }

  /// From the outermost loop of a sum inwards, no loop may execute an iteration of the block again. Otherwise,
  /// there is no place for the init.
  void check_sum(const Block &block) {
    auto loops = loops_of(path_to(program_.body, block.id));
    auto first = std::find_if(loops.begin(), loops.end(), [&](const For *loop) {
      return std::any_of(block.iters.begin(), block.iters.end(),
                         [&](const IterVar &iter) { return sums_over(block, iter, loop->var); });
    });
    if (!block.init || first == loops.end())
      return;
    std::set<Var> inside;
    std::for_each(first, loops.end(), [&](const For *loop) { inside.insert(loop->var); });
    std::vector<Expr> bindings;
    for (const IterVar &iter : block.iters)
      bindings.push_back(iter.binding);
    auto outside = [&](const Var &var) { return inside.count(var) == 0; };
    if (determine(bindings, {inside.begin(), inside.end()}, outside, bounds_))
      return;
    for (auto loop = first; loop != loops.end(); ++loop)
      if (!determine(bindings, {(*loop)->var}, outside, bounds_))
        return owe(
            block.id->name,
            fmt::format("block {} sums over {} and is recomputed in iterations of {}, so there is no place for "
                        "its init; do not fuse a loop of the sum with a loop that only repeats it",
                        block.id->name, (*first)->var->name, (*loop)->var->name));
  }

  /// An element that several threads or blocks share must be written by one of them only.
  void check_writer(const Block &block) {
    const Buffer &buffer = block.body.buffer;
    if (in_registers(buffer->scope))
      return;
    std::set<Var> fixed;
    for (const Var &loop : lasting_loops(buffer))
      fixed.insert(loop);
    std::vector<Expr> known = known_of_element(block);
    Bounds executed = bounds_of_executed(block);
    std::vector<GuardedValue> guards = guards_of_loops(block);
    auto sharing = sharing_loops(block);
    std::vector<Var> used;
    for (auto [axis, loop] : sharing)
      if (loop && std::ranges::any_of(known, [&](const Expr &e) { return uses(e, loop->var); }))
        used.push_back(loop->var);
    auto is_fixed = [&](const Var &var) { return fixed.count(var) > 0; };
    // One by one only to find the one to name: what follows from the known values is the same for all.
    if (used.size() == sharing.size() && (used.empty() || determine(known, used, is_fixed, executed, guards)))
      return;
    for (auto [axis, loop] : sharing) {
      std::string scope(name(buffer->scope));
      if (!loop || !std::ranges::count(used, loop->var))
        owe(block.id->name,
            fmt::format("block {} writes the same elements of {} ({} memory) for all {} indices of {}, which "
                        "is a data race; bind one of its loops to {}",
                        block.id->name, buffer->name, scope, extents_.at(axis), name(axis), name(axis)));
      else if (!determine(known, {loop->var}, is_fixed, executed, guards))
        owe(block.id->name,
            fmt::format(
                "block {} writes some elements of {} ({} memory) for several indices of {}, which is a data "
                "race; move it below a loop outside of {} with compute_at, and bind one of its own loops",
                block.id->name, buffer->name, scope, name(axis), loop->var->name));
    }
  }

  /// An init and its update must write each element in the same thread, because no barrier separates them.
  void check_init_and_update() {
    std::map<Buffer, const Block *> inits;
    for (const Block *block : blocks_of(program_.body)) {
      const Buffer &buffer = block->body.buffer;
      auto [init, first] = inits.try_emplace(buffer, block);
      if (first || in_registers(buffer->scope) || same_owners(*init->second, *block))
        continue;
      owe(block->id->name,
          fmt::format("the blocks {} and {} write the elements of {} ({} memory) from different threads, which "
                      "is a data race; bind the loops of both to the same axes in the same way, or use "
                      "decompose_reduction after bind",
                      init->second->id->name, block->id->name, buffer->name, name(buffer->scope)));
    }
  }

  /// Whether both blocks write each element in the same thread. `check_writer` shows that the element and the
  /// guards of a block determine its thread. So it is enough that both blocks have the same element and guards
  /// as functions of their loops. Otherwise the element alone must determine the thread.
  bool same_owners(const Block &init, const Block &update) {
    return owners(init) == owners(update) ||
           !axis_of_other_thread(program_.body, init, update, update.body.buffer,
                                 lasting_loops(update.body.buffer));
  }

  /// The serial loops around the placement of a shared buffer: their iterations never use one copy at the same
  /// time.
  std::vector<Var> lasting_loops(const Buffer &buffer) {
    std::vector<Var> loops;
    if (buffer->scope == Scope::shared)
      for (const For *loop : placements_.of(buffer).loops)
        if (!loop->axis() || !is_thread(*loop->axis()))
          loops.push_back(loop->var);
    return loops;
  }

  /// Describes as text which thread writes which element: the element and the guards that select threads. A
  /// bound loop has the name of its axis, and a serial loop a number and its extent, in the order of their
  /// uses.
  std::string owners(const Block &block) const {
    std::vector<Expr> parts = written_element(block);
    std::size_t indices = parts.size();
    for (const IterVar &iter : block.iters)
      if (iter.guarded && !iter.is_summed() && !indexes_result(block, iter))
        parts.insert(parts.end(), {iter.binding, iter.extent});
    std::map<Var, Expr> names;
    for (const Expr &part : parts)
      walk(part, [&](const Expr &node) {
        const Var *var = node.as<Var>();
        const For *loop = var && !names.contains(*var) ? find_loop(program_.body, *var) : nullptr;
        if (loop && loop->axis())
          names.emplace(*var, make_var(std::string(name(*loop->axis()))));
        else if (loop)
          names.emplace(*var, make_var(fmt::format("serial {} < {}", names.size(), to_string(loop->extent))));
      });
    std::string text;
    for (std::size_t n = 0; n < parts.size(); ++n)
      text += fmt::format("{}{}", to_string(substitute(simplify(parts[n], bounds_), names)),
                          n < indices ? "; " : " guarded; ");
    return text;
  }

  /// Whether the nest writes all of the shared and local memory that it reads.
  bool is_complete() const {
    std::vector<Buffer> written = temporaries(program_);
    for (const Block *block : blocks_of(program_.body))
      for (const Load *access : loads_of(*block))
        if (access->buffer->scope != Scope::global &&
            std::find(written.begin(), written.end(), access->buffer) == written.end())
          return false;
    return true;
  }

  /// The placements after filling tails, which are those of the program if it has no tails to fill.
  Placements &after_filling() {
    if (!after_filling_) {
      Program program = with_filled_tails(program_);
      bool fills = program.body != program_.body;
      after_filling_ = fills ? &filled_.emplace(program) : &placements_;
    }
    return *after_filling_;
  }

  /// Checks that vectors are contiguous and aligned. This depends on layouts and padding, which are final only
  /// at the end of the schedule.
  void check_vectors() {
    std::ptrdiff_t calls = 0;
    walk(program_.body, [&](const Stmt &stmt) {
      const auto *loop = as<For>(stmt);
      if (!loop || !loop->over_lanes())
        return true;
      auto breach = vector_breach(after_filling(), loop->var, loop->intrinsic(), false);
      if (!breach)
        return false;
      // A wrong call of a warp causes the obligations about its buffers, so its own obligation comes first.
      bool of_warp = loop->intrinsic() && loop->intrinsic()->group == Group::warp;
      auto at = of_warp ? found_.begin() + calls++ : found_.end();
      found_.insert(at, {std::move(breach->message), annotated(loop->var->name), loop->var->name});
      return false;
    });
  }

  void check_async_copies() {
    std::vector<const Block *> blocks = blocks_of(program_.body);
    if (std::ranges::none_of(blocks, &Block::async))
      return;
    Placements &filled = after_filling();
    bool by_directive =
        std::ranges::find(schedule_.trace(), "async_copy", &Directive::op) != schedule_.trace().end();
    for (const Block *block : blocks) {
      auto message =
          block->async ? async_obligation(filled, *find_block(filled.program().body, block->id)) : std::nullopt;
      if (message && by_directive)
        owe({"async_copy"}, block->id->name, std::move(*message));
      else if (message) // the program had the mark before the first directive
        owe(block->id->name, std::move(*message));
    }
  }

  /// The step that bound, vectorized or tensorized the loop of this name.
  std::size_t annotated(const std::string &name) const {
    for (std::size_t n = schedule_.trace().size(); n-- > 0;) {
      const Directive &directive = schedule_.trace()[n];
      bool annotates = directive.op == "bind" || directive.op == "vectorize" || directive.op == "tensorize";
      if (annotates && directive.arguments.front() == Argument(LoopName{name}))
        return n + 1;
    }
    return 0;
  }

  /// The total size of the shared arrays in the plan of the nest, and a list of them. If `padded` is false,
  /// padding is not counted.
  struct Arena {
    std::int64_t bytes = 0;
    std::string list, last;
  };
  Arena shared_arena(bool padded) {
    std::vector<SharedArray> arrays;
    for (const Buffer &buffer : temporaries(program_)) {
      if (buffer->scope != Scope::shared)
        continue;
      const Placement &placement = placements_.of(buffer);
      std::int64_t elements = placement.elements;
      if (elements == 0) // a buffer that depends on sizes has its own obligation
        continue;
      if (!padded) {
        std::int64_t plain = 1;
        bool overflow = false;
        for (std::int64_t extent : placement.box())
          overflow = overflow || __builtin_mul_overflow(plain, extent, &plain) || plain > elements;
        if (!overflow)
          elements = std::min(elements, elements_of_copies(*buffer, plain, placement.slots.count));
      }
      arrays.push_back({.buffer = buffer, .bytes = elements * byte_size(buffer->dtype)});
    }
    SharedPlan plan = plan_shared(program_, std::move(arrays), schedule_.target());
    Arena arena;
    arena.bytes = plan.bytes;
    for (const SharedArray &array : plan.arrays) {
      arena.list += fmt::format("{}{} {}", arena.list.empty() ? "" : ", ", array.buffer->name, array.bytes);
      if (std::int64_t copies = placements_.of(array.buffer).slots.count; copies > 1)
        arena.list += fmt::format(" in {} copies", copies);
      if (array.tenancy)
        arena.list += fmt::format(" in the memory of {}", plan.arrays[array.tenancy->host].buffer->name);
      else
        arena.last = writer_of(array.buffer);
    }
    return arena;
  }

  void check_shared_capacity() {
    const Target &target = schedule_.target();
    Arena arena = shared_arena(true);
    if (arena.bytes <= target.shared_bytes_per_block)
      return;
    std::string what = fmt::format("a block needs {} bytes of shared memory ({}), but {} has {}", arena.bytes,
                                   arena.list, to_string(target.arch), target.shared_bytes_per_block);
    if (shared_arena(false).bytes <= target.shared_bytes_per_block)
      return owe({"storage_align", "transform_layout", "swizzle"}, "",
                 what + "; without padding it would fit: use a swizzle, which needs none");
    owe(arena.last, what + "; bring the caches under an inner loop with compute_at, or use smaller tiles");
  }

  /// Checks threads and shared memory. Registers need no check, because the compiler limits their number.
  void check_launch_bounds() {
    std::int64_t blocks = program_.min_blocks, threads = threads_of(program_), bytes = shared_arena(true).bytes;
    const Target &target = schedule_.target();
    if (blocks * threads > target.threads_per_sm)
      owe({"launch_bounds"}, "",
          fmt::format(
              "{} blocks of {} threads are {} threads, but an SM of {} holds at most {}; request fewer blocks",
              blocks, threads, blocks * threads, to_string(target.arch), target.threads_per_sm));
    std::int64_t each = bytes + target.shared_bytes_reserved;
    if (blocks > 1 && blocks * each > target.shared_bytes_per_sm)
      owe({"launch_bounds"}, "",
          fmt::format("{} blocks with {} bytes of shared memory each, {} of them reserved by the system, need "
                      "{}, but an SM of {} has {}; request fewer blocks, or use smaller tiles",
                      blocks, each, target.shared_bytes_reserved, blocks * each, to_string(target.arch),
                      target.shared_bytes_per_sm));
  }

  const Schedule &schedule_;
  Placements placements_;
  const Program &program_ = placements_.program(); ///< the nest
  const Bounds &bounds_ = placements_.bounds();
  std::map<Axis, std::int64_t> extents_;
  std::optional<LastBlock> last_;
  std::optional<Placements> filled_;
  Placements *after_filling_ = nullptr;
  std::vector<Obligation> found_;
};

} // namespace

std::vector<Obligation> Schedule::obligations() const {
  std::vector<Obligation> found = owed_between_nests(*this);
  for (const Stmt &nest : nests_of(program().body))
    for (Obligation &owed : Inspector(*this, nest).run())
      found.push_back(std::move(owed));
  return found;
}

} // namespace nestsmith
