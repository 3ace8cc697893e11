#include "runtime/check/ties.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace nestsmith {

namespace {

/// The bits of the mantissa after the point.
int mantissa_bits(DType type) { return type == DType::bf16 ? 7 : 10; }

/// For each buffer, its dimensions whose index contains a variable of a reduction, also through stages.
using ReducedDimensions = std::map<const BufferNode *, std::set<std::size_t>>;

bool uses_any(const Expr &index, const std::set<const Symbol *> &vars) {
  return any_node(index, [&](const Expr &e) {
    const auto *var = e.as<Var>();
    return var && vars.contains(var->get());
  });
}

ReducedDimensions reduced_dimensions(const Program &source) {
  ReducedDimensions result;
  std::vector<const Block *> blocks = blocks_of(source.body);
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    std::set<const Symbol *> vars;
    for (const IterVar &iter : (*block)->iters)
      if (iter.kind == IterKind::reduction)
        vars.insert(iter.var.get());
    const Store &store = (*block)->body;
    for (std::size_t d : result[store.buffer.get()])
      if (const auto *var = store.indices[d].as<Var>())
        vars.insert(var->get());
    for (const Load *load : loads_of(**block))
      for (std::size_t d = 0; d < load->indices.size(); ++d)
        if (load->buffer != store.buffer && uses_any(load->indices[d], vars))
          result[load->buffer.get()].insert(d);
  }
  return result;
}

/// Whether elements at this index of a reduced dimension are not 0. The answer is the same for all buffers with
/// this extent, so that both factors of a product have these terms.
bool is_chosen(std::int64_t index, std::int64_t extent, bool one_dimension) {
  if (index == 0 || index == extent - 1)
    return true;
  return one_dimension && (index == extent / 3 || index == extent / 2 + 1);
}

} // namespace

std::vector<DType> narrow_roundings(const Program &source) {
  std::vector<DType> types;
  auto note = [&](const Expr &value) {
    walk(value, [&](const Expr &e) {
      const auto *cast = e.as<Cast>();
      if (cast && is_float(cast->dtype) && is_narrow(cast->dtype) && !is_narrow(cast->a.dtype()) &&
          std::ranges::count(types, cast->dtype) == 0)
        types.push_back(cast->dtype);
    });
  };
  for (const Block *block : blocks_of(source.body)) {
    note(block->body.value);
    if (block->init)
      note(block->init->value);
  }
  return types;
}

void put_ties(Array &array, const Program &source, const Buffer &param,
              const std::function<std::uint32_t()> &word) {
  std::vector<DType> types = narrow_roundings(source);
  std::set<std::size_t> reduced = reduced_dimensions(source)[param.get()];
  const std::vector<std::int64_t> &shape = array.shape();
  for (std::int64_t n = 0; n < array.size(); ++n) {
    bool zero = false;
    std::int64_t position = n;
    for (std::size_t d = shape.size(); d-- > 0; position /= shape[d])
      zero |= reduced.contains(d) && !is_chosen(position % shape[d], shape[d], reduced.size() == 1);
    int bits = mantissa_bits(types.empty() ? DType::f16 : types[word() % types.size()]);
    // One bit more than the narrow type has, or, for each of two factors, half of these bits.
    int used = is_narrow(param->dtype) ? std::min(bits / 2 + 1, mantissa_bits(param->dtype)) : bits + 1;
    double number = 1 + std::ldexp(word() % (1U << used) | (word() & 1), -used);
    if (word() & 1)
      number = -number;
    array.set(n, Scalar::from_double(array.dtype(), zero ? 0 : number));
  }
}

} // namespace nestsmith
