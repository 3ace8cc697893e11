#include "runtime/model/traffic.h"

#include "dsl/expr/ops.h"
#include "lowering/plan.h"
#include "runtime/model/cache.h"
#include "runtime/model/evaluate.h"
#include "runtime/model/walking.h"
#include "runtime/sim/decode.h"
#include "runtime/sim/machine.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

namespace nestsmith::model {

namespace {

/// A cache line that a request touches, and a bit mask of the touched sectors of this line.
struct Touch {
  std::int64_t line;
  std::uint32_t sectors;
};

std::vector<Touch> touches(const WarpRequest &request, std::int64_t bytes) {
  std::vector<Touch> found;
  for (std::size_t lane = 0; lane < request.address.size(); ++lane) {
    if (!(request.mask >> lane & 1))
      continue;
    std::int64_t last = floor_div(request.address[lane] + bytes - 1, sector_bytes);
    for (std::int64_t sector = floor_div(request.address[lane], sector_bytes); sector <= last; ++sector) {
      constexpr std::int64_t in_line = line_bytes / sector_bytes;
      std::int64_t line = floor_div(sector, in_line);
      auto same = std::find_if(found.rbegin(), found.rend(), [&](const Touch &t) { return t.line == line; });
      if (same == found.rend())
        same = found.rend() - static_cast<std::ptrdiff_t>((found.push_back({line, 0}), found.size()));
      same->sectors |= 1u << floor_mod(sector, in_line);
    }
  }
  return found;
}

/// The part of a run that is simulated: `requests` is the fraction of the requests of each block, `blocks` is
/// the fraction of the blocks (the first ones), and a hash selects about one of every `draw` cache lines.
struct Plan {
  double requests = 1, blocks = 1;
  std::uint64_t draw = 1;
};

Plan make_plan(const Counters &counters, double blocks_together, std::uint64_t most) {
  double lines = 0, requests = 0, blocks = static_cast<double>(counters.blocks);
  for (const AccessCounts &access : counters.accesses) {
    lines += static_cast<double>(access.lines);
    requests += access.buffer->scope == Scope::global ? static_cast<double>(access.requests) : 0;
  }
  Plan plan;
  if (lines > 4e6)
    plan.draw = 8;
  double share = static_cast<double>(most) / std::max(requests + lines / 32, 1.0);
  if (share >= 1)
    return plan;
  // First leave out blocks, but keep two waves. The second wave represents the blocks that are left out.
  plan.blocks = std::clamp(share, std::min(1.0, 2 * blocks_together / blocks), 1.0);
  plan.requests = std::min(1.0, share / plan.blocks);
  return plan;
}

bool touches_global(const kernel::Stmt &body) {
  bool found = false;
  kernel::walk(body, [&](const kernel::Stmt &stmt) {
    const auto *store = kernel::as<kernel::Store>(stmt);
    found = found || kernel::as<kernel::BulkCopy>(stmt) || (store && store->buffer->scope == Scope::global);
  });
  kernel::walk_exprs(body, [&](const Expr &e) {
    const Load *load = e.as<Load>();
    found = found || (load && load->buffer->scope == Scope::global);
  });
  return found;
}

/// Shortens the outermost long loops that access global memory. Such a loop keeps the fraction `share` of its
/// iterations, but at least `kept` iterations, because all of them do the same. The code before and after the
/// loop does not change. If a loop keeps more than its share, the loops inside it are shortened as well, with a
/// smaller minimum.
kernel::Stmt shortened(const kernel::Stmt &stmt, double share, std::int64_t kept = 8) {
  constexpr std::int64_t long_loop = 32;
  const auto *loop = kernel::as<kernel::Loop>(stmt);
  std::int64_t extent = loop ? as_int(loop->extent).value_or(0) : 0;
  if (extent < long_loop || !touches_global(loop->body))
    return kernel::map_children(stmt, [&](const kernel::Stmt &child) { return shortened(child, share, kept); });
  kernel::Loop result = *loop;
  auto wanted = static_cast<std::int64_t>(std::ceil(share * static_cast<double>(extent)));
  // Take whole groups of iterations, because they are decoded together.
  wanted = wanted > long_loop ? (wanted + long_loop - 1) / long_loop * long_loop : std::max(wanted, kept);
  wanted = std::min(wanted, extent);
  result.extent = int_imm(wanted, loop->extent.dtype());
  double left = share * static_cast<double>(extent) / static_cast<double>(wanted);
  if (left < 0.7)
    result.body = shortened(result.body, left, 2);
  return kernel::make(std::move(result));
}

/// The simulated sectors of one access.
struct Followed {
  std::uint64_t sectors = 0, l1_hits = 0, l2_hits = 0;

  void operator-=(const Followed &other) {
    sectors -= other.sectors;
    l1_hits -= other.l1_hits;
    l2_hits -= other.l2_hits;
  }
};

/// Simulates blocks that run side by side, and the caches that they use.
class Walk : public Sink {
public:
  Walk(const kernel::Kernel &kernel, std::span<const Scalar> scalars, const MemorySystem &system,
       const Plan &plan);
  void run();
  void request(std::uint32_t number, const sim::Access &access, const sim::Warp &w,
               std::uint32_t mask) override;

  std::vector<Followed> all, late; ///< by position; `late`: only the second half of the simulated blocks

private:
  const std::vector<Touch> &touches_of(std::uint32_t number, const sim::Access &access, const sim::Warp &w,
                                       std::uint32_t mask, std::int64_t &base);

  const MemorySystem &system_;
  const Plan &plan_;
  ParameterMemory memory_;
  std::vector<std::int64_t> first_line_; ///< of each parameter
  sim::DecodedKernel decoded_;
  std::vector<std::size_t> positions_;
  std::uint32_t load_from_l2(std::uint64_t line, std::uint32_t sectors);
  std::uint32_t store_to_l2(std::uint64_t line, std::uint32_t sectors);
  std::uint32_t update_in_l2(std::uint64_t line, std::uint32_t sectors);
  std::size_t home(std::uint64_t line) const;

  std::vector<Cache> l1_; ///< one for each slot in which a block runs
  std::vector<Cache> l2_; ///< one for each partition
  std::size_t slot_ = 0;  ///< the slot of the block that runs now
  /// For each access, warp and phase: the sectors that a full warp touches, relative to the line of the base.
  std::vector<std::vector<std::vector<Touch>>> known_;
  std::vector<Touch> singly_;
  /// By slot and warp: the line and the sectors that a bulk store has written last.
  std::map<std::pair<std::size_t, std::uint32_t>, std::pair<std::uint64_t, std::uint32_t>> last_of_unit_;
};

Walk::Walk(const kernel::Kernel &kernel, std::span<const Scalar> scalars, const MemorySystem &system,
           const Plan &plan)
    : system_(system), plan_(plan), memory_(kernel) {
  std::int64_t line = 0;
  for (std::size_t n = 0; n < kernel.params.size(); ++n) {
    first_line_.push_back(line);
    line += memory_.buffers[n].elements * byte_size(kernel.params[n]->dtype) / line_bytes + 2;
  }
  Walking walking(false);
  decoded_ =
      decode_to_walk(kernel, scalars, memory_, [&]() -> sim::Observer & { return walking = Walking(false); });
  positions_ = positions(decoded_, walking.accesses());
  std::size_t count = 0;
  for (std::size_t position : positions_)
    count = std::max(count, position + 1);
  all.resize(count);
  known_.resize(walking.accesses().size());
  auto draw = static_cast<std::int64_t>(plan.draw);
  l1_.assign(static_cast<std::size_t>(system.sms) * static_cast<std::size_t>(system.blocks_per_sm),
             Cache(system.l1_bytes / system.blocks_per_sm / draw));
  double l2_bytes = plan.requests * static_cast<double>(system.l2_bytes) / system.l2_partitions;
  l2_.assign(static_cast<std::size_t>(system.l2_partitions), Cache(static_cast<std::int64_t>(l2_bytes) / draw));
}

std::size_t Walk::home(std::uint64_t line) const { return (line * 0xA24BAED4963EE407u >> 32) % l2_.size(); }

std::uint32_t Walk::load_from_l2(std::uint64_t line, std::uint32_t sectors) {
  std::size_t near = slot_ % l2_.size(), far = home(line);
  std::uint32_t there = l2_[near].load(line, sectors);
  if (far != near && there != sectors)
    there |= l2_[far].load(line, sectors & ~there);
  return there;
}

/// A line is written to memory from its home partition.
std::uint32_t Walk::store_to_l2(std::uint64_t line, std::uint32_t sectors) {
  std::size_t near = slot_ % l2_.size(), far = home(line);
  if (far != near)
    (void)l2_[near].load(line, sectors);
  return l2_[far].store(line, sectors);
}

/// An atomic operation executes in the home partition of its line, which needs the old elements. Returns the
/// sectors that were there.
std::uint32_t Walk::update_in_l2(std::uint64_t line, std::uint32_t sectors) {
  Cache &cache = l2_[home(line)];
  std::uint32_t there = cache.load(line, sectors);
  (void)cache.store(line, sectors);
  return there;
}

/// Sets `base` to the line to which the touched lines are relative.
const std::vector<Touch> &Walk::touches_of(std::uint32_t number, const sim::Access &access, const sim::Warp &w,
                                           std::uint32_t mask, std::int64_t &base) {
  std::int64_t width = byte_size(access.buffer->dtype), period = line_bytes / width;
  if (access.address.is_computed() || mask != w.live) {
    base = 0;
    singly_ = touches(request_now(access, w, mask), access.bytes);
    return singly_;
  }
  std::int64_t at = reg<std::int64_t>(w, access.address.base) + access.address.constant,
               phase = floor_mod(at, period);
  base = floor_div(at, period);
  std::vector<std::vector<Touch>> &known = known_[number];
  if (known.empty())
    known.resize(decoded_.warps * static_cast<std::size_t>(period));
  std::vector<Touch> &result =
      known[w.index * static_cast<std::size_t>(period) + static_cast<std::size_t>(phase)];
  if (result.empty())
    result = touches(request_at(access, w.index, mask, phase), access.bytes);
  return result;
}

void Walk::request(std::uint32_t number, const sim::Access &access, const sim::Warp &w, std::uint32_t mask) {
  Followed &sum = all[positions_[number]];
  std::int64_t base = 0;
  const bool by_unit =
      access.is_store && kernel::as<kernel::BulkCopy>(decoded_.sites[access.site].stmt) != nullptr;
  for (const Touch &touch : touches_of(number, access, w, mask, base)) {
    auto line = static_cast<std::uint64_t>(base + touch.line + first_line_[access.storage.slot]);
    // A lane stands for the unit that makes a bulk store. It stores element by element, and the unit a line.
    if (by_unit &&
        std::exchange(last_of_unit_[{slot_, w.index}], {line, touch.sectors}) == std::pair(line, touch.sectors))
      continue;
    // This hash differs from the one that chooses the sets of a cache.
    if ((line * 0xD6E8FEB86659FD93u >> 40) % plan_.draw != 0)
      continue;
    sum.sectors += static_cast<std::uint64_t>(std::popcount(touch.sectors));
    std::uint32_t there = 0;
    if (access.atomic) {
      there = update_in_l2(line, touch.sectors);
    } else if (access.is_store) {
      there = store_to_l2(line, touch.sectors);
    } else {
      std::uint32_t in_l1 = l1_[slot_].load(line, touch.sectors), rest = touch.sectors & ~in_l1;
      sum.l1_hits += static_cast<std::uint64_t>(std::popcount(in_l1));
      there = rest == 0 ? 0 : load_from_l2(line, rest);
    }
    sum.l2_hits += static_cast<std::uint64_t>(std::popcount(there));
  }
}

void Walk::run() {
  struct Slot {
    std::unique_ptr<sim::Machine> machine;
    bool running = false;
  };
  auto blocks = static_cast<std::uint64_t>(std::ceil(plan_.blocks * static_cast<double>(decoded_.blocks)));
  std::vector<Slot> slots(static_cast<std::size_t>(std::min(
      blocks, static_cast<std::uint64_t>(system_.sms) * static_cast<std::uint64_t>(system_.blocks_per_sm))));
  std::uint64_t next = 0, running = 0;
  std::vector<Followed> early;
  auto start = [&](Slot &slot) {
    slot.running = next < blocks;
    if (!slot.running)
      return;
    if (next == blocks / 2)
      early = all;
    slot.machine->start_block(next++);
    ++running;
  };
  for (Slot &slot : slots) {
    slot.machine = std::make_unique<sim::Machine>(decoded_, memory_.buffers, nullptr, this);
    start(slot);
  }
  while (running > 0)
    for (std::size_t n = 0; n < slots.size(); ++n) {
      Slot &slot = slots[n];
      if (!slot.running)
        continue;
      slot_ = n;
      if (slot.machine->round())
        continue;
      --running;
      start(slot);
    }
  late = all;
  for (std::size_t n = 0; n < early.size(); ++n)
    late[n] -= early[n];
}

/// The observed hit rates of an access.
struct Rates {
  double l1 = 0, l2 = 0;

  explicit Rates(const Followed &seen) {
    if (seen.sectors == 0)
      return;
    l1 = static_cast<double>(seen.l1_hits) / static_cast<double>(seen.sectors);
    l2 = static_cast<double>(seen.l2_hits) / static_cast<double>(seen.sectors);
  }
};

Traffic scaled(const AccessCounts &access, double sectors, const Rates &rates) {
  auto whole = [](double count) { return static_cast<std::uint64_t>(std::llround(count)); };
  Traffic traffic;
  if (access.is_store()) {
    traffic.l2_writes = whole(sectors);
    traffic.dram_writes = whole(sectors * (1 - rates.l2));
    traffic.dram_reads = access.is_atomic() ? traffic.dram_writes : 0;
    return traffic;
  }
  traffic.l1_sectors = whole(sectors);
  traffic.l1_hits = whole(sectors * rates.l1);
  traffic.l2_reads = whole(sectors * (1 - rates.l1));
  traffic.l2_read_hits = whole(sectors * rates.l2);
  traffic.dram_reads = whole(sectors * (1 - rates.l1 - rates.l2));
  return traffic;
}

/// If all data that the kernel accesses fits in the L2, no sector comes from DRAM twice.
void keep_in_l2(const kernel::Kernel &kernel, const Counters &counters, std::int64_t l2_bytes,
                std::vector<Traffic> &accesses) {
  std::int64_t all = 0;
  for (const Buffer &buffer : kernel.params)
    all += kernel::element_count(buffer) * byte_size(buffer->dtype);
  if (all > l2_bytes)
    return;
  for (const Buffer &buffer : kernel.params) {
    auto most = static_cast<double>(kernel::element_count(buffer) * byte_size(buffer->dtype)) / sector_bytes;
    double reads = 0, writes = 0;
    for (std::size_t n = 0; n < accesses.size(); ++n)
      if (counters.accesses[n].buffer == buffer) {
        reads += static_cast<double>(accesses[n].dram_reads);
        writes += static_cast<double>(accesses[n].dram_writes);
      }
    auto cap = [&](std::uint64_t &part, double sum) {
      if (sum > most)
        part = static_cast<std::uint64_t>(std::llround(static_cast<double>(part) * most / sum));
    };
    for (std::size_t n = 0; n < accesses.size(); ++n)
      if (counters.accesses[n].buffer == buffer) {
        cap(accesses[n].dram_reads, reads);
        cap(accesses[n].dram_writes, writes);
        if (!counters.accesses[n].is_store())
          accesses[n].l2_read_hits = accesses[n].l2_reads - accesses[n].dram_reads;
      }
  }
}

double share(std::uint64_t part, std::uint64_t all) {
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

} // namespace

double Traffic::l1_hit_rate() const { return share(l1_hits, l1_sectors); }
double Traffic::l2_hit_rate() const { return share(l2_read_hits, l2_reads); }

Traffic &Traffic::operator+=(const Traffic &other) {
  l1_sectors += other.l1_sectors;
  l1_hits += other.l1_hits;
  l2_reads += other.l2_reads;
  l2_read_hits += other.l2_read_hits;
  l2_writes += other.l2_writes;
  dram_reads += other.dram_reads;
  dram_writes += other.dram_writes;
  return *this;
}

TrafficResult traffic(const kernel::Kernel &kernel, std::span<const Scalar> scalars, const Counters &counters,
                      const MemorySystem &system, const TrafficOptions &options) {
  Plan plan = make_plan(counters, static_cast<double>(system.sms) * system.blocks_per_sm, options.max_requests);
  kernel::Kernel part = kernel;
  if (plan.requests < 1)
    part.body = shortened(kernel.body, plan.requests);
  Walk walk(part, scalars, system, plan);
  walk.run();

  TrafficResult result;
  result.followed = plan.requests;
  result.followed_blocks = plan.blocks;
  result.accesses.resize(counters.accesses.size());
  for (std::size_t n = 0; n < counters.accesses.size(); ++n) {
    const AccessCounts &access = counters.accesses[n];
    if (access.buffer->scope != Scope::global)
      continue;
    auto sectors = static_cast<double>(access.sectors);
    result.accesses[n] = scaled(access, sectors * plan.blocks, Rates(walk.all[n]));
    if (plan.blocks < 1)
      result.accesses[n] += scaled(access, sectors * (1 - plan.blocks), Rates(walk.late[n]));
  }
  if (plan.requests * plan.blocks < 1)
    keep_in_l2(kernel, counters, system.l2_bytes, result.accesses);
  for (const Traffic &access : result.accesses)
    result.traffic += access;
  return result;
}

} // namespace nestsmith::model
