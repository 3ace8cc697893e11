#pragma once
/// Where a nest waits for its bulk stores (dsl/hardware/bulk_copy.h): a unit of the SM reads their tiles while
/// the warps go on.

#include "dsl/ir/program.h"
#include "lowering/kernel.h"

#include <optional>
#include <vector>

namespace nestsmith {

class StoresInFlight {
public:
  /// The bulk stores of the role in the nest; none: of the main role.
  StoresInFlight(const Program &nest, std::optional<std::size_t> role);

  /// The wait before a statement that overwrites a tile which bulk stores may still read; null if it overwrites
  /// none.
  kernel::Stmt wait_before(const Stmt &stmt) const;
  /// The wait at the end of the nest, because shared memory ends with the thread block; null if there is no
  /// bulk store.
  kernel::Stmt wait_at_end() const;

private:
  bool writes_again(const Block &block, const Block &store) const;

  const Program &nest_;
  std::vector<const Block *> stores_;
};

} // namespace nestsmith
