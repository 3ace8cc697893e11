#pragma once
/// Removes guards and waits that the parts of a pipelined loop do not need, after `partition` has separated
/// them.

#include "lowering/kernel.h"

namespace nestsmith::kernel {

/// Without the guards that may be left out (`Purpose::Kind::past`): those that no part has decided would be
/// branches between the products. And without the waits for reads that no part has: in the last iteration, the
/// wait for the tile of the next one, which is filled but not read. A wait at the end of the kernel is for the
/// copies of such tiles (`end_after_write`), so all have landed then; other waits stay.
Stmt without_needless_parts(const Kernel &kernel);

} // namespace nestsmith::kernel
