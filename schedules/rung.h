#pragma once
/// A rung: a named schedule for any shape. A tutorial is an ordered list of rungs.

#include "dsl/schedule.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith {

/// Extents as the user gave them: M, N, K for a matrix product, N for a vector. A symbolic shape asks for a
/// program of sizes, one for all extents: then the numbers say where it is run, and a schedule must not depend
/// on them.
class Shape : public std::vector<std::int64_t> {
public:
  using vector::vector;
  Shape(std::vector<std::int64_t> extents) : vector(std::move(extents)) {}

  /// Whether extent `n` is a multiple of `unit` in every run.
  bool is_multiple(std::size_t n, std::int64_t unit) const {
    return (stated ? stated->multiple_of : at(n)) % unit == 0;
  }

  std::optional<Size> stated; ///< of every extent and leading dimension; set where the shape is symbolic
};

/// One of several forms of a rung, for the shapes that its usual one does not serve.
struct Variant {
  std::string name; ///< "scalar"
  std::string why;  ///< "K % 4 = 3"
  bool operator==(const Variant &) const = default;
};

struct Rung {
  std::string tutorial; ///< "deep_dive"; a user's own may be empty
  std::string name;     ///< "coalesced"
  std::string summary;  ///< one line: what it does and what it is to show
  /// The schedule for a shape, element type and target. Throws UserError where it cannot serve them.
  std::function<Schedule(const Shape &, DType, const Target &)> build;
  Shape tile = {1, 1, 1}; ///< the shape of one block's tile, for tests at its own size
  /// Climbed where the user names no shape: on the simulator, and on a GPU, which is to take long enough to
  /// be measured well while the fp64 reference on the host does not take too long. All three shapes have as
  /// many extents as the computation takes.
  Shape default_shape = {1024, 1024, 1024};
  Shape gpu_shape = {2048, 2048, 2048};
  /// The form that a shape takes, where it is not the usual one; may be empty.
  std::function<std::optional<Variant>(const Shape &, DType)> variant = nullptr;

  std::string full_name() const { return tutorial.empty() ? name : tutorial + "/" + name; }
};

/// The heading above the rungs of a tutorial.
struct Tutorial {
  std::string name;    ///< that of its rungs' `tutorial`: "deep_dive"
  std::string title;   ///< "GEMM deep dive, part 1"
  std::string source;  ///< whose it is, and on what GPU it was measured
  std::string teaches; ///< one line
};

/// The rungs that come with nestsmith, in the order of their tutorials.
const std::vector<Rung> &builtin_rungs();
/// Their tutorials, in the same order.
const std::vector<Tutorial> &builtin_tutorials();

} // namespace nestsmith
