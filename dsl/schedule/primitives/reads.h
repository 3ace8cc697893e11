#pragma once
/// Support for cache_read and reindex_cache_read: the reads of a block, and a copy in their place.

#include "dsl/schedule/primitives/edit.h"

#include <functional>
#include <string>

namespace nestsmith {

/// The first access of the block to the buffer of this name. Refuses if there is none.
const Load &find_read(const Schedule::Edit &edit, const char *requirement, const Block &block,
                      const std::string &name);
/// Refuses a copy in global memory of a buffer that is not in global memory.
void require_cache_scope(const Schedule::Edit &edit, const char *requirement, Scope scope,
                         const Buffer &source);
/// Whether the buffer is a parameter, of which the block reads each element only where it overwrites it, and
/// overwrites it once.
bool updates_in_place(const Block &block, const Buffer &buffer);
/// Refuses if the reader writes the buffer.
void require_only_read(const Schedule::Edit &edit, const char *requirement, const Block &reader,
                       const Buffer &buffer);
/// Refuses if a block writes the buffer in the nest of the reader, except `except`, if it is not null.
void require_complete_before(const Schedule::Edit &edit, const char *requirement, const Block &reader,
                             const Buffer &buffer, const Block *except = nullptr);

/// The block with `f` applied to each expression of its stores.
Block map_expressions(Block block, const std::function<Expr(const Expr &)> &f);
/// The block with each of its loads of the buffer replaced by f(load).
Block with_reads(const Block &block, const Buffer &buffer, const std::function<Expr(const Load &)> &f);

} // namespace nestsmith
