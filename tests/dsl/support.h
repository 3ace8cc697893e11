#pragma once
/// Helpers for the tests of the language: small programs, execution of programs, and checks of refusals.

#include "dsl/ir/array.h"
#include "dsl/ir/interpret.h"
#include "dsl/ir/printer.h"
#include "dsl/ir/specialise.h"
#include "dsl/ir/tensor.h"
#include "dsl/schedule/schedule.h"
#include "dsl/schedule/trace.h"
#include "tests/contains.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith::test {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// C = A*B: one block, C.
inline Program product(std::int64_t m, std::int64_t n, std::int64_t k, DType dtype = DType::u32) {
  Workload w("product");
  Tensor a = w.placeholder("A", {m, k}, dtype), b = w.placeholder("B", {k, n}, dtype);
  Reduce r = reduce_axis("k", k);
  Tensor c = w.compute("C", {m, n}, {"i", "j"}, [&](Expr i, Expr j) { return sum(a(i, r) * b(r, j), r); });
  return w.output({c});
}

/// C = alpha*A*B + beta*C: the blocks AB and C. C is read only where beta is not 0.
inline Program gemm(std::int64_t m, std::int64_t n, std::int64_t k, DType dtype = DType::u32) {
  Workload w("gemm");
  Tensor a = w.placeholder("A", {m, k}, dtype), b = w.placeholder("B", {k, n}, dtype);
  Tensor c = w.inout("C", {m, n}, dtype);
  Expr alpha = w.scalar("alpha", dtype), beta = w.scalar("beta", dtype);
  Reduce r = reduce_axis("k", k);
  Tensor ab = w.compute("AB", {m, n}, {"i", "j"}, [&](Expr i, Expr j) { return sum(a(i, r) * b(r, j), r); });
  w.update(c, {"i", "j"}, [&](const std::vector<Expr> &x) -> Definition {
    return alpha * ab(x[0], x[1]) + beta * c.where(not_equal(beta, 0), x[0], x[1]);
  });
  return w.output();
}

/// T = X + 1, U = 2*T, Y = U + 3, elementwise over m x n elements. The blocks are T, U and Y.
inline Program chain(std::int64_t m, std::int64_t n, DType dtype = DType::u32) {
  Workload w("chain");
  Tensor x = w.placeholder("X", {m, n}, dtype);
  Tensor t = w.compute("T", {m, n}, {"i", "j"}, [&](Expr i, Expr j) { return x(i, j) + 1; });
  Tensor u = w.compute("U", {m, n}, {"i", "j"}, [&](Expr i, Expr j) { return t(i, j) * 2; });
  Tensor y = w.compute("Y", {m, n}, {"i", "j"}, [&](Expr i, Expr j) { return u(i, j) + 3; });
  return w.output({y});
}

/// T is the sum of each row of X, and Y = T*Z for each element of Z. The blocks are T and Y.
inline Program broadcast(std::int64_t m, std::int64_t n, std::int64_t l) {
  Workload w("broadcast");
  Tensor x = w.placeholder("X", {m, n}, DType::u32), z = w.placeholder("Z", {l}, DType::u32);
  Reduce k = reduce_axis("k", n);
  Tensor t = w.compute("T", {m}, {"i"}, [&](Expr i) { return sum(x(i, k), k); });
  Tensor y = w.compute("Y", {m, l}, {"i", "l"}, [&](Expr i, Expr at) { return t(i) * z(at); });
  return w.output({y});
}

/// U reads T at two neighbouring rows. Y also reads U transposed. The blocks are T, U, V and Y.
inline Program stencil(std::int64_t n) {
  Workload w("stencil");
  Tensor x = w.placeholder("X", {n + 1, n}, DType::u32);
  Tensor t = w.compute("T", {n + 1, n}, {"i", "j"}, [&](Expr i, Expr j) { return x(i, j) + 1; });
  Tensor u = w.compute("U", {n, n}, {"i", "j"}, [&](Expr i, Expr j) { return t(i, j) + t(i + 1, j); });
  Tensor v = w.compute("V", {n, n}, {"i", "j"}, [&](Expr i, Expr j) { return u(i, j) * 3; });
  Tensor y = w.compute("Y", {n, n}, {"i", "j"}, [&](Expr i, Expr j) { return v(i, j) + u(j, i); });
  return w.output({y});
}

/// Values of the parameters: a u32 has any value, an f32 is a small integer, and outputs are poisoned.
struct Values {
  std::vector<Array> arrays;
  std::vector<Scalar> scalars;
};
inline Values make_values(const Program &program) {
  std::uint64_t state = 1;
  auto next = [&](DType dtype) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    auto bits = static_cast<std::uint32_t>(state >> 32);
    return dtype == DType::u32 ? Scalar::of(dtype, bits)
                               : Scalar::from_double(dtype, static_cast<double>(bits % 17) - 8);
  };
  Values values;
  for (const Buffer &param : program.params) {
    std::vector<std::int64_t> shape;
    for (const Expr &extent : param->shape)
      shape.push_back(as_int(extent).value());
    Array array(param->dtype, shape);
    for (std::int64_t n = 0; n < array.size(); ++n)
      array.set(n, next(param->dtype));
    values.arrays.push_back(std::move(array));
  }
  for (const Var &scalar : program.scalars)
    values.scalars.push_back(next(scalar->dtype));
  return values;
}

/// Returns the arrays after the program ran.
inline std::vector<Array> results_of(const Program &program) {
  Values values = make_values(program);
  interpret(program, values.arrays, values.scalars);
  return values.arrays;
}

/// Returns the first difference of the program's results from `expected`, or none.
inline std::optional<std::string> difference(const Program &program, const std::vector<Array> &expected) {
  try {
    std::vector<Array> got = results_of(program);
    for (std::size_t n = 0; n < got.size(); ++n)
      for (std::int64_t at = 0; at < got[n].size(); ++at)
        if (got[n].at(at) != expected[n].at(at))
          return program.params[n]->name + " differs at element " + std::to_string(at);
  } catch (const UserError &error) {
    return error.what();
  }
  return std::nullopt;
}

inline std::string trace_text(const Schedule &schedule) {
  std::string text;
  for (const Directive &directive : schedule.trace())
    text += to_cpp(directive) + "\n";
  return text;
}

/// Checks that the program after each directive computes the results of the source, bit for bit, for these
/// values of its sizes.
inline testing::AssertionResult same_meaning(const Schedule &schedule,
                                             const std::vector<std::int64_t> &sizes = {}) {
  std::vector<Array> expected = results_of(specialise(schedule.source(), sizes));
  for (std::size_t n = 1; n <= schedule.trace().size(); ++n)
    if (auto what = difference(specialise(schedule.step(n), sizes), expected))
      return testing::AssertionFailure() << "after " << to_cpp(schedule.trace()[n - 1]) << " " << *what << "\n"
                                         << print(schedule.step(n));
  return testing::AssertionSuccess();
}

/// The messages of the open obligations, one per line.
inline std::string owed(const Schedule &s) {
  std::string all;
  for (const Obligation &obligation : s.obligations())
    all += obligation.message + "\n";
  return all;
}

/// Returns whether the line of the loop or block `name` is underlined in the marked IR.
inline bool marks(const std::string &marked, const std::string &name) {
  for (const std::string &head : {"for " + name + " <", "block " + name + "("}) {
    std::size_t at = marked.find(head), end = marked.find('\n', at);
    if (at == std::string::npos || end == std::string::npos)
      continue;
    std::size_t line = marked.rfind('\n', at) + 1;
    std::string expected = std::string(at - line, ' ') + std::string(end - at, '^') + "\n";
    if (marked.compare(end + 1, expected.size(), expected) == 0)
      return true;
  }
  return false;
}

/// Expects a refusal for `requirement` whose message contains `message`. The culprits must be underlined, and
/// the schedule must not change.
template <class Directive>
void expect_refused(const Schedule &schedule, const std::string &requirement, const Directive &directive,
                    const std::string &message, const std::vector<std::string> &culprits) {
  std::string before = print(schedule.program());
  std::size_t steps = schedule.trace().size();
  try {
    directive();
    ADD_FAILURE() << "expected a refusal with '" << message << "', got\n" << print(schedule.program());
  } catch (const ScheduleError &error) {
    EXPECT_EQ(error.requirement(), requirement) << error.what();
    EXPECT_TRUE(contains(error.message(), message)) << "expected " << message << "\ngot " << error.what();
    EXPECT_EQ(error.code(), ExitCode::illegal_schedule);
    for (const std::string &name : culprits)
      EXPECT_TRUE(marks(error.marked(), name)) << name << " is not underlined in\n" << error.what();
  }
  EXPECT_EQ(print(schedule.program()), before);
  EXPECT_EQ(schedule.trace().size(), steps);
}

/// Expects that `f` throws a UserError with this code and a message that contains `message`.
template <class F> void expect_user_error(const F &f, ExitCode code, const std::string &message) {
  try {
    f();
    ADD_FAILURE() << "expected an error with '" << message << "'";
  } catch (const UserError &error) {
    EXPECT_TRUE(contains(error.what(), message)) << "expected " << message << "\ngot " << error.what();
    EXPECT_EQ(error.code(), code) << error.what();
  }
}

} // namespace nestsmith::test
