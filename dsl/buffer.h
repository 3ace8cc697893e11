#pragma once
/// Buffers: named, typed, shaped storage.

#include "dsl/dtype.h"

#include <memory>
#include <string>
#include <vector>

namespace nestsmith {

class Expr;
struct Layout;

/// Where a buffer lives. It fixes its owner: who shares one copy of it.
///   global  one copy for the grid      shared  one per thread block      local  one per thread
enum class Scope : std::uint8_t { global, shared, local };

/// What a buffer is to the caller of a kernel.
///   input   read only     output  written, its old content never read
///   inout   its old content is read too        temporary  not a parameter
enum class Role : std::uint8_t { input, output, inout, temporary };

/// Identity is the node's address: two buffers of one name are two buffers.
struct BufferNode {
  std::string name;
  DType dtype;
  std::vector<Expr> shape; ///< elements per dimension, row-major; logical, before any layout
  Scope scope;
  Role role;
  std::shared_ptr<const Layout> layout = nullptr; ///< of a temporary; null: row-major (dsl/layout.h)
  /// Elements from one index to the next, for each dimension; null: rows without gaps. Parameters only: it is
  /// how the caller's memory lies.
  std::shared_ptr<const std::vector<Expr>> strides = nullptr;
};
using Buffer = std::shared_ptr<const BufferNode>;

/// The strides of a buffer, stated or those of rows without gaps.
std::vector<Expr> strides_of(const BufferNode &buffer);
/// Elements from the first to the last, gaps between rows included.
Expr span_of(const BufferNode &buffer);

std::string_view name(Scope scope); ///< throws UserError (usage) where a cast made a value that is none

} // namespace nestsmith
