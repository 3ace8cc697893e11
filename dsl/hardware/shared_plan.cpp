#include "dsl/hardware/shared_plan.h"

#include "dsl/hardware/bulk_copy.h"
#include "dsl/hardware/intrinsics.h"
#include "dsl/ir/allocation.h"
#include "dsl/ir/region.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace nestsmith {

namespace {

/// A block that accesses an array: the numbers of the statements around it in their sequences, outermost first.
/// The last number is that of the block, or of the loop that it makes live as a whole.
struct Use {
  std::vector<std::size_t> path;
  bool writes;
  bool reads; ///< elements that other blocks wrote; not the element that a sum updates
};

/// The accesses to one array.
struct Life {
  bool of_warps = false;
  std::vector<Use> uses = {};
  std::vector<std::size_t> around = {}; ///< the numbers of the loops around all uses
  std::vector<const Block *> writers = {};
  bool stored = false; ///< in bulk

  /// The first and the last statement that accesses the array, in the sequence below the first `depth` loops.
  std::pair<std::size_t, std::size_t> span(std::size_t depth) const {
    std::pair<std::size_t, std::size_t> result{uses.front().path[depth], uses.front().path[depth]};
    for (const Use &use : uses) {
      result.first = std::min(result.first, use.path[depth]);
      result.second = std::max(result.second, use.path[depth]);
    }
    return result;
  }
};

std::size_t common_length(const std::vector<std::size_t> &a, const std::vector<std::size_t> &b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

class SharedLifetimes {
public:
  SharedLifetimes(const Program &nest, const std::vector<SharedArray> &arrays) : lives_(arrays.size()) {
    for (std::size_t n = 0; n < arrays.size(); ++n) {
      numbers_[arrays[n].buffer] = n;
      lives_[n].of_warps = arrays[n].of_warps;
    }
    std::size_t next = 0;
    visit_stmt(nest.body, next);
    for (Life &life : lives_)
      for (const Use &use : life.uses) {
        std::vector<std::size_t> outside(use.path.begin(), use.path.end() - 1);
        if (&use == &life.uses.front())
          life.around = outside;
        life.around.resize(common_length(life.around, outside));
      }
  }

  enum class Meeting : std::uint8_t {
    always,         ///< the arrays need memory of their own
    after_barriers, ///< they can share memory, and this adds barriers to a loop
    never,          ///< they can share memory, and this adds at most one barrier for each thread block
  };
  Meeting meeting(std::size_t a, std::size_t b) const {
    const Life &one = lives_[a], &other = lives_[b];
    if (has_last_block_ || one.uses.empty() || other.uses.empty())
      return Meeting::always;
    std::size_t depth = common_length(one.around, other.around);
    bool first = one.span(depth).second < other.span(depth).first;
    const Life &earlier = first ? one : other, &later = first ? other : one;
    if (earlier.span(depth).second >= later.span(depth).first || !lands(earlier) || !lands(later))
      return Meeting::always;
    std::vector<std::size_t> loop(one.around.begin(), one.around.begin() + static_cast<std::ptrdiff_t>(depth));
    if (!is_refilled(one, loop) || !is_refilled(other, loop))
      return Meeting::always;
    return loop.empty() || are_separated(earlier, later, loop) ? Meeting::never : Meeting::after_barriers;
  }

private:
  void visit_stmt(const Stmt &stmt, std::size_t &next) {
    visit(stmt, Overloaded{
                    [&](const Seq &seq) {
                      for (const Stmt &child : seq.stmts)
                        visit_stmt(child, next);
                    },
                    [&](const For &loop) {
                      has_last_block_ = has_last_block_ || loop.last_block();
                      if (loop.axis() || as_int(loop.extent) == 1)
                        return visit_stmt(loop.body, next);
                      path_.push_back(next++);
                      loops_[path_] = &loop;
                      std::size_t inner = 0;
                      visit_stmt(loop.body, inner);
                      path_.pop_back();
                    },
                    [&](const Block &block) {
                      path_.push_back(next++);
                      note(block);
                      path_.pop_back();
                    },
                });
  }

  void note(const Block &block) {
    for (const auto &[buffer, number] : numbers_) {
      if (!touches(block, buffer))
        continue;
      bool writes = block.body.buffer == buffer;
      Use use{path_, writes, !writes};
      lives_[number].stored = lives_[number].stored || (is_bulk_store(block) && tile_of_bulk(block) == buffer);
      if (use.writes)
        lives_[number].writers.push_back(&block);
      // The init of a sum executes before the outermost loop of the sum.
      for (std::size_t depth = 1; use.writes && block.init && depth < use.path.size(); ++depth)
        if (sums_over_loop(block,
                           *loops_.at({path_.begin(), path_.begin() + static_cast<std::ptrdiff_t>(depth)})))
          use.path.resize(depth);
      lives_[number].uses.push_back(std::move(use));
    }
  }

  static bool sums_over_loop(const Block &block, const For &loop) {
    return std::ranges::any_of(block.iters,
                               [&](const IterVar &iter) { return sums_over(block, iter, loop.var); });
  }

  /// Whether all asynchronous copies to the array arrive before its last use: a reader waits for them. A bulk
  /// store reads the array after its last use.
  static bool lands(const Life &life) {
    if (life.stored)
      return false;
    bool copied = std::ranges::any_of(life.writers, [](const Block *block) { return block->async; });
    return !copied || std::ranges::any_of(life.uses, &Use::reads);
  }

  /// Whether each iteration of the loops, which are around all uses, fills the array before it reads it. The
  /// loops must not overlap their iterations.
  bool is_refilled(const Life &life, const std::vector<std::size_t> &around) const {
    std::size_t first = life.span(around.size()).first;
    bool begins = around.empty() || std::ranges::any_of(life.uses, [&](const Use &use) {
                    return use.writes && use.path[around.size()] == first;
                  });
    for (std::size_t depth = 1; depth <= around.size(); ++depth) {
      const For &loop = *loops_.at({around.begin(), around.begin() + static_cast<std::ptrdiff_t>(depth)});
      if (loop.over_lanes() || !loop.pipeline().empty() || loop.joined() || loop.spread() ||
          std::ranges::any_of(life.writers, [&](const Block *block) { return is_partial(*block, loop); }))
        return false;
    }
    return begins;
  }

  /// Whether iterations of the loop may write nothing, or a term only.
  static bool is_partial(const Block &block, const For &loop) {
    return sums_over_loop(block, loop) || std::ranges::any_of(block.iters, [&](const IterVar &iter) {
             return iter.guarded && !indexes_result(block, iter) && uses(iter.binding, loop.var);
           });
  }

  /// Whether the barriers of a loop that the kernel needs anyway separate the arrays, also if `later` is in one
  /// iteration and `earlier` in the next one. A barrier after statement a, and at the latest before statement
  /// b, is needed if a writes an array that b reads.
  bool are_separated(const Life &earlier, const Life &later, const std::vector<std::size_t> &around) const {
    std::size_t depth = around.size();
    auto [begin, last] = earlier.span(depth);
    auto [first, end] = later.span(depth);
    bool within = false, across = false;
    for (const Life &life : lives_) {
      if (life.of_warps || life.uses.empty() || life.around.size() < depth ||
          common_length(life.around, around) != depth)
        continue;
      for (const Use &write : life.uses)
        for (const Use &read : life.uses) {
          std::size_t a = write.path[depth], b = read.path[depth];
          if (!write.writes || !read.reads || a >= b)
            continue;
          within = within || (a >= last && b <= first);
          across = across || a >= end || b <= begin;
        }
    }
    return within && across;
  }

  std::map<Buffer, std::size_t> numbers_;
  std::vector<Life> lives_;
  std::map<std::vector<std::size_t>, const For *> loops_;
  std::vector<std::size_t> path_;
  bool has_last_block_ = false;
};

std::int64_t aligned_up(std::int64_t bytes, std::int64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// The arrays that matrix units read as tiles.
std::set<Buffer> tiles_of_calls(const Program &nest) {
  std::set<Buffer> tiles;
  walk(nest.body, [&](const Stmt &stmt) {
    const auto *loop = as<For>(stmt);
    const auto *form = loop ? std::get_if<Tensorized>(&loop->form) : nullptr;
    if (form && reads_tiles(form->intrinsic))
      for (const Block *block : blocks_of(loop->body))
        for (const Load *access : loads_of(*block))
          if (access->buffer->scope == Scope::shared)
            tiles.insert(access->buffer);
    return true;
  });
  return tiles;
}

/// The first part of `bytes` bytes in the memory of the host that none of the arrays uses which are live at the
/// same time.
template <class F>
std::optional<std::int64_t> find_gap(const std::vector<SharedArray> &arrays, std::size_t host,
                                     const SharedArray &guest, const F &meets) {
  const std::int64_t bytes = guest.bytes;
  std::vector<std::pair<std::int64_t, std::int64_t>> taken; // begin, end
  if (meets(host))
    return std::nullopt;
  for (std::size_t n = 0; n < arrays.size(); ++n)
    if (const auto &tenancy = arrays[n].tenancy; tenancy && tenancy->host == host && meets(n))
      taken.emplace_back(tenancy->at, tenancy->at + tenancy->bytes);
  std::ranges::sort(taken);
  std::int64_t at = 0;
  for (auto [begin, end] : taken) {
    if (at + bytes <= begin)
      break;
    at = std::max(at, aligned_up(end, guest.alignment));
  }
  return at + bytes <= arrays[host].bytes ? std::optional(at) : std::nullopt;
}

/// Places the largest arrays first, because an array lies in the memory of one that is not smaller.
template <class F> SharedPlan placed(std::vector<SharedArray> arrays, const F &meet) {
  std::vector<std::size_t> order(arrays.size()), hosts;
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t n) { return arrays[n].bytes; });
  for (std::size_t n : order) {
    auto meets = [&](std::size_t other) { return meet(n, other); };
    for (std::size_t host : hosts)
      if (auto at = arrays[n].tenancy || arrays[n].bytes == 0 ? std::nullopt
                                                              : find_gap(arrays, host, arrays[n], meets))
        arrays[n].tenancy = Tenancy{host, *at, arrays[n].bytes};
    if (!arrays[n].tenancy)
      hosts.push_back(n);
  }
  // More than any GPU has, and small enough that a sum with the bytes of one array does not overflow.
  constexpr std::int64_t most_bytes = std::int64_t{1} << 61;
  SharedPlan plan{std::move(arrays)};
  // A host has the alignment of its guests.
  std::vector<std::int64_t> alignments(plan.arrays.size());
  for (std::size_t n = 0; n < plan.arrays.size(); ++n) {
    const SharedArray &array = plan.arrays[n];
    std::int64_t &needed = alignments[array.tenancy ? array.tenancy->host : n];
    needed = std::max(needed, array.alignment);
  }
  for (bool large : {true, false})
    for (std::size_t n = 0; n < plan.arrays.size(); ++n)
      if (const SharedArray &array = plan.arrays[n];
          !array.tenancy && array.bytes != 0 && (alignments[n] > shared_alignment) == large)
        plan.bytes = std::min(aligned_up(plan.bytes, alignments[n]) + array.bytes, most_bytes);
  return plan;
}

bool fits(std::int64_t bytes, std::int64_t blocks, const Target &target) {
  return bytes <= target.shared_bytes_per_block &&
         (blocks <= 1 || bytes + target.shared_bytes_reserved <= target.shared_bytes_per_sm / blocks);
}

} // namespace

SharedPlan plan_shared(const Program &nest, std::vector<SharedArray> arrays, const Target &target) {
  for (const std::set<Buffer> tiles = tiles_of_calls(nest); SharedArray & array : arrays)
    if (tiles.contains(array.buffer))
      array.alignment = tile_alignment;
    else if (is_bulk_tile(nest, array.buffer))
      array.alignment = alignment_of_bulk_tile(*array.buffer);
  if (arrays.size() < 2 || threads_of(nest) == 1 || !nest.roles.empty()) // roles run ahead, from loop to loop
    return placed(std::move(arrays), [](std::size_t, std::size_t) { return true; });
  using Meeting = SharedLifetimes::Meeting;
  SharedLifetimes lifetimes(nest, arrays);
  std::vector<std::vector<Meeting>> meetings(arrays.size(), std::vector(arrays.size(), Meeting::always));
  for (std::size_t a = 0; a < arrays.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (!is_tuple(arrays[a].buffer->dtype) && !is_tuple(arrays[b].buffer->dtype)) // a tuple is several arrays
        meetings[a][b] = meetings[b][a] = lifetimes.meeting(a, b);
  auto cheap = [&](std::size_t a, std::size_t b) { return meetings[a][b] != Meeting::never; };
  auto needed = [&](std::size_t a, std::size_t b) { return meetings[a][b] == Meeting::always; };
  SharedPlan plan = placed(arrays, cheap);
  if (fits(plan.bytes, nest.min_blocks, target))
    return plan;
  SharedPlan smallest = placed(std::move(arrays), needed);
  return smallest.bytes < plan.bytes ? smallest : plan;
}

bool share_memory(const std::vector<std::optional<Tenancy>> &tenancies, std::size_t a, std::size_t b) {
  const auto &one = tenancies[a], &other = tenancies[b];
  if (a == b || (!one && !other))
    return a == b;
  if (!one || !other)
    return one ? one->host == b : other->host == a;
  return one->host == other->host && one->at < other->at + other->bytes && other->at < one->at + one->bytes;
}

} // namespace nestsmith
