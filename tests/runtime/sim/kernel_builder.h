#pragma once
/// Builds kernels by hand, for the tests and benchmarks of the simulator.

#include "dsl/ir/intrinsic.h"
#include "lowering/notes.h"
#include "runtime/sim/simulate.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace nestsmith::sim {

class KernelBuilder {
public:
  explicit KernelBuilder(std::string name, DType index = DType::i32) : index_(index) {
    kernel_.name = std::move(name);
    open_.emplace_back();
  }

  Buffer param(std::string name, std::int64_t elements, Role role = Role::input, DType dtype = DType::f32) {
    kernel_.params.push_back(buffer(std::move(name), elements, Scope::global, role, dtype));
    return kernel_.params.back();
  }
  Buffer shared(std::string name, std::int64_t elements, DType dtype = DType::f32) {
    Buffer made = buffer(std::move(name), elements, Scope::shared, Role::temporary, dtype);
    kernel_.shared.push_back({made, kernel_.shared_bytes});
    kernel_.shared_bytes += (elements * byte_size(dtype) + 15) / 16 * 16;
    return made;
  }
  Buffer local(std::string name, std::int64_t elements, DType dtype = DType::f32) {
    Buffer made = buffer(std::move(name), elements, Scope::local, Role::temporary, dtype);
    kernel_.local.push_back({made});
    return made;
  }
  Expr scalar(std::string name, DType dtype) {
    kernel_.scalars.push_back(make_var(std::move(name), dtype));
    return kernel_.scalars.back();
  }
  Expr axis(Axis axis, std::string name, std::int64_t extent) {
    kernel_.indices.push_back({axis, make_var(std::move(name), index_), extent});
    return kernel_.indices.back().var;
  }

  void store(const Buffer &to, Expr index, Expr value) {
    add(kernel::make(kernel::Store{to, {std::move(index)}, std::move(value)}));
  }
  void update(const Buffer &to, Expr index, Reducer reducer, Expr term) {
    kernel::Store store{to, {std::move(index)}, std::move(term)};
    store.atomic = reducer;
    add(kernel::make(std::move(store)));
  }
  Expr let(std::string name, Expr value) {
    Var var = make_var(std::move(name), value.dtype());
    add(kernel::make(kernel::Declare{var, std::move(value)}));
    return var;
  }
  static Expr vector_at(const Buffer &buffer, Expr index, int lanes) {
    return nestsmith::load(buffer, {std::move(index)}, {}, {}, lanes);
  }
  Var let_vector(std::string name, Expr value) {
    Var var = make_var(std::move(name), value.dtype(), value.lanes());
    add(kernel::make(kernel::Declare{var, std::move(value)}));
    return var;
  }
  void store_vector(const Buffer &to, Expr index, Expr value) {
    int lanes = value.lanes();
    add(kernel::make(kernel::Store{to, {std::move(index)}, std::move(value), lanes}));
  }
  void loop(std::string name, Expr extent, const std::function<void(Expr)> &body, kernel::LoopForm form = {}) {
    Var var = make_var(std::move(name), index_);
    kernel::Stmt inner = nested([&] { body(var); });
    if (auto constant = as_int(extent))
      extent = int_imm(*constant, index_);
    add(kernel::make(kernel::Loop{var, std::move(extent), form, inner}));
  }
  void when(Expr condition, const std::function<void()> &body, const std::function<void()> &otherwise = {}) {
    kernel::Stmt inner = nested(body), other = otherwise ? nested(otherwise) : nullptr;
    add(kernel::make(kernel::If{std::move(condition), inner, other}));
  }
  void copy_async(const Buffer &to, Expr index, Expr value) {
    int lanes = value.lanes();
    add(kernel::make(kernel::Store{to, {std::move(index)}, std::move(value), lanes, true}));
  }
  void commit() { add(kernel::make(kernel::Commit{})); }
  void wait(std::int64_t pending) { add(kernel::make(kernel::Wait{pending})); }
  void sync_block(std::vector<kernel::Hazard> hazards = {}) {
    add(kernel::make(kernel::Barrier{kernel::SyncScope::block, std::move(hazards)}));
  }
  void sync_warp() { add(kernel::make(kernel::Barrier{kernel::SyncScope::warp})); }
  /// Any other synchronisation.
  template <kernel::SyncKind Sync> void sync(Sync made) { add(kernel::make(std::move(made))); }
  void bulk(kernel::BulkCopy copy) { add(kernel::make(std::move(copy))); }

  /// Warps from `first` on have a role of their own. A tile has the multiple of bytes at which boxes start.
  void roles(std::vector<std::int64_t> first, std::int64_t warps) {
    for (std::size_t n = 0; n < first.size(); ++n)
      kernel_.roles.push_back({first[n], (n + 1 < first.size() ? first[n + 1] : warps) - first[n]});
  }
  /// The body of each role, in the order of `roles`; `t` is the index of the thread.
  void each_role(const Expr &t, const std::vector<std::function<void()>> &bodies, std::size_t role = 0) {
    if (role + 1 == bodies.size())
      return bodies[role]();
    kernel::Stmt own = nested(bodies[role]), others = nested([&] { each_role(t, bodies, role + 1); });
    const std::int64_t next = kernel_.roles[role + 1].first_warp;
    add(kernel::make(kernel::If{floordiv(t, int_imm(32, index_)) < int_imm(next, index_),
                                own,
                                others,
                                {kernel::Purpose::Kind::role, {}, static_cast<std::int64_t>(role)}}));
  }
  std::size_t channel(kernel::Channel made) {
    made.byte_offset = (kernel_.shared_bytes + 7) / 8 * 8;
    kernel_.shared_bytes = made.byte_offset + made.bytes();
    kernel_.channels.push_back(std::move(made));
    return kernel_.channels.size() - 1;
  }
  /// A tensor map of boxes of this number of elements of an array of one dimension.
  std::size_t map(const Buffer &array, std::int64_t box) {
    kernel_.maps.push_back({array, {box}});
    return kernel_.maps.size() - 1;
  }
  /// `awaited`: as `Kernel::awaited`.
  void launch_early(std::vector<Buffer> awaited = {}) {
    kernel_.launches_early = true;
    kernel_.awaited = std::move(awaited);
  }

  void call(const Intrinsic &intrinsic, std::vector<kernel::OperandAddress> places) {
    for (std::size_t n = 0; n < places.size(); ++n)
      for (auto *list : {&kernel_.shared, &kernel_.local})
        for (kernel::Allocation &allocation : *list)
          if (allocation.buffer == places[n].buffer)
            allocation.alignment = std::max(allocation.alignment, intrinsic.operands[n].alignment);
    add(kernel::make(kernel::Call{intrinsic, std::move(places)}));
  }

  /// Adds statements that only the last block to arrive at the counter executes. Returns the variable that is
  /// true in that block.
  Var last_block(kernel::Arrive arrive, const std::function<void()> &body) {
    arrive.last = make_var("last", DType::boolean);
    add(kernel::make(arrive));
    when(arrive.last, body);
    return arrive.last;
  }

  kernel::Kernel build() {
    kernel_.body = kernel::make(kernel::Seq{std::move(open_.back())});
    return std::move(kernel_);
  }

private:
  Buffer buffer(std::string name, std::int64_t elements, Scope scope, Role role, DType dtype) {
    return std::make_shared<const BufferNode>(
        BufferNode{std::move(name), dtype, {Expr(elements)}, scope, role});
  }
  void add(kernel::Stmt stmt) { open_.back().push_back(std::move(stmt)); }
  kernel::Stmt nested(const std::function<void()> &body) {
    open_.emplace_back();
    body();
    kernel::Stmt inner = kernel::make(kernel::Seq{std::move(open_.back())});
    open_.pop_back();
    return inner;
  }

  DType index_;
  kernel::Kernel kernel_;
  std::vector<std::vector<kernel::Stmt>> open_;
};

/// "write after read of Bs, read by acc, in k_outer + 1"; with the array of the earlier access, if it is
/// another.
inline std::string shown(const std::optional<kernel::Hazard> &hazard) {
  if (!hazard)
    return "none";
  std::string text = std::string(name(hazard->kind)) + " of " + hazard->buffer->name;
  if (hazard->reader)
    text += ", read by " + hazard->reader->name;
  if (hazard->loop)
    text += ", in " + hazard->loop->name + " + " + std::to_string(hazard->distance);
  return hazard->tenant ? text + ", after " + hazard->tenant->name : text;
}

/// buffer[index], with less to write.
inline Expr at(const Buffer &buffer, Expr index) { return load(buffer, {std::move(index)}); }

/// Runs a kernel with all parameters set to zero.
inline Result run_zeroed(const kernel::Kernel &kernel, const Options &options = {}) {
  std::vector<Array> arrays;
  for (const Buffer &buffer : kernel.params)
    arrays.emplace_back(buffer->dtype, std::vector<std::int64_t>{*as_int(buffer->shape[0])});
  std::vector<Argument> arguments;
  for (Array &array : arrays)
    arguments.push_back({&array});
  return run(kernel, arguments, {}, options);
}

} // namespace nestsmith::sim
