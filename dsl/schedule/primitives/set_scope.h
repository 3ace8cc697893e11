#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// set_scope(W, local): moves the temporary that W writes to another memory space.
///
///     global AB     =>     local AB
///
/// Requires [set_scope.temporary]: W writes a temporary, not a parameter.
/// Requires [set_scope.layout]: the temporary has no layout yet, because a layout is chosen for one memory
///   space.
/// Ensures: the sequential meaning is unchanged. Obligations: the memory space is large enough, and all threads
///   that access the temporary share this memory.
extern const Primitive set_scope;

} // namespace nestsmith::primitives
