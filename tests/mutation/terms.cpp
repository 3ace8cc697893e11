/// Executes plans on terms instead of numbers.

#include "tests/mutation/terms.h"

#include "dsl/expr/expr.h"
#include "dsl/expr/ops.h"
#include "dsl/hardware/intrinsics.h"

#include <bit>
#include <cmath>
#include <initializer_list>
#include <map>
#include <set>

namespace nestsmith::mutation {

namespace {

using kernel::Stmt;
using Lanes = std::vector<std::int64_t>; ///< one value per thread of a block: a number, or the hash of a term
using Mask = std::vector<char>;
using Memory = std::vector<std::uint64_t>;

struct Undecided {};

std::uint64_t mix(std::initializer_list<std::uint64_t> parts) {
  std::uint64_t hash = 0x9e3779b97f4a7c15;
  for (std::uint64_t part : parts) {
    hash = (hash ^ part) * 0xbf58476d1ce4e5b9;
    hash ^= hash >> 29;
    hash *= 0x94d049bb133111eb;
    hash ^= hash >> 32;
  }
  return hash;
}

/// Tags that are the first input of the hash of a term.
enum Tag : std::uint64_t { number = 1, element, scalar, product, operation, conversion, unwritten };

std::uint64_t constant_term(double value) {
  return value == 0 ? 0 : mix({number, std::bit_cast<std::uint64_t>(value)});
}

/// Executes the threads of a block one statement at a time. Without races, every order gives the same result.
class Block {
public:
  Block(const kernel::Kernel &kernel, const std::map<const BufferNode *, Memory *> &globals,
        const std::map<Var, std::uint64_t> &scalars, bool scalars_are_zero)
      : kernel_(kernel), globals_(globals), scalars_(scalars), zero_(scalars_are_zero),
        threads_(static_cast<std::size_t>(kernel.threads())) {}

  void run(std::int64_t number) {
    std::map<Axis, std::int64_t> extent;
    for (const kernel::ThreadIndex &index : kernel_.indices) {
      std::int64_t inside = 1;
      for (Axis axis : is_thread(index.axis) ? std::vector{Axis::thread_x, Axis::thread_y, Axis::thread_z}
                                             : std::vector{Axis::block_x, Axis::block_y, Axis::block_z}) {
        if (axis == index.axis)
          break;
        inside *= kernel_.extent(axis);
      }
      Lanes &lanes = vars_[index.var] = Lanes(threads_);
      for (std::size_t t = 0; t < threads_; ++t)
        lanes[t] = (is_thread(index.axis) ? static_cast<std::int64_t>(t) : number) / inside %
                   kernel_.extent(index.axis);
    }
    for (const kernel::Allocation &a : kernel_.shared)
      shared_[a.buffer.get()].assign(static_cast<std::size_t>(*as_int(a.buffer->shape[0])), mix({unwritten}));
    for (const kernel::Allocation &a : kernel_.local)
      locals_[a.buffer.get()].assign(static_cast<std::size_t>(*as_int(a.buffer->shape[0])),
                                     Lanes(threads_, static_cast<std::int64_t>(mix({unwritten}))));
    exec(kernel_.body, Mask(threads_, 1));
  }

private:
  bool any(const Mask &mask) const {
    for (char active : mask)
      if (active)
        return true;
    return false;
  }

  void exec(const Stmt &stmt, const Mask &mask) {
    if (!any(mask))
      return;
    kernel::visit(stmt, Overloaded{
                            [&](const kernel::Declare &x) {
                              if (x.var->lanes > 1)
                                vectors_[x.var] = vector(x.value, mask);
                              else
                                vars_[x.var] = value(x.value, mask);
                            },
                            [&](const kernel::Loop &x) { loop(x, mask); },
                            [&](const kernel::If &x) {
                              Lanes condition = value(x.condition, mask);
                              exec(x.body, both(mask, condition, true));
                              if (x.otherwise)
                                exec(x.otherwise, both(mask, condition, false));
                            },
                            [&](const kernel::Seq &x) {
                              for (const Stmt &child : x.stmts)
                                exec(child, mask);
                            },
                            [&](const kernel::Store &x) { store(x, mask); },
                            [&](const kernel::Call &x) { call(x, mask); },
                            [&](const kernel::BulkCopy &) { throw Undecided(); },
                            [&](const kernel::Sync &) {
                              if (const auto *x = kernel::as<kernel::Arrive>(stmt))
                                arrive(*x, mask);
                            },
                        });
  }

  void arrive(const kernel::Arrive &x, const Mask &mask) {
    auto at = static_cast<std::size_t>(value(x.index, mask)[0]);
    auto most = static_cast<std::uint64_t>(value(x.arrivals, mask)[0]) - 1;
    std::uint64_t &count = memory(x.counters).at(at);
    vars_[x.last] = Lanes(threads_, count == most);
    count = count >= most ? 0 : count + 1;
  }

  static Mask both(const Mask &mask, const Lanes &condition, bool wanted) {
    Mask result = mask;
    for (std::size_t t = 0; t < mask.size(); ++t)
      result[t] = mask[t] && (condition[t] != 0) == wanted;
    return result;
  }

  void loop(const kernel::Loop &x, const Mask &mask) {
    Lanes extents = value(x.extent, mask);
    std::optional<std::int64_t> extent;
    for (std::size_t t = 0; t < threads_; ++t)
      if (mask[t] && extent.value_or(extents[t]) != extents[t])
        throw Undecided();
      else if (mask[t])
        extent = extents[t];
    for (std::int64_t n = 0; n < *extent; ++n) {
      vars_[x.var].assign(threads_, n);
      exec(x.body, mask);
    }
  }

  void store(const kernel::Store &x, const Mask &mask) {
    Lanes at = value(x.indices[0], mask);
    std::vector<Lanes> values = x.count.exists() ? part(x, mask)
                                : x.lanes > 1    ? vector(x.value, mask)
                                                 : std::vector<Lanes>{value(x.value, mask)};
    if (x.atomic && !is_float(x.buffer->dtype))
      throw Undecided();
    auto stored = [&](std::size_t n, std::size_t t) {
      auto made = static_cast<std::uint64_t>(values[n][t]);
      auto old = x.atomic ? static_cast<std::uint64_t>(get(x.buffer, at[t], t)) : 0;
      return static_cast<std::int64_t>(x.atomic ? term(op_of(*x.atomic), old, made) : made);
    };
    for (std::size_t n = 0; n < values.size(); ++n)
      for (std::size_t t = 0; t < threads_; ++t)
        if (mask[t])
          put(x.buffer, at[t] + static_cast<std::int64_t>(n), t, stored(n, t));
  }

  /// The elements of an asynchronous copy that reads a part of a vector, and zeros.
  std::vector<Lanes> part(const kernel::Store &x, const Mask &mask) {
    const auto *source = x.value.as<Load>();
    const Lanes count = value(x.count, mask);
    std::vector<Lanes> result;
    for (int n = 0; n < x.lanes; ++n) {
      Mask read = mask;
      for (std::size_t t = 0; t < threads_; ++t)
        read[t] = mask[t] && n < count[t];
      const Lanes elements = loaded(*source, read, n);
      result.push_back(value(constant(x.buffer->dtype, 0), mask));
      for (std::size_t t = 0; t < threads_; ++t)
        result.back()[t] = read[t] ? elements[t] : result.back()[t];
    }
    return result;
  }

  /// Each warp evaluates the meaning of the intrinsic on the elements that its lanes hold or provide.
  void call(const kernel::Call &x, const Mask &mask) {
    const Intrinsic &intrinsic = x.intrinsic;
    std::vector<Lanes> starts;
    std::map<Buffer, std::vector<std::vector<nestsmith::Spot>>> spots;
    for (std::size_t n = 0; n < x.places.size(); ++n) {
      starts.push_back(value(x.places[n].offset, mask));
      spots[intrinsic.operands[n].formal] = spots_of(intrinsic.operands[n]);
    }
    const Nest &nest = intrinsic.meaning;
    for (std::size_t warp = 0; warp < threads_; warp += lanes_per_warp) {
      if (!mask[warp]) // of another role
        continue;
      std::map<Buffer, Memory> elements;
      for (std::size_t n = 0; n < x.places.size(); ++n)
        for (const auto &held : spots[intrinsic.operands[n].formal]) {
          auto thread = warp + static_cast<std::size_t>(held.front().lane);
          elements[intrinsic.operands[n].formal].push_back(
              static_cast<std::uint64_t>(get(x.places[n].buffer, starts[n][thread] + held.front().at, thread)));
        }
      std::map<Var, std::int64_t> point;
      each_point(nest.loops, 0, point, [&] {
        elements.at(nest.body.buffer)[element_of(nest.body.buffer, nest.body.indices, point)] =
            meant(nest.body.value, elements, point);
      });
      auto n = static_cast<std::size_t>(&x.result() - x.places.data());
      const Memory &results = elements.at(nest.body.buffer);
      for (std::size_t e = 0; e < results.size(); ++e)
        for (const nestsmith::Spot &spot : spots[nest.body.buffer][e]) {
          auto thread = warp + static_cast<std::size_t>(spot.lane);
          put(x.places[n].buffer, starts[n][thread] + spot.at, thread, static_cast<std::int64_t>(results[e]));
        }
    }
  }

  template <class F>
  static void each_point(const std::vector<NestLoop> &loops, std::size_t depth,
                         std::map<Var, std::int64_t> &point, const F &f) {
    if (depth == loops.size())
      return f();
    for (std::int64_t n = 0; n < loops[depth].extent; ++n) {
      point[loops[depth].var] = n;
      each_point(loops, depth + 1, point, f);
    }
  }

  static std::size_t element_of(const Buffer &formal, const std::vector<Expr> &indices,
                                const std::map<Var, std::int64_t> &point) {
    std::int64_t element = 0;
    for (std::size_t d = 0; d < indices.size(); ++d)
      element = element * *as_int(formal->shape[d]) + point.at(*indices[d].as<Var>());
    return static_cast<std::size_t>(element);
  }

  /// Returns the term of a meaning at one point of its loops.
  std::uint64_t meant(const Expr &e, const std::map<Buffer, Memory> &elements,
                      const std::map<Var, std::int64_t> &point) {
    if (const auto *access = e.as<Load>())
      return elements.at(access->buffer)[element_of(access->buffer, access->indices, point)];
    if (const auto *conversion = e.as<Cast>())
      return converted(*conversion, meant(conversion->a, elements, point));
    if (const auto *x = e.as<Binary>())
      return term(x->op, meant(x->a, elements, point), meant(x->b, elements, point));
    throw Undecided();
  }

  /// The element of an array. A mutant may access one outside of it.
  template <class Array> static auto &element_at(Array &array, std::int64_t at) {
    if (at < 0 || static_cast<std::size_t>(at) >= array.size())
      throw Undecided();
    return array[static_cast<std::size_t>(at)];
  }
  void put(const Buffer &buffer, std::int64_t at, std::size_t thread, std::int64_t value) {
    if (buffer->scope == Scope::local)
      element_at(locals_.at(buffer.get()), at)[thread] = value;
    else
      element_at(memory(buffer), at) = static_cast<std::uint64_t>(value);
  }
  std::int64_t get(const Buffer &buffer, std::int64_t at, std::size_t thread) {
    if (buffer->scope == Scope::local)
      return element_at(locals_.at(buffer.get()), at)[thread];
    return static_cast<std::int64_t>(element_at(memory(buffer), at));
  }
  Memory &memory(const Buffer &buffer) {
    return buffer->scope == Scope::shared ? shared_.at(buffer.get()) : *globals_.at(buffer.get());
  }

  std::vector<Lanes> vector(const Expr &e, const Mask &mask) {
    std::vector<Lanes> result;
    if (const auto *made = e.as<Pack>()) {
      for (const Expr &element : made->lanes)
        result.push_back(value(element, mask));
    } else if (const auto *access = e.as<Load>()) {
      for (int n = 0; n < access->lanes; ++n)
        result.push_back(loaded(*access, mask, n));
    } else if (const Var *var = e.as<Var>()) {
      return vectors_.at(*var);
    } else {
      throw Undecided();
    }
    return result;
  }

  Lanes loaded(const Load &x, const Mask &mask, int n) {
    Mask taken = mask;
    Lanes result(threads_);
    if (x.mask.exists()) {
      taken = both(mask, value(x.mask, mask), true);
      result = value(x.fill, mask);
    }
    if (!any(taken))
      return result;
    Lanes at = value(x.indices[0], taken);
    for (std::size_t t = 0; t < threads_; ++t)
      if (taken[t])
        result[t] = get(x.buffer, at[t] + n, t);
    return result;
  }

  Lanes value(const Expr &e, const Mask &mask) {
    return e.visit(Overloaded{
        [&](const IntImm &x) {
          return Lanes(threads_, is_index(x.dtype) || x.dtype == DType::boolean ? x.value : throw Undecided());
        },
        [&](const FloatImm &x) {
          std::uint64_t term = constant_term(x.value);
          if (std::abs(x.value) < 1e38)
            finite_.insert(term);
          return Lanes(threads_, static_cast<std::int64_t>(term));
        },
        [&](const Var &x) {
          if (auto it = scalars_.find(x); it != scalars_.end())
            return Lanes(threads_, static_cast<std::int64_t>(it->second));
          return vars_.at(x);
        },
        [&](const Binary &x) { return binary_value(x, mask); },
        [&](const Not &x) {
          Lanes result = value(x.a, mask);
          for (std::int64_t &lane : result)
            lane = lane == 0;
          return result;
        },
        [&](const Select &x) {
          Lanes condition = value(x.condition, mask), result(threads_);
          Mask yes = both(mask, condition, true), no = both(mask, condition, false);
          Lanes a = any(yes) ? value(x.when_true, yes) : result, b = any(no) ? value(x.when_false, no) : result;
          for (std::size_t t = 0; t < threads_; ++t)
            result[t] = yes[t] ? a[t] : b[t];
          return result;
        },
        [&](const Cast &x) { return converted(x, mask); },
        [&](const Load &x) { return loaded(x, mask, 0); },
        [&](const Lane &x) { return vectors_.at(x.vector).at(static_cast<std::size_t>(x.index)); },
        [&](const Pack &) -> Lanes { throw Undecided(); },
        [&](const Call &) -> Lanes { throw Undecided(); },
        [&](const Tuple &) -> Lanes { throw Undecided(); },
        [&](const Part &) -> Lanes { throw Undecided(); },
    });
  }

  Lanes converted(const Cast &x, const Mask &mask) {
    Lanes result = value(x.a, mask);
    for (std::int64_t &lane : result) {
      if (is_float(x.dtype))
        lane = static_cast<std::int64_t>(converted(x, static_cast<std::uint64_t>(lane)));
      else if (is_float(x.a.dtype()) || !is_index(x.dtype))
        throw Undecided();
      else if (x.dtype == DType::i32)
        lane = static_cast<std::int32_t>(lane);
    }
    return result;
  }

  /// Converts a term. Every type represents 0, and a wider type represents the numbers of a narrower one. No
  /// type of 4 bytes rounds a number below 1e38 to infinity.
  std::uint64_t converted(const Cast &x, std::uint64_t term) {
    if (term == 0)
      return 0;
    std::uint64_t result =
        mix({conversion, static_cast<std::uint64_t>(x.dtype), static_cast<std::uint64_t>(x.a.dtype()), term});
    if (finite_.count(term) && (byte_size(x.dtype) == 4 || byte_size(x.dtype) > byte_size(x.a.dtype())))
      finite_.insert(result);
    return result;
  }

  Lanes binary_value(const Binary &x, const Mask &mask) {
    if (is_float(x.a.dtype()))
      return is_comparison(x.op) ? scalar_comparison(x) : term(x, mask);
    if (!is_index(x.a.dtype()) && x.a.dtype() != DType::boolean)
      throw Undecided();
    Lanes a = value(x.a, mask);
    bool narrow = !is_comparison(x.op) && x.a.dtype() == DType::i32;
    // The right operand of && and || is evaluated only if it decides the result.
    Mask right = x.op == BinaryOp::logical_and  ? both(mask, a, true)
                 : x.op == BinaryOp::logical_or ? both(mask, a, false)
                                                : mask;
    Lanes b = any(right) ? value(x.b, right) : Lanes(threads_);
    for (std::size_t t = 0; t < threads_; ++t)
      if (right[t]) {
        a[t] = computed(x.op, a[t], b[t]);
        if (narrow)
          a[t] = static_cast<std::int32_t>(a[t]);
      }
    return a;
  }

  static std::int64_t bits(BinaryOp op, std::int64_t a, std::int64_t b) {
    return with_op(op, [&]<BinaryOp o>() -> std::int64_t {
      if constexpr (is_bitwise(o))
        return arithmetic<o>(a, b);
      throw Undecided();
    });
  }

  static std::int64_t computed(BinaryOp op, std::int64_t a, std::int64_t b) {
    switch (op) {
    case BinaryOp::add:
      return a + b;
    case BinaryOp::sub:
      return a - b;
    case BinaryOp::mul:
      return a * b;
    case BinaryOp::floordiv:
      return b == 0 ? throw Undecided() : floor_div(a, b);
    case BinaryOp::floormod:
      return b == 0 ? throw Undecided() : floor_mod(a, b);
    case BinaryOp::min:
      return std::min(a, b);
    case BinaryOp::max:
      return std::max(a, b);
    case BinaryOp::bit_and:
    case BinaryOp::bit_or:
    case BinaryOp::bit_xor:
    case BinaryOp::shift_left:
    case BinaryOp::shift_right:
      return bits(op, a, b);
    case BinaryOp::lt:
      return a < b;
    case BinaryOp::le:
      return a <= b;
    case BinaryOp::eq:
      return a == b;
    case BinaryOp::ne:
      return a != b;
    case BinaryOp::logical_and:
    case BinaryOp::logical_or:
      return b;
    case BinaryOp::div:
      break;
    }
    throw Undecided();
  }

  /// Decides comparisons such as beta != 0. In each case, either all scalars are 0 or none is.
  Lanes scalar_comparison(const Binary &x) const {
    const Var *var = x.a.as<Var>();
    const auto *number = x.b.as<FloatImm>();
    bool equality = x.op == BinaryOp::eq || x.op == BinaryOp::ne;
    if (!var || !scalars_.count(*var) || !number || number->value != 0 || !equality)
      throw Undecided();
    return Lanes(threads_, (x.op == BinaryOp::eq) == zero_);
  }

  Lanes term(const Binary &x, const Mask &mask) {
    Lanes a = value(x.a, mask), b = value(x.b, mask);
    for (std::size_t t = 0; t < threads_; ++t)
      a[t] = static_cast<std::int64_t>(
          term(x.op, static_cast<std::uint64_t>(a[t]), static_cast<std::uint64_t>(b[t])));
    return a;
  }

  std::uint64_t term(BinaryOp op, std::uint64_t left, std::uint64_t right) const {
    if (op == BinaryOp::add)
      return left + right; // a sum is the sum of the hashes of its summands, so it does not depend on their
                           // order, and 0 adds nothing
    if (op == BinaryOp::mul && (left == 0 || right == 0) && finite_.count(left + right))
      return 0;
    if (op == BinaryOp::mul)
      return mix({product, std::min(left, right), std::max(left, right)});
    return mix({operation, static_cast<std::uint64_t>(op), left, right});
  }

  const kernel::Kernel &kernel_;
  const std::map<const BufferNode *, Memory *> &globals_;
  const std::map<Var, std::uint64_t> &scalars_;
  bool zero_;
  std::size_t threads_;
  std::set<std::uint64_t> finite_ = {0}; ///< hashes of constants below 1e38
  std::map<Var, Lanes> vars_;
  std::map<Var, std::vector<Lanes>> vectors_;
  std::map<const BufferNode *, std::vector<Lanes>> locals_;
  std::map<const BufferNode *, Memory> shared_;
};

void run(const kernel::Plan &plan, bool scalars_are_zero, Terms &terms) {
  std::vector<Buffer> buffers = plan.params;
  for (const kernel::Workspace &workspace : plan.workspaces)
    buffers.push_back(workspace.buffer);
  std::vector<Memory> memory;
  for (std::size_t n = 0; n < buffers.size(); ++n) {
    Memory &content =
        memory.emplace_back(static_cast<std::size_t>(as_int(simplify(span_of(*buffers[n]))).value()));
    bool given = buffers[n]->role == Role::input || buffers[n]->role == Role::inout;
    for (std::size_t at = 0; at < content.size(); ++at)
      content[at] = given ? mix({element, n, at}) : mix({unwritten});
    if (n >= plan.params.size() && plan.workspaces[n - plan.params.size()].counters)
      content.assign(content.size(), 0);
  }
  for (const kernel::Kernel &kernel : plan.kernels) {
    std::map<const BufferNode *, Memory *> globals;
    std::vector<std::size_t> positions = plan.arguments(kernel),
                             scalar_positions = plan.scalar_arguments(kernel);
    for (std::size_t n = 0; n < positions.size(); ++n)
      globals[kernel.params[n].get()] = &memory[positions[n]];
    std::map<Var, std::uint64_t> scalars;
    for (std::size_t n = 0; n < scalar_positions.size(); ++n)
      scalars[kernel.scalars[n]] = scalars_are_zero ? 0 : mix({scalar, scalar_positions[n]});
    auto [x, y, z] = kernel.grid();
    for (std::int64_t block = 0; block < x * y * z; ++block)
      Block(kernel, globals, scalars, scalars_are_zero).run(block);
  }
  for (std::size_t n = 0; n < plan.params.size(); ++n)
    if (plan.params[n]->role != Role::input)
      terms.push_back(std::move(memory[n]));
}

} // namespace

std::optional<Terms> terms_of(const kernel::Plan &plan) {
  Terms terms;
  try {
    for (bool zero : {false, true})
      run(plan, zero, terms);
  } catch (const Undecided &) {
    return std::nullopt;
  }
  return terms;
}

} // namespace nestsmith::mutation
