/// Tests the operators on bits, from the expression to the kernel: hashes, counts of bits, packed weights, and
/// indices that are made of bits. The interpreter, the simulator, the emitted text and the reference of a
/// standalone file must agree.

#include "codegen/cuda.h"
#include "codegen/standalone.h"
#include "dsl/ir/interpret.h"
#include "dsl/ir/printer.h"
#include "dsl/ir/tensor.h"
#include "dsl/schedule/trace.h"
#include "lowering/lower.h"
#include "runtime/check/check.h"
#include "runtime/check/sim_executor.h"
#include "runtime/cuda/nvrtc.h"
#include "tests/codegen/host_text.h"
#include "tests/dsl/rows.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"
#include "tests/schedules/host_compare.h"

#include <bit>
#include <fmt/format.h>
#include <functional>
#include <gmock/gmock.h>

namespace nestsmith {
namespace {

using test::all_messages;
using test::expect_right;
using test::expect_user_error;
using test::rows;
using test::same_meaning;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

/// The finaliser of MurmurHash3.
Expr murmur_mix(Expr h) {
  h ^= h >> 16;
  h *= 0x85ebca6b;
  h ^= h >> 13;
  h *= 0xc2b2ae35;
  h ^= h >> 16;
  return h;
}

std::uint32_t murmur_mix_of(std::uint32_t h) {
  h ^= h >> 16;
  h *= 0x85ebca6bU;
  h ^= h >> 13;
  h *= 0xc2b2ae35U;
  return h ^ h >> 16;
}

/// The number of bits that are 1.
Expr count_of_bits(Expr x) {
  x = x - ((x >> 1) & 0x55555555);
  x = (x & 0x33333333) + ((x >> 2) & 0x33333333);
  x = (x + (x >> 4)) & 0x0f0f0f0f;
  return x * 0x01010101 >> 24;
}

using MapOfBits = std::function<Expr(const Tensor &x, Expr i)>;

/// Y[i] = element(X, i) of u32.
Program map_of_bits(std::int64_t n, const MapOfBits &element, std::int64_t inputs = 0, DType dtype = DType::u32,
                    DType result = DType::u32) {
  Workload w("bits");
  Tensor x = w.placeholder("X", {inputs == 0 ? n : inputs}, dtype);
  return w.output(
      {w.compute("Y", {n}, {"i"}, [&](Expr i) -> Definition { return cast(result, element(x, i)); })});
}

struct WayOfBits {
  const char *name;
  std::function<void(Schedule &)> schedule;
};
const std::vector<WayOfBits> &ways_of_bits() {
  static const std::vector<WayOfBits> table = {
      {"unscheduled", [](Schedule &) {}},
      {"threads",
       [](Schedule &s) {
         auto [outer, inner] = s.split<2>(s.loops(s.block("Y"))[0], {infer, 32});
         s.bind(outer, Axis::block_x);
         s.bind(inner, Axis::thread_x);
       }},
      {"unrolled",
       [](Schedule &s) {
         auto [outer, thread, inner] = s.split<3>(s.loops(s.block("Y"))[0], {infer, 8, 4});
         s.bind(outer, Axis::block_x);
         s.bind(thread, Axis::thread_x);
         s.unroll(inner);
       }},
      {"registers",
       [](Schedule &s) {
         BlockRef copy = s.cache_write(s.block("Y"), Scope::local);
         auto [outer, thread, inner] = s.split<3>(s.loops(s.block("Y"))[0], {infer, 8, 3});
         (void)inner;
         s.reverse_compute_at(copy, thread);
         s.bind(outer, Axis::block_x);
         s.bind(thread, Axis::thread_x);
       }},
      {"a copy of the input",
       [](Schedule &s) {
         auto [outer, inner] = s.split<2>(s.loops(s.block("Y"))[0], {infer, 16});
         s.bind(outer, Axis::block_x);
         s.bind(inner, Axis::thread_x);
         BlockRef copy = s.cache_read(s.block("Y"), "X", Scope::shared);
         s.compute_at(copy, outer);
         s.bind(s.split<2>(s.loops(copy).back(), {infer, 16})[1], Axis::thread_x);
       }},
  };
  return table;
}

void expect_right_in_each_way(const Program &program) {
  std::vector<Subject> subjects;
  for (const WayOfBits &way : ways_of_bits()) {
    SCOPED_TRACE(way.name);
    Schedule s(program);
    way.schedule(s);
    EXPECT_TRUE(same_meaning(s));
    expect_right(s);
    subjects.push_back({way.name, s, lower(s)});
  }
  if (host::why_not().empty())
    for (const std::string &problem : differences_on_host(subjects))
      ADD_FAILURE() << problem;
}

/// The results of the interpreter for X[i] = first + i*step.
std::vector<std::uint32_t> results_of_bits(const Program &program, std::uint32_t first, std::uint32_t step) {
  std::vector<Array> arrays;
  for (const Buffer &buffer : program.params)
    arrays.emplace_back(buffer->dtype, std::vector{*as_int(buffer->shape[0])});
  for (std::int64_t i = 0; i < arrays[0].size(); ++i)
    arrays[0].set(i,
                  Scalar::of(DType::u32, first + static_cast<std::uint32_t>(i) * step).to(arrays[0].dtype()));
  interpret(program, arrays, {});
  auto view = arrays[1].view<std::uint32_t>();
  return {view.begin(), view.end()};
}

TEST(BitsOfAKernel, OfAHashAreRight) {
  MapOfBits hash = [](const Tensor &x, const Expr &i) { return murmur_mix(x(i)); };
  for (std::int64_t n : {1, 31, 64, 97})
    expect_right_in_each_way(map_of_bits(n, hash));
  std::vector<std::uint32_t> got = results_of_bits(map_of_bits(97, hash), 12345, 0x9e3779b9);
  for (std::uint32_t i = 0; i < 97; ++i)
    EXPECT_EQ(got[i], murmur_mix_of(12345 + i * 0x9e3779b9)) << i;
}

TEST(BitsOfAKernel, AreCounted) {
  MapOfBits count = [](const Tensor &x, const Expr &i) { return count_of_bits(x(i)); };
  expect_right_in_each_way(map_of_bits(37, count));
  std::vector<std::uint32_t> got = results_of_bits(map_of_bits(97, count), 0xfffffff0, 0x10203041);
  for (std::uint32_t i = 0; i < 97; ++i)
    EXPECT_EQ(got[i], static_cast<std::uint32_t>(std::popcount(0xfffffff0 + i * 0x10203041))) << i;
}

/// Eight weights of 4 bits in each word, or two in each byte.
TEST(BitsOfAKernel, UnpackWeights) {
  MapOfBits words = [](const Tensor &x, const Expr &k) { return (x(k / 8) >> 4 * (k % 8)) & 15; };
  MapOfBits bytes = [](const Tensor &x, const Expr &k) {
    return (cast(DType::u32, x(k >> 1)) >> ((k & 1) << 2)) & 15;
  };
  for (std::int64_t n : {1, 61, 128}) {
    expect_right_in_each_way(map_of_bits(n, words, (n + 7) / 8));
    expect_right_in_each_way(map_of_bits(n, bytes, (n + 1) / 2, DType::u8));
  }
  std::vector<std::uint32_t> got = results_of_bits(map_of_bits(61, words, 8), 0x76543210, 0x11111111);
  for (std::uint32_t k = 0; k < 61; ++k)
    EXPECT_EQ(got[k], ((0x76543210U + k / 8 * 0x11111111U) >> 4 * (k % 8)) & 15) << k;
  Schedule s(map_of_bits(128, words, 16));
  ways_of_bits()[1].schedule(s);
  std::string text = cuda_kernels(lower(s));
  EXPECT_THAT(text, HasSubstr(">> ")) << text;
  EXPECT_THAT(text, Not(HasSubstr("shift_right_u32"))) << "the amount is proved to be below the width\n"
                                                       << text;
}

/// A product with weights of 4 bits and a scale of each row, which a quantised layer has.
TEST(BitsOfAKernel, MultiplyByPackedWeights) {
  Workload w("quantised");
  const std::int64_t m = 7, n = 9, depth = 40;
  Tensor a = w.placeholder("A", {m, depth}), q = w.placeholder("Q", {n, depth / 8}, DType::u32);
  Tensor scale = w.placeholder("scale", {n});
  Reduce k = reduce_axis("k", depth);
  Tensor product = w.compute("P", {m, n}, {"i", "j"}, [&](Expr i, Expr j) {
    Expr weight = cast(DType::i32, (q(j, k / 8) >> 4 * (k % 8)) & 15) - 8;
    return sum(a(i, k) * cast(DType::f32, weight), k);
  });
  Program program = w.output({w.compute(
      "Y", {m, n}, {"i", "j"}, [&](Expr i, Expr j) -> Definition { return product(i, j) * scale(j); })});
  for (bool split : {false, true}) {
    Schedule s(program);
    BlockRef p = s.block("P"), y = s.block("Y");
    for (BlockRef block : {p, y}) {
      s.bind(s.loops(block)[0], Axis::block_x);
      s.bind(s.loops(block)[1], Axis::thread_x);
    }
    if (split)
      s.unroll(s.split<2>(s.loops(p).back(), {infer, 8})[1]);
    EXPECT_TRUE(same_meaning(s));
    expect_right(s);
  }
}

/// The index with its lowest `bits` bits in reverse order.
Expr reversed_bits(const Expr &i, int bits) {
  Expr result = 0;
  for (int n = 0; n < bits; ++n)
    result |= ((i >> n) & 1) << (bits - 1 - n);
  return result;
}

TEST(BitsOfAKernel, ReverseTheBitsOfAnIndex) {
  for (int bits : {1, 3, 5}) {
    std::int64_t n = std::int64_t{1} << bits;
    Program program = map_of_bits(n, [&](const Tensor &x, const Expr &i) { return x(reversed_bits(i, bits)); });
    expect_right_in_each_way(program);
    std::vector<std::uint32_t> got = results_of_bits(program, 0, 1);
    for (std::uint32_t i = 0; i < n; ++i)
      EXPECT_EQ(as_int(reversed_bits(Expr(got[i]), bits)), i);
  }
  // Of other sizes, the reversed index may be outside.
  for (std::int64_t n : {5, 13, 31}) {
    auto reversed = [](const Expr &i) { return reversed_bits(i, 5); };
    expect_right_in_each_way(
        map_of_bits(n, [&](const Tensor &x, const Expr &i) { return x.where(reversed(i) < n, reversed(i)); }));
    Program unmasked = map_of_bits(n, [&](const Tensor &x, const Expr &i) { return x(reversed(i)); });
    auto schedule = [&] { expect_right(Schedule(unmasked)); };
    if (n == 31) // 31 alone becomes 31
      schedule();
    else
      expect_user_error(
          schedule, ExitCode::usage,
          fmt::format("in dimension 0, which is 16 where i = 1, expected at least 0 and less than {}", n));
  }
}

/// Elements of a table that data selects: 4 bits are in bounds of 16 elements.
TEST(BitsOfAKernel, SelectElementsOfATable) {
  Workload w("lookup");
  Tensor x = w.placeholder("X", {75}, DType::u32), table = w.placeholder("T", {16}, DType::u32);
  Program program = w.output({w.compute("Y", {75}, {"i"}, [&](Expr i) -> Definition {
    return table(cast(DType::i64, (x(i) >> 7) & 15)) ^ table(cast(DType::i64, x(i) >> 28));
  })});
  expect_right_in_each_way(program);
}

/// Amounts that are data, in the range of C++ and beyond: 8 threads, so that the lanes have different ones.
TEST(BitsOfAKernel, ShiftByAmountsThatAreData) {
  for (DType type : {DType::u32, DType::i32, DType::u64, DType::i64}) {
    Workload w("amounts");
    Tensor x = w.placeholder("X", {50}, type), y = w.placeholder("Z", {50}, type);
    Program program = w.output({w.compute("Y", {50}, {"i"}, [&](Expr i) -> Definition {
      Expr amount = y(i) % 70 - 3;
      return (x(i) << amount) + (x(i) >> amount) * 3 + (x(i) << i) - (x(i) >> (y(i) & 31));
    })});
    expect_right_in_each_way(program);
    Schedule s(program);
    ways_of_bits()[1].schedule(s);
    std::string text = cuda_kernels(lower(s)), name(nestsmith::name(type)),
                wide = type == DType::i32   ? "u32"
                       : type == DType::i64 ? "u64"
                                            : name;
    EXPECT_THAT(text, AllOf(HasSubstr("shift_left_" + wide + "("), HasSubstr("shift_right_" + name + "(")))
        << text;
    EXPECT_EQ(run_on_host(emit_standalone({}, lower(s), program)), 0) << text;
  }
}

/// A combination of rows by a reducer of bits, through shuffles of the lanes of a warp.
TEST(BitsOfAKernel, OfARowAreReducedByAWarp) {
  using Combine = Expr (*)(Expr, Expr);
  struct OfBits {
    const char *name;
    std::int64_t identity;
    Combine combine;
  };
  for (const auto &[name, identity, combine] : {OfBits{"xor_of_row", 0, [](Expr a, Expr b) { return a ^ b; }},
                                                OfBits{"or_of_row", 0, [](Expr a, Expr b) { return a | b; }},
                                                OfBits{"and_of_row", -1, [](Expr a, Expr b) { return a & b; }}})
    for (DType type : {DType::u32, DType::i32})
      for (std::int64_t columns : {1, 77}) {
        SCOPED_TRACE(fmt::format("{} {} {}", name, nestsmith::name(type), columns));
        Reducer reducer =
            define_reducer(fmt::format("{}_{}", name, nestsmith::name(type)), int_imm(identity, type), combine);
        Schedule s(rows(reducer, 7, columns, type));
        BlockRef y = s.block("Y");
        s.bind(s.loops(y)[0], Axis::block_x);
        s.reduce_across(s.split<2>(s.loops(y).back(), {infer, 32})[1], Axis::lane);
        EXPECT_TRUE(same_meaning(s));
        expect_right(s);
        EXPECT_THAT(cuda_kernels(lower(s)), ContainsRegex("shuffle_xor_16|__shfl_xor_sync"));
      }
  expect_user_error(
      [] { define_reducer("shifted", constant(DType::u32, 0), [](Expr a, Expr b) { return a ^ b << 1; }); },
      ExitCode::usage, "the reducer 'shifted' does not keep");
}

TEST(BitsOfAKernel, ACheckFindsAnotherShift) {
  auto of = [](int by) {
    return map_of_bits(64, [by](const Tensor &x, const Expr &i) { return x(i) ^ x(i) >> by; });
  };
  Program wanted = of(13), wrong = of(12);
  CheckResult result = Checker().check(wanted, [&](std::vector<Array> &arrays, const std::vector<Scalar> &) {
    interpret(wrong, arrays, {});
    return Execution{};
  });
  EXPECT_EQ(result.outcome(), CheckOutcome::wrong);
}

TEST(BitsOfAKernel, AreInPrintedProgramsAndTraces) {
  Program program = map_of_bits(
      40, [](const Tensor &x, const Expr &i) { return ~(x(i) & 0xff) | x(i ^ 1) << 3 | x(i) >> (x(i) & 7); });
  EXPECT_THAT(print(program), HasSubstr("~(X[i] & 255) | X[i ^ 1] << 3 | X[i] >> (X[i] & 7)"));
  Schedule s(program);
  ways_of_bits()[1].schedule(s);
  std::string text = to_json(trace_file(s, {40}, DType::u32));
  EXPECT_THAT(text, AllOf(HasSubstr("\"bit_and\""), HasSubstr("\"bit_or\""), HasSubstr("\"shift_left\"")));
  TraceFile file = parse_trace(text, "t.json");
  EXPECT_EQ(to_json(file), text);
  EXPECT_EQ(print(replay(file, *file.computation, {}, "t.json").program()), print(s.program()));
}

TEST(BitsOfAKernel, HaveTheOperatorsOfCpp) {
  auto text = [](DType type, const std::function<Expr(Expr, Expr, Expr)> &element) {
    Workload w("text");
    Tensor x = w.placeholder("x", {64}, type), y = w.placeholder("y", {64}, type);
    Schedule s(
        w.output({w.compute("z", {64}, {"i"}, [&](Expr i) -> Definition { return element(x(i), y(i), i); })}));
    s.bind(s.loop("i"), Axis::thread_x);
    return cuda_kernels(lower(s));
  };
  EXPECT_THAT(text(DType::u32, [](Expr x, Expr y, Expr) { return (x & y) | (~x ^ y); }),
              HasSubstr("z[i] = (x[i] & y[i]) | (~x[i] ^ y[i]);"));
  EXPECT_THAT(text(DType::u32, [](Expr x, Expr, Expr) { return x << 3 >> 1; }),
              HasSubstr("z[i] = (x[i] << 3u) >> 1u;"));
  EXPECT_THAT(text(DType::i32, [](Expr x, Expr, Expr) { return x << 3; }),
              HasSubstr("z[i] = (int)((unsigned int)x[i] << 3u);"))
      << "C++17 does not define it for all numbers";
  EXPECT_THAT(text(DType::i32, [](Expr x, Expr, Expr) { return (x & 15) << 3; }),
              HasSubstr("z[i] = (x[i] & 15) << 3;"))
      << "it is proved to fit";
  EXPECT_THAT(text(DType::i32, [](Expr x, Expr, Expr) { return x >> 3; }), HasSubstr("z[i] = x[i] >> 3;"));
  EXPECT_THAT(text(DType::u32, [](Expr x, Expr y, Expr) { return x >> (y & 31); }),
              HasSubstr("z[i] = x[i] >> (y[i] & 31u);"));
  EXPECT_THAT(
      text(DType::u32, [](Expr x, Expr y, Expr) { return x >> y; }),
      AllOf(HasSubstr("z[i] = shift_right_u32(x[i], y[i]);"),
            HasSubstr("unsigned int shift_right_u32(unsigned int a, unsigned int b) { return b < 32 ? a >> b "
                      ": 0; }")));
  EXPECT_THAT(text(DType::i64, [](Expr x, Expr, Expr i) { return (1 << (i % 32)) + x; }), HasSubstr("1LL << "));
}

TEST(BitsOfAKernel, NvrtcCompilesTheText) {
  const cuda::Nvrtc *nvrtc = nullptr;
  try {
    nvrtc = &cuda::Nvrtc::get();
  } catch (const UserError &error) {
    GTEST_SKIP() << "needs NVRTC: " << error.what();
  }
  for (DType type : {DType::u32, DType::i32, DType::u64, DType::i64}) {
    Workload w("bits");
    Tensor x = w.placeholder("x", {64}, type), y = w.placeholder("y", {64}, type);
    Schedule s(w.output({w.compute("z", {64}, {"i"}, [&](Expr i) -> Definition {
      return (x(i) << y(i)) ^ (x(i) >> y(i)) ^ (~x(i) & y(i) << 5) ^ (x(i) | y(i) >> (i & 7));
    })}));
    s.bind(s.loop("i"), Axis::thread_x);
    kernel::Kernel kernel = lower(s).only();
    EXPECT_EQ(nvrtc->compile(cuda_kernel(kernel), entry_name(kernel), "sm_90").spill_stores, 0);
  }
}

} // namespace
} // namespace nestsmith
