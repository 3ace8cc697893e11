#pragma once
/// The reference result, computed on the CPU without a schedule, and the error bound of each element
/// (runtime/check/error_analysis.h). Results in f32 are computed in fp64, and results in f64 in double-double.

#include "dsl/ir/array.h"
#include "dsl/ir/program.h"
#include "dsl/ir/residues.h"

#include <cstdint>
#include <span>
#include <vector>

namespace nestsmith {

/// A parameter that the program writes.
struct ReferenceOutput {
  Buffer buffer;
  std::vector<double> value; ///< row-major; for integer dtypes `integer`, rounded to double
  /// Value of the same expression for the absolute values of the inputs; 0 for integer dtypes.
  std::vector<double> magnitude;
  /// For integer dtypes and boolean: the exact values, extended to 64 bits (u64: the i64 of the same bits).
  /// Arithmetic wraps around. For floating-point dtypes: empty, or the bits of the elements if residues stand
  /// for them.
  std::vector<std::int64_t> integer;
  /// Whether the program defines the sign of a zero of `value`. A sum does, in any order of its terms, because
  /// it begins at +0: x + -x and +0 + -0 are +0. Copies, products, differences and elementwise sums do, because
  /// a schedule keeps their order. `min` and `max` do not: of +0 and -0 they return either, and so
  /// floating-point `floordiv` and `floormod`, and every value that is computed from one of these.
  bool signed_zeros = true;
  /// The bound on the error of each element; empty: all elements are exact. `no_bound` where none exists,
  /// because f32 may overflow, or a divisor may be 0. An integer that is computed from rounded numbers, such as
  /// those of cast(i32, x * y), has the bound 1 and is in [lowest, highest]; or it has no bound.
  std::vector<double> error = {};
  /// The bounds of a reducer whose laws hold for residues, and which rounds in its own way, are `order_factor`
  /// times those of the program's order of the terms. They are estimates: nothing bounds the other orders.
  bool estimated = false;
  std::vector<double> low = {};                  ///< of an f64, whose value is value + low; empty: all 0
  std::vector<double> lowest = {}, highest = {}; ///< for integer dtypes, if `error` is not empty

  bool is_real() const { return integer.empty(); } ///< the elements are numbers in `value`, not in `integer`
  double error_at(std::int64_t n) const { return error.empty() ? 0 : error[static_cast<std::size_t>(n)]; }
  double low_at(std::int64_t n) const { return low.empty() ? 0 : low[static_cast<std::size_t>(n)]; }
};

struct Reference {
  std::vector<ReferenceOutput> outputs; ///< one element for each written parameter, in parameter order
  /// The largest magnitude of any element of any stage, and of any operand of a division, in units of its last
  /// fraction bit. If it is below 2^24, the program computes exact results in single precision for integer
  /// inputs.
  double largest = 0;
  bool divides = false; ///< divides floating-point numbers
  bool applies = false; ///< calls a function whose results are rounded, such as exp
  /// Number of fraction bits that constants and divisions introduce into otherwise integer data: 1 for 0.5.
  /// `endless_fraction` if a constant such as 0.1 needs more bits than a product represents exactly, if a
  /// quotient is not exact, or if a function such as exp is called.
  int fraction_bits = 0;
};

/// The product x * y with x: m x k and y: k x n, each transposed in memory if so stated. In fp64, or in Z/2^32
/// if `ring` is set.
struct Product {
  std::int64_t m, n, k;
  bool x_transposed, y_transposed, ring;
};
/// Computes large products. If there is no multiplier, the CPU computes them.
class Multiplier {
public:
  virtual ~Multiplier() = default;
  virtual bool serves(const Product &product) const = 0;
  /// The product, row-major like x and y.
  virtual std::vector<double> multiply(const Product &product, const std::vector<double> &x,
                                       const std::vector<double> &y) = 0;
};

/// Evaluates the blocks of an unscheduled program in order over their full domains. `arrays` has one array for
/// each parameter: inout arrays hold the old value, and output arrays are not read. Throws UserError (usage) if
/// a stage reads out of bounds. `rounding_scale` is that of the kernel's sums (Intrinsic::rounding_scale).
Reference reference(const Program &source, std::span<const Array> arrays, std::span<const Scalar> scalars,
                    Multiplier *multiplier = nullptr, std::int64_t rounding_scale = 1);

/// The same with residues in the place of floating-point numbers. Every element is exact, except those of a
/// reducer whose laws do not hold for residues: they have no bound. Of a `Reference`, only `outputs` is set.
Reference exact_reference(const Program &source, std::span<const Array> arrays, std::span<const Scalar> scalars,
                          Arithmetic arithmetic);

/// The value of an integer or boolean scalar, extended to 64 bits.
std::int64_t extended(Scalar scalar);

} // namespace nestsmith
