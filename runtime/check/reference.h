#pragma once
/// The right answer, on the CPU, in fp64 and without any schedule; and how far from it a kernel in
/// single precision may be.

#include "dsl/array.h"
#include "dsl/program.h"

#include <cstdint>
#include <span>
#include <vector>

namespace nestsmith {

/// One parameter that the program writes.
struct ReferenceOutput {
  Buffer buffer;
  std::vector<double> value;     ///< row-major; for integer dtypes exact, u32 in Z/2^32
  std::vector<double> magnitude; ///< the same expression on absolute values; for integer dtypes 0
};

inline constexpr int endless_fraction = 24;

struct Reference {
  std::vector<ReferenceOutput> outputs; ///< in parameter order
  /// Roundings on the longest way from an input to an output: K of a reduction of length K in any
  /// order (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., 3.1), 1 for each other
  /// operation. K + 3 for alpha * A * B + beta * C.
  std::int64_t roundings = 0;
  /// The largest magnitude of any element of any stage: below 2^24 the same program on integers is
  /// exact in single precision.
  double largest = 0;
  bool divides = false; ///< a floating-point division: integers do not stay integers
  /// Bits behind the binary point that integers get by the constants: 1 for 0.5; `endless_fraction` where a
  /// constant such as 0.1 has more than a product leaves room for.
  int fraction_bits = 0;
};

/// x * y with x: m x k and y: k x n, each stored transposed where it says so; in fp64, or in Z/2^32.
struct Product {
  std::int64_t m, n, k;
  bool x_transposed, y_transposed, ring;
};
/// Where large products are made. Without one, on the CPU.
class Multiplier {
public:
  virtual ~Multiplier() = default;
  virtual bool serves(const Product &product) const = 0;
  /// Row-major, as x and y are.
  virtual std::vector<double> multiply(const Product &product, const std::vector<double> &x,
                                       const std::vector<double> &y) = 0;
};

/// Evaluates an unscheduled program: its blocks in order over their whole domains. `arrays` has one
/// array for each parameter; those of role inout hold the old value, those of role output are not
/// read. Throws UserError (usage) where a stage reads out of bounds.
Reference reference(const Program &source, std::span<const Array> arrays, std::span<const Scalar> scalars,
                    Multiplier *multiplier = nullptr);

/// The bound gamma_m * magnitude, gamma_m = m*u / (1 - m*u), u = 2^-24 (Higham, Lemma 3.1). Throws
/// UserError (usage) where m is so large that there is no bound.
double error_bound(std::int64_t roundings, double magnitude);

} // namespace nestsmith
