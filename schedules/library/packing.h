#pragma once
/// Copies of operands in global memory, stored in the order in which a product reads them.

#include "dsl/schedule/schedule.h"

namespace nestsmith::library {

/// Copies each operand of the sum whose neighbours are along a reduction axis, such as A of a product of M x K
/// and K x N matrices, to an array that is stored with the reduction axes before the rows
/// (`reindex_cache_read` to global memory after `reorder`, and `library::transpose`). So bulk copies can fill
/// its tiles. The copy is a kernel of its own, before that of the sum, and needs a workspace of the size of the
/// operand.
///
/// An operand stays as it is, and so do later reads of its array, if an index of it is no axis, if its reads
/// have a mask, or if it is no input. Throws the errors of the directives, for instance where a loop of the sum
/// is bound already.
void pack_operands(Schedule &s, BlockRef sum);

} // namespace nestsmith::library
