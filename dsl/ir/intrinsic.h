#pragma once
/// Intrinsics: instructions of which one call replaces a nest. Each intrinsic is declared once, with its
/// meaning as a nest. `tensorize` compares a nest of the program with the meaning, the simulator executes the
/// meaning, and codegen prints a call of a function. CUDA defines the function, or a *prelude* does: CUDA C++
/// text that codegen prints before the kernel, and the only place for inline assembly.
///
/// dsl/hardware/intrinsics.h has the table of the intrinsics.

#include "dsl/ir/arch.h"
#include "dsl/ir/layout.h"
#include "dsl/ir/program.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace nestsmith {

struct NestLoop {
  Var var;
  std::int64_t extent;
};
/// Serial loops, outermost first, around one store.
struct Nest {
  std::vector<NestLoop> loops;
  Store body;
};
/// "for k < 4: sum = sum + a[k]*b[k]"
std::string to_string(const Nest &nest);

/// The indices with which the nest accesses the buffer, for a meaning: always the same ones.
std::vector<Expr> indices_of(const Nest &nest, const Buffer &buffer);

/// The threads that execute a call together.
enum class Group : std::uint8_t { thread, warp };

/// An operand that one thread passes by value: an element, or a vector of consecutive elements.
struct ByValue {};
/// An operand in the registers of a warp. The map goes from the indices of an element, and optionally the index
/// of its replica, to the lane and to the register of this lane.
struct InRegisters {
  IndexMap map;
};
/// An operand in shared memory. Each of the first `lanes` lanes passes the address of the element `start`,
/// which depends on `lane`. The call reads `count` consecutive elements from there, along the dimension
/// `along`, or writes them if the operand is the result. The addresses of the other lanes are ignored, but they
/// are valid too.
struct Rows {
  Var lane;
  std::vector<Expr> start;
  std::size_t along;
  std::int64_t count;
  std::int64_t lanes = lanes_per_warp;
};

/// An operand in a tile in shared memory that matrix units read themselves. The tile has rows of 128 bytes,
/// swizzled by `swizzle_of_tiles`, and starts at a multiple of 1024 bytes.
///
/// Without `across`, k is contiguous. The operand has 32 consecutive bytes of consecutive rows; the first row
/// is a multiple of 8 rows from the start of the tile, and the bytes start at a multiple of 32.
///
/// With `across`, the operand has consecutive columns of consecutive rows, one for each k. Its columns are in
/// blocks of 128 bytes, and a block has as many rows as columns: "k, n -> n//64, k, n%64" for elements of 2
/// bytes. The first row is a multiple of 8.
struct InTile {
  /// Whether each warp of the group has rows, or columns with `across`, of its own, which follow those of the
  /// warp before. Otherwise all warps of the group read the same ones.
  bool of_warp = false;
  bool across = false;
};

/// A buffer that stands for an operand in a meaning: a constant shape, or no dimension for one element.
Buffer formal_buffer(std::string name, DType dtype, std::vector<Expr> shape);

struct Operand {
  Buffer formal; ///< constant shape: the elements that one call accesses
  std::variant<ByValue, InRegisters, Rows, InTile> place = ByValue{};
  /// Bytes, of the address that a thread passes, or of a tile; 0: the alignment of one element is sufficient.
  std::int64_t alignment = 0;

  template <class T> const T *as() const { return std::get_if<T>(&place); }
};

struct Intrinsic {
  std::string name; ///< the name of the function, and the argument of `tensorize`
  Group group = Group::thread;
  /// The consecutive warps that execute the call together, of which the meaning is the part of one. Its first
  /// warp has a number that is a multiple of it.
  std::int64_t warps = 1;
  /// In the order of the parameters of the function. For a thread, the function returns the value that the
  /// meaning stores. For a warp, it has one pointer for each operand.
  std::vector<Operand> operands;
  Nest meaning; ///< over the formal buffers
  /// The feature that an architecture must have for the function. None: all architectures have it.
  std::optional<Feature> feature = {};
  /// The error of floating-point sums: a sum of T terms counts as up to `rounding_scale`*(T + 2) roundings of
  /// 2^-24, relative to the sum of the magnitudes of its terms. 1: each addition rounds to nearest.
  std::int64_t rounding_scale = 1;
  std::string prelude = {}; ///< definition of the function in CUDA C++; empty: CUDA has it
  /// The call only starts the matrix units: it ends before they have read their tiles and written the result.
  /// Only for groups of warps.
  bool asynchronous = false;
  const OwnReducer *combines = nullptr; ///< of a `lane_reduction` (dsl/hardware/lane_reductions.h)
  /// Group thread: the function with its meaning as an expression. `register_intrinsic` sets it.
  Function function = {};

  const Operand &operand(const Buffer &formal) const;
  const Operand &result() const { return operand(meaning.body.buffer); }
};

/// The name and the dtypes of the operands: "dp4a (i8, i32)".
std::string signature(const Intrinsic &intrinsic);

/// Of a tile that matrix units read (`InTile`).
inline constexpr std::int64_t bytes_of_tile_row = 128, tile_alignment = 1024, rows_of_swizzle = 8;
/// Chunks of 16 bytes are permuted by the number of the row.
Swizzle swizzle_of_tiles(DType dtype);
/// The elements of a row of a tile.
inline std::int64_t columns_of_tile(DType dtype) { return bytes_of_tile_row / byte_size(dtype); }
/// The offset in the tile, in elements, of an element of an operand that starts at the offset `first`.
Expr offset_in_tile(const Expr &first, const Expr &row, const Expr &column, DType dtype);

} // namespace nestsmith
