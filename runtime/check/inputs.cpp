#include "runtime/check/inputs.h"

#include "dsl/ir/workload_info.h"
#include "runtime/check/input_uses.h"
#include "runtime/check/ties.h"

#include <array>
#include <cmath>
#include <limits>
#include <random>

namespace nestsmith {

namespace {

/// Quiet NaN with a payload of its own, which is also an f64 if it is repeated, and for integers a word that
/// random data rarely has.
constexpr std::uint64_t float_poison = 0x7ff8dead, integer_poison = 0xdeadbeefdeadbeef;
constexpr std::uint64_t half_poison = 0x7fad;  ///< a NaN of f16 and of bf16
constexpr std::uint64_t boolean_poison = 0xcc; ///< neither true nor false

class Random {
public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint32_t word() { return static_cast<std::uint32_t>(engine_() >> 32); }
  /// Uniform on the multiples of 2^-23 in [-1, 1).
  float symmetric() { return static_cast<float>(static_cast<std::int32_t>(word()) >> 8) * 0x1p-23F; }
  /// The same on the multiples of 2^-52 for f64, which f32 does not have.
  double symmetric(DType type) {
    double high = symmetric();
    return type == DType::f64 ? high + (word() >> 3) * 0x1p-52 : high;
  }
  /// Uniform on ±1 … ±limit: no term is 0, so that a lost one shows.
  int nonzero(int limit) {
    int magnitude = 1 + static_cast<int>(word() % static_cast<std::uint32_t>(limit));
    return word() & 1 ? magnitude : -magnitude;
  }

private:
  std::mt19937_64 engine_;
};

void poison(Array &array) {
  DType type = array.dtype();
  Scalar pattern{type, is_float(type) ? float_poison : integer_poison};
  if (type == DType::boolean)
    pattern.bits = boolean_poison;
  if (type == DType::f16 || type == DType::bf16)
    pattern.bits = half_poison;
  if (type == DType::f64)
    pattern.bits = float_poison << 32 | float_poison;
  for (std::int64_t n = 0; n < array.size(); ++n)
    array.set(n, pattern);
}

/// An integer of the whole range of `dtype`: a small number, an end of the range, or any other.
Scalar any_integer(DType dtype, int largest, Random &random) {
  int width = 8 * byte_size(dtype);
  std::uint64_t sign = std::uint64_t{1} << (width - 1), all = sign | (sign - 1), bits = 0;
  std::uint32_t kind = random.word() % 8;
  if (kind < 3)
    bits = static_cast<std::uint64_t>(std::int64_t{random.nonzero(largest)});
  else if (kind == 3)
    bits = std::array{sign, sign - 1, all, all - 1}[random.word() % 4];
  else
    bits = std::uint64_t{random.word()} << 32 | random.word();
  return {dtype, bits & all};
}

Scalar integer(DType dtype, bool small, int largest, Random &random) {
  if (dtype == DType::boolean)
    return {dtype, random.word() & 1};
  if (small) {
    int number = random.nonzero(largest);
    bool has_sign = is_index(arithmetic_type(dtype));
    return Scalar::from_double(dtype, has_sign ? number : std::abs(number));
  }
  return dtype == DType::u32 ? Scalar{dtype, random.word()} : any_integer(dtype, largest, random);
}

/// The exact runs take floating-point numbers from these.
struct Numbers {
  int largest;  ///< magnitude of the integers
  bool divisor; ///< powers of two, so that quotients are exact
  std::int64_t multiple_of;

  double draw(CheckRun run, Random &random) const {
    double number = random.nonzero(largest);
    if (divisor)
      number = std::copysign(1 << static_cast<int>(std::abs(number)) % 3, number);
    number *= static_cast<double>(multiple_of);
    return with_infinities(run) ? std::abs(number) : number;
  }
};

double draw(const Numbers &numbers, CheckRun run, DType type, Random &random) {
  if (is_floating_point(run))
    return random.symmetric(type);
  if (!with_infinities(run))
    return numbers.draw(run, random);
  bool infinite = (random.word() & 1) == (run == CheckRun::infinite);
  double number = numbers.draw(run, random);
  return infinite ? std::numeric_limits<double>::infinity() : number;
}

/// Any residue, or an odd one, which has a reciprocal in the ring.
Scalar any_residue(DType dtype, Arithmetic arithmetic, bool odd, Random &random) {
  std::uint32_t word = random.word();
  return with_residues(arithmetic, [&]<Arithmetic kind>() -> Scalar {
    return {dtype, to_element(dtype, Residue<kind>::of(odd ? word | 1 : word))};
  });
}

void randomize(Array &array, CheckRun run, bool small, const Numbers &numbers, Random &random) {
  DType type = array.dtype();
  for (std::int64_t n = 0; n < array.size(); ++n)
    array.set(n, is_float(type) ? Scalar::from_double(type, draw(numbers, run, type, random))
                                : integer(type, small, numbers.largest, random));
}

/// A number of [0.5, 1.5) in one of the further ranges. `parameter` is the number of the parameter, and `place`
/// that of the element, from 0 to 1.
double draw_from_range(CheckRun run, DType type, std::size_t parameter, double place, Random &random) {
  double number = 1 + random.symmetric(type) / 2;
  if (run == CheckRun::alternating)
    return parameter % 2 == 0 ? number : -number;
  if (run == CheckRun::graded)
    return std::ldexp(number, 3 * static_cast<int>(parameter % 4));
  return run == CheckRun::rising ? 1 + 4 * place : number;
}

void randomize_in_range(Array &array, CheckRun run, std::size_t parameter, Random &random) {
  for (std::int64_t n = 0; n < array.size(); ++n) {
    double place = static_cast<double>(n) / static_cast<double>(array.size());
    array.set(
        n, Scalar::from_double(array.dtype(), draw_from_range(run, array.dtype(), parameter, place, random)));
  }
}

/// Whether floating-point elements are only moved, converted and compared.
bool only_compares(const Program &source) {
  return std::ranges::none_of(blocks_of(source.body), [](const Block *block) {
    return any_node(without_reducer_calls(block->body.value), [](const Expr &e) {
      const auto *op = e.as<Binary>();
      bool compares = !op || is_comparison(op->op) || op->op == BinaryOp::max || op->op == BinaryOp::min;
      return (op && is_float(op->a.dtype()) && !compares) || math_function(e) != nullptr;
    });
  });
}

/// Makes all elements negative, and the last quarter of them -infinity.
void put_lowest(Array &array) {
  for (std::int64_t n = 0; n < array.size(); ++n) {
    bool lowest = n >= array.size() - array.size() / 4;
    double number = lowest ? std::numeric_limits<double>::infinity() : std::abs(array.at(n).to_double());
    array.set(n, Scalar::from_double(array.dtype(), -number));
  }
}

/// Whether the largest element of a row is at this position. Over the rows, it is at each place in turn; if
/// there are fewer rows than places, at places of equal distance, and in one row in the middle.
bool is_largest_of_row(std::int64_t position, const std::vector<std::int64_t> &shape) {
  std::int64_t columns = shape.empty() ? 1 : shape.back(), rows = 1;
  for (std::size_t d = 0; d + 1 < shape.size(); ++d)
    rows *= shape[d];
  std::int64_t row = position / columns, step = std::max<std::int64_t>(columns / rows, 1);
  return position % columns == (columns / 2 + row * step) % columns;
}

/// Numbers of great magnitude: of one sign, so that a maximum or a minimum that starts at 0 is wrong, or
/// scattered.
void randomize_steeply(Array &array, CheckRun run, Random &random) {
  constexpr double golden = 0.6180339887498949; // multiples of it are spread evenly over [0, 1) in any number
  for (std::int64_t n = 0; n < array.size(); ++n) {
    double place = 0, scattered = 0, rank = static_cast<double>(array.shape().size());
    std::int64_t position = n;
    for (std::size_t d = array.shape().size(); d-- > 0; position /= array.shape()[d]) {
      auto index = static_cast<double>(position % array.shape()[d]);
      place += (index + 0.5) / static_cast<double>(array.shape()[d]) / rank;
      scattered += index * golden * static_cast<double>(d + 1);
    }
    if (run == CheckRun::scattered)
      place = scattered - std::floor(scattered);
    double number = run == CheckRun::scattered ? 1.9e4 * place - 1e4 : 1e3 + 2e4 * place;
    if (run == CheckRun::scattered && is_largest_of_row(n, array.shape()))
      number = 1e4;
    if (run == CheckRun::steep_down)
      number = -number;
    array.set(n, Scalar::from_double(array.dtype(), number + random.symmetric(array.dtype())));
  }
}

/// Whether no index of the element is the first or the last of its dimension.
bool is_inner(std::int64_t position, const std::vector<std::int64_t> &shape) {
  for (std::size_t d = shape.size(); d-- > 0; position /= shape[d])
    if (std::int64_t index = position % shape[d]; index == 0 || index == shape[d] - 1)
      return false;
  return true;
}

/// Sets an eighth of the inner elements to 0, of floating-point elements half to -0. The elements at the edges
/// stay, so that a lost first or last term of a sum changes the result.
void put_zeros(Array &array, Random &random) {
  Scalar zero = Scalar::from_double(array.dtype(), 0);
  Scalar negative = is_float(array.dtype()) ? Scalar::from_double(array.dtype(), -0.0) : zero;
  for (std::int64_t n = 0; n < array.size(); ++n)
    if (std::uint32_t word = random.word(); word % 8 == 0 && is_inner(n, array.shape()))
      array.set(n, word & 8 ? negative : zero);
}

/// Even integers would make a product of many of them 0 in each dtype that wraps around.
void make_odd(Array &array) {
  for (std::int64_t n = 0; !is_float(array.dtype()) && n < array.size(); ++n) {
    Scalar number = array.at(n);
    number.bits |= 1;
    array.set(n, number);
  }
}

Scalar random_scalar(DType dtype, CheckRun run, bool small, const Numbers &numbers, Random &random) {
  if (is_float(dtype) && is_floating_point(run)) {
    double x = random.symmetric(dtype);
    double magnitude = dtype == DType::f64 ? std::abs(x) + 0.5 : std::abs(static_cast<float>(x)) + 0.5F;
    return Scalar::from_double(dtype, run == CheckRun::random ? std::copysign(magnitude, x) : magnitude);
  }
  if (is_float(dtype) && run == CheckRun::ties) // a power of two, which keeps all bits of a product
    return Scalar::from_double(dtype,
                               std::ldexp(random.word() & 1 ? 1 : -1, static_cast<int>(random.word() % 3)));
  if (!is_float(dtype) && !small) { // an odd number, which no number but 0 times is 0
    Scalar number = integer(dtype, false, 3, random);
    number.bits |= 1;
    return number;
  }
  return Scalar::from_double(dtype, numbers.draw(run, random));
}

} // namespace

Inputs make_inputs(const Program &source, CheckRun run, std::uint64_t seed, int largest_integer) {
  Random random(seed), random_zeros(~seed);
  bool zeros = run == CheckRun::integers || run == CheckRun::ring || run == CheckRun::switched;
  bool residues = arithmetic_of(run) != Arithmetic::floating;
  bool lowest = run == CheckRun::opposite && only_compares(source);
  InputUses uses(source);
  auto numbers = [&](InputId input, int largest) {
    auto multiple = uses.multiples.find(input);
    bool divisor = uses.divisors.contains(input);
    return Numbers{largest, divisor, divisor || multiple == uses.multiples.end() ? 1 : multiple->second};
  };
  Inputs inputs;
  auto switched = run == CheckRun::switched ? switched_read(source) : std::nullopt;
  for (const Buffer &param : source.params) {
    Array &array = inputs.arrays.emplace_back(param->dtype, constant_shape(param));
    if (param->role == Role::output || (switched && param == switched->buffer)) {
      poison(array);
      continue;
    }
    Numbers from = numbers(param.get(), largest_integer);
    if (is_float(param->dtype) && residues) {
      bool odd = from.divisor || uses.factors.contains(param.get());
      for (std::int64_t n = 0; n < array.size(); ++n)
        array.set(n, any_residue(param->dtype, arithmetic_of(run), odd, random));
      continue;
    }
    if (is_float(param->dtype) && is_steep(run)) {
      randomize_steeply(array, run, random);
      continue;
    }
    if (is_float(param->dtype) && run >= CheckRun::positive) {
      randomize_in_range(array, run, inputs.arrays.size() - 1, random);
      continue;
    }
    if (is_float(param->dtype) && run == CheckRun::ties) {
      put_ties(array, source, param, [&] { return random.word(); });
      continue;
    }
    randomize(array, run, uses.small(param.get(), param->dtype), from, random);
    if (is_float(param->dtype) && lowest)
      put_lowest(array);
    else if (uses.factors.contains(param.get()))
      make_odd(array);
    else if (zeros && !from.divisor)
      put_zeros(array, random_zeros);
  }
  for (const Var &scalar : source.scalars) {
    bool small = uses.small(scalar.get(), scalar->dtype) ||
                 (scalar->dtype != DType::u32 && uses.compared.contains(scalar.get()));
    bool off = switched && scalar == switched->scalar;
    if (residues && is_float(scalar->dtype)) {
      inputs.scalars.push_back(any_residue(scalar->dtype, arithmetic_of(run), true, random));
      continue;
    }
    inputs.scalars.push_back(off ? Scalar::from_double(scalar->dtype, 0)
                                 : random_scalar(scalar->dtype, run, small, numbers(scalar.get(), 3), random));
  }
  return inputs;
}

bool rounds_to_narrow(const Program &source) { return !narrow_roundings(source).empty(); }

std::uint32_t filler_of(const Buffer &buffer) {
  return is_float(buffer->dtype) ? float_poison : integer_poison;
}

} // namespace nestsmith
