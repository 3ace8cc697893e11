#include "lowering/unit.h"

#include <map>

namespace nestsmith::kernel {

namespace {

/// Arrays in shared memory start at multiples of 16 bytes, the widest access there is.
constexpr std::int64_t shared_alignment = 16;

Expr offset(const Buffer &buffer, const std::vector<Expr> &indices) {
  Expr result = indices.empty() ? Expr(0) : indices[0];
  for (std::size_t d = 1; d < indices.size(); ++d)
    result = result * buffer->shape[d] + indices[d];
  return result;
}

class Flattener {
public:
  void add(Allocation &allocation) {
    BufferNode flat = *allocation.buffer;
    Expr elements = 1;
    for (const Expr &extent : flat.shape)
      elements = elements * extent;
    flat.shape = {elements};
    auto node = std::make_shared<const BufferNode>(std::move(flat));
    flat_[allocation.buffer] = node;
    allocation.buffer = node;
  }

  Expr rewrite(const Expr &e) const {
    Expr result = map_children(e, [&](const Expr &child) { return rewrite(child); });
    const auto *access = result.as<Load>();
    if (!access)
      return result;
    return load(storage(access->buffer), {offset(access->buffer, access->indices)}, access->mask, access->fill);
  }

  Stmt rewrite(const Stmt &stmt) const {
    if (const auto *store = as<Store>(stmt)) {
      Store flat = *store;
      flat.indices = {offset(store->buffer, store->indices)};
      flat.indices[0] = rewrite(flat.indices[0]);
      flat.buffer = storage(store->buffer);
      flat.value = rewrite(store->value);
      return make(std::move(flat));
    }
    Stmt result = map_exprs(stmt, [&](const Expr &e) { return rewrite(e); });
    return map_children(result, [&](const Stmt &child) { return rewrite(child); });
  }

private:
  Buffer storage(const Buffer &buffer) const {
    auto it = flat_.find(buffer);
    return it == flat_.end() ? buffer : it->second;
  }
  std::map<Buffer, Buffer> flat_;
};

} // namespace

void flatten(Unit &unit) {
  Kernel &kernel = unit.kernel;
  Flattener flattener;
  for (Allocation &allocation : kernel.local)
    flattener.add(allocation);
  for (Allocation &allocation : kernel.shared) {
    flattener.add(allocation);
    std::int64_t bytes = *as_int(allocation.buffer->shape[0]) * byte_size(allocation.buffer->dtype);
    allocation.byte_offset = (kernel.shared_bytes + shared_alignment - 1) / shared_alignment * shared_alignment;
    kernel.shared_bytes = allocation.byte_offset + bytes;
  }
  kernel.body = flattener.rewrite(kernel.body);
}

} // namespace nestsmith::kernel
