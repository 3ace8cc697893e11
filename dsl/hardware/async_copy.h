#pragma once
/// Asynchronous copies from global to shared memory (`cp.async`), and the requirements on the blocks that use
/// them.
///
/// A thread issues a copy, and the copy completes later. The kernel collects the copies of one step of a loop
/// in a *group*. Groups complete in order. A thread waits until at most n of its latest groups are pending.
/// After this, the data of its older groups is in shared memory, and a barrier makes it visible to the other
/// threads. Lowering derives groups and waits.

#include "dsl/ir/allocation.h"
#include "dsl/ir/program.h"

#include <optional>
#include <string>

namespace nestsmith {

/// Whether one asynchronous copy can have this length.
constexpr bool is_async_piece(std::int64_t bytes) { return bytes == 4 || bytes == 8 || bytes == 16; }

/// A violated requirement of an asynchronous copy.
struct AsyncBreach {
  const char *requirement; ///< tag of a `Requires` line of dsl/schedule/primitives/async_copy.h
  std::string message;     ///< states the actual and the expected value, and the remedy
};

/// Checks that the block copies single elements from global to shared memory, with zeros where it has a mask.
std::optional<AsyncBreach> async_breach(const Block &block);

/// The requirements that depend on the final schedule. For a block with `async`, returns a message that states
/// the actual and the expected value, and the remedy:
///   - The block satisfies `async_breach`.
///   - A copy has 4, 8 or 16 bytes.
///   - A block of the nest reads the tile, because the kernel waits for the copies before the first read.
///   - The nests below a pipelined loop with asynchronous copies contain no other asynchronous copies, because
///     a wait for these would also wait for the copies of the pipeline.
///   - If the loop is pipelined, each reader of the tile is below it, and no block below it writes the source.
std::optional<std::string> async_obligation(Placements &filled, const Block &block);

/// A nest that only issues asynchronous copies.
bool is_async_nest(const Stmt &stmt);

} // namespace nestsmith
