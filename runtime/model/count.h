#pragma once
/// Counts hardware events of a kernel without computing its values: executes addresses and control flow only.
/// The result equals the simulator's counts (`Result::counters`), and counting is fast enough for large shapes.

#include "dsl/ir/array.h"
#include "runtime/model/counters.h"

#include <cstdint>
#include <optional>
#include <span>

namespace nestsmith::model {

struct CountOptions {
  /// Upper limit on the executed blocks, with a minimum of eight. 0: every block. If there are more blocks, one
  /// executed block represents all blocks in an equivalent position of the grid (corner, edge or interior). The
  /// counter executes some random blocks to test this equivalence. If the test fails, for example because the
  /// kernel assigns tiles to blocks in another order, the counts are an estimate from blocks of the whole grid.
  /// If blocks are sampled, `lines` is approximate.
  std::uint64_t max_blocks = 0;
  unsigned host_threads = 0; ///< 0: all cores; the counts do not depend on it
};

/// Counts a kernel without sizes. `scalars` are in the order of the kernel's scalar parameters. If addresses or
/// conditions depend on loaded values, the counter assumes that all memory is zero.
Counters count(const kernel::Kernel &kernel, std::span<const Scalar> scalars, const CountOptions &options = {});

/// `counts` with the statements, loads and buffers of `kernel`. They must be the counts of an equal kernel;
/// their own statements, loads and buffers are ignored. None if the kernel has another number of accesses.
std::optional<Counters> counted_before(const kernel::Kernel &kernel, std::span<const Scalar> scalars,
                                       Counters counts);

/// A request of `each_request`: the number of its access in `count(...).accesses`, and its warp. `lanes`
/// computes the addresses.
struct VisitedRequest {
  std::size_t access;
  std::uint32_t warp;
  FunctionRef<WarpRequest()> lanes;
};
/// Executes block `block`, and calls `visit` for each of its requests until `visit` returns false. The requests
/// of a warp are in program order.
void each_request(const kernel::Kernel &kernel, std::span<const Scalar> scalars, std::uint64_t block,
                  FunctionRef<bool(const VisitedRequest &)> visit);

/// A loop of a kernel, and the value of its variable.
struct LoopValue {
  Var loop;
  std::int64_t value;
  auto operator<=>(const LoopValue &) const = default;
};

/// A statement that contains no other statement, and is executed by `warp`. `loops` are those around it,
/// outermost first.
struct VisitedStatement {
  const kernel::Stmt &stmt;
  std::uint32_t warp;
  std::span<const LoopValue> loops;
};
/// Executes block `block`, and calls `visit` for each statement that at least one lane of a warp executes. The
/// statements of a warp are in program order.
void each_statement(const kernel::Kernel &kernel, std::span<const Scalar> scalars, std::uint64_t block,
                    FunctionRef<void(const VisitedStatement &)> visit);

/// The first request that warp `warp` of block `block` makes for access number `access` of
/// `count(...).accesses`. None if the warp makes no such request.
std::optional<WarpRequest> first_request(const kernel::Kernel &kernel, std::span<const Scalar> scalars,
                                         std::size_t access, std::uint64_t block = 0, std::uint32_t warp = 0);

} // namespace nestsmith::model
