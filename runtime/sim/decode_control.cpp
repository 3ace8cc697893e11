/// Loops, branches, barriers and arrivals: the regions of the code, and the order in which they execute.

#include "dsl/expr/error.h"
#include "runtime/sim/decoder.h"

#include <algorithm>
#include <utility>

namespace nestsmith::sim {

namespace {

/// Limit on the statements of a loop after unrolling, if the kernel asks to unroll it.
constexpr std::int64_t wanted_unroll = 16384;
/// Limit on the statements of the iterations that are decoded together.
constexpr std::int64_t decoded_together = 128;

/// The number of statements of the body after all loops inside it are unrolled. The number is huge if a loop
/// cannot be unrolled.
std::int64_t unrolled_size(const kernel::Stmt &stmt) {
  return kernel::visit(
      stmt, Overloaded{
                [](const kernel::Declare &) { return std::int64_t{1}; },
                [](const kernel::Store &) { return std::int64_t{1}; },
                [](const kernel::Call &) { return std::int64_t{1}; },
                [](const kernel::BulkCopy &) { return wanted_unroll + 1; },
                [](const kernel::Sync &) { return std::int64_t{1}; },
                [](const kernel::If &s) {
                  return 1 + unrolled_size(s.body) + (s.otherwise ? 1 + unrolled_size(s.otherwise) : 0);
                },
                [](const kernel::Loop &s) {
                  auto extent = as_int(s.extent);
                  std::int64_t body = unrolled_size(s.body);
                  return extent ? std::min(wanted_unroll + 1, std::max<std::int64_t>(*extent, 0) * body)
                                : wanted_unroll + 1;
                },
                [](const kernel::Seq &s) {
                  std::int64_t total = 0;
                  for (const kernel::Stmt &child : s.stmts)
                    total = std::min(wanted_unroll + 1, total + unrolled_size(child));
                  return total;
                },
            });
}

/// Whether a call below the statement has registers that are not known before unrolling.
bool selects_registers(const kernel::Stmt &stmt) {
  bool found = false;
  kernel::walk(stmt, [&](const kernel::Stmt &inner) {
    if (const auto *call = kernel::as<kernel::Call>(inner))
      for (const kernel::OperandAddress &place : call->places)
        found = found || (place.buffer->scope == Scope::local && !as_int(place.offset));
  });
  return found;
}

} // namespace

Var Decoder::common_loop(const Var &loop) const { return of_program_ ? (*of_program_)(loop) : Var(); }

void Decoder::loop(const kernel::Loop &node) {
  ValueId extent = value(node.extent);
  internal_check(values_[extent].uniform, "a loop whose extent differs between the threads of a warp");
  needs(extent);
  if (auto constant = values_[extent].constant) {
    bool indexes_local = selects_registers(node.body);
    walk_exprs(node.body, [&](const Expr &e) {
      const Load *access = e.as<Load>();
      indexes_local = indexes_local ||
                      (access && access->buffer->scope == Scope::local && uses(access->indices[0], node.var));
    });
    std::int64_t limit = node.is<kernel::Unrolled>() || indexes_local ? wanted_unroll : options_.unroll;
    if (*constant <= 1 || *constant * unrolled_size(node.body) <= limit)
      return unrolled(node, *constant);
  }
  rolled(node, extent);
}

/// Decodes a loop that is not unrolled. If the extent permits, several iterations are decoded as one, so that
/// they share the computation of addresses.
void Decoder::rolled(const kernel::Loop &node, ValueId extent) {
  bool runs = values_[extent].constant.has_value();
  std::int64_t step = 1, size = unrolled_size(node.body);
  if (runs)
    while (step < options_.iterations && *values_[extent].constant % (2 * step) == 0 &&
           2 * step * size <= decoded_together)
      step *= 2;
  std::uint32_t variable = values_.allocate(8), region = static_cast<std::uint32_t>(decoded_.regions.size());
  Instr instr{.run = handlers_.loop_begin,
              .dst = variable,
              .a = values_.reg(extent),
              .b = region,
              .c = static_cast<std::uint32_t>(step)};
  Value v{.dtype = node.var->dtype, .scope = values_.scopes.size(), .multiple = step, .reg = variable};
  if (auto range = values_[extent].range; range && range->high > 0)
    v.range = Range{0, range->high - step};
  std::set<std::pair<Buffer, std::int64_t>> written = written_;
  const bool awaited = awaited_;

  decoded_.regions.emplace_back();
  std::uint32_t outer = std::exchange(region_, region);
  values_.scopes.emplace_back();
  ValueId first = values_.given(v);
  for (std::int64_t n = 0; n < step; ++n) {
    variables_[node.var] = values_.binary(BinaryOp::add, first, values_.constant(v.dtype, n));
    decoded_.regions[region_].branches += !stands_for_ && !node.is<kernel::Unrolled>();
    loops_.push_back({node.var, variable, n, common_loop(node.var)});
    stmt(node.body);
    loops_.pop_back();
  }
  region_ = outer;
  awaited_ = awaited;
  CodeScope inner = std::move(values_.scopes.back());
  values_.scopes.pop_back();
  if (!runs)
    written_ = std::move(written);

  auto length = static_cast<std::int64_t>(inner.head.size() + inner.body.size());
  std::vector<Instr> &body = values_.scopes.back().body;
  if (!computes() && inner.body.empty()) {
    instr.run = handlers_.loop_whole;
    body.push_back(instr);
    return;
  }
  instr.imm = length + 2;
  body.push_back(instr);
  body.insert(body.end(), inner.head.begin(), inner.head.end());
  body.insert(body.end(), inner.body.begin(), inner.body.end());
  instr.run = handlers_.loop_next;
  instr.imm = -length;
  body.push_back(instr);
}

void Decoder::unrolled(const kernel::Loop &node, std::int64_t extent) {
  for (std::int64_t n = 0; n < extent; ++n) {
    variables_[node.var] = values_.constant(node.var->dtype, n);
    decoded_.regions[region_].branches += !stands_for_ && !node.is<kernel::Unrolled>();
    loops_.push_back({node.var, zero_register, n, common_loop(node.var)});
    stmt(node.body);
    loops_.pop_back();
  }
}

/// Decodes both sides of an if/else. They run one after the other, each with the lanes that take it.
void Decoder::branch(const kernel::If &node) {
  ValueId condition = value(node.condition);
  needs(condition);
  decoded_.regions[region_].branches += !stands_for_;
  if (!node.otherwise) {
    guarded(condition, node.body);
    return;
  }
  // After the branch, a local element counts as written only if both sides have written it.
  std::set<std::pair<Buffer, std::int64_t>> before = written_, both;
  auto by_then = guarded(condition, node.body);
  auto by_else = guarded(values_.complement(condition), node.otherwise, true);
  std::set_intersection(by_then.begin(), by_then.end(), by_else.begin(), by_else.end(),
                        std::inserter(both, both.end()));
  written_.insert(both.begin(), both.end());
}

/// Decodes a body that only the lanes with a true condition execute. Returns the local elements that these
/// lanes have written when the body ends.
std::set<std::pair<Buffer, std::int64_t>> Decoder::guarded(ValueId condition, const kernel::Stmt &body_stmt,
                                                           bool is_else) {
  const Value v = values_[condition];
  if (v.constant) {
    if (*v.constant)
      stmt(body_stmt);
    return written_;
  }
  auto region = static_cast<std::uint32_t>(decoded_.regions.size());
  std::uint32_t saved = values_.allocate(8);
  values_.emit({.run = v.uniform ? handlers_.if_uniform : handlers_.if_lanes,
                .dst = saved,
                .a = values_.reg(condition),
                .b = region,
                .c = !is_else});
  std::size_t at = values_.scopes.back().body.size() - 1;
  decoded_.regions.emplace_back();
  std::set<std::pair<Buffer, std::int64_t>> written = written_;
  const bool awaited = awaited_;
  std::uint32_t outer = std::exchange(region_, region);
  stmt(body_stmt);
  region_ = outer;
  awaited_ = awaited; // other threads have not waited
  written.swap(written_);
  if (!v.uniform)
    values_.emit({.run = handlers_.end_if, .a = saved});
  std::vector<Instr> &body = values_.scopes.back().body;
  body[at].imm = static_cast<std::int64_t>(body.size() - at);
  return written;
}

void Decoder::sync(const kernel::Sync &node) {
  kernel::visit(node, Overloaded{
                          [&](const kernel::Barrier &x) { barrier(x); },
                          [&](const kernel::Commit &x) { commit(x); },
                          [&](const kernel::Wait &x) { wait(x); },
                          [&](const kernel::Begin &) {
                            if (!decoded_.sums.empty())
                              values_.emit({.run = begin_calls});
                          },
                          [&](const kernel::Await &x) { await(x); },
                          [&](const kernel::Signal &x) { signal(x); },
                          [&](const kernel::Arrive &x) { arrive(x); },
                          [&](const kernel::AwaitKernel &) { awaited_ = true; },
                          [&](const kernel::Fence &) {
                            if (computes())
                              values_.emit({.run = fence_tiles});
                          },
                      });
}

void Decoder::barrier(const kernel::Barrier &node) {
  if (node.scope != kernel::SyncScope::warp)
    ++decoded_.regions[region_].barriers;
  ++epoch_;
  if (options_.barriers)
    values_.emit({.run = node.scope == kernel::SyncScope::cluster ? cluster_barrier
                         : node.scope == kernel::SyncScope::block ? block_barrier
                         : node.scope == kernel::SyncScope::role  ? role_barrier
                                                                  : warp_barrier,
                  .imm = static_cast<std::int64_t>(site(nullptr))});
}

void Decoder::await(const kernel::Await &node) {
  const ValueId number = value(node.number);
  needs(number);
  ++epoch_;
  if (options_.barriers)
    values_.emit({.run = await_event,
                  .a = values_.reg(number),
                  .b = node.event == kernel::Event::freed,
                  .c = static_cast<std::uint32_t>(node.channel),
                  .imm = static_cast<std::int64_t>(site(nullptr))});
}

void Decoder::signal(const kernel::Signal &node) {
  const ValueId number = value(node.number);
  needs(number);
  ++epoch_;
  const auto at = static_cast<std::int64_t>(site(nullptr));
  const auto channel = static_cast<std::uint32_t>(node.channel);
  if (options_.barriers && node.bulk_bytes != 0)
    values_.emit({.run = signal_bulk,
                  .dst = static_cast<std::uint32_t>(node.bulk_bytes),
                  .a = values_.reg(number),
                  .c = channel,
                  .imm = at});
  if (options_.barriers && (node.event == kernel::Event::freed || node.copies || node.stores))
    values_.emit({.run = node.event == kernel::Event::freed ? signal_freed : signal_filled,
                  .dst = node.copies,
                  .a = values_.reg(number),
                  .b = static_cast<std::uint32_t>(node.copies + node.stores),
                  .c = channel,
                  .imm = at});
}

void Decoder::arrive(const kernel::Arrive &node) {
  decoded_.regions[region_].barriers += 2;
  ++epoch_;
  auto at = static_cast<std::int64_t>(site(nullptr));
  check_awaited(node.counters, nullptr, static_cast<std::uint32_t>(at));
  const bool of_role = node.scope == kernel::SyncScope::role;
  if (!options_.arrivals) {
    if (options_.barriers)
      values_.emit({.run = of_role ? role_barrier : block_barrier, .imm = at});
    std::size_t along = dimension(node.axis);
    ValueId most = values_.constant(DType::i64, decoded_.grid[along] - 1);
    variables_[node.last] = values_.binary(BinaryOp::eq, values_.block_index(along, DType::i64), most);
    return;
  }
  std::uint32_t last = values_.allocate(8), index = values_.reg(value(node.index));
  values_.emit({.run = of_role ? role_arrival : block_arrival,
                .dst = last,
                .a = index,
                .b = values_.reg(value(node.arrivals)),
                .c = static_cast<std::uint32_t>(decoded_.arrivals.size()),
                .imm = at});
  auto weak = options_.weak.find(node.last);
  decoded_.arrivals.push_back({storage_.at(node.counters).slot,
                               weak == options_.weak.end() ? ArrivalOrder{} : weak->second,
                               dimension(node.axis)});
  variables_[node.last] =
      values_.given({.dtype = DType::boolean, .pinned = true, .scope = values_.scopes.size(), .reg = last});
}

} // namespace nestsmith::sim
