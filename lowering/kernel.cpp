#include "lowering/kernel.h"

#include "dsl/expr/error.h"
#include "dsl/expr/expr_text.h"
#include "dsl/hardware/bulk_copy.h"
#include "dsl/ir/intrinsic.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith::kernel {

Stmt make_seq(std::vector<Stmt> stmts) {
  std::vector<Stmt> flat;
  for (Stmt &stmt : stmts) {
    if (!stmt)
      continue;
    if (const Seq *seq = as<Seq>(stmt))
      flat.insert(flat.end(), seq->stmts.begin(), seq->stmts.end());
    else
      flat.push_back(std::move(stmt));
  }
  if (flat.size() == 1)
    return flat.front();
  return make(Seq{std::move(flat)});
}

bool Loop::partitioned() const {
  const auto *serial = std::get_if<Serial>(&form);
  return serial && serial->partitioned;
}

Stmt map_children(const Stmt &stmt, FunctionRef<Stmt(const Stmt &)> f) {
  auto nested = [&](const auto &node) -> Stmt {
    Stmt body = f(node.body);
    if (body == node.body)
      return stmt;
    if (!body)
      return nullptr;
    auto copy = node;
    copy.body = std::move(body);
    return make(std::move(copy), stmt->origin);
  };
  return visit(stmt,
               Overloaded{[&](const Declare &) { return stmt; }, [&](const Loop &loop) { return nested(loop); },
                          [&](const If &branch) {
                            if (!branch.otherwise)
                              return nested(branch);
                            If copy = branch;
                            copy.body = f(branch.body);
                            copy.otherwise = f(branch.otherwise);
                            if (copy.body == branch.body && copy.otherwise == branch.otherwise)
                              return stmt;
                            if (!copy.body) {
                              copy.condition = logical_not(copy.condition);
                              std::swap(copy.body, copy.otherwise);
                            }
                            return copy.body ? make(std::move(copy), stmt->origin) : nullptr;
                          },
                          [&](const Seq &seq) {
                            bool changed = false;
                            std::vector<Stmt> stmts;
                            for (const Stmt &child : seq.stmts) {
                              stmts.push_back(f(child));
                              changed |= stmts.back() != child;
                            }
                            return changed ? make_seq(std::move(stmts)) : stmt;
                          },
                          [&](const Store &) { return stmt; }, [&](const Call &) { return stmt; },
                          [&](const BulkCopy &) { return stmt; }, [&](const Sync &) { return stmt; }});
}

static std::vector<Expr *> operands(BulkCopy &copy) {
  std::vector<Expr *> all;
  for (auto *list : {&copy.indices, &copy.start})
    for (Expr &e : *list)
      all.push_back(&e);
  if (copy.fill)
    all.push_back(&copy.fill->number);
  return all;
}

Stmt map_exprs(const Stmt &stmt, FunctionRef<Expr(const Expr &)> f) {
  auto with = [&](const auto &node, auto member) -> Stmt {
    Expr value = f(node.*member);
    if (value.get() == (node.*member).get())
      return stmt;
    auto copy = node;
    copy.*member = std::move(value);
    return make(std::move(copy), stmt->origin);
  };
  return visit(stmt, Overloaded{[&](const Declare &declare) { return with(declare, &Declare::value); },
                                [&](const Loop &loop) { return with(loop, &Loop::extent); },
                                [&](const If &branch) { return with(branch, &If::condition); },
                                [&](const Seq &) { return stmt; },
                                [&](const Store &store) {
                                  Store copy = store;
                                  copy.value = f(store.value);
                                  bool changed = copy.value.get() != store.value.get();
                                  for (Expr &index : copy.indices) {
                                    Expr old = index;
                                    index = f(old);
                                    changed |= index.get() != old.get();
                                  }
                                  if (store.count.exists()) {
                                    copy.count = f(store.count);
                                    changed |= copy.count.get() != store.count.get();
                                  }
                                  return changed ? make(std::move(copy), stmt->origin) : stmt;
                                },
                                [&](const Call &call) {
                                  Call copy = call;
                                  bool changed = false;
                                  for (OperandAddress &place : copy.places) {
                                    Expr old = place.offset;
                                    place.offset = f(old);
                                    changed |= place.offset.get() != old.get();
                                  }
                                  return changed ? make(std::move(copy), stmt->origin) : stmt;
                                },
                                [&](const BulkCopy &bulk) {
                                  BulkCopy copy = bulk;
                                  bool changed = false;
                                  for (Expr *operand : operands(copy)) {
                                    Expr old = *operand;
                                    *operand = f(old);
                                    changed |= operand->get() != old.get();
                                  }
                                  return changed ? make(std::move(copy), stmt->origin) : stmt;
                                },
                                [&](const Sync &sync) {
                                  Sync copy = sync;
                                  bool changed = false;
                                  for (Expr *operand : copy.uses()) {
                                    Expr old = *operand;
                                    *operand = f(old);
                                    changed |= operand->get() != old.get();
                                  }
                                  return changed ? make(std::move(copy), stmt->origin) : stmt;
                                }});
}

void walk(const Stmt &stmt, FunctionRef<void(const Stmt &)> f) {
  f(stmt);
  visit(stmt,
        Overloaded{[](const Declare &) {}, [&](const Loop &loop) { walk(loop.body, f); },
                   [&](const If &branch) {
                     walk(branch.body, f);
                     if (branch.otherwise)
                       walk(branch.otherwise, f);
                   },
                   [&](const Seq &seq) {
                     for (const Stmt &child : seq.stmts)
                       walk(child, f);
                   },
                   [](const Store &) {}, [](const Call &) {}, [](const BulkCopy &) {}, [](const Sync &) {}});
}

void each_expr(const Stmt &stmt, FunctionRef<void(const Expr &)> f) {
  visit(stmt,
        Overloaded{[&](const Declare &declare) { f(declare.value); }, [&](const Loop &loop) { f(loop.extent); },
                   [&](const If &branch) { f(branch.condition); }, [](const Seq &) {},
                   [&](const Store &store) {
                     f(store.value);
                     for (const Expr &index : store.indices)
                       f(index);
                     if (store.count.exists())
                       f(store.count);
                   },
                   [&](const Call &call) {
                     for (const OperandAddress &place : call.places)
                       f(place.offset);
                   },
                   [&](const BulkCopy &copy) {
                     for (const auto *list : {&copy.indices, &copy.start})
                       for (const Expr &e : *list)
                         f(e);
                     if (copy.fill)
                       f(copy.fill->number);
                   },
                   [&](const Sync &sync) {
                     for (const Expr *operand : sync.uses())
                       f(*operand);
                   }});
}

void walk_exprs(const Stmt &stmt, FunctionRef<void(const Expr &)> f) {
  walk(stmt, [&](const Stmt &node) { each_expr(node, [&](const Expr &e) { walk(e, f); }); });
}

Range ThreadIndex::range() const {
  auto range = range_of(extent, {});
  return {0, range ? std::min(range->high, most) - 1 : most - 1};
}

void set_range(Bounds &bounds, const ThreadIndex &index) {
  bounds.set_extent(index.var, index.extent);
  bounds.set(index.var, index.range());
}

Bounds bounds_of(const Kernel &kernel) {
  Bounds bounds;
  for (const ThreadIndex &index : kernel.indices)
    set_range(bounds, index);
  walk(kernel.body, [&](const Stmt &stmt) {
    if (const auto *loop = as<Loop>(stmt))
      bounds.set_extent(loop->var, loop->extent);
    const auto *declare = as<Declare>(stmt);
    if (auto range = declare ? range_of(declare->value, bounds) : std::nullopt)
      bounds.set(declare->var, *range);
  });
  return bounds;
}

Expr Kernel::extent_expr(Axis axis) const {
  for (const ThreadIndex &index : indices)
    if (index.axis == axis)
      return index.extent;
  return 1;
}

std::int64_t Kernel::extent(Axis axis) const {
  auto value = as_int(extent_expr(axis));
  internal_check(value.has_value(), "an extent that depends on sizes; specialise the kernel first");
  return *value;
}

/// The extents on the three axes.
template <class ExtentOf> static auto along(const std::array<Axis, 3> &axes, ExtentOf extent_of) {
  return std::array{extent_of(axes[0]), extent_of(axes[1]), extent_of(axes[2])};
}

std::array<Expr, 3> Kernel::grid_exprs() const {
  return along(block_axes, [this](Axis axis) { return extent_expr(axis); });
}

std::array<std::int64_t, 3> Kernel::grid() const {
  return along(block_axes, [this](Axis axis) { return extent(axis); });
}

std::array<std::int64_t, 3> Kernel::block() const {
  return along(thread_axes, [this](Axis axis) { return extent(axis); });
}

std::int64_t Kernel::threads() const {
  auto [x, y, z] = block();
  return x * y * z;
}

const OperandAddress &Call::result() const {
  const std::vector<Operand> &operands = intrinsic.get().operands;
  auto found = std::ranges::find(operands, intrinsic.get().meaning.body.buffer, &Operand::formal);
  return places.at(static_cast<std::size_t>(found - operands.begin()));
}

std::string to_string(const Call &call) {
  std::string list;
  for (const OperandAddress &place : call.places)
    list += fmt::format("{}{}[{}]", list.empty() ? "" : ", ", place.buffer->name,
                        nestsmith::to_string(place.offset));
  return fmt::format("{}({})", call.intrinsic.get().name, list);
}

std::string atomic_text(Reducer reducer, const std::string &element, const std::string &value) {
  if (reducer == Reducer::sum)
    return element + " + " + value;
  return fmt::format("{}({}, {})", name(reducer), element, value);
}

Buffer written_by(const Stmt &stmt) {
  if (const auto *store = as<Store>(stmt))
    return store->buffer;
  if (const auto *copy = as<BulkCopy>(stmt))
    return copy->stores() ? copy->array : copy->tile;
  if (const auto *wait = as<Wait>(stmt); wait && wait->queue == Queue::stores)
    return wait->hazards.empty() ? nullptr : wait->hazards.front().reader;
  const auto *call = as<Call>(stmt);
  return call ? call->result().buffer : nullptr;
}

void each_access(const Stmt &stmt, FunctionRef<void(const Buffer &, const Buffer &)> f) {
  const auto *call = as<Call>(stmt);
  if (call && call->intrinsic.get().asynchronous)
    return;
  const Buffer by = written_by(stmt);
  if (by)
    f(by, by);
  for (const OperandAddress &place : call ? call->places : std::vector<OperandAddress>())
    f(place.buffer, by);
  each_expr(stmt, [&](const Expr &e) {
    nestsmith::walk(e, [&](const Expr &node) {
      if (const auto *access = node.as<Load>())
        f(access->buffer, by);
    });
  });
}

std::set<Buffer> tiles_of_units(const Kernel &kernel) {
  std::set<Buffer> tiles;
  walk(kernel.body, [&](const Stmt &stmt) {
    const auto *call = as<Call>(stmt);
    for (std::size_t n = 0; call && n < call->places.size(); ++n)
      if (call->intrinsic.get().operands[n].as<InTile>())
        tiles.insert(call->places[n].buffer);
  });
  return tiles;
}

std::set<Buffer> bulk_tiles(const Kernel &kernel) {
  std::set<Buffer> tiles;
  walk(kernel.body, [&](const Stmt &stmt) {
    if (const auto *copy = as<BulkCopy>(stmt); copy && !copy->stores())
      tiles.insert(copy->tile);
  });
  return tiles;
}

std::vector<Buffer> tiles_to_cluster(const Kernel &kernel, std::size_t channel) {
  std::vector<Buffer> tiles;
  walk(kernel.body, [&](const Stmt &stmt) {
    const auto *copy = as<BulkCopy>(stmt);
    if (copy && copy->fill && copy->fill->to_cluster && copy->fill->channel == channel &&
        std::ranges::find(tiles, copy->tile) == tiles.end())
      tiles.push_back(copy->tile);
  });
  return tiles;
}

std::set<Buffer> stored_tiles(const Kernel &kernel) {
  std::set<Buffer> tiles;
  walk(kernel.body, [&](const Stmt &stmt) {
    if (const auto *copy = as<BulkCopy>(stmt); copy && copy->stores())
      tiles.insert(copy->tile);
  });
  return tiles;
}

std::int64_t TensorMap::elements() const {
  std::int64_t product = 1;
  for (std::int64_t extent : box)
    product *= extent;
  return product;
}

std::vector<Expr> TensorMap::strides() const { return strides_of(*source); }

TensorMap::Operands TensorMap::operands() const {
  Operands result{{source->shape.rbegin(), source->shape.rend()}, {}, {box.rbegin(), box.rend()}};
  const std::vector<Expr> elements = strides();
  for (std::size_t d = elements.size() - 1; d-- > 0;)
    result.strides.push_back(simplify(elements[d] * Expr(byte_size(source->dtype))));
  if (result.strides.empty())
    result.strides.emplace_back(0);
  return result;
}

std::size_t position_of(const TensorMap &map, std::vector<TensorMap> &maps) {
  const auto known = std::ranges::find(maps, map);
  const auto position = static_cast<std::size_t>(known - maps.begin());
  if (known == maps.end())
    maps.push_back(map);
  return position;
}

Expr TensorMap::place(const Expr &number) const {
  if (swizzle == 0)
    return number;
  auto constant = [&](std::int64_t n) { return int_imm(n, number.dtype()); };
  const std::int64_t piece = bulk_alignment / byte_size(source->dtype); // pieces of a row change their places
  return binary(BinaryOp::bit_xor, number,
                floormod(floordiv(number, constant(piece * 8)), constant(swizzle / bulk_alignment)) *
                    constant(piece));
}

std::optional<RolesOfSides> roles_of_sides(const If &branch) {
  if (branch.purpose.kind != Purpose::Kind::role)
    return std::nullopt;
  const auto role = static_cast<std::size_t>(branch.purpose.iterations);
  const auto *more = as<If>(branch.otherwise);
  const bool others = more && more->purpose.kind == Purpose::Kind::role;
  return RolesOfSides{role, others ? std::nullopt : std::optional(role + 1)};
}

bool Kernel::is_of_one_thread(std::size_t role) const {
  return role > 0 && std::ranges::all_of(channels, [&](const Channel &channel) {
           return channel.role != role || channel.filled == 1;
         });
}

bool Kernel::copies_to_cluster() const {
  return std::ranges::any_of(channels, [](const Channel &channel) { return channel.blocks > 1; });
}

bool Kernel::frees_in_cluster(std::size_t channel) const {
  bool frees = false;
  walk(body, [&](const Stmt &stmt) {
    const auto *signal = as<Signal>(stmt);
    frees = frees || (signal && signal->event == Event::freed && signal->channel == channel);
  });
  return frees && channels[channel].blocks > 1;
}

std::vector<Buffer> counters_of(const Kernel &kernel) {
  std::vector<Buffer> found;
  walk(kernel.body, [&](const Stmt &stmt) {
    const auto *arrive = as<Arrive>(stmt);
    if (arrive && std::ranges::find(found, arrive->counters) == found.end())
      found.push_back(arrive->counters);
  });
  return found;
}

namespace {

void set_sizes(Specialiser &specialiser, const Kernel &kernel, std::span<const std::int64_t> sizes) {
  internal_check(sizes.size() == kernel.sizes.size(), "a kernel is launched with another number of sizes");
  for (std::size_t n = 0; n < sizes.size(); ++n)
    for (const Var &var : {kernel.sizes[n].size, kernel.sizes[n].var})
      specialiser.set(var, sizes[n]);
}

Stmt specialised(Specialiser &specialiser, const Stmt &stmt) {
  Stmt result = map_exprs(stmt, [&](const Expr &e) { return specialiser(e); });
  if (const Store *store = as<Store>(result)) {
    Store copy = *store;
    copy.buffer = specialiser(store->buffer);
    return make(std::move(copy), stmt->origin);
  }
  if (const auto *bulk = as<BulkCopy>(result)) {
    BulkCopy copy = *bulk;
    copy.array = specialiser(bulk->array);
    return make(std::move(copy), stmt->origin);
  }
  if (const Sync *sync = as<Sync>(result); sync && sync->updates()) {
    Sync copy = *sync;
    copy.set_updated(specialiser(sync->updates()));
    return make(std::move(copy), stmt->origin);
  }
  return map_children(result, [&](const Stmt &child) { return specialised(specialiser, child); });
}

} // namespace

void check_assumptions(const Kernel &kernel, std::span<const std::int64_t> sizes) {
  Specialiser specialiser;
  set_sizes(specialiser, kernel, sizes);
  for (const Assumption &assumption : kernel.assumptions)
    if (!is_true(specialiser(assumption.holds)))
      throw UserError(ExitCode::usage,
                      fmt::format("{} is {}, but the kernel {} was made for sizes where it is {}",
                                  assumption.what, to_string(specialiser(assumption.got)), kernel.name,
                                  assumption.text));
}

Kernel specialise(const Kernel &kernel, std::span<const std::int64_t> sizes) {
  Specialiser specialiser;
  return specialise(kernel, sizes, specialiser);
}

Kernel specialise(const Kernel &kernel, std::span<const std::int64_t> sizes, Specialiser &specialiser) {
  check_assumptions(kernel, sizes);
  if (sizes.empty())
    return kernel;
  set_sizes(specialiser, kernel, sizes);
  Kernel result = kernel;
  result.sizes.clear();
  result.assumptions.clear();
  for (Buffer &param : result.params)
    param = specialiser(param);
  result.aligned.clear();
  for (TensorMap &map : result.maps)
    map.source = specialiser(map.source);
  for (const auto &[buffer, bytes] : kernel.aligned)
    result.aligned[specialiser(buffer)] = bytes;
  for (ThreadIndex &index : result.indices)
    index.extent = specialiser(index.extent);
  result.body = specialised(specialiser, kernel.body);
  return result;
}

std::vector<std::optional<Tenancy>> tenancies_of(const Kernel &kernel) {
  std::vector<std::optional<Tenancy>> list;
  for (const Allocation &allocation : kernel.shared)
    list.push_back(allocation.tenancy);
  return list;
}

} // namespace nestsmith::kernel
