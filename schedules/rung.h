#pragma once
/// Rungs and tutorials: a rung is a named schedule for any shape, and a tutorial is an ordered list of rungs.

#include "dsl/schedule/knobs.h"
#include "dsl/schedule/schedule.h"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith {

/// Storage of the operands of a product, row-major: A is M x K, or K x M if transposed; B is K x N, or N x K if
/// transposed.
struct Transposed {
  bool a = false, b = false;
  bool operator==(const Transposed &) const = default;
};

/// The extents that the user gives: M, N, K for a matrix product, N for a vector. A *symbolic* shape (`stated`
/// is set) requests a program with sizes, so that one kernel is valid for all extents. Then the numbers in the
/// shape are only the extents of one run, and a schedule must not depend on them.
class Shape : public std::vector<std::int64_t> {
public:
  using vector::vector;
  Shape(std::vector<std::int64_t> extents) : vector(std::move(extents)) {}

  /// Whether extent number `n` is a multiple of `unit` in every run.
  bool is_multiple(std::size_t n, std::int64_t unit) const { return known(n) % unit == 0; }
  /// Extent number `n`; if the shape is symbolic, a number of which it is a multiple in every run.
  std::int64_t known(std::size_t n) const {
    return !stated ? at(n) : n < multiples.size() ? multiples[n] : stated->multiple_of;
  }

  std::optional<Size> stated; ///< limits of every extent and leading dimension; set only for a symbolic shape
  /// For a symbolic shape: numbers of which the extents are multiples, and the leading dimensions of rows along
  /// them, instead of `stated->multiple_of`; may be empty.
  std::vector<std::int64_t> multiples;
  /// For a symbolic shape: the leading dimensions are multiples of this number, too, whatever the extents are.
  std::int64_t row_multiple = 1;
  /// For a symbolic product: the number of terms of one part of a sum is a size of this range, named
  /// `size_of_part` (workloads.h), by which a schedule can split the sum.
  std::optional<Size> part;
  std::int64_t parts_of_run = 0; ///< such parts of a tile in a run; 0: as the schedule chooses
  /// For a product of two matrices: `gemm` (workloads.h) stores its operands so. Only rungs whose schedule
  /// takes operands in any order, as `library::product` does, get a shape with transposed operands.
  Transposed transposed;
};

/// A form of a rung for shapes that its usual form does not support.
struct Variant {
  std::string name; ///< "scalar"
  std::string why;  ///< "K % 4 = 3"
  bool operator==(const Variant &) const = default;
};

/// A function that returns the schedule for a shape, element type and target. If the schedule has choices, the
/// function takes Knobs as a fourth parameter.
class BuildFunction {
public:
  BuildFunction(std::nullptr_t = nullptr) {}
  template <std::invocable<const Shape &, DType, const Target &> F> BuildFunction(F build) {
    std::function<Schedule(const Shape &, DType, const Target &)> own(std::move(build));
    if (own)
      build_ = [own = std::move(own)](const Shape &shape, DType dtype, const Target &target, Knobs &) {
        return own(shape, dtype, target);
      };
  }
  template <std::invocable<const Shape &, DType, const Target &, Knobs &> F>
  BuildFunction(F build) : build_(std::move(build)) {}

  Schedule operator()(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) const {
    return build_(shape, dtype, target, knobs);
  }
  /// The schedule with the default of each knob.
  Schedule operator()(const Shape &shape, DType dtype, const Target &target) const {
    Knobs defaults;
    return build_(shape, dtype, target, defaults);
  }
  explicit operator bool() const { return static_cast<bool>(build_); }

private:
  std::function<Schedule(const Shape &, DType, const Target &, Knobs &)> build_;
};

/// The GPU and the shape at which a rung shows its effect.
struct Lesson {
  std::string gpu; ///< a name of dsl/hardware/gpus.h: "L4"
  Shape shape;
  bool operator==(const Lesson &) const = default;
};

/// A kernel table (docs/tuning.md) needs these facts about a rung with knobs. The rung computes products of two
/// matrices, of M x K and K x N elements.
struct KernelSpace {
  /// The extents of the tile of a block for these knobs: rows, columns and k.
  std::function<std::array<std::int64_t, 3>(const KnobValues &, DType)> tile = nullptr;
  std::string parts = {}; ///< the knob for the number of blocks that share a tile; empty: none
  /// The ways to add the parts of a tile: the values of knobs that exist only with parts, as --set takes them.
  std::vector<std::string> with_parts = {""};
  /// The knob for even tails, as `choose_even` asks it (schedules/even_tail.h); empty: none.
  std::string even = {};
  std::vector<std::string> points = {}; ///< the points to measure, as --set takes them

  explicit operator bool() const { return static_cast<bool>(tile); }
};

struct Rung {
  std::string tutorial; ///< "deep_dive"; may be empty in a user's program
  std::string name;     ///< "coalesced"
  std::string summary;  ///< one line: the technique and its purpose
  /// Throws UserError if it does not support the shape, the element type or the target. `tune` calls it from
  /// several threads at the same time, so it must not change data that is not its own.
  BuildFunction build;
  Shape tile = {1, 1, 1}; ///< extents of the tile of one thread block; tests choose small shapes from it
  /// Default shapes on the simulator and on a GPU. The GPU shape is large enough for a stable measurement, and
  /// small enough for the fp64 reference on the host. All three shapes have the same number of extents.
  Shape default_shape = {1024, 1024, 1024};
  Shape gpu_shape = {2048, 2048, 2048};
  /// Returns the variant that the rung uses for a shape, or none if the rung uses its usual form. The function
  /// may be empty.
  std::function<std::optional<Variant>(const Shape &, DType)> variant = nullptr;

  /// The element types that `build` supports, the usual one first. Empty: all, and f32 is the usual one.
  std::vector<DType> dtypes = {};
  /// A feature that the target must have. Without it, `build` throws the error of the first directive that
  /// needs it.
  std::optional<Feature> needs = std::nullopt;

  /// The full name of the rung from which this one differs by what it teaches. Explanations compare the two.
  /// Empty: the rung before it in its tutorial, if that one computes the same.
  std::string against = {};
  /// Where the rung is faster than `against`, if it is not in general.
  std::optional<Lesson> lesson = std::nullopt;

  /// The best knobs of the rung `tuned`, which has the same knobs for the types of the table, as `tune export`
  /// writes them.
  /// The command line takes the values of knobs from this table, by the GPU, the element type and the shape.
  /// Without the command line, `build` takes the defaults. Empty: no table.
  std::string table = {}, tuned = {};
  KernelSpace kernels = {}; ///< of a rung that `tune --table` measures
  /// Kernel tables, as `tune --table` writes them: with them, the command line chooses the knobs for shapes
  /// that `table` does not have. A rung that `tune --table` measures keeps the defaults, and `tune` tries the
  /// choices of its table first.
  std::vector<std::string> kernel_tables = {};

  /// `wanted` if the rung supports it, otherwise its usual element type.
  DType dtype(DType wanted = DType::f32) const {
    return dtypes.empty() || std::ranges::find(dtypes, wanted) != dtypes.end() ? wanted : dtypes.front();
  }
  std::string full_name() const { return tutorial.empty() ? name : tutorial + "/" + name; }
};

/// The heading above the rungs of a tutorial.
struct Tutorial {
  std::string name;      ///< value of `tutorial` in its rungs: "deep_dive"
  std::string title;     ///< "GEMM deep dive, part 1"
  std::string source;    ///< the author, and the GPU of the measurements
  std::string teaches;   ///< one line
  std::string next = {}; ///< the rungs and tutorials that continue with its topics; empty in a user's program
  std::string url = {};  ///< of the source, "https://…"; empty if it is not known
};

/// The rungs of nestsmith, in the order of their tutorials.
const std::vector<Rung> &builtin_rungs();
/// The tutorials of these rungs, in the same order.
const std::vector<Tutorial> &builtin_tutorials();

} // namespace nestsmith
