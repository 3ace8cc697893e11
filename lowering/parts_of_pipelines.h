#pragma once
/// What the parts of a pipelined loop do not need, after `partition` has separated them.

#include "lowering/kernel.h"

namespace nestsmith::kernel {

/// Without the guards that may be left out (`Purpose::Kind::past`): those that no part has decided would be
/// branches between the products. And without the waits for asynchronous copies of tiles that nothing reads
/// after them: the wait of the last iteration is for the tile of the next one.
Stmt without_needless_parts(const Kernel &kernel);

} // namespace nestsmith::kernel
