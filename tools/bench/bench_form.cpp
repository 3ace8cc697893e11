#include "tools/bench/bench_form.h"

#include "dsl/ir/printer.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <memory>

namespace nestsmith::cli {

namespace {

std::optional<GemmWithEpilogue> library_product(const Program &source) {
  std::optional<GemmWithEpilogue> gemm = as_gemm_with_epilogue(source);
  if (!gemm || gemm->product.x_type != gemm->product.y_type)
    return std::nullopt;
  const DType operands = gemm->product.x_type, result = gemm->c->dtype;
  const bool narrow = result == operands && (result == DType::f16 || result == DType::bf16);
  const bool known = gemm->product.result->dtype == DType::f32 && (result == DType::f32 || narrow) &&
                     (!gemm->bias || gemm->bias->dtype == result);
  return known ? gemm : std::nullopt;
}

/// The largest value of the integers. In a product, alpha times a sum of k terms, and beta times an element,
/// must be exact.
int largest_integer(const std::optional<GemmWithEpilogue> &gemm) {
  if (!gemm)
    return 8;
  for (int largest = 8; largest > 1; largest /= 2)
    if (std::pow(largest, 3) * static_cast<double>(gemm->product.k) + largest * largest < 0x1p24)
      return largest;
  return 1;
}

std::size_t place_of(const Computation &computation, const Buffer &buffer) {
  const std::vector<Buffer> &params = computation.source.params;
  return static_cast<std::size_t>(std::ranges::find(params, buffer) - params.begin());
}

std::string element_text(const Buffer &buffer, std::int64_t index) {
  std::string text;
  std::vector<std::int64_t> shape = constant_shape(buffer);
  for (std::size_t d = shape.size(); d-- > 0; index /= shape[d])
    text = fmt::format("{}{}{}", index % shape[d], text.empty() ? "" : ", ", text);
  return fmt::format("{}[{}]", buffer->name, text);
}

/// The arguments of a product among the parameters of its program.
struct ProductArguments {
  cuda::GemmShape shape;
  DType type;
  std::size_t a, b, c;
  std::optional<std::size_t> bias;
  std::function<float(Scalars)> alpha, beta;
};

ProductArguments arguments_of(const Computation &computation) {
  const GemmWithEpilogue &gemm = *computation.gemm;
  const Contraction &p = gemm.product;
  auto scalar = [&](const Var &var, float absent) -> std::function<float(Scalars)> {
    if (!var)
      return [absent](Scalars) { return absent; };
    const std::vector<Var> &known = computation.source.scalars;
    auto at = static_cast<std::size_t>(std::ranges::find(known, var) - known.begin());
    return [at](Scalars scalars) { return scalars[at].as<float>(); };
  };
  return {{p.m, p.n, p.k, p.x_transposed, p.y_transposed},
          p.x_type,
          place_of(computation, p.x),
          place_of(computation, p.y),
          place_of(computation, gemm.c),
          gemm.bias ? std::optional(place_of(computation, gemm.bias)) : std::nullopt,
          scalar(gemm.alpha, 1),
          scalar(gemm.beta, gemm.reads_c ? 1 : 0)};
}

/// The number of terms of the longest reduction.
std::int64_t most_terms(const Program &program) {
  std::int64_t most = 0;
  for (const Block *block : blocks_of(program.body)) {
    std::int64_t terms = block->reduces() ? 1 : 0;
    for (const IterVar &iter : block->iters)
      if (iter.kind == IterKind::reduction)
        terms *= as_int(iter.extent).value_or(1);
    most = std::max(most, terms);
  }
  return most;
}

/// The largest difference of two neighbours of a narrow type near `value`: a last bit before this rounding may
/// decide between them. 0 for other types.
double rounding_step(DType type, double value) {
  switch (type) {
  case DType::f16:
    return std::max(std::abs(value) * 0x1p-10, 0x1p-24);
  case DType::bf16:
    return std::abs(value) * 0x1p-7;
  default:
    return 0;
  }
}

/// Whether `e` is a sum or a difference of floats, or is computed from one by operators: where its terms nearly
/// cancel, their roundings are large beside the value. Not through the arguments of functions and the results
/// of reductions.
bool may_cancel(const Program &program, const Expr &e, std::vector<const Block *> &seen) {
  if (e.as<Call>())
    return false;
  const auto *binary = e.as<Binary>();
  if (binary && is_float(e.dtype()) && (binary->op == BinaryOp::add || binary->op == BinaryOp::sub))
    return true;
  if (const auto *load = e.as<Load>())
    for (const Block *writer : blocks_of(program.body))
      if (writer->body.buffer == load->buffer && !writer->reduces() && std::ranges::count(seen, writer) == 0) {
        seen.push_back(writer);
        if (may_cancel(program, writer->body.value, seen))
          return true;
      }
  bool any = false;
  for_each_child(e, [&](const Expr &child) { any = any || may_cancel(program, child, seen); });
  return any;
}

bool may_cancel(const Program &program, const Buffer &buffer) {
  std::vector<const Block *> seen;
  return std::ranges::any_of(blocks_of(program.body), [&](const Block *block) {
    return block->body.buffer == buffer && may_cancel(program, block->body.value, seen);
  });
}

double root_mean_square(const Array &values) {
  double squares = 0;
  for (std::int64_t n = 0; n < values.size(); ++n)
    squares += values.at(n).to_double() * values.at(n).to_double();
  return std::sqrt(squares / static_cast<double>(values.size()));
}

} // namespace

Computation::Computation(const Program &program)
    : source(program), text(print(program)), gemm(library_product(program)) {
  bool real = std::ranges::any_of(written_params(source), [](const Buffer &b) { return is_float(b->dtype); });
  constexpr std::uint64_t seed = 1;
  integers = make_inputs(source, real ? CheckRun::integers : CheckRun::ring, seed, largest_integer(gemm));
  random = make_inputs(source, real ? CheckRun::random : CheckRun::ring, seed);
}

std::string Computation::compare(std::vector<Array> got, const std::string &row) {
  if (expected.empty()) {
    expected = std::move(got);
    expected_from = row;
    return "";
  }
  // A computation other than a product may divide or call functions, and its last bits depend on the order:
  // each term of a sum may round once.
  const double tolerance = gemm ? 0 : 1e-5 + static_cast<double>(most_terms(source)) * 0x1p-24;
  for (const Buffer &buffer : written_params(source)) {
    const Array &ours = got[place_of(*this, buffer)], &theirs = expected[place_of(*this, buffer)];
    if (ours == theirs) // most results
      continue;
    // Terms that nearly cancel have roundings of the size of a usual element.
    const bool cancels = !gemm && may_cancel(source, buffer);
    const double usual = cancels ? root_mean_square(theirs) : 0;
    std::int64_t wrong = 0, first = 0;
    for (std::int64_t n = 0; n < ours.size(); ++n) {
      double x = ours.at(n).to_double(), y = theirs.at(n).to_double();
      double most = tolerance * std::max(std::abs(y), usual) + (gemm ? 0 : rounding_step(buffer->dtype, y));
      bool equal = x == y || std::abs(x - y) <= most || (std::isnan(x) && std::isnan(y));
      if (!equal && wrong++ == 0)
        first = n;
    }
    if (wrong)
      return fmt::format("wrong result on small integers: {} of {} elements differ from those of {}{}, the "
                         "first {}: got {}, expected {}",
                         wrong, ours.size(), expected_from,
                         tolerance > 0
                             ? fmt::format(" by more than {:.1e} of their value{}{}", tolerance,
                                           cancels ? " or of the root mean square of all" : "",
                                           rounding_step(buffer->dtype, 1) > 0
                                               ? fmt::format(" and a rounding to {}", name(buffer->dtype))
                                               : "")
                             : "",
                         element_text(buffer, first), ours.at(first).to_double(), theirs.at(first).to_double());
  }
  return "";
}

bool is_of_cublas(const Computation &computation) {
  const auto &gemm = computation.gemm;
  return gemm && gemm->c->dtype == DType::f32 && !gemm->bias && !gemm->relu;
}

std::vector<Form> forms_of(const cuda::Cublas &library, const Computation &computation) {
  ProductArguments p = arguments_of(computation);
  std::vector<cuda::Cublas::Mode> modes = {cuda::Cublas::Mode::standard};
  if (p.type == DType::f32)
    modes.push_back(cuda::Cublas::Mode::pedantic);
  std::vector<Form> forms;
  for (cuda::Cublas::Mode mode : modes)
    forms.push_back({cuda::name(mode), [&library, p, mode](Addresses at, Scalars scalars) {
                       library.gemm(mode, p.shape, p.type, p.alpha(scalars), at[p.a], at[p.b], p.beta(scalars),
                                    at[p.c]);
                     }});
  return forms;
}

std::vector<Form> forms_of(const cuda::CublasLt &library, const Computation &computation) {
  ProductArguments p = arguments_of(computation);
  const GemmWithEpilogue &gemm = *computation.gemm;
  auto product = std::make_shared<cuda::CublasLt::Product>(
      library, p.shape, p.type, cuda::GemmEpilogue{gemm.c->dtype, gemm.bias != nullptr, gemm.relu});
  std::vector<Form> forms;
  for (std::size_t n = 0; n < product->algorithms(); ++n)
    forms.push_back({fmt::format("heuristic {} of {}", n + 1, product->algorithms()),
                     [product, p, n](Addresses at, Scalars scalars) {
                       product->enqueue(n, p.alpha(scalars), at[p.a], at[p.b], p.beta(scalars), at[p.c],
                                        p.bias ? at[*p.bias] : 0);
                     }});
  return forms;
}

} // namespace nestsmith::cli
