#pragma once
/// Buffers: named, typed, shaped storage.

#include "dsl/expr/dtype.h"
#include "dsl/expr/serial.h"

#include <memory>
#include <string>
#include <vector>

namespace nestsmith {

class Expr;
struct Layout;

/// Memory space of a buffer, and the threads that share one copy:
///   global  the grid      shared  one thread block      local  one thread      warp  one warp
/// A buffer in the scope `warp` is a *fragment*: its elements are spread over the registers of the lanes. Its
/// layout maps an element to a lane and a register (dsl/ir/layout.h).
enum class Scope : std::uint8_t { global, shared, local, warp };
constexpr bool in_registers(Scope scope) { return scope == Scope::local || scope == Scope::warp; }

/// Role of a buffer for the caller of a kernel:
///   input   read only     output     written; its previous content is never read
///   inout   read and written         temporary  not a parameter
enum class Role : std::uint8_t { input, output, inout, temporary };

struct BufferNode;
using Buffer = std::shared_ptr<const BufferNode>;

/// The arrays of the parts of a buffer of tuples, which `part_buffers` makes. A copy has none.
struct PartBuffers {
  PartBuffers() = default;
  PartBuffers(const PartBuffers &) {}
  PartBuffers &operator=(const PartBuffers &) { return *this; }
  mutable std::shared_ptr<const std::vector<Buffer>> buffers;
};

/// A buffer. Two buffers are the same if they have the same address; two buffers with the same name are
/// different.
struct BufferNode {
  std::string name;
  DType dtype;
  std::vector<Expr> shape; ///< number of elements in each dimension, before a layout is applied
  Scope scope;
  Role role;
  std::shared_ptr<const Layout> layout = nullptr; ///< temporaries only; null: row-major (dsl/ir/layout.h)
  /// For parameters only: stride of each dimension in the caller's memory, in elements. Null: rows without
  /// gaps.
  std::shared_ptr<const std::vector<Expr>> strides = nullptr;
  SerialNumber serial = {};
  PartBuffers parts = {};
};
/// Orders buffers by the order in which they were made, null first, so that maps and sets of buffers have the
/// same order in every run.
inline std::strong_ordering operator<=>(const Buffer &a, const Buffer &b) {
  return a && b ? a->serial <=> b->serial : (a != nullptr) <=> (b != nullptr);
}

/// For a buffer of tuples: a buffer for each part, with the shape, the scope and the layout of all. The result
/// is the same for each call.
const std::vector<Buffer> &part_buffers(const BufferNode &buffer);

/// The stride of each dimension in elements. A buffer without `strides` has row-major strides without gaps.
std::vector<Expr> strides_of(const BufferNode &buffer);
/// The number of elements from the first to the last element, including the gaps between rows.
Expr span_of(const BufferNode &buffer);

std::string_view name(Scope scope); ///< throws UserError (usage) for a value that is not an enumerator

} // namespace nestsmith
