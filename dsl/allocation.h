#pragma once
/// Placement of temporaries: the loops around each, its extents, and its number of copies, computed from its
/// accesses.

#include "dsl/pipeline.h"
#include "dsl/region.h"

#include <map>
#include <vector>

namespace nestsmith {

/// Arrays in shared memory start at multiples of 16 bytes, the width of the widest vector access.
inline constexpr std::int64_t shared_alignment = 16;

/// The number of elements that are allocated for one dimension: the product of the counts of its runs, or its
/// extent where it has no runs. The extent must be constant.
std::int64_t elements_of(const Span &span);

/// The number of elements of `count` copies of an array. In shared memory each copy starts at a multiple of
/// `shared_alignment` bytes.
std::int64_t elements_of_copies(const BufferNode &buffer, std::int64_t elements, std::int64_t count);

struct Placement {
  Buffer buffer;
  std::vector<const For *> loops; ///< the loops around every access, outermost first
  Region region;                  ///< the box that one iteration of `loops` accesses
  Slots slots;                    ///< copies of the box for the iterations in flight
  /// The elements of all copies, with the padding of the layout. 0 where the box depends on sizes.
  std::int64_t elements = 1;
  /// True where each thread provably writes every element of the box that it accesses. It can be false only for
  /// a local buffer, where nests below `loops` bind a thread axis again and so distribute their iterations over
  /// the threads.
  bool filled_by_owner = true;

  std::vector<std::int64_t> box() const; ///< allocated extent of each dimension of `region`
};

/// Places one temporary. For a local buffer the box covers one thread and has room for the elements of its runs
/// only. For any other buffer the box covers all threads of a block, gaps included.
Placement place(const Program &program, const Buffer &buffer);

/// The placements of the temporaries of one program. Each is computed on first use.
class Placements {
public:
  explicit Placements(const Program &program) : program_(program), bounds_(loop_bounds(program.body)) {}

  const Program &program() const { return program_; }
  const Bounds &bounds() const { return bounds_; } ///< of the program's loops
  const Placement &of(const Buffer &buffer);

private:
  Program program_;
  Bounds bounds_;
  std::map<Buffer, Placement> made_;
};

/// The nests below `root` in program order. Each nest of a whole program becomes one kernel.
std::vector<Stmt> nests_of(const Stmt &root);

/// Threads per block: the product of the extents on thread axes, for the nest in which it is largest. Extents
/// on thread axes must be constant.
std::int64_t threads_of(const Program &program);

} // namespace nestsmith
