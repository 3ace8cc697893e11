#include "runtime/sim/report.h"

#include "dsl/expr/error.h"
#include "dsl/ir/printer.h"
#include "lowering/notes.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace nestsmith::sim {

namespace {

std::string triple(std::int64_t linear, const std::array<std::int64_t, 3> &extent) {
  return fmt::format("({}, {}, {})", linear % extent[0], linear / extent[0] % extent[1],
                     linear / (extent[0] * extent[1]));
}

std::string iteration_text(const Site &site, const std::vector<std::int64_t> &iteration) {
  std::string text;
  for (std::size_t n = 0; n < iteration.size(); ++n)
    text += fmt::format("{}{} = {}", n == 0 ? " at " : ", ", site.loops[n].loop->name, iteration[n]);
  return text;
}

std::string store_text(const kernel::Store &store) {
  std::string indices;
  for (const Expr &index : store.indices)
    indices += (indices.empty() ? "" : ", ") + to_string(index);
  if (store.lanes > 1)
    indices += fmt::format(" +: {}", store.lanes);
  std::string element = fmt::format("{}[{}]", store.buffer->name, indices), value = to_string(store.value);
  if (store.atomic)
    return fmt::format("atomic {} = {}", element, kernel::atomic_text(*store.atomic, element, value));
  return fmt::format("{} = {}{}{}", element, store.async ? "async " : "", value,
                     store.count.exists() ? ", the first " + to_string(store.count) : "");
}

const char *verb_of_access(const Access &access) {
  return access.atomic ? "updates" : access.is_store ? "stores" : "loads";
}

std::string sync_text(const kernel::Sync &sync, const std::string &note) {
  return kernel::visit(
      sync, Overloaded{
                [&](const kernel::Barrier &s) {
                  std::string call = s.scope == kernel::SyncScope::cluster ? "sync_cluster()"
                                     : s.scope == kernel::SyncScope::block ? "__syncthreads()"
                                     : s.scope == kernel::SyncScope::role  ? "sync_role()"
                                                                           : "__syncwarp()";
                  return note.empty() ? call : call + " (" + note + ")";
                },
                [](const kernel::Commit &s) { return fmt::format("commit {}", kernel::name(s.queue)); },
                [](const kernel::Wait &s) {
                  return fmt::format("wait for {}, {} pending", kernel::name(s.queue), s.pending);
                },
                [](const kernel::Begin &) { return std::string("begin calls"); },
                [](const kernel::Fence &) { return std::string("fence for matrix units"); },
                [&](const kernel::Await &s) {
                  return fmt::format("await {} {}{}", kernel::name(s.event), to_string(s.number),
                                     note.empty() ? "" : " (" + note + ")");
                },
                [](const kernel::Signal &s) {
                  return fmt::format("signal {} {}", kernel::name(s.event), to_string(s.number));
                },
                [](const kernel::AwaitKernel &) { return std::string("await_kernel()"); },
                [](const kernel::Arrive &s) {
                  return fmt::format("arrival at {}[{}]", s.counters->name, to_string(s.index));
                },
            });
}

std::string statement_text(const kernel::Stmt &stmt) {
  return kernel::visit(
      stmt, Overloaded{
                [](const kernel::Declare &s) { return s.var->name + " = " + to_string(s.value); },
                [](const kernel::Loop &s) { return "for " + s.var->name + " < " + to_string(s.extent); },
                [](const kernel::If &s) { return "if (" + to_string(s.condition) + ")"; },
                [](const kernel::Seq &) { return std::string(); },
                [](const kernel::Store &s) { return store_text(s); },
                [](const kernel::Call &s) { return kernel::to_string(s); },
                [](const kernel::BulkCopy &s) { return "bulk copy of " + s.tile->name; },
                [&](const kernel::Sync &s) { return sync_text(s, note_of(stmt)); },
            });
}

/// "`s[tx] = A[tx]` at k = 3"
std::string place(const Site &site, const std::vector<std::int64_t> &iteration) {
  return "`" + statement_text(site.stmt) + "`" + iteration_text(site, iteration);
}

std::string element_text(const Buffer &buffer, std::int64_t element) {
  return fmt::format("{}[{}] ({})", buffer->name, element, name(buffer->scope));
}

const Access &access_of(const DecodedKernel &decoded, std::uint32_t site) {
  for (const auto &access : decoded.accesses)
    if (access->site == site)
      return *access;
  internal_error("a site without an access");
}

/// The hazard of two accesses in one block, in symbols of the kernel.
kernel::Hazard hazard_of(const DecodedKernel &decoded, const Accessed &first, const Accessed &second) {
  using Kind = kernel::Hazard::Kind;
  kernel::Hazard hazard;
  hazard.buffer = second.access->buffer;
  if (first.access->buffer != second.access->buffer)
    hazard.tenant = first.access->buffer;
  const Site &at_first = decoded.sites[first.access->site], &at_second = decoded.sites[second.access->site];
  if (first.access->is_store && second.access->is_store) {
    hazard.kind = Kind::write_after_write;
  } else {
    hazard.kind = first.access->is_store ? Kind::read_after_write : Kind::write_after_read;
    hazard.reader = kernel::written_by((first.access->is_store ? at_second : at_first).stmt);
  }
  if (Dependence apart = dependence(decoded, first, second); apart.distance != 0) {
    hazard.loop = at_first.loops[apart.depth].loop;
    hazard.distance = apart.distance;
  }
  return hazard;
}

/// The hazard that a barrier or an event between the two accesses would remove.
std::optional<kernel::Hazard> hazard_of(const DecodedKernel &decoded, const RacePair &pair) {
  const auto &[first, second] = pair;
  if (first.block != second.block && first.access->buffer->scope != Scope::shared)
    return std::nullopt;
  return hazard_of(decoded, {first.access, first.iteration}, {second.access, second.iteration});
}

std::string why_unordered(const DecodedKernel &decoded, const Trace &a, const Trace &b) {
  if (a.block != b.block && a.access->buffer->scope == Scope::shared)
    return "no event that a warp of one block signals and one of the other awaits lies between them";
  if (a.block != b.block)
    return "nothing orders the blocks of a kernel";
  if (a.access == b.access && a.access->is_store && a.iteration == b.iteration)
    return "two threads must not store to one element without a barrier between them";
  if (a.thread / warp_size == b.thread / warp_size)
    return "no __syncwarp() or __syncthreads() lies between them: sharing a warp does not order them";
  if (!decoded.channels.empty())
    return decoded.role_of(a.thread) == decoded.role_of(b.thread)
               ? "no barrier of their role lies between them"
               : "no event that one of the warps signals and the other awaits lies between them";
  return "no __syncthreads() lies between them";
}

} // namespace

std::string thread_text(const DecodedKernel &decoded, std::uint32_t thread) {
  return "thread " + triple(thread, decoded.block);
}

std::string block_text(const DecodedKernel &decoded, std::uint64_t block) {
  return "block " + triple(static_cast<std::int64_t>(block), decoded.grid);
}

std::string warp_text(const DecodedKernel &decoded, std::uint32_t warp) {
  std::uint32_t first = warp * warp_size, last = std::min(first + warp_size, decoded.threads) - 1;
  return fmt::format("warp {} (threads {} to {})", warp, triple(first, decoded.block),
                     triple(last, decoded.block));
}

std::string barrier_text(const Site &site, const std::vector<std::int64_t> &iteration) {
  return statement_text(site.stmt) + iteration_text(site, iteration);
}

void describe_in_flight(const DecodedKernel &decoded, const InFlight &error, Event &event) {
  const Flight &flight = *error.copy.flight;
  const Access &copy = *flight.access;
  std::string issued =
      fmt::format("the asynchronous copy of {} in {}", thread_text(decoded, flight.thread(error.copy.lane)),
                  place(decoded.sites[copy.site], flight.iteration));
  if (error.how == InFlight::How::at_exit) {
    event.detail = fmt::format(
        "{}: {} to {} is in flight at the end of the kernel: no wait of this thread covers it",
        block_text(decoded, event.block), issued, element_text(copy.buffer, flight.element[error.copy.lane]));
    event.hazard = {.kind = kernel::Hazard::Kind::end_after_write, .buffer = copy.buffer};
    return;
  }
  const Access &access = *error.access;
  bool source = error.how == InFlight::How::source;
  event.detail = fmt::format("{} of {} {} {} in {}, but {} {}", thread_text(decoded, error.thread),
                             block_text(decoded, event.block), verb_of_access(access),
                             element_text(access.buffer, error.element),
                             place(decoded.sites[access.site], error.iteration), issued,
                             source ? "still reads it: no wait of that thread lies between them"
                                    : "has not arrived there: no wait of that thread lies between them");
  event.hazard =
      hazard_of(decoded, {source ? flight.source : &copy, flight.iteration}, {&access, error.iteration});
}

void describe_overwritten(const DecodedKernel &decoded, const Access &access, const std::string &owner,
                          Event &event) {
  event.detail = fmt::format("{} of {} loads {} in {}, which {}, in the same memory, has overwritten",
                             thread_text(decoded, event.thread), block_text(decoded, event.block),
                             element_text(access.buffer, event.element),
                             place(decoded.sites[event.site], event.iteration), owner);
}

void describe_counter_access(const DecodedKernel &decoded, const Access &access, Event &event) {
  event.detail = fmt::format(
      "{} of {} {} {} in {}, and other blocks arrive there: nothing orders these arrivals and the access",
      thread_text(decoded, event.thread), block_text(decoded, event.block), verb_of_access(access),
      element_text(access.buffer, event.element), place(decoded.sites[event.site], event.iteration));
}

std::string replicas_text(const DecodedKernel &decoded, std::uint64_t block, const Warp &w,
                          const Access &access, std::uint32_t lanes) {
  return fmt::format("{} lanes of {} of {} hold different values of one element in {} for {}, expected copies: "
                     "the result would depend on the lane",
                     std::popcount(lanes), warp_text(decoded, w.index), block_text(decoded, block),
                     access.buffer->name,
                     place(decoded.sites[access.site], iteration_of(decoded, w, access.site)));
}

std::string overlap_text(const DecodedKernel &decoded, std::uint64_t block, const Warp &w,
                         const SharedRegisters &both, std::uint32_t lane) {
  auto registers = [&](const Access &first, std::int64_t count) {
    std::int64_t at = address(first, w, lane);
    return fmt::format("{}[{}] to {}[{}]", first.buffer->name, at, first.buffer->name, at + count - 1);
  };
  return fmt::format("{} of {} passes the registers {} for the result of {} and {} for another operand, which "
                     "may be overwritten before it is read; copy it to other registers",
                     warp_text(decoded, w.index), block_text(decoded, block),
                     registers(*both.result, both.results),
                     place(decoded.sites[both.operand->site], iteration_of(decoded, w, both.operand->site)),
                     registers(*both.operand, both.operands));
}

Diagnostic describe(const DecodedKernel &decoded, const Event &event) {
  if (!event.detail.empty())
    return {event.kind, event.detail, event.hazard};
  const Access &access = access_of(decoded, event.site);
  std::string who =
      fmt::format("{} of {}", thread_text(decoded, event.thread), block_text(decoded, event.block));
  std::string text =
      fmt::format("{} {} {} in {}", who, verb_of_access(access), element_text(access.buffer, event.element),
                  place(decoded.sites[event.site], event.iteration));
  if (event.kind == ErrorKind::out_of_bounds)
    text += fmt::format(", but {} has {} elements", access.buffer->name, access.storage.elements);
  else if (event.kind == ErrorKind::misaligned)
    text += fmt::format(", a vector of {0} bytes, whose offset is not a multiple of {0}",
                        access.vector.lanes * byte_size(access.buffer->dtype));
  else if (event.kind == ErrorKind::unwritten_read)
    text +=
        access.buffer->scope == Scope::local ? ", which it has not written" : ", which nothing has written yet";
  else if (event.other_block == unknown_block)
    text += ", which several other blocks access too: nothing orders the blocks of a kernel";
  else
    text += fmt::format(", which a thread of {} accesses too: no barrier orders them",
                        block_text(decoded, event.other_block));
  return {event.kind, text};
}

Diagnostic describe(const DecodedKernel &decoded, const RacePair &pair) {
  auto side = [&](const Trace &t) {
    return fmt::format("{} of {} {} it in {}", thread_text(decoded, t.thread), block_text(decoded, t.block),
                       verb_of_access(*t.access), place(decoded.sites[t.access->site], t.iteration));
  };
  std::string text =
      fmt::format("{}: {}, and {}; {}", element_text(pair.second.access->buffer, pair.second.element),
                  side(pair.first), side(pair.second), why_unordered(decoded, pair.first, pair.second));
  return {ErrorKind::race, text, hazard_of(decoded, pair)};
}

} // namespace nestsmith::sim
