#include "dsl/ir/workload_info.h"

#include "dsl/expr/error.h"

#include <algorithm>

namespace nestsmith {

namespace {

bool is_var(const Expr &e, const Var &var) {
  const Var *v = e.as<Var>();
  return v && *v == var;
}

bool is_zero(const Expr &e) {
  if (const auto *f = e.as<FloatImm>())
    return f->value == 0;
  const auto *i = e.as<IntImm>();
  return i && i->value == 0;
}

/// Whether the indices are these iteration variables, each over the whole of its dimension.
bool covers(const Buffer &buffer, const std::vector<Expr> &indices, const std::vector<const IterVar *> &iters) {
  bool all = indices.size() == iters.size();
  for (std::size_t d = 0; all && d < iters.size(); ++d)
    all = is_var(indices[d], iters[d]->var) && as_int(buffer->shape[d]) == as_int(iters[d]->extent);
  return all;
}

/// Whether `load` reads the full matrix without a mask, with indices (row, column), or transposed. If there is
/// a batch, its index comes first.
struct MatrixAccess {
  bool matches = false, transposed = false;
};
MatrixAccess match_access(const Load &load, const IterVar *batch, const IterVar *row, const IterVar *column) {
  std::vector<const IterVar *> straight = {row, column}, crossed = {column, row};
  if (batch)
    for (auto *order : {&straight, &crossed})
      order->insert(order->begin(), batch);
  bool transposed = !covers(load.buffer, load.indices, straight);
  return {is_true(load.mask) && (!transposed || covers(load.buffer, load.indices, crossed)), transposed};
}

/// A factor of a product: a load, possibly converted to the dtype of its arithmetic, and possibly rounded to
/// tf32 before that.
struct Factor {
  const Load *read = nullptr;
  DType type = DType::f32;
};
Factor match_factor(const Expr &e) {
  if (const Load *read = e.as<Load>())
    return {read, read->buffer->dtype};
  const Cast *widened = e.as<Cast>();
  if (!widened)
    return {};
  if (const Load *read = widened->a.as<Load>())
    return widened->dtype == arithmetic_type(read->buffer->dtype) ? Factor{read, read->buffer->dtype}
                                                                  : Factor{};
  if (widened->dtype != DType::f32)
    return {};
  const Cast *rounded = widened->a.as<Cast>();
  const Load *read = rounded && rounded->dtype == DType::tf32 ? rounded->a.as<Load>() : nullptr;
  return read && read->buffer->dtype == DType::f32 ? Factor{read, DType::tf32} : Factor{};
}

/// The two factors of a sum of products.
std::optional<std::pair<Factor, Factor>> match_factors(const Block &block) {
  auto term = term_of_sum(block);
  const Binary *product = term ? term->as<Binary>() : nullptr;
  if (!product || product->op != BinaryOp::mul)
    return std::nullopt;
  Factor f = match_factor(product->a), g = match_factor(product->b);
  if (!f.read || !g.read)
    return std::nullopt;
  return std::pair(f, g);
}

const IterVar *find_iter(const Block &block, const Expr &index) {
  for (const IterVar &iter : block.iters)
    if (is_var(index, iter.var))
      return &iter;
  return nullptr;
}

} // namespace

std::optional<Contraction> as_contraction(const Block &block) {
  const std::vector<Expr> &indices = block.body.indices;
  bool batched = indices.size() == 3;
  if (block.iters.size() != indices.size() + 1 || (!batched && indices.size() != 2) || !block.init ||
      !is_zero(block.init->value))
    return std::nullopt;
  const IterVar *b = batched ? find_iter(block, indices[0]) : nullptr;
  const IterVar *p = find_iter(block, indices[batched ? 1 : 0]), *q = find_iter(block, indices.back());
  const IterVar *k = nullptr;
  for (const IterVar &iter : block.iters) {
    if (iter.guarded || !as_int(iter.extent))
      return std::nullopt;
    if (iter.kind == IterKind::reduction)
      k = &iter;
  }
  auto factors = match_factors(block);
  if (batched != (b != nullptr) || !p || !q || !k || !factors)
    return std::nullopt;
  std::vector<const IterVar *> all = {p, q, k}, results = {p, q};
  if (batched) {
    all.push_back(b);
    results.insert(results.begin(), b);
  }
  std::ranges::sort(all);
  if (std::ranges::adjacent_find(all) != all.end() || !covers(block.body.buffer, indices, results))
    return std::nullopt;

  auto [x, y] = *factors;
  if (!match_access(*x.read, b, p, k).matches)
    std::swap(x, y);
  MatrixAccess left = match_access(*x.read, b, p, k), right = match_access(*y.read, b, k, q);
  if (!left.matches || !right.matches)
    return std::nullopt;
  return Contraction{.x = x.read->buffer,
                     .y = y.read->buffer,
                     .result = block.body.buffer,
                     .x_type = x.type,
                     .y_type = y.type,
                     .x_transposed = left.transposed,
                     .y_transposed = right.transposed,
                     .m = *as_int(p->extent),
                     .n = *as_int(q->extent),
                     .k = *as_int(k->extent),
                     .batch = batched ? *as_int(b->extent) : 1};
}

namespace {

/// One summand of an epilogue: `scalar * read`, in either order, or `read` alone.
struct ScaledRead {
  const Load *read = nullptr;
  Var scalar;
};
ScaledRead match_scaled_read(const Expr &e) {
  if (const Load *read = e.as<Load>())
    return {read, nullptr};
  const auto *product = e.as<Binary>();
  if (!product || product->op != BinaryOp::mul)
    return {};
  const Load *read = product->b.as<Load>();
  const Var *scalar = product->a.as<Var>();
  if (!read || !scalar) {
    read = product->a.as<Load>();
    scalar = product->b.as<Var>();
  }
  return read && scalar ? ScaledRead{read, *scalar} : ScaledRead{};
}

bool switches_on(const Expr &mask, const Var &scalar) {
  const auto *test = mask.as<Binary>();
  return test && test->op == BinaryOp::ne &&
         ((is_var(test->a, scalar) && is_zero(test->b)) || (is_var(test->b, scalar) && is_zero(test->a)));
}

bool covers_result(const Block &block) {
  if (block.init || block.iters.size() != 2 || block.body.indices.size() != 2)
    return false;
  for (std::size_t d = 0; d < 2; ++d) {
    const IterVar *iter = find_iter(block, block.body.indices[d]);
    if (!iter || iter->guarded || as_int(iter->extent) != as_int(block.body.buffer->shape[d]))
      return false;
  }
  return !same(block.body.indices[0], block.body.indices[1]);
}

/// alpha * AB, or its sum with C or beta * C, as the value that `epilogue` stores, or a part of it.
std::optional<Gemm> match_sum(const Contraction &product, const Block &epilogue, const Expr &value) {
  Gemm gemm{product, epilogue.body.buffer, nullptr, nullptr, false};
  auto reads_product = [&](const ScaledRead &s) {
    return s.read && s.read->buffer == product.result && is_true(s.read->mask) &&
           std::ranges::equal(s.read->indices, epilogue.body.indices, same);
  };
  ScaledRead first, second;
  if (const auto *sum = value.as<Binary>(); sum && sum->op == BinaryOp::add) {
    first = match_scaled_read(sum->a);
    second = match_scaled_read(sum->b);
    if (!reads_product(first))
      std::swap(first, second);
    // C or beta * C: the element of C that is written, read always or only if beta is not 0.
    if (!second.read || second.read->buffer != gemm.c ||
        !std::ranges::equal(second.read->indices, epilogue.body.indices, same) ||
        !(is_true(second.read->mask) || (second.scalar && switches_on(second.read->mask, second.scalar))))
      return std::nullopt;
    gemm.reads_c = true;
  } else {
    first = match_scaled_read(value);
  }
  if (!reads_product(first))
    return std::nullopt;
  gemm.alpha = first.scalar;
  gemm.beta = second.scalar;
  return gemm;
}

/// A read of one element for each column, maybe converted to the type of the sum. Null if `e` is something
/// else.
const Load *match_bias(const Expr &e, const Block &epilogue) {
  const auto *widened = e.as<Cast>();
  const auto *read = (widened ? widened->a : e).as<Load>();
  return read && read->indices.size() == 1 && is_true(read->mask) && read->buffer->role == Role::input &&
                 same(read->indices[0], epilogue.body.indices[1])
             ? read
             : nullptr;
}

struct Parts {
  Contraction product;
  const Block *epilogue = nullptr; ///< null: the product is stored
};
std::optional<Parts> match_parts(const Program &program) {
  std::vector<const Block *> blocks = blocks_of(program.body);
  if (blocks.empty() || blocks.size() > 2)
    return std::nullopt;
  auto product = as_contraction(*blocks[0]);
  if (!product || product->batch != 1 || (blocks.size() == 2 && !covers_result(*blocks[1])))
    return std::nullopt;
  return Parts{*product, blocks.size() == 2 ? blocks[1] : nullptr};
}

} // namespace

std::optional<Gemm> as_gemm(const Program &program) {
  auto parts = match_parts(program);
  if (!parts)
    return std::nullopt;
  if (!parts->epilogue)
    return Gemm{parts->product, parts->product.result, nullptr, nullptr, false};
  return match_sum(parts->product, *parts->epilogue, parts->epilogue->body.value);
}

std::optional<GemmWithEpilogue> as_gemm_with_epilogue(const Program &program) {
  if (auto gemm = as_gemm(program))
    return GemmWithEpilogue{*gemm, nullptr, false};
  auto parts = match_parts(program);
  if (!parts || !parts->epilogue)
    return std::nullopt;
  const Block &epilogue = *parts->epilogue;
  Expr value = epilogue.body.value;
  if (const auto *narrowed = value.as<Cast>(); narrowed && is_float(narrowed->dtype))
    value = narrowed->a;
  const auto *op = value.as<Binary>();
  const bool relu = op && op->op == BinaryOp::max && is_zero(op->b);
  if (relu)
    value = op->a;
  Buffer bias;
  if (const auto *sum = value.as<Binary>(); sum && sum->op == BinaryOp::add)
    for (const auto &[one, other] : {std::pair(sum->a, sum->b), std::pair(sum->b, sum->a)})
      if (const Load *read = match_bias(one, epilogue); read && !bias) {
        bias = read->buffer;
        value = other;
      }
  auto gemm = match_sum(parts->product, epilogue, value);
  if (!gemm)
    return std::nullopt;
  return GemmWithEpilogue{*gemm, bias, relu};
}

bool is_given(const Expr &e) {
  return e.visit(Overloaded{
      [](const Load &x) { return x.buffer->role == Role::input && (!x.fill.exists() || is_given(x.fill)); },
      [](const Cast &x) { return is_given(x.a); }, [](const Binary &) { return false; },
      [](const Not &) { return false; }, [](const Select &) { return false; },
      [](const Call &) { return false; }, [](const auto &) { return true; }, // constants and variables
  });
}

double operation_count(const Program &program) {
  double reductions = 0, elements = 0;
  for (const Block *block : blocks_of(program.body)) {
    double instances = 1;
    bool reduces = false;
    for (const IterVar &iter : block->iters) {
      auto extent = as_int(iter.extent);
      internal_check(extent.has_value(), "operations are counted on constant shapes");
      instances *= static_cast<double>(*extent);
      reduces |= iter.kind == IterKind::reduction;
    }
    (reduces ? reductions : elements) += reduces ? 2 * instances : instances;
  }
  return reductions > 0 ? reductions : elements;
}

std::optional<SwitchedRead> switched_read(const Program &program) {
  for (const Block *block : blocks_of(program.body))
    for (const Load *read : loads_of(*block))
      for (const Var &scalar : program.scalars)
        if (read->buffer->role == Role::inout && !is_true(read->mask) && switches_on(read->mask, scalar))
          return SwitchedRead{read->buffer, scalar};
  return std::nullopt;
}

bool is_of_array(const std::vector<Buffer> &arrays, const Var &size) {
  auto uses_it = [&](const Expr &e) { return uses(e, size); };
  return std::ranges::any_of(arrays, [&](const Buffer &buffer) {
    return std::ranges::any_of(buffer->shape, uses_it) ||
           (buffer->strides && std::ranges::any_of(*buffer->strides, uses_it));
  });
}

std::vector<Buffer> written_params(const Program &program) {
  std::vector<Buffer> written;
  for (const Buffer &param : program.params)
    if (param->role != Role::input)
      written.push_back(param);
  return written;
}

std::vector<std::int64_t> constant_shape(const Buffer &buffer) {
  std::vector<std::int64_t> shape;
  for (const Expr &extent : buffer->shape) {
    auto value = as_int(extent);
    internal_check(value.has_value(), "a program that runs has constant shapes");
    shape.push_back(*value);
  }
  return shape;
}

} // namespace nestsmith
