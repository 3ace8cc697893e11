#include "lowering/verify_kernel.h"

#include "lowering/hazards.h"

#include "dsl/hardware/async_copy.h"
#include "dsl/hardware/bulk_copy.h"
#include "dsl/hardware/intrinsics.h"
#include "dsl/hardware/vector_access.h"
#include "dsl/ir/atomics.h"
#include "dsl/ir/printer.h"
#include "lowering/arena.h"
#include "lowering/uniform.h"
#include "lowering/value_ranges.h"

#include <algorithm>
#include <fmt/format.h>
#include <llvm/ADT/DenseSet.h>
#include <map>
#include <set>

namespace nestsmith::kernel {

namespace {

bool is_integer(DType dtype) { return !is_float(dtype) && dtype != DType::boolean; }

/// The threads between which the guards around a statement may differ.
enum class Divergence : std::uint8_t { none, warps, lanes };

class Verifier {
public:
  Verifier(const Kernel &kernel, bool finished)
      : finished_(finished), kernel_(kernel), uniform_(kernel), uniform_in_warp_(kernel, SyncScope::warp),
        values_(kernel) {
    for (const SizeParameter &size : kernel.sizes)
      visible_.insert(size.var.get());
    for (const ThreadIndex &index : kernel.indices)
      define(index.var);
    for (const Var &scalar : kernel.scalars)
      visible_.insert(scalar.get());
    buffers_.insert(kernel.params.begin(), kernel.params.end());
    for (const auto *list : {&kernel.shared, &kernel.local})
      for (const Allocation &allocation : *list)
        buffers_.insert(allocation.buffer);
    check(kernel.body, Divergence::none);
    if (finished)
      check_memory(kernel);
    if (finished && kernel.launches_early && kernel.awaited.empty())
      check_early_launch();
    if (bool awaits = false; finished && !kernel.awaited.empty() && !follow_awaits(kernel.body, awaits))
      fail("the kernel accesses {} without an await of the kernel before, which accesses it, too",
           kernel.awaited.front()->name);
    if (finished)
      check_end_of_cluster();
  }
  std::optional<std::string> breach;

private:
  template <class... Args> void fail(fmt::format_string<Args...> format, Args &&...args) {
    if (!breach)
      breach = fmt::format(format, std::forward<Args>(args)...);
  }

  /// Whether each access to `Kernel::awaited` follows an await of the kernel before in the branch, or in the
  /// iteration, of the access. `awaits` says whether an await precedes the statement.
  bool follow_awaits(const Stmt &stmt, bool &awaits) const {
    if (as<AwaitKernel>(stmt)) {
      awaits = true;
      return true;
    }
    if (awaits || !uses_any(stmt, kernel_.awaited))
      return true;
    auto inside = [&](const Stmt &part, bool before) { return follow_awaits(part, before); };
    return visit(stmt, Overloaded{[&](const Seq &seq) {
                                    return std::ranges::all_of(seq.stmts, [&](const Stmt &child) {
                                      return follow_awaits(child, awaits);
                                    });
                                  },
                                  [&](const Loop &loop) { return inside(loop.body, awaits); },
                                  [&](const If &branch) {
                                    return inside(branch.body, awaits) &&
                                           (!branch.otherwise || inside(branch.otherwise, awaits));
                                  },
                                  [](const auto &) { return false; }});
  }

  /// Only declarations that read no memory stand before the await of the kernel before.
  void check_early_launch() {
    const auto *seq = as<Seq>(kernel_.body);
    for (const Stmt &stmt : seq ? seq->stmts : std::vector{kernel_.body}) {
      if (as<AwaitKernel>(stmt))
        return;
      bool reads = false;
      walk_exprs(stmt, [&](const Expr &e) { reads = reads || e.as<Load>(); });
      if (!as<Declare>(stmt) || reads)
        break;
    }
    fail("the kernel may start early, but does not first await the kernel before");
  }

  /// No block may end while others of its cluster arrive at its events.
  void check_end_of_cluster() {
    bool frees = false;
    for (std::size_t n = 0; n < kernel_.channels.size(); ++n)
      frees = frees || kernel_.frees_in_cluster(n);
    if (!frees)
      return;
    const auto *seq = as<Seq>(kernel_.body);
    const auto *last = seq && !seq->stmts.empty() ? as<Barrier>(seq->stmts.back()) : nullptr;
    if (!last || last->scope != SyncScope::cluster)
      fail("blocks of a cluster free slots of each other, but no barrier of the cluster ends the kernel");
  }

  void define(const Var &var) {
    if (visible_.insert(var.get()).second)
      declared_.push_back(var.get());
    else
      fail("{} is declared twice", var->name);
  }

  /// Declarations in `check_inside` are not visible after it.
  template <class F> void scoped(const F &check_inside) {
    std::size_t outside = declared_.size();
    check_inside();
    for (; declared_.size() > outside; declared_.pop_back())
      visible_.erase(declared_.back());
  }

  void check(const Expr &e) {
    walk(e, [&](const Expr &node) {
      if (node.as<IntImm>() || node.as<FloatImm>())
        return;
      if (const Var *var = node.as<Var>()) {
        if (!visible_.contains(var->get()))
          fail("{} is used where it is not visible", (*var)->name);
        return;
      }
      if (const auto *access = node.as<Load>(); access && !buffers_.count(access->buffer))
        fail("{} is read but not allocated", access->buffer->name);
      if (const auto *choice = node.as<Select>(); finished_ && choice && choice->branches)
        fail("{} is left in an expression", to_string(node));
      check_vectors(node);
      if (finished_)
        check_data(node);
      if (const auto *access = node.as<Load>())
        for (const Expr &index : access->indices)
          check_width(index);
      if (finished_ && values_.is_other_in_cpp(node))
        fail("{} has operands that may be negative{}", to_string(node),
             node.as<Binary>() && is_shift(node.as<Binary>()->op) ? ", or shifts by the width or more" : "");
    });
  }

  /// Checks that a 32-bit index is computed from values that fit. Data are exempt.
  void check_width(const Expr &e) {
    if (!finished_)
      return;
    walk(e, [&](const Expr &node) {
      if (values_.may_exceed_i32(node))
        fail("{} may not fit in 32 bits", to_string(node));
    });
  }

  /// Checks that C++ defines an operation for all data (lowering/data_arithmetic.h). Floor divisions of signed
  /// integers have their own check.
  void check_data(const Expr &node) {
    if (const auto *to = node.as<Cast>();
        to && is_float(to->a.dtype()) && is_integer(to->dtype) && values_.is_data(node))
      fail("{} converts data that may be out of range", to_string(node));
    const auto *op = node.as<Binary>();
    if (!op || is_float(node.dtype()))
      return;
    bool divides = op->op == BinaryOp::floordiv || op->op == BinaryOp::floormod;
    if (divides && !is_index(node.dtype()) && as_int(op->b).value_or(0) == 0)
      fail("{} has a divisor that may be 0", to_string(node));
    if (values_.may_overflow(node))
      fail("{} is signed arithmetic on data that may overflow", to_string(node));
  }

  /// Checks that tiles do not overlap in the arena unless one lies in the memory of another, and that
  /// alignments suffice for the vector accesses.
  void check_memory(const Kernel &kernel) {
    std::map<std::int64_t, const Allocation *> placed; // that are in no other array, by their first byte
    for (const Allocation &tile : kernel.shared) {
      std::int64_t own_end = tile.byte_offset + bytes_of(tile);
      if (tile.tenancy) {
        check_tenancy(kernel, tile);
      } else {
        const auto after = placed.lower_bound(tile.byte_offset);
        const Allocation *before = after == placed.begin() ? nullptr : std::prev(after)->second;
        if ((before && before->byte_offset + bytes_of(*before) > tile.byte_offset) ||
            (after != placed.end() && after->first < own_end))
          fail("{} starts at byte {} of shared memory, where another array lies", tile.buffer->name,
               tile.byte_offset);
        placed.emplace(tile.byte_offset, &tile);
      }
      if (own_end > kernel.shared_bytes)
        fail("{} ends at byte {} of shared memory, which has {}", tile.buffer->name, own_end,
             kernel.shared_bytes);
      check_alignment(tile.buffer, tile.alignment);
      if (tile.alignment > 0 && tile.byte_offset % tile.alignment != 0)
        fail("{} starts at byte {} of shared memory, expected a multiple of {}", tile.buffer->name,
             tile.byte_offset, tile.alignment);
    }
    check_lifetimes(kernel);
    for (const Allocation &array : kernel.local)
      check_alignment(array.buffer, array.alignment);
    for (const Buffer &param : kernel.params) {
      auto stated = kernel.aligned.find(param);
      check_alignment(param, stated == kernel.aligned.end() ? 0 : stated->second);
    }
  }

  void check_tenancy(const Kernel &kernel, const Allocation &tile) {
    const Tenancy &tenancy = *tile.tenancy;
    if (tenancy.host >= kernel.shared.size() || kernel.shared[tenancy.host].tenancy)
      return fail("{} lies in the memory of an array that has none of its own", tile.buffer->name);
    const Allocation &host = kernel.shared[tenancy.host];
    if (tenancy.at < 0 || tenancy.bytes != bytes_of(tile) || tenancy.at + tenancy.bytes > bytes_of(host) ||
        tile.byte_offset != host.byte_offset + tenancy.at)
      fail("{} starts at byte {} of shared memory and has {} bytes, expected bytes {} to {} of {}",
           tile.buffer->name, tile.byte_offset, bytes_of(tile), tenancy.at, tenancy.at + tenancy.bytes,
           host.buffer->name);
  }

  /// Checks that no array is read after another one with the same bytes was written, and before it is written
  /// again. The order of statements decides: barriers, guards and the elements do not count here.
  void check_lifetimes(const Kernel &kernel) {
    for (const Allocation &a : kernel.shared)
      for (const Allocation &b : kernel.shared)
        if (a.buffer != b.buffer && a.byte_offset < b.byte_offset + bytes_of(b) &&
            b.byte_offset < a.byte_offset + bytes_of(a))
          overlapping_[a.buffer].push_back(b.buffer);
    if (!overlapping_.empty())
      check_lifetimes(kernel.body);
  }

  void check_lifetimes(const Stmt &stmt) {
    if (const auto *call = as<Call>(stmt))
      for (const OperandAddress &place : call->places)
        if (&place != &call->result()) // it writes rows, or registers, which share no memory
          check_alive(place.buffer);
    if (const auto *copy = as<BulkCopy>(stmt); copy && copy->stores())
      check_alive(copy->tile);
    each_expr(stmt, [&](const Expr &e) {
      walk(e, [&](const Expr &node) {
        if (const auto *access = node.as<Load>())
          check_alive(access->buffer);
      });
    });
    if (const auto *branch = as<If>(stmt); branch && branch->otherwise) {
      std::map<Buffer, Buffer> before = overwritten_;
      check_lifetimes(branch->body);
      std::swap(before, overwritten_);
      check_lifetimes(branch->otherwise);
      overwritten_.merge(before);
    } else if (branch) {
      check_lifetimes(branch->body);
    } else if (const auto *loop = as<Loop>(stmt)) {
      std::map<Buffer, Buffer> before = overwritten_;
      check_lifetimes(loop->body);
      if (overwritten_ != before) // the next iteration meets the end of this one
        check_lifetimes(loop->body);
    } else if (const auto *seq = as<Seq>(stmt)) {
      for (const Stmt &child : seq->stmts)
        check_lifetimes(child);
    }
    Buffer written = written_by(stmt);
    auto others = overlapping_.find(written);
    if (!written || others == overlapping_.end())
      return;
    overwritten_.erase(written);
    for (const Buffer &other : others->second)
      overwritten_.emplace(other, written);
  }

  void check_alive(const Buffer &buffer) {
    if (auto by = overwritten_.find(buffer); by != overwritten_.end())
      fail("{} is read after {}, which lies in the same memory, was written", buffer->name, by->second->name);
  }

  void check_alignment(const Buffer &buffer, std::int64_t stated) {
    if (auto vectors = vector_bytes_.find(buffer); vectors != vector_bytes_.end() && stated < vectors->second)
      fail("{} is accessed by vectors of {} bytes, but its alignment is stated as {}", buffer->name,
           vectors->second, stated);
  }

  /// Checks that vectors have legal widths, are in memory, and are used as a whole or by one of their lanes.
  void check_vectors(const Expr &e) {
    if (const auto *element = e.as<Lane>()) {
      if (!visible_.contains(element->vector.get()))
        fail("{} is used where it is not visible", element->vector->name);
      if (element->vector->lanes < 2 || element->index < 0 || element->index >= element->vector->lanes)
        fail("{} has no lane {}", element->vector->name, element->index);
      return;
    }
    if (const auto *access = e.as<Load>(); access && access->lanes > 1)
      check_access(access->buffer, access->lanes, "read");
    if (const auto *made = e.as<nestsmith::Call>())
      return check_call(*made);
    bool whole = e.as<Load>() || e.as<Pack>();
    for_each_child(e, [&](const Expr &child) {
      if (child.lanes() > 1)
        fail("{} has {} lanes where {} takes one value", to_string(child), child.lanes(),
             whole ? "an index, a mask or a lane" : "an operator");
    });
  }

  void check_call(const nestsmith::Call &made) {
    const Function &function = *made.function;
    bool fits = made.arguments.size() == function.parameters.size();
    for (std::size_t n = 0; fits && n < made.arguments.size(); ++n)
      fits = made.arguments[n].lanes() == function.parameters[n]->lanes &&
             made.arguments[n].dtype() == function.parameters[n]->dtype;
    if (!fits)
      fail("the arguments of {} do not fit its parameters", function.name);
  }

  /// Checks a call of a warp: who executes it, and its operands.
  void check_call(const Call &call, Divergence divergent) {
    const Intrinsic &intrinsic = call.intrinsic;
    if (divergent == Divergence::lanes)
      fail("a call of {} stands below a guard that differs between the lanes of a warp", intrinsic.name);
    if (intrinsic.group != Group::warp || call.places.size() != intrinsic.operands.size())
      return fail("the call of {} does not fit its declaration", intrinsic.name);
    for (std::size_t n = 0; n < call.places.size(); ++n) {
      const auto &[buffer, offset] = call.places[n];
      const Operand &operand = intrinsic.operands[n];
      check(offset);
      check_width(offset);
      Scope scope = operand.as<InRegisters>() ? Scope::local : Scope::shared;
      if (!buffers_.count(buffer) || buffer->scope != scope || buffer->dtype != operand.formal->dtype)
        fail("{} does not fit the operand {} of {}: got {} memory of {}, expected {} memory of {}",
             buffer->name, operand.formal->name, intrinsic.name, name(buffer->scope), name(buffer->dtype),
             name(scope), name(operand.formal->dtype));
      std::int64_t &widest = vector_bytes_[buffer];
      widest = std::max(widest, operand.alignment);
      if (finished_ && operand.as<InRegisters>())
        check_registers(call, n);
    }
  }

  /// Checks that the registers of an operand start a word, if the intrinsic takes them as words, and that the
  /// result shares no register with another operand.
  void check_registers(const Call &call, std::size_t n) {
    const auto &[buffer, offset] = call.places[n];
    const Operand &operand = call.intrinsic.get().operands[n], &result = call.intrinsic.get().result();
    std::int64_t width = operand.alignment / byte_size(buffer->dtype);
    if (width > 1 && !values_.is_multiple_of(offset, width))
      fail("the operand {} of {} starts at {}[{}], which is not always a multiple of {} elements ({} bytes)",
           operand.formal->name, call.intrinsic.get().name, buffer->name, to_string(offset), width,
           operand.alignment);
    if (operand.formal == result.formal || call.result().buffer != buffer)
      return;
    auto distance = values_.distance(offset, call.result().offset);
    if (!distance ||
        (distance->low < elements_per_lane(result) && distance->high > -elements_per_lane(operand)))
      fail("the operand {} of {} at {}[{}] may share registers with the result at {}[{}]", operand.formal->name,
           call.intrinsic.get().name, buffer->name, to_string(offset), buffer->name,
           to_string(call.result().offset));
  }

  void check_access(const Buffer &buffer, int lanes, const char *verb) {
    if (buffer->scope == Scope::local)
      fail("{} is {} by vectors, but registers have none", buffer->name, verb);
    std::int64_t &widest = vector_bytes_[buffer];
    widest = std::max<std::int64_t>(widest, std::int64_t{lanes} * byte_size(buffer->dtype));
    if (!is_vector(buffer->dtype, lanes) && !is_packed_word(buffer->dtype, lanes))
      fail("{} is {} by {} elements of {}, which is no vector", buffer->name, verb, lanes, name(buffer->dtype));
  }

  /// Checks that one asynchronous copy can do the store.
  void check_async(const Store &x) {
    const auto *source = x.value.as<Load>();
    if (x.buffer->scope != Scope::shared || !source || source->buffer->scope != Scope::global ||
        source->buffer->dtype != x.buffer->dtype)
      return fail("{} is written asynchronously by {}, which is no copy from global to shared memory",
                  x.buffer->name, to_string(x.value));
    std::int64_t bytes = std::int64_t{x.lanes} * byte_size(x.buffer->dtype);
    if (finished_ && !is_async_piece(bytes))
      fail("{} is written asynchronously by {} bytes, expected 4, 8 or 16", x.buffer->name, bytes);
    if (x.count.exists())
      check_count(x);
  }

  /// Checks the number of elements that an asynchronous copy of a vector reads.
  void check_count(const Store &x) {
    check(x.count);
    check_width(x.count);
    if (!is_index(x.count.dtype()) || x.lanes == 1)
      return fail("the count {} of the elements of {} that are copied is no index, or the copy is no vector",
                  to_string(x.count), x.buffer->name);
    if (auto range = finished_ ? values_.range(x.count) : std::nullopt;
        finished_ && (!range || range->low < 0 || range->high > x.lanes))
      fail("{} elements of {} are copied, which may be fewer than 0 or more than {}", to_string(x.count),
           x.buffer->name, x.lanes);
  }

  /// Checks that one atomic operation can do the store.
  void check_atomic(const Store &x) {
    if (x.buffer->scope != Scope::global || x.lanes != 1 || x.async || !has_atomic(*x.atomic, x.buffer->dtype))
      fail("{} ({} memory) is updated by an atomic {} of {} elements of {}, which CUDA does not have",
           x.buffer->name, name(x.buffer->scope), name(*x.atomic), x.lanes, name(x.buffer->dtype));
  }

  /// Checks the number of lanes of `e`.
  void check_lanes(const Expr &e, int lanes) {
    if (e.lanes() != lanes)
      fail("{} has {} lanes, expected {}", to_string(e), e.lanes(), lanes);
  }

  /// Checks a statement that all threads of a block must reach together.
  void check_reached(std::string_view what, Divergence divergent) {
    if (divergent != Divergence::none)
      fail("{} stands below a guard that differs between the threads of a block", what);
  }

  void check_declaration(const Declare &x) {
    check(x.value);
    check_lanes(x.value, x.var->lanes);
    if (x.var->dtype == DType::i32)
      check_width(x.value);
    define(x.var);
    if (finished_)
      values_.define(x);
    uniform_.declare(x);
    uniform_in_warp_.declare(x);
  }

  void check_loop(const Loop &x, Divergence divergent) {
    if (finished_ && x.over_lanes())
      fail("the loop {} over lanes is left", x.var->name);
    check(x.extent);
    check_width(x.extent);
    if (!uniform_.uniform(x.extent))
      fail("the extent of the loop {} differs between the threads of a block", x.var->name);
    scoped([&] {
      define(x.var);
      if (finished_)
        values_.define(x);
      check(x.body, divergent);
    });
  }

  void check_branch(const If &x, Divergence divergent) {
    check(x.condition);
    if (const auto roles = roles_of_sides(x))
      return check_roles(x, *roles, divergent);
    Divergence inside = std::max(divergent, uniform_.uniform(x.condition)           ? Divergence::none
                                            : uniform_in_warp_.uniform(x.condition) ? Divergence::warps
                                                                                    : Divergence::lanes);
    if (x.purpose.kind == Purpose::Kind::with_terms && !uniform_.uniform(x.condition))
      fail("the condition of a tile, {}, differs between the threads of a block", to_string(x.condition));
    scoped([&] { check(x.body, inside); });
    if (x.otherwise)
      scoped([&] { check(x.otherwise, inside); });
  }

  /// Checks that whole warps take each side. Below it, statements that all threads must reach are those of a
  /// role.
  void check_roles(const If &x, const RolesOfSides &roles, Divergence divergent) {
    if (divergent != Divergence::none || role_ || !x.otherwise || !uniform_in_warp_.uniform(x.condition))
      return fail("the roles stand below a guard or select no whole warps: {}", to_string(x.condition));
    role_ = roles.body;
    scoped([&] { check(x.body, Divergence::none); });
    role_ = roles.otherwise;
    scoped([&] { check(x.otherwise, Divergence::none); });
    role_ = std::nullopt;
  }

  void check_store(const Store &x) {
    for (const Expr &index : x.indices) {
      check(index);
      check_width(index);
    }
    check(x.value);
    check_lanes(x.value, x.lanes);
    if (x.lanes > 1)
      check_access(x.buffer, x.lanes, "written");
    if (!buffers_.count(x.buffer))
      fail("{} is written but not allocated", x.buffer->name);
    if (x.buffer->role == Role::input)
      fail("the input {} is written", x.buffer->name);
    if (x.async)
      check_async(x);
    else if (x.count.exists())
      fail("a part of a vector of {} is stored, but only an asynchronous copy may read a part", x.buffer->name);
    if (x.atomic)
      check_atomic(x);
  }

  void check_bulk_copy(const BulkCopy &x, Divergence divergent) {
    if (x.stores() && divergent == Divergence::lanes)
      fail("a bulk store stands below a guard that differs between the lanes of a warp");
    if (!x.stores())
      check_reached("a bulk copy", divergent);
    if (!x.stores() && !role_)
      fail("a bulk copy stands outside of a role");
    if (x.fill && x.fill->to_cluster && x.fill->channel < kernel_.channels.size() &&
        kernel_.channels[x.fill->channel].blocks != kernel_.cluster)
      fail("a bulk copy goes to {} blocks of a cluster, and its channel has {}", kernel_.cluster,
           kernel_.channels[x.fill->channel].blocks);
    if (x.map >= kernel_.maps.size() || (x.fill && x.fill->channel >= kernel_.channels.size()))
      return fail("a bulk copy has no tensor map or no channel");
    const TensorMap &map = kernel_.maps[x.map];
    if (!buffers_.count(x.tile) || x.tile->scope != Scope::shared || !buffers_.count(map.source) ||
        x.array != map.source || map.source->scope != Scope::global || x.tile->dtype != map.source->dtype)
      fail("a bulk copy of {} writes {}, expected a shared array of its elements", map.source->name,
           x.tile->name);
    if (x.start.size() != map.box.size() || map.box.size() != map.source->shape.size())
      fail("a bulk copy of {} has {} indices for a box of {} dimensions", map.source->name, x.start.size(),
           map.box.size());
    for (const std::vector<Expr> *list : {&x.indices, &x.start})
      for (const Expr &index : *list) {
        check(index);
        check_width(index);
      }
    if (x.fill) {
      check(x.fill->number);
      check_width(x.fill->number);
    }
    std::int64_t &stated = vector_bytes_[map.source];
    stated = std::max(stated, bulk_alignment);
  }

  void check_sync(const Sync &x, Divergence divergent) {
    check_reached(fmt::format("{} {}", x.name().starts_with('a') ? "an" : "a", x.name()), divergent);
    if (x.passes_tiles() && !role_)
      fail("a {} stands outside of a role", x.name());
    if (role_ && (x.orders() == SyncScope::block || x.orders() == SyncScope::cluster))
      fail("a {} of the {} stands in a role, whose warps are not all threads", x.name(), name(*x.orders()));
    if (x.orders() == SyncScope::cluster && kernel_.cluster == 1)
      fail("a {} of a cluster stands in a kernel without clusters", x.name());
    if (const auto *barrier = std::get_if<Barrier>(&x.kind);
        barrier && barrier->scope == SyncScope::role && role_ != barrier->role)
      fail("a barrier of role {} stands outside of it", barrier->role);
    if (const auto *arrive = std::get_if<Arrive>(&x.kind);
        arrive && arrive->scope == SyncScope::role && role_ != std::size_t{0})
      fail("an arrival of the main role stands outside of it");
    for (Queue queue : all_queues)
      if (x.completes(queue).value_or(0) < 0)
        fail("a {} leaves {} groups of {} pending", x.name(), *x.completes(queue), name(queue));
    for (const Buffer &sums : x.registers())
      if (!buffers_.count(sums) || sums->scope != Scope::local)
        fail("a {} for {}, which is no array in registers", x.name(), sums->name);
    Buffer updated = x.updates();
    for (const Expr *operand : x.uses()) {
      check(*operand);
      check_width(*operand);
      if (!uniform_.uniform(*operand))
        fail("the {}{} differs between the threads of a block", x.name(),
             updated ? " at " + updated->name : "");
    }
    if (std::holds_alternative<AwaitKernel>(x.kind) &&
        (!kernel_.launches_early || (role_ && kernel_.awaited.empty())))
      fail("an await of the kernel before stands in a role, or in a kernel that does not start early");
    if (updated && (!buffers_.count(updated) || updated->dtype != DType::u32))
      fail("{} is not a parameter of u32 counters", updated->name);
    if (x.declares())
      define(x.declares());
  }

  void check(const Stmt &stmt, Divergence divergent) {
    visit(stmt, Overloaded{
                    [&](const Declare &x) { check_declaration(x); },
                    [&](const Loop &x) { check_loop(x, divergent); },
                    [&](const If &x) { check_branch(x, divergent); },
                    [&](const Seq &x) {
                      for (const Stmt &child : x.stmts)
                        check(child, divergent);
                    },
                    [&](const Store &x) { check_store(x); },
                    [&](const Call &x) { check_call(x, divergent); },
                    [&](const BulkCopy &x) { check_bulk_copy(x, divergent); },
                    [&](const Sync &x) { check_sync(x, divergent); },
                });
  }

  bool finished_;
  const Kernel &kernel_;
  std::optional<std::size_t>
      role_; ///< on a side of the branch that selects one: its position in `Kernel::roles`
  UniformValues uniform_, uniform_in_warp_;
  llvm::DenseSet<const Symbol *> visible_;
  std::vector<const Symbol *> declared_; ///< in order
  std::set<Buffer> buffers_;
  std::map<Buffer, std::int64_t> vector_bytes_;       ///< of the widest access
  std::map<Buffer, std::vector<Buffer>> overlapping_; ///< the arrays that have bytes in common with an array
  std::map<Buffer, Buffer> overwritten_; ///< for each array that another one has overwritten: the other one
  ValueRanges values_; ///< only used if `finished_`: before that, index widths are not decided
};

} // namespace

std::optional<std::string> find_breach(const Kernel &kernel, bool finished) {
  return Verifier(kernel, finished).breach;
}

} // namespace nestsmith::kernel
