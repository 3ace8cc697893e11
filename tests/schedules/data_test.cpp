/// Integer data: the interpreter defines the result. The simulator and the emitted text must give the same
/// result, also at the limits of the types. The text runs on the host under the undefined-behaviour sanitizer.

#include "codegen/cuda.h"
#include "codegen/standalone.h"
#include "dsl/expr/numbers.h"
#include "dsl/ir/interpret.h"
#include "dsl/ir/tensor.h"
#include "lowering/lower.h"
#include "runtime/check/sim_executor.h"
#include "tests/codegen/host_text.h"

#include <functional>
#include <gmock/gmock.h>
#include <limits>

namespace nestsmith {
namespace {

using testing::HasSubstr;

/// Computes a value from two elements of data and an index.
using Element = std::function<Expr(Expr x, Expr y, Expr i)>;
struct Computation {
  std::string name;
  DType from, to;
  Element element;
};

Schedule schedule_of(const Computation &c, std::int64_t n) {
  Workload w("data");
  Tensor x = w.placeholder("x", {n}, c.from), y = w.placeholder("y", {n}, c.from);
  Tensor z = w.compute("z", {n}, {"i"}, [&](Expr i) { return c.element(x(i), y(i), i); });
  Schedule s(w.output({z}));
  s.bind(s.loop("i"), Axis::thread_x);
  return s;
}

template <class T> std::vector<T> edges() {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_floating_point_v<T>)
    return {0.0F,
            -0.0F,
            0.99F,
            -0.99F,
            1.5F,
            -1.5F,
            127.5F,
            128.0F,
            -129.0F,
            255.5F,
            256.0F,
            65535.5F,
            65536.0F,
            -65536.0F,
            0x1p31F,
            -0x1p31F,
            0x1p32F,
            -0x1p32F,
            0x1p63F,
            -0x1p63F,
            0x1.fffffep62F,
            0x1p64F,
            -0x1p64F,
            Limits::infinity(),
            -Limits::infinity(),
            Limits::quiet_NaN(),
            Limits::denorm_min()};
  else
    return {Limits::min(),
            static_cast<T>(Limits::min() + 1),
            static_cast<T>(-7),
            static_cast<T>(-1),
            0,
            1,
            2,
            7,
            static_cast<T>(Limits::max() - 1),
            Limits::max()};
}

/// Returns arrays x and y with each pair of limits.
std::vector<Array> pairs_of_edges(DType dtype) {
  return with_number(dtype, [&]<class T>() -> std::vector<Array> {
    if constexpr (std::is_arithmetic_v<T>) {
      std::vector<T> values = edges<T>();
      auto n = static_cast<std::int64_t>(values.size());
      std::vector<Array> arrays(2, Array(dtype, {n * n}));
      for (std::int64_t i = 0; i < n * n; ++i) {
        arrays[0].set(i, Scalar::of(dtype, values[static_cast<std::size_t>(i / n)]));
        arrays[1].set(i, Scalar::of(dtype, values[static_cast<std::size_t>(i % n)]));
      }
      return arrays;
    }
    return {};
  });
}

std::vector<Computation> computations() {
  std::vector<Computation> list;
  for (DType t : {DType::i32, DType::i64, DType::u32, DType::u64}) {
    Expr most = constant(t, t == DType::i32 ? std::numeric_limits<std::int32_t>::max()
                                            : std::numeric_limits<std::int64_t>::max());
    auto add = [&](const char *name, const Element &element) {
      list.push_back({fmt::format("{} of {}", name, nestsmith::name(t)), t, t, element});
    };
    auto yes_or_no = [=](Expr condition) {
      return select(std::move(condition), constant(t, 1), constant(t, 0));
    };
    add("sum", [](Expr x, Expr y, Expr) { return x + y; });
    add("difference", [](Expr x, Expr y, Expr) { return x - y; });
    add("product", [](Expr x, Expr y, Expr) { return x * y; });
    add("polynomial", [](Expr x, Expr y, Expr i) { return x * 3 - (y * x + 5) * cast(x.dtype(), i) - 1; });
    add("negation", [](Expr x, Expr, Expr) { return -x; });
    add("quotient", [](Expr x, Expr y, Expr) { return x / y; });
    add("remainder", [](Expr x, Expr y, Expr) { return x % y; });
    add("nested division", [](Expr x, Expr y, Expr) { return (x / y) / ((x + 1) % (y - 1)); });
    add("division by a constant", [](Expr x, Expr y, Expr) { return x / 7 + y % 10; });
    add("division of a sum", [](Expr x, Expr, Expr) { return (x * 4 + 1) / 4; });
    add("remainder of a sum", [](Expr x, Expr, Expr) { return (x * 4 + 1) % 4 + x % 7; });
    add("division of what is bounded",
        [](Expr x, Expr y, Expr) { return (x % 7 + 3) / 4 + (y % 5 + x % 7) % 3; });
    add("a larger number", [=](Expr x, Expr, Expr) { return yes_or_no(x + most < x); });
    add("the next number", [=](Expr x, Expr, Expr) { return yes_or_no(x < x + 1); });
    add("the order of differences", [=](Expr x, Expr y, Expr) { return yes_or_no(x - y <= x - y + 1); });
    add("equal sums", [=](Expr x, Expr y, Expr) { return yes_or_no(x + 1 == y + 1 && x + y != x + y + 2); });
    add("minimum", [](Expr x, Expr, Expr) { return min(x, x + 1) + max(x - 1, x); });
    add("a product out of range", [](Expr x, Expr, Expr) { return (x % 7) * 1000000000 + 2147483647; });
    add("shift", [](Expr x, Expr y, Expr) { return shift_right(x + y, 3); });
    add("bits", [](Expr x, Expr y, Expr) { return (x & y) + (x | y) * 3 - (x ^ y); });
    add("complement", [](Expr x, Expr y, Expr) { return ~x - (~y & 7); });
    add("left shift", [](Expr x, Expr y, Expr) { return x << y; });
    add("right shift", [](Expr x, Expr y, Expr) { return x >> y; });
    add("shifts of sums", [](Expr x, Expr y, Expr) { return ((x + y) << 5) + ((x - y) >> 7); });
    add("shifts in range", [](Expr x, Expr y, Expr) { return (x << (y & 15)) ^ (x >> (y & 31)); });
    add("shifts by an index",
        [](Expr x, Expr y, Expr i) { return (x << i) + (y >> i % 40) + (x << (i - 50)); });
    add("shifts of an index", [=](Expr x, Expr, Expr i) {
      return cast(t, (i << 3) + ((i - 50) << 2) + (1 << (i % 60)) + ((i - 7) >> 2)) + x;
    });
    add("bits of an index", [=](Expr x, Expr, Expr i) { return cast(t, (i & 5) + ((i - 9) | 6) + ~i) ^ x; });
  }
  for (DType t : {DType::i8, DType::i16, DType::u8, DType::u16}) {
    DType wide = arithmetic_type(t);
    auto add = [&](const char *name, DType to, const Element &element) {
      list.push_back(
          {fmt::format("{} of {} in {}", name, nestsmith::name(t), nestsmith::name(to)), t, to, element});
    };
    for (DType to : {DType::i8, DType::i16, DType::i32, DType::i64, DType::u8, DType::u16, DType::u32,
                     DType::u64, DType::f32})
      add("value", to, [=](Expr x, Expr, Expr) { return cast(to, x); });
    add("sum", t, [=](Expr x, Expr y, Expr) { return cast(t, cast(wide, x) + cast(wide, y)); });
    add("polynomial", wide,
        [=](Expr x, Expr y, Expr i) { return cast(wide, x) * cast(wide, y) * 70001 - cast(wide, i); });
    add("quotient", t, [=](Expr x, Expr y, Expr) { return cast(t, cast(wide, x) / cast(wide, y)); });
    add("order", t,
        [=](Expr x, Expr y, Expr) { return select(cast(wide, x) < cast(wide, y), x, constant(t, 7)); });
  }
  for (DType t : {DType::i8, DType::i16, DType::i32, DType::i64, DType::u8, DType::u16, DType::u32, DType::u64})
    list.push_back(
        {fmt::format("f32 to {}", name(t)), DType::f32, t, [=](Expr x, Expr, Expr) { return cast(t, x); }});
  list.push_back({"f32 to i32, then a product", DType::f32, DType::i32,
                  [](Expr x, Expr y, Expr) { return cast(DType::i32, x) * cast(DType::i32, y); }});
  return list;
}

TEST(Data, HasTheSameResultInAllThatRunsIt) {
  std::vector<Computation> all = computations();
  std::vector<host::Run> launches;
  std::vector<Array> expected;
  for (const Computation &c : all) {
    SCOPED_TRACE(c.name);
    std::vector<Array> arrays = pairs_of_edges(c.from);
    std::int64_t n = arrays[0].size();
    Schedule s = schedule_of(c, n);
    arrays.emplace_back(c.to, std::vector{n});
    kernel::Plan plan = lower(s);
    launches.push_back({plan, arrays, {}});
    std::vector<Array> simulated = arrays;
    interpret(s.source(), arrays, {});
    Execution execution = SimExecutor().run(plan, simulated, {});
    EXPECT_TRUE(execution.diagnostics.empty());
    for (std::int64_t i = 0; i < n; ++i)
      EXPECT_EQ(simulated[2].at(i).bits, arrays[2].at(i).bits)
          << "of " << arrays[0].at(i).to_double() << " and " << arrays[1].at(i).to_double();
    expected.push_back(arrays[2]);
  }
  if (!host::why_not().empty())
    GTEST_SKIP() << host::why_not();
  std::vector<host::Outcome> outcomes = host::run(launches);
  for (std::size_t n = 0; n < outcomes.size(); ++n) {
    EXPECT_EQ(outcomes[n].fault, "") << all[n].name;
    EXPECT_TRUE(outcomes[n].fault.empty() && outcomes[n].arrays[2] == expected[n]) << all[n].name;
  }
}

std::string text_of(const Computation &c) { return cuda_kernels(lower(schedule_of(c, 100))); }

TEST(Data, IsUnsignedInTheTextWhereItMayOverflow) {
  auto text = [](DType t, const Element &element) { return text_of({"", t, t, element}); };
  EXPECT_THAT(text(DType::i32, [](Expr x, Expr y, Expr) { return x + y * 2; }),
              HasSubstr("z[i] = (int)((unsigned int)x[i] + (unsigned int)y[i] * 2u);"));
  EXPECT_THAT(text(DType::i64, [](Expr x, Expr, Expr) { return -x; }),
              HasSubstr("z[i] = (long long)(0ULL - (unsigned long long)x[i]);"));
  EXPECT_THAT(text(DType::i64, [](Expr, Expr, Expr i) { return i * 3 + 1; }),
              HasSubstr("z[i] = (long long)(i * 3 + 1);"));
  EXPECT_THAT(text(DType::u32, [](Expr x, Expr y, Expr) { return x / 7 + x % y; }),
              HasSubstr("z[i] = x[i] / 7u + floormod_u32(x[i], y[i]);"));
}

/// The loops of the standalone file check the kernel.
TEST(Data, IsCheckedByAStandaloneFile) {
  std::vector<std::pair<DType, Element>> subjects = {
      {DType::i32, [](Expr x, Expr y, Expr) { return x * 1000000000 + x / y - x % y; }},
      {DType::i64,
       [](Expr x, Expr y, Expr i) { return x / 3 + y % 5 + floormod(i - 7, 4) + floordiv(i - 9, 2); }},
      {DType::u32, [](Expr x, Expr y, Expr) { return x / (y % 3) + x % (y % 5); }},
      {DType::i8, [](Expr x, Expr y, Expr) { return cast(DType::i32, x) * cast(DType::i32, y); }},
      {DType::u8, [](Expr x, Expr y, Expr) { return cast(DType::u32, x) - cast(DType::u32, y); }},
      {DType::i32,
       [](Expr x, Expr y, Expr i) { return (x << y) + (x >> y) + (x << 5) + (~x & (y << (i % 32))); }},
      {DType::i64,
       [](Expr x, Expr y, Expr i) { return (x << y) ^ (x >> (y & 63)) ^ ((i - 9) << 3) ^ (x | i); }},
      {DType::u32,
       [](Expr x, Expr y, Expr i) { return (x << (y & 31)) | (x >> i) | cast(DType::u32, 1 << (i % 32)); }},
      {DType::i16, [](Expr x, Expr y, Expr) { return cast(DType::i32, x) * cast(DType::i32, y); }},
  };
  for (const auto &[type, element] : subjects) {
    Schedule s = schedule_of({"", type, arithmetic_type(type), element}, 100);
    EXPECT_EQ(run_on_host(emit_standalone({}, lower(s), s.source())), 0) << name(type);
  }
}

/// A scalar parameter is data, too, so a comparison with it must not be simplified as index arithmetic.
TEST(Data, OfAScalarIsNotComparedAsAnIndex) {
  Workload w("scalar");
  Expr a = w.scalar("a", DType::i64);
  Tensor z = w.compute("z", {4}, {"i"}, [&](Expr) { return select(a < a + 1, Expr(1), Expr(0)); });
  Schedule s(w.output({z}));
  std::vector<Array> arrays{Array(DType::i64, {4})};
  std::vector<Scalar> scalars{Scalar::of(DType::i64, std::numeric_limits<std::int64_t>::max())};
  SimExecutor().run(lower(s), arrays, scalars);
  EXPECT_EQ(arrays[0].at(0).as<std::int64_t>(), 0);
}

} // namespace
} // namespace nestsmith
