#include "runtime/check/check.h"

#include "dsl/error.h"
#include "dsl/printer.h"
#include "dsl/specialise.h"
#include "dsl/workload_info.h"
#include "runtime/check/stored_array.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <random>

namespace nestsmith {

namespace {

/// Quiet NaN with a payload of its own, and for integers a word that random data rarely has.
constexpr std::uint64_t float_poison = 0x7fc0dead, integer_poison = 0xdeadbeefdeadbeef;
constexpr std::uint64_t half_poison = 0x7fad; ///< a NaN of f16 and of bf16
constexpr std::size_t messages_for_elements = 3;

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

bool with_infinities(CheckRun run) { return run == CheckRun::infinite || run == CheckRun::opposite; }

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

/// The filler between the rows. For floating point it is a NaN, so that the result shows a read of it.
std::uint32_t filler_of(const Buffer &buffer) {
  return is_float(buffer->dtype) ? float_poison : integer_poison;
}

std::string label_of(CheckRun run, const Program &source) {
  switch (run) {
  case CheckRun::random:
    return "floating point";
  case CheckRun::integers:
    return "integer mode";
  case CheckRun::ring:
    return "ring mode";
  case CheckRun::infinite:
    return "infinities, 1 of 2";
  case CheckRun::opposite:
    return "infinities, 2 of 2";
  case CheckRun::switched:
    auto read = switched_read(source);
    const char *content = is_float(read->buffer->dtype) ? "NaN" : "poison";
    return fmt::format("{} = 0, {} full of {}", read->scalar->name, read->buffer->name, content);
  }
  internal_error("a run of the closed set");
}

/// Whether all results are integers. Beside floating point they are exact in every run.
bool in_ring(const Program &source) {
  return std::ranges::none_of(written_params(source), [](const Buffer &b) { return is_float(b->dtype); });
}

std::vector<std::int64_t> unflatten(std::int64_t position, const std::vector<std::int64_t> &shape) {
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t d = shape.size(); d-- > 0; position /= shape[d])
    index[d] = position % shape[d];
  return index;
}

/// Compares one output, element by element, into `result`.
class Comparison {
public:
  Comparison(const ReferenceOutput &expected, const Array &before, const Array &got, std::int64_t roundings,
             RunResult &result)
      : expected_(expected), before_(before), got_(got), gamma_(error_bound(roundings, 1)), result_(result) {}

  void run() {
    for (std::int64_t n = 0; n < got_.size(); ++n)
      compare(n);
  }

private:
  void compare(std::int64_t n) {
    auto at = static_cast<std::size_t>(n);
    double expected = expected_.value[at];
    double value = got_.dtype() == DType::f32 ? got_.view<float>()[at] : got_.at(n).to_double();
    double error = same(value, expected) ? 0 : std::abs(value - expected);
    if (result_.run == CheckRun::random) {
      double bound = gamma_ * expected_.magnitude[at];
      double ratio = error == 0 ? 0 : error / bound; // infinite where nothing but 0 is allowed
      note_error(n, error, ratio);
      if (!(error <= bound)) // a NaN is not
        wrong(n, value, expected, fmt::format(" (error {:.3g}, bound {:.3g})", error, bound));
    } else {
      note_error(n, error, 0);
      if (!same(value, expected))
        wrong(n, value, expected, "");
    }
  }

  /// A NaN passes only where infinities make it one.
  bool same(double value, double expected) const {
    return value == expected || (with_infinities(result_.run) && std::isnan(value) && std::isnan(expected));
  }

  void note_error(std::int64_t n, double error, double ratio) {
    if (std::isnan(error))
      error = ratio = std::numeric_limits<double>::infinity();
    bool worse =
        result_.run == CheckRun::random ? ratio > result_.max_error_over_bound : error > result_.max_error;
    if (worse)
      result_.where = unflatten(n, got_.shape());
    result_.max_error = std::max(result_.max_error, error);
    result_.max_error_over_bound = std::max(result_.max_error_over_bound, ratio);
  }

  void wrong(std::int64_t n, double value, double expected, const std::string &detail) {
    result_.passed = false;
    if (!result_.first_wrong)
      result_.first_wrong = {expected_.buffer->name, unflatten(n, got_.shape()), value, expected};
    if (++result_.wrong_elements > static_cast<std::int64_t>(messages_for_elements))
      return;
    std::string element =
        fmt::format("{}[{}]", expected_.buffer->name, fmt::join(unflatten(n, got_.shape()), ", "));
    // A NaN keeps its payload through arithmetic, so in an inout the old bits do not tell who wrote them.
    if (expected_.buffer->role == Role::output && got_.at(n) == before_.at(n))
      result_.messages.push_back(fmt::format("{} was never written; expected {:.9g}", element, expected));
    else
      result_.messages.push_back(
          fmt::format("{}: got {:.9g}, expected {:.9g}{}", element, value, expected, detail));
  }

  const ReferenceOutput &expected_;
  const Array &before_, &got_;
  double gamma_;
  RunResult &result_;
};

} // namespace

const RunResult *CheckResult::find(CheckRun run) const {
  auto it = std::ranges::find(runs, run, &RunResult::run);
  return it == runs.end() ? nullptr : &*it;
}

std::optional<bool> CheckResult::exact() const {
  std::optional<bool> exact;
  for (const RunResult &result : runs)
    if (result.run != CheckRun::random)
      exact = exact.value_or(true) && result.wrong_elements == 0;
  return exact;
}

std::vector<std::string> CheckResult::messages() const {
  std::vector<std::string> all;
  for (const RunResult &result : runs)
    for (const std::string &message : result.messages)
      all.push_back(fmt::format("{}: {}", result.label, message));
  return all;
}

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

std::shared_ptr<const Checker::Case> Checker::make_case(const Program &source, CheckRun run,
                                                        std::uint64_t seed) {
  std::string key = fmt::format("{} {}\n{}", static_cast<int>(run), seed, print(source));
  std::shared_ptr<const Case> &known = cases_[key];
  if (known)
    return known;
  constexpr double exact_in_f32 = 0x1p24;
  bool integers = !in_ring(source) && run != CheckRun::random;
  // Smaller integers for longer sums. With ±1 a sum of 2^22 terms is still exact, and beyond it the
  // run is left out.
  std::string skip;
  for (int largest = 8; largest >= 1; largest /= 2) {
    Inputs inputs = make_inputs(source, run, seed, largest);
    Reference expected = reference(source, inputs.arrays, inputs.scalars, multiplier_);
    if (integers && (expected.divides || expected.fraction_bits >= endless_fraction)) {
      skip = expected.divides ? "the computation divides, so integers do not stay exact in f32"
                              : "a constant of the computation has too many digits for exact results in f32";
      break;
    }
    if (integers && !with_infinities(run) &&
        std::ldexp(expected.largest, expected.fraction_bits) >= exact_in_f32) {
      skip = "the sums are too large to be exact in f32";
      continue;
    }
    return known = std::make_shared<const Case>(Case{std::move(inputs), std::move(expected), ""});
  }
  return known = std::make_shared<const Case>(Case{{}, {}, skip});
}

CheckResult Checker::check(const Program &symbolic, const kernel::Plan &plan, Executor &executor,
                           const CheckOptions &options) {
  const Program source = specialise(symbolic, plan.values);
  std::vector<StoredArray> stored;
  for (const Buffer &param : source.params)
    stored.emplace_back(param);
  auto compute = [&](std::vector<Array> &arrays, const std::vector<Scalar> &scalars) {
    std::vector<Array> memory;
    for (std::size_t n = 0; n < stored.size(); ++n)
      memory.push_back(stored[n].spread(arrays[n], filler_of(source.params[n])));
    Execution execution = executor.run(plan, memory, scalars);
    for (std::size_t n = 0; n < stored.size(); ++n) {
      const Buffer &param = source.params[n];
      arrays[n] = stored[n].gather(memory[n]);
      if (memory[n] != stored[n].spread(arrays[n], filler_of(param)))
        execution.diagnostics.push_back(fmt::format("{} was written in the gap between its rows", param->name));
    }
    return execution;
  };
  return check(source, compute, options);
}

CheckResult Checker::check(const Program &source, const Compute &compute, const CheckOptions &options) {
  std::vector<CheckRun> runs;
  if (in_ring(source))
    runs = {CheckRun::ring};
  else if (options.exact_only)
    runs = {CheckRun::integers};
  else
    runs = {CheckRun::random, CheckRun::integers};
  if (switched_read(source))
    runs.push_back(CheckRun::switched);
  if (options.infinite && !in_ring(source))
    runs.insert(runs.end(), {CheckRun::infinite, CheckRun::opposite});

  CheckResult result;
  for (CheckRun run : runs) {
    if (options.to_first && !result.passed)
      break;
    auto given = make_case(source, run, options.seed);
    if (!given->skip.empty()) {
      result.skipped.push_back({label_of(run, source), given->skip});
      continue;
    }
    std::vector<Array> arrays = given->inputs.arrays;
    Execution execution = compute(arrays, given->inputs.scalars);

    RunResult &one = result.runs.emplace_back();
    one.run = run;
    one.label = label_of(run, source);
    one.passed = execution.diagnostics.empty();
    one.messages = execution.diagnostics;
    std::size_t output = 0;
    for (std::size_t n = 0; n < source.params.size(); ++n) {
      const Buffer &param = source.params[n];
      if (param->role == Role::input) {
        if (arrays[n] != given->inputs.arrays[n]) {
          one.passed = false;
          one.messages.push_back(fmt::format("the input {} was modified", param->name));
        }
        continue;
      }
      Comparison(given->expected.outputs[output++], given->inputs.arrays[n], arrays[n],
                 given->expected.roundings, one)
          .run();
    }
    if (one.wrong_elements > static_cast<std::int64_t>(messages_for_elements))
      one.messages.push_back(fmt::format("{} elements are wrong in total", one.wrong_elements));
    result.passed &= one.passed;
  }
  return result;
}

} // namespace nestsmith
