#pragma once
/// Where a temporary lives and how much of it is alive at a time: computed from its accesses.

#include "dsl/pipeline.h"
#include "dsl/region.h"

#include <map>
#include <vector>

namespace nestsmith {

/// Arrays in shared memory start at multiples of 16 bytes, the widest access there is.
inline constexpr std::int64_t shared_alignment = 16;

/// How many elements of a dimension are kept: those of its runs, or all.
std::int64_t elements_of(const Span &span);

/// The elements of so many copies of an array; in shared memory each begins at a multiple of the widest access.
std::int64_t elements_of_copies(const BufferNode &buffer, std::int64_t elements, std::int64_t count);

struct Placement {
  Buffer buffer;
  std::vector<const For *> loops; ///< around every access, outermost first
  Region region;                  ///< the box that is touched in one iteration of them
  Slots slots;                    ///< copies of the box for iterations in flight
  std::int64_t elements =
      1; ///< that all copies take in memory, with what the layout pads; 0 where it depends on sizes
  /// Whether each thread writes all of the box that it touches, where nests below `loops` bind thread axes
  /// again and so run their iterations on the threads of these axes.
  bool filled_by_owner = true;

  std::vector<std::int64_t> box() const; ///< how many elements of each dimension of `region` are kept
};

/// For a local buffer the box is one thread's, and has room for the elements of its runs only; for a shared one
/// it holds what all threads of a block touch, gaps included.
Placement place(const Program &program, const Buffer &buffer);

/// The placements of one program's temporaries, each made when it is first asked for.
class Placements {
public:
  explicit Placements(const Program &program) : program_(program), bounds_(loop_bounds(program.body)) {}

  const Program &program() const { return program_; }
  const Bounds &bounds() const { return bounds_; } ///< of its loops
  const Placement &of(const Buffer &buffer);

private:
  Program program_;
  Bounds bounds_;
  std::map<Buffer, Placement> made_;
};

/// The top-level nests, in order: each becomes a kernel.
std::vector<Stmt> nests_of(const Stmt &root);

/// Threads of a block: the product of the extents that are bound to thread axes, in the nest with the most.
std::int64_t threads_of(const Program &program);

} // namespace nestsmith
