#pragma once
/// How a random computation is made: generate.cpp makes stages, generate_index.cpp reads, generate_value.cpp
/// expressions.

#include "dsl/ir/tensor.h"
#include "tests/fuzz/generate.h"
#include "tests/fuzz/random.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace nestsmith::fuzz {

/// Sums of floating-point numbers stay this small, so that f32 has all of them with so many bits behind the
/// point.
inline constexpr double most_in_f32 = 0x1p20;
inline constexpr int most_bits = 3;
/// Roundings of results to a narrow type: each makes the bound of the error much wider.
inline constexpr int most_rounds = 6;
/// The reference has 64-bit integers as doubles.
inline constexpr double most_in_64_bits = 0x1p52, all_of_64_bits = 0x1p64;

/// An extent, and its value in the run.
struct Extent {
  Expr size;
  std::int64_t value;
  bool is(const Extent &other) const { return same(size, other.size); }
  bool fixed() const { return !uses_size(size); }
};

/// An axis of the stage that is being made.
struct Place {
  Expr at;
  Extent extent;
};

/// An expression with bounds of its values in integer mode.
struct Value {
  Expr expr;
  double magnitude = 0; ///< at most; 2^64 for integers that may wrap
  int bits = 0;         ///< behind the binary point
  bool given = false;   ///< an integer, or a floating-point number without arithmetic: comparisons are exact
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

/// A tensor that a stage is to read, at its own element or, in the first dimension, before it.
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
  /// A sum of terms of a user's intrinsic, whose vectors are rows of inputs.
  void add_stage_of_intrinsic();
  /// The tensor of the stage that has been made.
  void add_tensor(const std::vector<Extent> &shape, const Value &value);
  /// T reads the inout tensor, which is then overwritten. A later stage reads T, or the update is a sum that
  /// reads it.
  void add_overwrite(InPlace &target);
  /// Y is computed from T, and a later stage reads T, and Y at an element before its own.
  void add_look_back();
  void add_update(InPlace &target, bool sums);
  /// The axes of a stage of this shape, and perhaps of its sum.
  void open(const std::vector<Extent> &shape, bool sums);
  double terms() const; ///< of the sum
  /// Mostly infinite in f32, so that no run compares it.
  Value beyond_f32(Value value);
  /// The value of the stage. After the sum, it is within the limits of its type.
  Value stage_value(DType type);
  /// In another type of the same kind, if the stage is no sum.
  Value stored(Value value);
  Definition definition(const Value &value, const std::vector<Expr> &indices);
  std::vector<Result> results();

  // ---- reads (generate_index.cpp)

  /// An element of this type: of a tensor that is there, or of a new input.
  Value read(DType type, bool only_given = false);
  Value read_of(const Source &source);
  Value read_wanted(const Wanted &wanted);
  Value read_of_new(DType type);
  /// An element of a new input at some axes of the stage, and at the last axis of its sum if `in_rows`.
  Expr element_of_rows(DType stored, bool in_rows);
  Expr any_mask(Expr mask);
  /// An index of a dimension of this extent. Where `mask` becomes an expression, only under it.
  Expr index_below(const Extent &extent, Expr &mask);
  std::optional<Expr> direct_index(const Place &place, const Extent &extent);
  Expr masked_index(const Place &place, const Extent &extent, Expr &mask);
  Expr clamped_index(const Place &place, const Extent &extent);
  Expr gathered_index(const Extent &extent);
  /// In bounds by a mask that compares two axes.
  std::optional<Expr> index_below_another(const Place &place, const Extent &extent, Expr &mask);
  /// A quotient or a remainder by anything, which may be negative or 0.
  Expr divided_index(const Place &place);
  /// An index, and the extent of a dimension that it fits.
  std::pair<Expr, Extent> index_of_new(const Place &place);

  // ---- expressions (generate_value.cpp)

  Value value(DType type, int depth);
  Value constant_of(DType type);
  Value combine(BinaryOp op, const Value &a, const Value &b);
  Value any_combination(DType type, int depth);
  Value any_change(Value a);
  Value any_choice(DType type, int depth);
  Expr condition(int depth);
  Expr index_condition();
  Expr data_condition(int depth);
  /// Null where the value does not convert exactly.
  std::optional<Value> converted(const Value &value, DType type);
  Value rounded(Value value, DType narrow);
  const Place &any_place() { return places_[random_.below(places_.size())]; }

  Random random_;
  Workload work_;
  Shape shape_;
  DType main_;
  int names_ = 0, rounds_ = 0, nested_ = 0;
  /// All tensors have one shape, and stages read each other more than inputs, mostly at the element that they
  /// write: many dependences, and loops that can be shared.
  bool tangled_ = false;
  /// Large extents and constants, arithmetic on indices that the tools for indices do not take apart, and sizes
  /// that depend on each other.
  bool wide_ = false;
  /// An extent that nothing can execute: what compiles it may not take its time.
  bool huge_ = false;
  std::int64_t most_instances_ = 0;
  std::int64_t most_elements() const { return huge_ ? most_instances_ : 6000; } ///< of an input
  std::vector<Extent> bases_;
  std::vector<Source> sources_, stages_;
  std::set<Buffer> read_;          ///< by a stage
  std::vector<Wanted> wanted_;     ///< to be read by the next stage
  std::set<Buffer> inner_, outer_; ///< stages that stay temporaries, and that become outputs
  std::vector<InPlace> inouts_;
  std::vector<Value> scalars_;
  std::vector<Fit> fits_;
  std::vector<Place> places_; ///< of the stage that is being made: its axes, then those of its sum
  std::vector<Reduce> sums_;
};

} // namespace nestsmith::fuzz
