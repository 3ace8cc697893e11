#pragma once
/// Placement of temporaries. For each temporary, the loops around its accesses, its allocated extents, and its
/// number of copies are computed from its accesses.

#include "dsl/ir/pipeline.h"
#include "dsl/ir/region.h"

#include <map>
#include <string_view>
#include <vector>

namespace nestsmith {

/// Arrays in shared memory start at multiples of 16 bytes, the width of the widest vector access.
inline constexpr std::int64_t shared_alignment = 16;

/// The number of elements that are allocated for one dimension: the product of the counts of its runs, or the
/// extent of the span if it has no runs. The extent must be constant.
std::int64_t elements_of(const Span &span);

/// The number of elements of `count` copies of an array. In shared memory, each copy starts at a multiple of
/// `shared_alignment` bytes.
std::int64_t elements_of_copies(const BufferNode &buffer, std::int64_t elements, std::int64_t count);

/// The placement of one temporary.
struct Placement {
  Buffer buffer;
  std::vector<const For *> loops; ///< the loops around every access, outermost first
  Region region;                  ///< the box that one iteration of `loops` accesses
  std::vector<bool> cut;          ///< the dimensions in which `region` is a part of the tiles of its loops
  Slots slots;                    ///< copies of the box for a pipelined loop; one copy without a pipeline
  /// Number of elements of all copies, including the padding of the layout. For a fragment, the number in one
  /// lane. 0 if the box depends on sizes.
  std::int64_t elements = 1;
  /// True if each thread provably writes every element of the box that the same thread accesses. It can be
  /// false only for a local buffer that a cooperative nest fills. Such a nest binds a thread axis again below
  /// `loops`, so the threads share its iterations.
  bool filled_by_owner = true;

  std::vector<std::int64_t> box() const; ///< allocated extent of each dimension of `region`
};

/// The group of threads that has a copy of its own of a temporary: "thread", "warp" or "block".
std::string_view owner_of(Scope scope);

/// Places one temporary. For a local buffer, the box covers the accesses of one thread, and the gaps between
/// runs are not allocated. For any other buffer, the box covers the accesses of all threads of a block or, for
/// a fragment, of a warp, and gaps are allocated. The box ends where the accesses end, except in the dimensions
/// of `WholeTiles`.
Placement place(const Program &program, const Buffer &buffer);

/// The placements of the temporaries of one program. Each is computed on first use.
class Placements {
public:
  explicit Placements(const Program &program)
      : program_(program), bounds_(loop_bounds(program.body)), tiles_(program.body) {}

  const Program &program() const { return program_; }
  const Bounds &bounds() const { return bounds_; } ///< ranges of the program's loop variables
  const Placement &of(const Buffer &buffer);

private:
  Program program_;
  Bounds bounds_;
  WholeTiles tiles_;
  std::map<Buffer, Placement> made_;
};

/// The nests below `root` in program order. Each nest of a whole program becomes one kernel.
std::vector<Stmt> nests_of(const Stmt &root);

/// The largest extent on each axis to which a loop of the nest is bound; 2^31 if it is unknown. If a loop is
/// bound to a warp or a lane, the map has these two axes in place of threadIdx.x, also if no loop is bound to
/// the other one.
std::map<Axis, std::int64_t> axis_extents(const Stmt &nest);
/// The same of the loops for which `counts` is true.
std::map<Axis, std::int64_t> axis_extents(const Stmt &nest, FunctionRef<bool(const For &)> counts);

/// Threads per thread block: the product of the extents of the loops on thread axes, and the threads of all
/// roles. If the nests differ, the largest number. The extents on thread axes must be constant.
std::int64_t threads_of(const Program &program);

} // namespace nestsmith
