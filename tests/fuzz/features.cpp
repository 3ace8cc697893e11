/// Predicates for the features of computations.

#include "tests/fuzz/features.h"

#include "dsl/expr/math_functions.h"

#include <algorithm>
#include <cmath>

namespace nestsmith::fuzz {

namespace {

using Blocks = std::vector<const Block *>;

/// Whether `f` holds for a node of a stored value or of an index.
template <class F> bool any_expr(const Program &program, const F &f) {
  return std::ranges::any_of(blocks_of(program.body),
                             [&](const Block *block) { return any_node(block->body.value, f); });
}

template <class F> bool any_load(const Program &program, const F &f) {
  return any_expr(program, [&](const Expr &e) {
    const auto *access = e.as<Load>();
    return access && f(*access);
  });
}

template <class F> bool any_index(const Program &program, const F &f) {
  return any_load(program, [&](const Load &access) {
    return std::ranges::any_of(access.indices, [&](const Expr &index) { return any_node(index, f); });
  });
}

bool is_variable(const Expr &e) { return e.as<Var>() != nullptr; }

bool index_has(const Program &program, std::initializer_list<BinaryOp> ops) {
  return any_index(program, [&](const Expr &e) {
    const auto *binary = e.as<Binary>();
    return binary && std::ranges::find(ops, binary->op) != ops.end();
  });
}

std::size_t sums_of(const Block &block) {
  return static_cast<std::size_t>(std::ranges::count(block.iters, IterKind::reduction, &IterVar::kind));
}

/// Whether a stage overwrites a buffer that another stage has read.
bool overwrites(const Program &program) {
  Blocks blocks = blocks_of(program.body);
  for (std::size_t later = 0; later < blocks.size(); ++later)
    for (std::size_t earlier = 0; earlier < later; ++earlier)
      if (reads(*blocks[earlier], blocks[later]->body.buffer))
        return true;
  return false;
}

template <Role role> bool reads_written(const Program &program) {
  Blocks blocks = blocks_of(program.body);
  for (std::size_t later = 0; later < blocks.size(); ++later)
    for (std::size_t earlier = 0; earlier < later; ++earlier)
      if (blocks[earlier]->body.buffer->role == role && reads(*blocks[later], blocks[earlier]->body.buffer))
        return true;
  return false;
}

/// Whether a condition contains a sum of 32- or 64-bit integers, which may wrap around.
bool conditions_wrap(const Program &program) {
  return any_expr(program, [](const Expr &e) {
    const auto *binary = e.as<Binary>();
    return binary && is_comparison(binary->op) && !is_float(binary->a.dtype()) && reads_memory(binary->a) &&
           binary->a.as<Binary>();
  });
}

/// Whether a mask compares two axes. Such a mask bounds an index only if the other axis is bounded.
bool compares_axes(const Program &program) {
  return any_load(program, [](const Load &access) {
    return access.mask.exists() && any_node(access.mask, [](const Expr &e) {
             const auto *binary = e.as<Binary>();
             return binary && is_comparison(binary->op) && !reads_memory(e) &&
                    any_node(binary->a, is_variable) && any_node(binary->b, is_variable);
           });
  });
}

bool divides_by_anything(const Program &program) {
  return any_expr(program, [](const Expr &e) {
    const auto *binary = e.as<Binary>();
    return binary && (binary->op == BinaryOp::floordiv || binary->op == BinaryOp::floormod) &&
           as_int(binary->b).value_or(-1) < 0 && !uses_size(binary->b);
  });
}

/// Whether a leading dimension is also the extent of another buffer.
bool has_extent_between_rows(const Program &program) {
  return std::ranges::any_of(program.params, [&](const Buffer &stored) {
    return stored->strides && uses_size(stored->strides->front()) &&
           std::ranges::any_of(program.params, [&](const Buffer &other) {
             return std::ranges::any_of(other->shape, [&](const Expr &extent) {
               return extent.as<Var>() && same(extent, (*stored->strides)[stored->shape.size() - 2]);
             });
           });
  });
}

bool has_large_constants(const Program &program) {
  return any_expr(program, [](const Expr &e) {
    const auto *number = e.as<FloatImm>();
    return (number && std::abs(number->value) > 0x1p24) || std::abs(as_int(e).value_or(0)) > 1 << 24;
  });
}

template <DType dtype> bool has(const Program &program) {
  return any_expr(program, [](const Expr &e) { return e.dtype() == dtype && (e.as<Load>() || e.as<Cast>()); });
}

std::size_t stages(const Program &program) { return blocks_of(program.body).size(); }

} // namespace

const std::vector<Feature> &features() {
  using P = const Program &;
  static const std::vector<Feature> table = {
      {"several stages", [](P p) { return stages(p) > 1; }},
      {"sums",
       [](P p) {
         return std::ranges::any_of(blocks_of(p.body), [](const Block *b) { return sums_of(*b) > 0; });
       }},
      {"sums over two axes",
       [](P p) {
         return std::ranges::any_of(blocks_of(p.body), [](const Block *b) { return sums_of(*b) > 1; });
       }},
      {"in-place updates",
       [](P p) {
         return std::ranges::any_of(p.params, [](const Buffer &b) { return b->role == Role::inout; });
       }},
      {"overwritten after a read", overwrites},
      {"outputs that are read", reads_written<Role::output>},
      {"updates that are read", reads_written<Role::inout>},
      {"several outputs",
       [](P p) {
         return std::ranges::count_if(p.params, [](const Buffer &b) { return b->role != Role::input; }) > 1;
       }},
      {"tuples",
       [](P p) {
         return std::ranges::any_of(blocks_of(p.body),
                                    [](const Block *block) { return is_tuple(block->body.buffer->dtype); });
       }},
      {"reducers whose order counts",
       [](P p) {
         return std::ranges::any_of(blocks_of(p.body), [](const Block *block) {
           return block->reduces() && !is_commutative(block->reducer);
         });
       }},
      {"functions", [](P p) { return any_expr(p, [](const Expr &e) { return e.as<Call>() != nullptr; }); }},
      {"fast functions",
       [](P p) {
         return any_expr(p, [](const Expr &e) { return math_function(e) && math_function(e)->own_error; });
       }},
      {"scalars", [](P p) { return !p.scalars.empty(); }},
      {"sizes", [](P p) { return !p.sizes.empty(); }},
      {"leading dimensions",
       [](P p) {
         return std::ranges::any_of(p.params, [](const Buffer &b) { return b->strides != nullptr; });
       }},
      {"gathers", [](P p) { return any_index(p, [](const Expr &e) { return e.as<Load>() != nullptr; }); }},
      {"shifted indices",
       [](P p) {
         return index_has(p, {BinaryOp::add, BinaryOp::sub});
       }},
      {"scaled indices", [](P p) { return index_has(p, {BinaryOp::mul}); }},
      {"divided indices",
       [](P p) {
         return index_has(p, {BinaryOp::floordiv, BinaryOp::floormod});
       }},
      {"bits of indices",
       [](P p) {
         return index_has(p, {BinaryOp::bit_and, BinaryOp::bit_or, BinaryOp::bit_xor, BinaryOp::shift_left,
                              BinaryOp::shift_right});
       }},
      {"operators on bits",
       [](P p) {
         return any_expr(p, [](const Expr &e) { return e.as<Binary>() && is_bitwise(e.as<Binary>()->op); });
       }},
      {"shifts by data",
       [](P p) {
         return any_expr(p, [](const Expr &e) {
           return e.as<Binary>() && is_shift(e.as<Binary>()->op) && e.as<Binary>()->b.node().data;
         });
       }},
      {"clamped indices",
       [](P p) {
         return index_has(p, {BinaryOp::min, BinaryOp::max}) ||
                any_index(p, [](const Expr &e) { return e.as<Select>() != nullptr; });
       }},
      {"masks", [](P p) { return any_load(p, [](const Load &l) { return !is_true(l.mask); }); }},
      {"masks between axes", compares_axes},
      {"any divisors", divides_by_anything},
      {"extents between rows", has_extent_between_rows},
      {"large constants", has_large_constants},
      {"large extents",
       [](P p) {
         return std::ranges::any_of(p.params,
                                    [](const Buffer &b) { return as_int(b->shape[0]).value_or(0) > 130; });
       }},
      {"masks on data",
       [](P p) { return any_load(p, [](const Load &l) { return !is_true(l.mask) && reads_memory(l.mask); }); }},
      {"conditions that wrap", conditions_wrap},
      {"select",
       [](P p) {
         return any_expr(p, [](const Expr &e) { return e.as<Select>() && !e.as<Select>()->branches; });
       }},
      {"branch",
       [](P p) {
         return any_expr(p, [](const Expr &e) { return e.as<Select>() && e.as<Select>()->branches; });
       }},
      {"boolean", has<DType::boolean>},
      {"i8", has<DType::i8>},
      {"i16", has<DType::i16>},
      {"i32", has<DType::i32>},
      {"i64", has<DType::i64>},
      {"u8", has<DType::u8>},
      {"u16", has<DType::u16>},
      {"u32", has<DType::u32>},
      {"u64", has<DType::u64>},
      {"f16", has<DType::f16>},
      {"bf16", has<DType::bf16>},
      {"tf32", has<DType::tf32>},
      {"f32", has<DType::f32>},
      {"f64", has<DType::f64>}};
  return table;
}

std::uint64_t features_of(const Program &program) {
  std::uint64_t bits = 0;
  for (std::size_t n = 0; n < features().size(); ++n)
    bits |= static_cast<std::uint64_t>(features()[n].holds(program)) << n;
  return bits;
}

} // namespace nestsmith::fuzz
