#include "runtime/check/runnable.h"

#include "dsl/expr/error.h"
#include "dsl/hardware/fragment.h"
#include "dsl/ir/allocation.h"
#include "dsl/ir/intrinsic.h"
#include "lowering/share_values.h"
#include "lowering/split_tuples.h"
#include "lowering/uniform.h"

#include <span>

namespace nestsmith {

namespace kernel {

namespace {

/// A barrier after every store that touches what threads may share: of the block, or of a role.
class Lockstep {
public:
  explicit Lockstep(const Kernel &kernel) : uniform_(kernel) {}

  Stmt rewrite(const Stmt &stmt) {
    return visit(stmt,
                 Overloaded{
                     [&](const Declare &x) {
                       uniform_.declare(x);
                       return stmt;
                     },
                     [&](const Loop &x) {
                       bool lanes = x.over_lanes();
                       return lanes ? followed(stmt) : map_children(stmt, into());
                     },
                     [&](const If &x) {
                       if (const auto roles = roles_of_sides(x))
                         return in_roles(stmt, x, *roles);
                       return uniform_.uniform(x.condition) ? map_children(stmt, into()) : followed(stmt);
                     },
                     [&](const Seq &) { return map_children(stmt, into()); },
                     [&](const Store &) { return followed(stmt); },
                     [&](const Call &) { return stmt; }, // a kernel of the form `threads` has none
                     [&](const BulkCopy &) { return stmt; },
                     [&](const Sync &x) { return x.completes(Queue::copies) ? barrier_after(stmt) : stmt; },
                 });
  }

private:
  std::function<Stmt(const Stmt &)> into() {
    return [this](const Stmt &child) { return rewrite(child); };
  }

  static bool shares(const Stmt &stmt) {
    bool found = false;
    kernel::walk(stmt, [&](const Stmt &node) {
      const auto *store = as<Store>(node);
      found = found || (store && store->buffer->scope != Scope::local);
    });
    walk_exprs(stmt, [&](const Expr &e) {
      const auto *access = e.as<Load>();
      found = found || (access && access->buffer->scope != Scope::local);
    });
    return found;
  }

  /// The sides of the branch, with barriers of the roles that they are for.
  Stmt in_roles(const Stmt &stmt, const If &x, const RolesOfSides &roles) {
    const Barrier outside = between_;
    If copy = x;
    between_ = {SyncScope::role, {}, roles.body};
    copy.body = rewrite(x.body);
    if (roles.otherwise)
      between_.role = *roles.otherwise;
    copy.otherwise = rewrite(x.otherwise);
    between_ = outside;
    return make(std::move(copy), stmt->origin);
  }

  Stmt barrier_after(const Stmt &stmt) const { return make_seq({stmt, make(between_)}); }
  Stmt followed(const Stmt &stmt) const { return shares(stmt) ? barrier_after(stmt) : stmt; }

  UniformValues uniform_;
  Barrier between_ = {};
};

/// Fragments in shared memory, with one copy for each warp. Before the pass `flatten`, an access of a fragment
/// has no lane, so the first lane of a warp executes a call for all of them. If several lanes hold copies of an
/// element, the first of these lanes stores it for all of them.
class SharedFragments {
public:
  explicit SharedFragments(Kernel &kernel) : kernel_(kernel) {
    for (const ThreadIndex &index : kernel.indices)
      if (index.axis == Axis::thread_x)
        thread_ = index.var;
    std::erase_if(kernel.local, [&](const Allocation &allocation) { return move(allocation); });
    if (!moved_.empty())
      kernel.body = rewrite(kernel.body);
  }

private:
  bool move(const Allocation &allocation) {
    if (allocation.buffer->scope != Scope::warp)
      return false;
    BufferNode copy = *allocation.buffer;
    copy.scope = Scope::shared;
    copy.layout = nullptr;
    const bool has_slots = allocation.slots > 1; // the first dimension, which the layout does not have
    std::vector<std::int64_t> box;
    for (const Expr &extent : std::span(copy.shape).subspan(has_slots ? 1 : 0))
      box.push_back(as_int(extent).value());
    FragmentLayout layout(*allocation.buffer, box);
    if (layout.replicas() > 1)
      replicated_.emplace(allocation.buffer, Replicated{std::move(layout), has_slots});
    copy.shape.insert(copy.shape.begin(), Expr(ceildiv(kernel_.extent(Axis::thread_x), lanes_per_warp)));
    copy.serial = {};
    kernel_.shared.push_back({std::make_shared<const BufferNode>(std::move(copy))});
    moved_[allocation.buffer] = kernel_.shared.back().buffer;
    return true;
  }

  std::vector<Expr> in_copy(std::vector<Expr> indices) const {
    indices.insert(indices.begin(), thread_ / lanes_per_warp);
    return indices;
  }
  Expr rewrite(const Expr &e) const {
    return rebuild(e, [&](const Expr &node) {
      const auto *access = node.as<Load>();
      auto found = access ? moved_.find(access->buffer) : moved_.end();
      return found == moved_.end() ? node
                                   : load(found->second, in_copy(access->indices), access->mask, access->fill);
    });
  }
  Stmt rewrite(const Stmt &stmt, bool in_call = false) const {
    const auto *loop = as<Loop>(stmt);
    const auto *form = loop ? std::get_if<Tensorized>(&loop->form) : nullptr;
    bool calls = form && form->intrinsic.get().group == Group::warp;
    Stmt result = map_exprs(stmt, [&](const Expr &e) { return rewrite(e); });
    result = map_children(result, [&](const Stmt &child) { return rewrite(child, in_call || calls); });
    if (const auto *store = as<Store>(result); store && moved_.contains(store->buffer)) {
      Store copy = *store;
      copy.indices = in_copy(store->indices);
      copy.buffer = moved_.at(store->buffer);
      auto layout = replicated_.find(store->buffer);
      if (in_call || layout == replicated_.end())
        return make(std::move(copy));
      const std::vector<Expr> element(store->indices.begin() + layout->second.has_slots, store->indices.end());
      return by_lane(layout->second.layout.lane(element, 0), make(std::move(copy)));
    }
    return calls ? by_lane(0, result) : result;
  }
  /// One lane of each warp executes the statement, between barriers of the warp.
  Stmt by_lane(const Expr &lane, const Stmt &stmt) const {
    Stmt fence = make(Barrier{SyncScope::warp});
    return make_seq({fence, make(If{equal(thread_ % lanes_per_warp, lane), stmt}), fence});
  }

  Kernel &kernel_;
  Expr thread_;
  std::map<Buffer, Buffer> moved_;
  struct Replicated {
    FragmentLayout layout;
    bool has_slots;
  };
  std::map<Buffer, Replicated> replicated_;
};

/// Copies each row of a box by itself. Before `flatten`, the layout of a tile is not applied, so that only the
/// elements of a row lie one after the other.
Stmt in_rows(Kernel &kernel, const Stmt &stmt) {
  const auto *bulk = as<BulkCopy>(stmt);
  if (!bulk)
    return map_children(stmt, [&](const Stmt &child) { return in_rows(kernel, child); });
  const TensorMap whole = kernel.maps[bulk->map];
  const std::size_t rank = whole.box.size(),
                    first = bulk->indices.size() - rank; // after the slot, if there is one
  TensorMap row{whole.source, std::vector<std::int64_t>(rank, 1)};
  row.box.back() = whole.box.back();
  BulkCopy copy = *bulk;
  copy.map = kernel.maps.size();
  kernel.maps.push_back(std::move(row));
  std::vector<Loop> loops;
  for (std::size_t d = 0; d + 1 < rank; ++d) {
    loops.push_back({make_var("row"), Expr(whole.box[d]), Serial{}, nullptr});
    copy.start[d] = copy.start[d] + Expr(loops.back().var);
    copy.indices[first + d] = copy.indices[first + d] + Expr(loops.back().var);
  }
  Stmt made = make(std::move(copy));
  for (; !loops.empty(); loops.pop_back()) {
    loops.back().body = made;
    made = make(loops.back());
  }
  return made;
}

Expr row_major(const Buffer &buffer, const std::vector<Expr> &indices) {
  std::vector<Expr> strides = strides_of(*buffer);
  Expr offset = 0;
  for (std::size_t d = 0; d < indices.size(); ++d)
    offset = offset + indices[d] * strides[d];
  return offset;
}

Expr with_offsets(const Expr &e) {
  return rebuild(e, [](const Expr &node) {
    const auto *access = node.as<Load>();
    return access
               ? load(access->buffer, {row_major(access->buffer, access->indices)}, access->mask, access->fill)
               : node;
  });
}

Stmt with_offsets(const Stmt &stmt) {
  Stmt result = map_children(stmt, [](const Stmt &child) { return with_offsets(child); });
  result = map_exprs(result, [](const Expr &e) { return with_offsets(e); });
  if (const auto *bulk = as<BulkCopy>(result)) {
    BulkCopy flat = *bulk;
    flat.indices = {row_major(bulk->tile, bulk->indices)};
    return make(std::move(flat));
  }
  const auto *store = as<Store>(result);
  if (!store)
    return result;
  Store flat = *store;
  flat.indices = {row_major(store->buffer, store->indices)};
  return make(std::move(flat));
}

/// One shared buffer after the other.
void place_shared(Kernel &kernel) {
  kernel.shared_bytes = 0;
  for (Allocation &allocation : kernel.shared) {
    allocation.byte_offset = (kernel.shared_bytes + shared_alignment - 1) / shared_alignment * shared_alignment;
    std::int64_t elements = as_int(span_of(*allocation.buffer)).value();
    kernel.shared_bytes = allocation.byte_offset + elements * byte_size(allocation.buffer->dtype);
  }
}

} // namespace

} // namespace kernel

kernel::Kernel runnable(const kernel::Kernel &given, Form form) {
  internal_check(form != Form::program, "a program is run as a kernel");
  kernel::Kernel result = given;
  if (form != Form::flat)
    kernel::SharedFragments{result};
  if (form == Form::threads && given.threads() > 1)
    result.body = kernel::Lockstep(result).rewrite(result.body);
  if (form != Form::flat) {
    result.body = kernel::in_rows(result, result.body);
    result.body = kernel::with_offsets(result.body);
    kernel::place_shared(result);
    kernel::split_tuples(result);
  }
  result.body = kernel::share_values(result.body);
  return result;
}

} // namespace nestsmith
