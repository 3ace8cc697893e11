#pragma once
/// Memory for the nodes of expressions, which are made and released in large numbers: a rewrite makes most
/// nodes only to compare them with those that they would replace.

#include <cstddef>

namespace nestsmith {

/// Memory of `bytes` bytes, the same number in every call. A thread keeps some of what it releases, and takes
/// it again. A thread may release what another one has taken.
void *take_node(std::size_t bytes);
void release_node(void *memory) noexcept;

} // namespace nestsmith
