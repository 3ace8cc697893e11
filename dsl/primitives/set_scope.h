#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// set_scope(W, local): the temporary that W writes lives in another memory.
///
///     global AB     =>     local AB
///
/// Requires [set_scope.temporary]: W writes a temporary, not a parameter.
/// Requires [set_scope.layout]: it has no layout yet, which would have been chosen for the old memory.
/// Ensures: the sequential meaning is unchanged. That the memory is large enough, and shared by all that
///   use the buffer, is an obligation.
void set_scope(Schedule &schedule, BlockRef writer, Scope scope);

} // namespace nestsmith::primitives
