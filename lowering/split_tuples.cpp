#include "lowering/split_tuples.h"

#include "lowering/share_values.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace nestsmith::kernel {

namespace {

bool has_tuples(const Kernel &kernel) {
  auto of_tuples = [](const Allocation &allocation) { return is_tuple(allocation.buffer->dtype); };
  return std::ranges::any_of(kernel.shared, of_tuples) || std::ranges::any_of(kernel.local, of_tuples) ||
         std::ranges::any_of(kernel.params, [](const Buffer &param) { return is_tuple(param->dtype); });
}

Expr split(const Expr &e) {
  return replace_nodes(e, [](const Expr &node) -> Expr {
    const auto *selected = node.as<Part>();
    const auto *access = selected ? selected->a.as<Load>() : nullptr;
    if (!access)
      return {};
    auto n = static_cast<std::size_t>(selected->index);
    std::vector<Expr> indices;
    for (const Expr &index : access->indices)
      indices.push_back(split(index));
    bool masked = access->mask.exists();
    return load(part_buffers(*access->buffer)[n], std::move(indices), masked ? split(access->mask) : Expr(),
                masked ? split(part(access->fill, n)) : Expr());
  });
}

bool reads(const Expr &e, const Buffer &buffer) {
  return any_node(e, [&](const Expr &node) {
    const auto *access = node.as<Load>();
    return access && access->buffer == buffer;
  });
}

/// The stores of the parts, after the declarations of what their values share. If the values of two or more
/// parts read each other, they are declared, too, before the first of them is stored.
Stmt split(const Store &store, const Origin &origin) {
  std::vector<Expr> values, indices;
  for (const Expr &value : parts_of(without_reducer_calls(store.value)))
    values.push_back(split(value));
  for (const Expr &index : store.indices)
    indices.push_back(split(index));
  SharedValues shared = share_values_of_parts(values);
  std::vector<Stmt> stmts, last;
  for (const Declare &declare : shared.declares)
    stmts.push_back(make(declare, origin));
  const std::vector<Buffer> &buffers = part_buffers(*store.buffer);
  std::vector<std::size_t> read_by_others;
  for (std::size_t n = 0; n < values.size(); ++n) {
    bool is_read = false;
    for (std::size_t other = 0; other < values.size(); ++other)
      is_read = is_read || (other != n && reads(shared.exprs[other], buffers[n]));
    if (is_read)
      read_by_others.push_back(n);
    else
      stmts.push_back(make(Store{buffers[n], indices, shared.exprs[n]}, origin));
  }
  for (std::size_t n : read_by_others) {
    Expr value = shared.exprs[n];
    if (read_by_others.size() > 1) {
      Var var = make_data(parts_of(store.buffer->dtype)[n].name, value.dtype());
      stmts.push_back(make(Declare{var, value}, origin));
      value = var;
    }
    last.push_back(make(Store{buffers[n], indices, value}, origin));
  }
  std::ranges::copy(last, std::back_inserter(stmts));
  return make_seq(std::move(stmts));
}

Stmt split(const Stmt &stmt) {
  if (const auto *store = as<Store>(stmt); store && is_tuple(store->buffer->dtype))
    return split(*store, stmt->origin);
  Stmt result = map_exprs(stmt, [](const Expr &e) { return split(e); });
  return map_children(result, [](const Stmt &child) { return split(child); });
}

/// The allocations of the parts. In the memory of the array, wide parts come first, so that each is aligned.
std::vector<Allocation> split(const Allocation &allocation) {
  const std::vector<Buffer> &buffers = part_buffers(*allocation.buffer);
  std::vector<std::size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::size_t n) { return byte_size(buffers[n]->dtype); });
  std::vector<Allocation> parts;
  std::int64_t at = allocation.byte_offset;
  for (std::size_t n : order) {
    Allocation &part = parts.emplace_back(allocation);
    part.buffer = buffers[n];
    if (allocation.buffer->scope != Scope::shared)
      continue;
    part.byte_offset = at;
    at += as_int(span_of(*part.buffer)).value() * byte_size(part.buffer->dtype);
  }
  return parts;
}

/// Arrays of tuples are hosts of no other array, and no tenants.
void split(std::vector<Allocation> &allocations) {
  std::vector<Allocation> result;
  std::vector<std::size_t> numbers; // of the arrays in the result
  for (const Allocation &allocation : allocations) {
    numbers.push_back(result.size());
    if (is_tuple(allocation.buffer->dtype))
      std::ranges::copy(split(allocation), std::back_inserter(result));
    else
      result.push_back(allocation);
  }
  for (Allocation &allocation : result)
    if (allocation.tenancy)
      allocation.tenancy->host = numbers[allocation.tenancy->host];
  allocations = std::move(result);
}

std::set<Buffer> used_buffers(const Kernel &kernel) {
  std::set<Buffer> used;
  walk(kernel.body, [&](const Stmt &stmt) {
    if (Buffer written = written_by(stmt))
      used.insert(written);
  });
  walk_exprs(kernel.body, [&](const Expr &e) {
    if (const auto *access = e.as<Load>())
      used.insert(access->buffer);
  });
  return used;
}

} // namespace

void split_tuples(Kernel &kernel) {
  if (!has_tuples(kernel))
    return;
  kernel.body = split(kernel.body);
  split(kernel.shared);
  split(kernel.local);
  std::vector<Buffer> params;
  std::set<Buffer> used = used_buffers(kernel);
  for (const Buffer &param : kernel.params)
    if (is_tuple(param->dtype))
      std::ranges::copy_if(part_buffers(*param), std::back_inserter(params),
                           [&](const Buffer &part) { return used.contains(part); });
    else
      params.push_back(param);
  kernel.params = std::move(params);
}

} // namespace nestsmith::kernel
