#pragma once
/// The uses of inputs that limit their values in the runs of a check.

#include "dsl/program.h"

#include <map>
#include <set>

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

  /// Whether an integer input must be small: a large one would be out of bounds as an index, and inexact in
  /// f32. For a u32 index, a computation reduces any value to its range.
  bool small(InputId input, DType dtype) const {
    return converted.contains(input) || (dtype != DType::u32 && indices.contains(input));
  }

private:
  void note(const Expr &e);
  Origins origins(const Expr &e) const;

  std::map<InputId, Origins> of_stage_;
};

} // namespace nestsmith
