#pragma once
/// The generator of random computations. generate.cpp draws stages, generate_index.cpp reads, and
/// generate_value.cpp expressions.

#include "dsl/ir/tensor.h"
#include "tests/fuzz/generate.h"
#include "tests/fuzz/random.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace nestsmith::fuzz {

/// Sums of floating-point numbers do not exceed this magnitude, and have at most `most_bits` fractional bits.
/// So f32 represents them exactly.
inline constexpr double most_in_f32 = 0x1p20;
inline constexpr int most_bits = 3;
/// The maximum number of roundings to a narrow type. Each one makes the error bound much larger.
inline constexpr int most_rounds = 6;
/// The reference represents 64-bit integers as doubles.
inline constexpr double most_in_64_bits = 0x1p52, all_of_64_bits = 0x1p64;

/// An extent, and its value in the run.
struct Extent {
  Expr size;
  std::int64_t value;
  bool is(const Extent &other) const { return same(size, other.size); }
  bool fixed() const { return !uses_size(size); }
};

/// An axis of the current stage.
struct StageAxis {
  Expr at;
  Extent extent;
};

/// An expression with bounds of its values in integer mode.
struct Value {
  Expr expr;
  double magnitude = 0; ///< upper bound; 2^64 for integers that may wrap around
  int bits = 0;         ///< fractional bits
  bool given = false;   ///< an integer, or a float that no arithmetic has changed: comparisons are exact
  DType type() const { return expr.dtype(); }
};

/// A tensor that stages may read.
struct Source {
  Tensor tensor;
  std::vector<Extent> shape;
  double magnitude;
  int bits = 0;
  bool given = false;
};

/// An inout tensor, and whether its update has been made.
struct InPlace {
  Tensor tensor;
  std::vector<Extent> shape;
  bool updated = false;
};

/// A tensor that the next stage must read, at its own element or at the element before it in the first
/// dimension.
struct Wanted {
  Source source;
  bool before = false;
};

class Generator {
public:
  explicit Generator(std::uint64_t seed);
  Generated make();

private:
  bool chance(std::size_t percent) { return random_.chance(percent); }
  std::string fresh(const char *prefix) { return prefix + std::to_string(names_++); }

  // ---- stages (generate.cpp)

  void choose_extents();
  Extent any_extent();
  std::vector<Extent> any_shape();
  DType any_storage(DType type);
  Stored any_stored(const std::vector<Extent> &shape);
  Tensor placeholder(const std::vector<Extent> &shape, DType dtype);
  void add_inout();
  void add_stage();
  /// Adds a sum whose terms are those of a user's intrinsic. Its vectors are rows of inputs.
  void add_stage_of_intrinsic();
  void add_stage_of_tuples();
  /// Adds the tensor of the current stage.
  void add_tensor(const std::vector<Extent> &shape, const Value &value);
  /// T reads the inout tensor, and then an update overwrites that tensor. A later stage reads T, or the update
  /// is a sum that reads T.
  void add_overwrite(InPlace &target);
  /// Y is computed from T. A later stage reads T, and reads Y at an element before its own.
  void add_look_back();
  void add_update(InPlace &target, bool sums);
  /// Creates the axes of a stage of this shape, and of its reduction if `sums`.
  void open(const std::vector<Extent> &shape, bool sums);
  double terms() const; ///< the number of terms of the sum
  /// Makes the value infinite in f32 for most inputs, so that no run compares it.
  Value beyond_f32(Value value);
  /// Returns the value of the stage. A sum is within the limits of its type.
  Value stage_value(DType type);
  /// Converts the value to another type of the same kind, unless the stage is a sum.
  Value stored(Value value);
  Definition definition(const Value &value, const std::vector<Expr> &indices);
  std::vector<Result> results();

  // ---- reads (generate_index.cpp)

  /// Reads an element of this type from an existing tensor or from a new input.
  Value read(DType type, bool only_given = false);
  Value read_of(const Source &source);
  Value read_wanted(const Wanted &wanted);
  Value read_of_new(DType type);
  /// Reads an element of a new input at some axes of the stage. If `in_rows`, the last index is the last axis
  /// of the sum.
  Expr element_of_rows(DType stored, bool in_rows);
  Expr any_mask(Expr mask);
  /// Returns an index in [0, extent). If the function sets `mask`, the index is valid only where the mask
  /// holds.
  Expr index_below(const Extent &extent, Expr &mask);
  std::optional<Expr> direct_index(const StageAxis &place, const Extent &extent);
  Expr masked_index(const StageAxis &place, const Extent &extent, Expr &mask);
  Expr clamped_index(const StageAxis &place, const Extent &extent);
  Expr gathered_index(const Extent &extent);
  /// Returns an index that is in bounds because of a mask that compares two axes.
  std::optional<Expr> index_below_another(const StageAxis &place, const Extent &extent, Expr &mask);
  /// Returns a quotient or a remainder by a divisor that may be negative or 0.
  Expr divided_index(const StageAxis &place);
  /// Returns an index and an extent of a dimension for which it is in bounds.
  std::pair<Expr, Extent> index_of_new(const StageAxis &place);

  // ---- expressions (generate_value.cpp)

  Value value(DType type, int depth);
  Value constant_of(DType type);
  Value combine(BinaryOp op, const Value &a, const Value &b);
  Value any_combination(DType type, int depth);
  Value any_change(Value a);
  Value any_shift(const Value &a);
  /// Applies a function of mathematics where it has a number.
  Value any_function(const Value &a);
  Value any_fast_function(const Value &a);
  Value any_choice(DType type, int depth);
  Expr condition(int depth);
  Expr index_condition();
  Expr data_condition(int depth);
  /// Returns null if the conversion is not exact.
  std::optional<Value> converted(const Value &value, DType type);
  Value rounded(Value value, DType narrow);
  const StageAxis &any_place() { return places_[random_.below(places_.size())]; }

  Random random_;
  Workload work_;
  Shape shape_;
  DType main_;
  int names_ = 0, rounds_ = 0, nested_ = 0;
  /// All tensors have the same shape, and stages mostly read each other at the element that they write. This
  /// gives many dependences, and loops that can be fused.
  bool tangled_ = false;
  /// Extents and constants are large, index arithmetic is not quasi-affine in places, and sizes depend on each
  /// other.
  bool wide_ = false;
  /// An extent is too large for the program to be executed. Compilation must not take time in proportion to it.
  bool huge_ = false;
  /// Some values are results of functions such as exp. Then only runs with an error bound compare them.
  bool functions_ = false;
  std::int64_t most_instances_ = 0;
  std::int64_t most_elements() const { return huge_ ? most_instances_ : 6000; } ///< of an input
  std::vector<Extent> bases_;
  std::vector<Source> sources_, stages_;
  std::set<Buffer> read_;          ///< buffers that a stage reads
  std::vector<Wanted> wanted_;     ///< the tensors that the next stage must read
  std::set<Buffer> inner_, outer_; ///< stages that stay temporaries, and stages that become outputs
  std::vector<InPlace> inouts_;
  std::vector<Value> scalars_;
  std::vector<Fit> fits_;
  std::vector<StageAxis> places_; ///< the axes of the current stage, followed by those of its sum
  std::vector<Reduce> sums_;
  Reducer reducer_ = Reducer::sum;
};

} // namespace nestsmith::fuzz
