#pragma once
/// Any contraction as a product of matrices: the axes are classified, fused to one of each kind, and the
/// operands get an index for each. The schedules of `product.h` begin with it.
///
///   S[b, i, h, j] = sum over k, l of X[b, k, i, l, h] * W[l, j, k]
///
///   batch  axes of both operands          row     spatial axes of X only      b, i, h
///   k      the reduction axes  k, l       column  spatial axes of W only      j
///
/// The terms may have more elements, of any axes, such as a weight for each k. Then the operands are the two
/// that share the most reduction axes.

#include "dsl/schedule/schedule.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith::library {

/// A factor of the terms: an element of a buffer for each row (or column) and each k.
struct Operand {
  std::string buffer;
  DType dtype; ///< of the elements of the buffer
  /// A copy by `cache_read` has one dimension for the rows and one for k. Otherwise, `reindex_cache_read` makes
  /// such a copy.
  bool is_matrix = true;
  bool k_last = true;    ///< k is the last dimension of the copy, not the rows
  bool along_k = true;   ///< consecutive k are neighbours in memory, not consecutive rows
  bool computed = false; ///< the copy computes its elements, because their stages were inlined into it
  bool async = true;     ///< asynchronous copies may fill the copy: nothing is computed, and a mask leaves 0
  /// A bulk copy may, too: the buffer is an input or a temporary, no index depends on data, and no mask
  /// excludes elements inside of the buffer.
  bool in_bulk = true;
  /// Elements that are neighbours in memory and start at a multiple of their number: a power of two. The number
  /// of elements that one access of 16 bytes or less may take.
  std::int64_t width = 1;
  /// As `width`, for an asynchronous copy, which may end past the end of a row. Not below `width`.
  std::int64_t async_width = 1;
  std::int64_t width_for(bool async_copies) const { return async_copies ? async_width : width; }
  std::int64_t aligned = 1; ///< as `width`, without the limit of an access: up to a line of 128 bytes
};

/// An element of the terms that is no factor: it may depend on any axes.
struct Other {
  std::string buffer;
  bool of_rows, of_columns, of_k;
};

struct Contraction {
  BlockRef sum;
  /// The blocks that read the sum, element by element: they are placed where the sum is complete. All others
  /// read these.
  std::vector<BlockRef> results;
  std::optional<Loop> batch;
  Loop i, j, k;
  std::array<Operand, 2> operands; ///< of rows and k, of columns and k
  std::vector<Other> others;       ///< what the terms read besides
  std::int64_t width = 1;          ///< as `Operand::width`, for the results along the columns
  std::int64_t aligned = 1;        ///< as `Operand::aligned`, for the results along the columns
};

/// Rewrites the computation around `sum` to a product of matrices: axes are fused, stages that compute operands
/// are inlined, and so are the stages between the sum and its results. If the sum is a parameter, or if a stage
/// does more than read it element by element, the sum gets a cache in `scope`. A product of two matrices
/// stays as it is. `apart`: the only result is the block that stores the sum, and what reads the sum stays
/// where it is.
///
/// Throws UserError (illegal_schedule) and leaves the schedule unchanged if the block is no contraction: it
/// names the axis, or the access, that is in the way.
Contraction contraction(Schedule &s, BlockRef sum, Scope scope, bool apart = false);

/// Whether the terms of the reduction have two elements that each depend on a spatial axis of their own. If
/// not, such as in a product of a matrix and a vector, it is one for `library::reduction`. True for a block
/// that does not reduce, which `contraction` refuses.
bool is_product_of_matrices(const Schedule &s, BlockRef block);

/// Why a sum with two elements that each depend on a spatial axis and on a reduction axis is no product of
/// matrices, if other axes would make it one: it names the access that is the same for several values of an
/// axis on which the other element depends, such as W[i // 6, k, j] beside X[i, k]. Empty for other blocks,
/// such as a product of a matrix and a vector.
std::string why_no_product(const Schedule &s, BlockRef block);

/// The elements of which the block sums the products, possibly converted; none for other terms and reducers.
std::optional<std::array<const Load *, 2>> factors_of_product(const Block &sum);

/// The type that a matrix instruction multiplies: that of the operands, or tf32, to which the term rounds them.
DType multiplied(const Schedule &s, const Contraction &c);

struct Copy {
  BlockRef block;
  std::int64_t width; ///< as `Operand::width`
};
/// Copies an operand of `reader`, the sum or a part of it, to `scope`. The last two dimensions of the copy are
/// those of the matrix.
Copy copy_operand(Schedule &s, BlockRef reader, const Operand &operand, Scope scope);

} // namespace nestsmith::library
