#include "dsl/hardware/vector_access.h"

#include "dsl/expr/expr_text.h"
#include "dsl/expr/watch_answers.h"
#include "dsl/hardware/async_copy.h"
#include "dsl/hardware/call_rules.h"
#include "dsl/ir/fill_tails.h"
#include "dsl/ir/intrinsic.h"
#include "dsl/ir/layout.h"
#include "dsl/ir/region.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <numeric>
#include <set>

namespace nestsmith {

bool is_vector(DType dtype, std::int64_t lanes) {
  std::int64_t bytes = lanes * byte_size(dtype);
  return lanes >= 2 && (bytes == 4 || bytes == 8 || bytes == 16);
}

std::string vector_lengths(DType dtype) {
  std::string text;
  for (std::int64_t lanes = 2; lanes <= 16; lanes *= 2)
    if (is_vector(dtype, lanes))
      text += (text.empty() ? "" : is_vector(dtype, 2 * lanes) ? ", " : " or ") + std::to_string(lanes);
  return text;
}

bool Motion::still() const {
  return std::all_of(steps.begin(), steps.end(), [](std::int64_t step) { return step == 0; });
}
bool Motion::contiguous() const {
  for (std::size_t lane = 0; lane < steps.size(); ++lane)
    if (steps[lane] != static_cast<std::int64_t>(lane))
      return false;
  return true;
}
bool Motion::distinct() const { return std::set(steps.begin(), steps.end()).size() == steps.size(); }

Expr in_lane(const Expr &e, const Var &loop, std::int64_t lane, const Bounds &bounds) {
  return simplify(substitute(e, [&](const Var &var) { return var == loop ? Expr(lane) : Expr(); }), bounds);
}

std::optional<Motion> motion_along(const Expr &e, const Var &loop, std::int64_t lanes, const Bounds &bounds) {
  Motion result;
  std::int64_t stride = 0;
  bool plain = true; // the loop occurs only as a term of its own, not inside a quotient or a remainder
  for (const Term &term : linearize(e, bounds).terms) {
    if (const Var *var = term.digit.as_var(); var && *var == loop)
      stride += term.coefficient;
    else
      plain = plain && !uses(term.digit.base, loop);
  }
  Expr first = plain ? Expr() : in_lane(e, loop, 0, bounds);
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    auto step =
        plain ? std::optional(lane * stride) : as_int(simplify(in_lane(e, loop, lane, bounds) - first, bounds));
    if (!step)
      return std::nullopt;
    result.steps.push_back(*step);
  }
  return result;
}

/// A number that divides every value; 0 if every value is 0.
/// [rule.multiple.sum] (x + y)//g = x//g + y//g, (x + y) % g = 0 where g > 0, x % g = 0, y % g = 0
/// [rule.multiple.product] x*y//(f*g) = (x//f)*(y//g), x*y % (f*g) = 0 where f > 0, g > 0, x % f = 0, y % g = 0
static std::int64_t factor_of(const Expr &e, const Bounds &bounds) {
  Linear sum = linearize(e, bounds);
  std::int64_t factor = std::abs(sum.constant);
  for (const Term &term : sum.terms) {
    const auto *op = term.digit.base.as<Binary>();
    bool product = op && op->op == BinaryOp::mul && term.digit.is_base();
    std::int64_t inside = product ? factor_of(op->a, bounds) * factor_of(op->b, bounds) : 1;
    factor = std::gcd(factor, term.coefficient * inside);
  }
  return factor;
}

bool is_multiple(const Expr &e, std::int64_t n, const Bounds &bounds) {
  bool found = factor_of(e, bounds) % n == 0;
  if (found)
    AnswerWatcher::show([&](AnswerWatcher &watcher) { watcher.multiple(e, n, bounds); });
  return found;
}

/// Whether the condition is the same expression in all lanes.
static bool is_same_in_lanes(const Expr &condition, const Var &loop, std::int64_t lanes, const Bounds &bounds) {
  Expr first = in_lane(condition, loop, 0, bounds);
  for (std::int64_t lane = 1; lane < lanes; ++lane)
    if (!same(in_lane(condition, loop, lane, bounds), first))
      return false;
  return true;
}

/// [rule.lanes.inside] (x - y)//m < 0, x + n < y where m > 0, (x - y) % m = 0, x < y, 0 <= n, n < m
/// [rule.lanes.outside] y <= x + n where y <= x, 0 <= n
bool is_uniform(const Expr &condition, const Var &loop, std::int64_t lanes, const Bounds &bounds) {
  const auto *op = condition.as<Binary>();
  if (!uses(condition, loop) || proves(condition, bounds) || proves(logical_not(condition), bounds))
    return true;
  if (op && is_logical(op->op))
    return is_uniform(op->a, loop, lanes, bounds) && is_uniform(op->b, loop, lanes, bounds);
  op = comparison_of_indices(condition);
  if (!op) // the difference of data wraps around, so it does not decide x < y
    return is_same_in_lanes(condition, loop, lanes, bounds);
  Expr difference = op->a - op->b;
  auto motion = motion_along(difference, loop, lanes, bounds);
  if (!motion)
    return false;
  bool groups = op->op == BinaryOp::lt && motion->contiguous() &&
                is_multiple(in_lane(difference, loop, 0, bounds), lanes, bounds);
  return motion->still() || groups;
}

bool holds_in_first_lanes(const Expr &condition, const Var &loop, std::int64_t lanes, const Bounds &bounds) {
  const Binary *op = order_of_indices(condition);
  auto motion = op ? motion_along(op->a - op->b, loop, lanes, bounds) : std::nullopt;
  return motion && motion->contiguous();
}

const Block *only_block(const For &loop) {
  std::size_t left = loop.intrinsic() ? loop.intrinsic()->meaning.loops.size() - 1 : 0;
  const For *inner = &loop;
  while (const auto *next = as<For>(inner->body)) {
    bool single = as_int(next->extent) == 1;
    if (!single && (left == 0 || !next->is<Serial>()))
      return nullptr;
    left -= !single;
    inner = next;
  }
  return left == 0 ? as<Block>(inner->body) : nullptr;
}

const For *crowded_lanes(const Program &program) {
  const For *found = nullptr;
  walk(program.body, [&](const Stmt &stmt) {
    const auto *loop = as<For>(stmt);
    if (!found && loop && loop->over_lanes() && !only_block(*loop))
      found = loop;
    return !found;
  });
  return found;
}

Expr without_single_loops(const Expr &e, const Bounds &bounds) {
  Expr result = substitute(e, [&](const Var &var) {
    auto range = bounds.find(var);
    return range && range->low == range->high ? Expr(range->low) : Expr();
  });
  return simplify(result, bounds);
}

std::vector<Expr> in_box(const Placement &placement, std::vector<Expr> indices, const Bounds &bounds) {
  for (std::size_t d = 0; d < indices.size(); ++d)
    indices[d] = without_single_loops(indices[d] - placement.region[d].min, bounds);
  return indices;
}

Expr offset_in_memory(Placements &placements, const Buffer &buffer, std::vector<Expr> indices) {
  const Bounds &bounds = placements.bounds();
  if (buffer->role == Role::temporary && buffer->scope != Scope::global) {
    const Placement &placement = placements.of(buffer);
    indices = in_box(placement, std::move(indices), bounds);
    if (placement.elements != 0) // else an obligation requires a constant size
      return PlacedLayout(*buffer, placement.box()).offset(indices, bounds);
  }
  Expr offset = 0;
  std::vector<Expr> strides = strides_of(*buffer);
  for (std::size_t d = 0; d < indices.size(); ++d)
    offset = offset + indices[d] * strides[d];
  return simplify(offset, bounds);
}

namespace {

/// Whether the buffer is in memory. Registers have no vector accesses.
bool in_memory(const Buffer &buffer) { return !in_registers(buffer->scope); }

class Inspector {
public:
  Inspector(Placements &placements, const For &loop, const Block &block, const Intrinsic *intrinsic)
      : placements_(placements), loop_(loop), block_(block), intrinsic_(intrinsic),
        lanes_(as_int(loop.extent).value()), bounds_(placements.bounds()) {}

  std::optional<VectorBreach> run(bool lasting) {
    if (!lasting || accesses_parameter())
      check_guards();
    for (const Load *access : loads_of(block_)) {
      if (access->mask.exists())
        check_condition(access->mask, block_.async && !intrinsic_ && block_.body.value.as<Load>() == access);
      check_access(access->buffer, access->indices, "reads", lasting);
    }
    if (!intrinsic_)
      check_access(block_.body.buffer, block_.body.indices, "writes", lasting);
    if (!found_ && !vectors_ && !lasting && !intrinsic_)
      fail("vectorize.memory",
           "no memory access of block {} is contiguous along {}, so there is no vector; lay out a tile along "
           "the loop with transform_layout, or leave the loop serial",
           block_.id->name, loop_.var->name);
    return std::move(found_);
  }

private:
  /// `requirement` is the tag for vectorize. Tensorize uses one tag for all of them.
  template <class... Args>
  void fail(const char *requirement, fmt::format_string<Args...> format, Args &&...args) {
    if (!found_)
      found_ = {intrinsic_ ? "tensorize.operands" : requirement,
                fmt::format(format, std::forward<Args>(args)...)};
  }

  bool accesses_parameter() const {
    auto loads = loads_of(block_);
    return block_.body.buffer->role != Role::temporary ||
           std::any_of(loads.begin(), loads.end(),
                       [](const Load *access) { return access->buffer->role != Role::temporary; });
  }

  void check_guards() {
    for (const IterVar &iter : block_.iters)
      if (iter.guarded) {
        if (!proves(Expr(0) <= iter.binding, bounds_))
          check_condition(Expr(0) <= Expr(iter.var));
        check_condition(Expr(iter.var) < iter.extent);
      }
  }

  /// Checks each part of a guard or a mask, given in the variables of the block. `may_end`: it may hold in the
  /// first lanes only, because it is the mask of an asynchronous copy.
  void check_condition(const Expr &condition, bool may_end = false) {
    const auto *op = condition.as<Binary>();
    if (op && op->op == BinaryOp::logical_and) {
      check_condition(op->a, may_end);
      return check_condition(op->b, may_end);
    }
    const Expr of_loops = in_loops(condition, block_, bounds_);
    if (is_uniform(of_loops, loop_.var, lanes_, bounds_) ||
        (may_end && holds_in_first_lanes(of_loops, loop_.var, lanes_, bounds_)))
      return;
    const Var *axis = op && op->op == BinaryOp::lt ? op->a.as<Var>() : nullptr;
    if (!axis)
      return fail("vectorize.uniform",
                  "block {} reads under the mask {}, which may differ between the {} lanes of {}; vectorize "
                  "another loop",
                  block_.id->name, to_string(condition), lanes_, loop_.var->name);
    Expr start = in_lane(in_loops(op->a, block_, bounds_), loop_.var, 0, bounds_);
    fail("vectorize.uniform",
         "block {} has the guard {}, which may differ between the {} lanes of {} that start at {} = {}; "
         "the bound {} and each start must be multiples of {}; use a scalar loop for this shape{}",
         block_.id->name, to_string(condition), lanes_, loop_.var->name, (*axis)->name, to_string(start),
         to_string(op->b), lanes_,
         may_be_async() && holds_in_first_lanes(of_loops, loop_.var, lanes_, bounds_)
             ? ", or make the copy asynchronous before (async_copy), so that a vector may be partial"
             : "");
  }

  /// Whether the block may become an asynchronous copy of vectors.
  bool may_be_async() const {
    return !block_.async && !intrinsic_ && !async_breach(block_) && is_vector_copy(placements_, loop_, block_);
  }

  void check_access(const Buffer &buffer, const std::vector<Expr> &indices, const char *verb, bool lasting) {
    if (!in_memory(buffer))
      return;
    bool parameter = buffer->role != Role::temporary;
    if (lasting && !parameter)
      return;
    Expr offset = offset_in_memory(placements_, buffer, in_loops(indices, block_, bounds_));
    auto motion = motion_along(offset, loop_.var, lanes_, bounds_);
    if (!motion || !(motion->still() || motion->contiguous())) {
      if (intrinsic_)
        fail("vectorize.contiguous",
             "block {} {} {} with a stride of {} along {}, but {} needs contiguous elements; lay it out along "
             "{} with transform_layout",
             block_.id->name, verb, buffer->name, motion ? std::to_string(motion->steps[1]) : "unknown length",
             loop_.var->name, intrinsic_->name, loop_.var->name);
      else if (parameter)
        fail("vectorize.contiguous",
             "block {} {} {} with a stride of {} along {}, expected contiguous elements; vectorize the loop "
             "over "
             "its last dimension",
             block_.id->name, verb, buffer->name, motion ? std::to_string(motion->steps[1]) : "unknown length",
             loop_.var->name);
      return;
    }
    if (intrinsic_ && !motion->contiguous() && buffer != block_.body.buffer)
      fail("vectorize.contiguous",
           "block {} {} {} with a stride of 0 along {}, but {} needs contiguous elements; tensorize another "
           "loop",
           block_.id->name, verb, buffer->name, loop_.var->name, intrinsic_->name);
    if (motion->still())
      return;
    if (!is_vector(buffer->dtype, lanes_) && !(intrinsic_ && is_packed_word(buffer->dtype, lanes_)))
      fail("vectorize.width",
           "block {} {} {} in vectors of {} elements of {}, but a vector of this type has {} elements; {}",
           block_.id->name, verb, buffer->name, lanes_, name(buffer->dtype), vector_lengths(buffer->dtype),
           intrinsic_ ? "load them into registers with cache_read first" : "leave the loop serial");
    vectors_ = true;
    Expr first = in_lane(offset, loop_.var, 0, bounds_);
    if (!is_multiple(first, lanes_, bounds_))
      fail(
          "vectorize.aligned",
          "block {} {} {} in vectors of {} elements from the offset {}, which is not always a multiple of {}{}",
          block_.id->name, verb, buffer->name, lanes_, to_string(first), lanes_,
          parameter
              ? fmt::format(": rows of {} elements are not aligned to it; use a scalar loop for this shape",
                            to_string(buffer->strides && buffer->shape.size() > 1
                                          ? (*buffer->strides)[buffer->shape.size() - 2]
                                          : buffer->shape.back()))
              : fmt::format(
                    "; pad {} or change its layout so that its rows are aligned to it, or leave {} serial",
                    buffer->name, loop_.var->name));
  }

  Placements &placements_;
  const For &loop_;
  const Block &block_;
  const Intrinsic *intrinsic_;
  std::int64_t lanes_;
  const Bounds &bounds_;
  bool vectors_ = false;
  std::optional<VectorBreach> found_;
};

} // namespace

bool is_vector_copy(Placements &filled, const For &loop, const Block &block) {
  std::int64_t lanes = as_int(loop.extent).value();
  auto is_one = [&](const Buffer &buffer, const std::vector<Expr> &indices) {
    Expr offset = offset_in_memory(filled, buffer, in_loops(indices, block, filled.bounds()));
    auto motion = motion_along(offset, loop.var, lanes, filled.bounds());
    return motion && motion->contiguous() && is_vector(buffer->dtype, lanes) &&
           is_multiple(in_lane(offset, loop.var, 0, filled.bounds()), lanes, filled.bounds());
  };
  const auto *source = block.body.value.as<Load>();
  return source && is_one(source->buffer, source->indices) && is_one(block.body.buffer, block.body.indices);
}

std::optional<VectorBreach> vector_breach(Placements &filled, const Var &var, const Intrinsic *intrinsic,
                                          bool lasting) {
  const For &loop = *find_loop(filled.program().body, var);
  if (intrinsic && intrinsic->group == Group::warp)
    return call_breach(filled, loop, *intrinsic, lasting);
  return Inspector(filled, loop, *only_block(loop), intrinsic).run(lasting);
}

std::optional<VectorBreach> lasting_breach(const Program &program, const Var &loop,
                                           const Intrinsic *intrinsic) {
  // Filling removes guards and adds none, so it is needed only if the unfilled program has a breach.
  Placements as_it_is(program);
  if (!vector_breach(as_it_is, loop, intrinsic, true))
    return std::nullopt;
  Placements filled(with_filled_tails(program));
  return vector_breach(filled, loop, intrinsic, true);
}

} // namespace nestsmith
