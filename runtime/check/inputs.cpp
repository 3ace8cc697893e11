#include "runtime/check/inputs.h"

#include "dsl/workload_info.h"

#include <cmath>
#include <limits>
#include <random>

namespace nestsmith {

namespace {

/// Quiet NaN with a payload of its own, and for integers a word that random data rarely has.
constexpr std::uint64_t float_poison = 0x7fc0dead, integer_poison = 0xdeadbeefdeadbeef;
constexpr std::uint64_t half_poison = 0x7fad; ///< a NaN of f16 and of bf16

class Random {
public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint32_t word() { return static_cast<std::uint32_t>(engine_() >> 32); }
  /// Uniform on the multiples of 2^-23 in [-1, 1).
  float symmetric() { return static_cast<float>(static_cast<std::int32_t>(word()) >> 8) * 0x1p-23F; }
  /// Uniform on ±1 … ±limit: no term is 0, so that a lost one shows.
  int nonzero(int limit) {
    int magnitude = 1 + static_cast<int>(word() % static_cast<std::uint32_t>(limit));
    return word() & 1 ? magnitude : -magnitude;
  }

private:
  std::mt19937_64 engine_;
};

void poison(Array &array) {
  Scalar pattern{array.dtype(), is_float(array.dtype()) ? float_poison : integer_poison};
  if (array.dtype() == DType::boolean)
    return;
  if (array.dtype() == DType::f16 || array.dtype() == DType::bf16)
    pattern.bits = half_poison;
  for (std::int64_t n = 0; n < array.size(); ++n)
    array.set(n, pattern);
}

void randomize(Array &array, CheckRun run, int largest, Random &random) {
  if (with_infinities(run)) {
    for (std::int64_t n = 0; n < array.size(); ++n) {
      bool infinite = (random.word() & 1) == (run == CheckRun::infinite);
      double number = std::abs(random.nonzero(largest));
      array.set(
          n, Scalar::from_double(array.dtype(), infinite ? std::numeric_limits<double>::infinity() : number));
    }
    return;
  }
  if (array.dtype() == DType::f32) {
    for (float &x : array.view<float>())
      x = run == CheckRun::random ? random.symmetric() : static_cast<float>(random.nonzero(largest));
  } else if (is_float(array.dtype())) {
    for (std::int64_t n = 0; n < array.size(); ++n)
      array.set(n, Scalar::from_double(array.dtype(),
                                       run == CheckRun::random ? random.symmetric() : random.nonzero(largest)));
  } else if (array.dtype() == DType::u32) {
    for (std::uint32_t &x : array.view<std::uint32_t>())
      x = random.word();
  } else {
    for (std::int64_t n = 0; n < array.size(); ++n)
      array.set(n, Scalar::from_double(array.dtype(), random.nonzero(largest)));
  }
}

Scalar random_scalar(DType dtype, CheckRun run, Random &random) {
  if (dtype == DType::u32)
    return Scalar::of(dtype, random.word() | 1);
  if (is_float(dtype) && run == CheckRun::random) {
    float x = random.symmetric();
    return Scalar::from_double(dtype, std::copysign(std::abs(x) + 0.5F, x));
  }
  double number = random.nonzero(3);
  return Scalar::from_double(dtype, with_infinities(run) ? std::abs(number) : number);
}

} // namespace

Inputs make_inputs(const Program &source, CheckRun run, std::uint64_t seed, int largest_integer) {
  Random random(seed);
  Inputs inputs;
  auto switched = run == CheckRun::switched ? switched_read(source) : std::nullopt;
  for (const Buffer &param : source.params) {
    Array &array = inputs.arrays.emplace_back(param->dtype, constant_shape(param));
    if (param->role == Role::output || (switched && param == switched->buffer))
      poison(array);
    else
      randomize(array, run, largest_integer, random);
  }
  for (const Var &scalar : source.scalars) {
    bool off = switched && scalar == switched->scalar;
    inputs.scalars.push_back(off ? Scalar::from_double(scalar->dtype, 0)
                                 : random_scalar(scalar->dtype, run, random));
  }
  return inputs;
}

std::uint32_t filler_of(const Buffer &buffer) {
  return is_float(buffer->dtype) ? float_poison : integer_poison;
}

} // namespace nestsmith
