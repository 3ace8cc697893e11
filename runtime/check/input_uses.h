#pragma once
/// The uses of inputs that limit their values in the runs of a check.

#include "dsl/ir/program.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace nestsmith {

/// A parameter of a program: its `Symbol` or `BufferNode`.
using InputId = const void *;

/// The inputs from which a value is computed, also through temporaries.
using Origins = std::set<InputId>;

/// How an unscheduled program uses its inputs.
struct InputUses {
  explicit InputUses(const Program &source);

  Origins indices;   ///< integers that are computed to an index
  Origins converted; ///< integers that are converted to floating point
  Origins compared;  ///< operands of comparisons
  Origins factors;   ///< of the terms of a product over an axis
  Origins divisors;  ///< floating-point inputs that are the divisor of a division
  /// Floating-point inputs whose elements must be multiples of a number, so that a division by a constant has
  /// exact quotients: 3 for the elements of X in X[i] / 3.
  std::map<InputId, std::int64_t> multiples;

  /// Whether an integer input must be small: a large one would be out of bounds as an index, and inexact in
  /// f32. For a u32 index, a computation reduces any value to its range.
  bool small(InputId input, DType dtype) const {
    return converted.contains(input) || (dtype != DType::u32 && indices.contains(input));
  }

private:
  void note(const Expr &e);
  void note_division(const Binary &division);
  Origins origins(const Expr &e) const;
  struct Search {
    int steps = 1000; ///< the number of nodes that are visited before the search gives up
    Origins open;     ///< the stages whose values are being visited
  };
  /// The inputs that must be multiples of `number` so that `e` is one. None if that does not suffice.
  std::optional<Origins> carriers(const Expr &e, std::int64_t number, Search &search) const;

  std::map<InputId, Origins> of_stage_;
  std::map<InputId, std::vector<Expr>> values_; ///< of the elements of a stage
};

} // namespace nestsmith
