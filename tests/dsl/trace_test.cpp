/// Tests traces as C++ and as JSON, and files that are not traces. tests/schedules tests the traces of all
/// rungs.

#include "dsl/schedule/trace.h"

#include "tests/dsl/support.h"

namespace nestsmith {
namespace {

using test::contains;
using test::expect_user_error;
using test::gemm;

/// Returns a schedule that uses every primitive.
Schedule tiled() {
  Schedule s(gemm(7, 5, 9));
  auto AB = s.block("AB"), C = s.block("C");
  s.set_scope(AB, Scope::local);
  auto [i_outer, i_inner] = s.split(s.loop("i"), {infer, 2});
  auto [k_outer, k_inner] = s.split(s.loop("k"), {infer, 4});
  s.reorder({i_outer, s.loop("j"), k_outer, k_inner, i_inner});
  auto thread = s.fuse(i_outer, s.loop("j"));
  s.reverse_compute_at(C, thread);
  s.bind(thread, Axis::thread_x);
  auto tile = s.cache_read(AB, "A", Scope::shared);
  s.compute_at(tile, k_outer);
  s.unroll(i_inner);
  s.transform_layout(tile, "i, k -> k, i");
  s.storage_align(tile, 0, 32, 1);
  s.swizzle(tile, 2, 1, 3);
  s.launch_bounds(2);
  s.decompose_reduction(AB, k_outer);
  return s;
}

std::string json_of(const Schedule &s) { return to_json(trace_file(s, {7, 5, 9}, DType::u32)); }

TEST(Trace, ReplaysFromJson) {
  Schedule s = tiled();
  TraceFile file = parse_trace(json_of(s), "t.json");
  EXPECT_EQ(file.workload, "gemm");
  EXPECT_EQ(file.shape, (std::vector<std::int64_t>{7, 5, 9}));
  EXPECT_EQ(file.dtype, DType::u32);
  EXPECT_EQ(file.arch, "sm_80");
  EXPECT_EQ(file.directives, s.trace());
  Schedule again = replay(file, gemm(7, 5, 9), Target{}, "t.json");
  EXPECT_EQ(again.trace(), s.trace());
  for (std::size_t n = 0; n <= s.trace().size(); ++n)
    EXPECT_EQ(print(again.step(n)), print(s.step(n)));
  EXPECT_EQ(json_of(again), json_of(s));
}

TEST(Trace, OfNoDirectivesReplays) {
  Schedule s(gemm(7, 5, 9));
  Schedule again = replay(parse_trace(json_of(s), "t.json"), gemm(7, 5, 9), Target{}, "t.json");
  EXPECT_EQ(print(again.program()), print(s.program()));
  EXPECT_EQ(trace_to_cpp(s), "");
}

TEST(Trace, IsCppThatDeclaresHandlesWhereTheyAreFirstUsed) {
  EXPECT_EQ(trace_to_cpp(tiled()), R"(auto AB = s.block("AB");
s.set_scope(AB, Scope::local);
auto i = s.loop("i");
auto [i_outer, i_inner] = s.split(i, {infer, 2});
auto k = s.loop("k");
auto [k_outer, k_inner] = s.split(k, {infer, 4});
auto j = s.loop("j");
s.reorder({i_outer, j, k_outer, k_inner, i_inner});
auto i_outer_j = s.fuse(i_outer, j);
auto C = s.block("C");
s.reverse_compute_at(C, i_outer_j);
s.bind(i_outer_j, Axis::thread_x);
auto A_shared = s.cache_read(AB, "A", Scope::shared);
s.compute_at(A_shared, k_outer);
s.unroll(i_inner);
s.transform_layout(A_shared, "i, k -> k, i");
s.storage_align(A_shared, 0, 32, 1);
s.swizzle(A_shared, 2, 1, 3);
s.launch_bounds(2);
auto AB_init = s.decompose_reduction(AB, k_outer);
)");
}

TEST(Trace, IsCppThatAsksAgainForLoopsMadeAnew) {
  Schedule s(gemm(7, 5, 9));
  BlockRef tile = s.cache_read(s.block("AB"), "A", Scope::shared);
  s.split(s.loop("ax_A_k"), {infer, 3});
  s.compute_at(tile, s.loop("i"));
  auto [outer, inner] = s.split(s.loop("ax_A_k"), {infer, 3});
  s.unroll(inner);
  s.unroll(outer);
  EXPECT_EQ(trace_to_cpp(s), R"(auto AB = s.block("AB");
auto A_shared = s.cache_read(AB, "A", Scope::shared);
auto ax_A_k = s.loop("ax_A_k");
auto [ax_A_k_outer, ax_A_k_inner] = s.split(ax_A_k, {infer, 3});
auto i = s.loop("i");
s.compute_at(A_shared, i);
ax_A_k = s.loop("ax_A_k");
s.split(ax_A_k, {infer, 3});
ax_A_k_inner = s.loop("ax_A_k_inner");
s.unroll(ax_A_k_inner);
ax_A_k_outer = s.loop("ax_A_k_outer");
s.unroll(ax_A_k_outer);
)");
}

/// The names are valid in a workload but not in C++, or they are names that each trace uses.
TEST(Trace, IsCppWhateverTheNames) {
  Workload w("words");
  Tensor shared = w.placeholder("shared", {8}, DType::u32);
  Tensor y = w.compute("class", {8}, {"s"}, [&](Expr n) { return shared(n); });
  Tensor z = w.compute("infer", {8}, {"int"}, [&](Expr n) { return y(n) + y(n); });
  Schedule s(w.output({z}));
  s.split(s.loop("int"), {infer, 4});
  s.set_scope(s.block("class"), Scope::shared);
  auto tile = s.cache_read(s.block("class"), "shared", Scope::shared);
  s.compute_at(tile, s.loop("s"));
  s.unroll(s.loop("s"));
  EXPECT_EQ(trace_to_cpp(s), R"(auto int_ = s.loop("int");
auto [int_outer, int_inner] = s.split(int_, {infer, 4});
auto class_ = s.block("class");
s.set_scope(class_, Scope::shared);
auto shared_shared = s.cache_read(class_, "shared", Scope::shared);
auto s_ = s.loop("s");
s.compute_at(shared_shared, s_);
s.unroll(s_);
)");
  EXPECT_TRUE(test::same_meaning(s));
  TraceFile file = trace_file(s, {8}, DType::u32);
  Schedule again = replay(parse_trace(to_json(file), "t.json"), s.source(), Target{}, "t.json");
  EXPECT_EQ(trace_to_cpp(again), trace_to_cpp(s));
  EXPECT_EQ(handle_name("int_"), "int__") << "int has int_";
  EXPECT_EQ(handle_name("interior"), "interior");
  EXPECT_EQ(handle_name("_"), "_");
}

/// The error contains the schedule before the directive, even after the schedule itself is destroyed.
TEST(Trace, OfTheScheduleThatRefused) {
  auto refused = [](const std::function<void(Schedule &)> &apply_one) -> std::shared_ptr<const Schedule> {
    Schedule s(gemm(7, 5, 9));
    s.split(s.loop("i"), {infer, 2});
    try {
      apply_one(s);
    } catch (const UserError &error) {
      return error.schedule();
    }
    return nullptr;
  };
  const std::vector<std::function<void(Schedule &)>> mistakes = {
      [](Schedule &s) {
        s.split(s.loop("j"), {2, 2});
      },
      [](Schedule &s) { s.loop("m"); },
      [](Schedule &s) {
        apply(s, {"unroll", {LoopName{"m"}}, {}}, "t.json");
      },
  };
  for (const auto &mistake : mistakes) {
    auto schedule = refused(mistake);
    ASSERT_TRUE(schedule);
    EXPECT_EQ(schedule->trace().size(), 1U);
  }
  EXPECT_FALSE(refused([](Schedule &s) {
    apply(s, {"unrol", {}, {}}, "t.json");
  })) << "not a refusal of a schedule";

  Schedule s(gemm(7, 5, 9));
  try {
    apply(s, {"unroll", {LoopName{"m"}}, {}}, "t.json");
    FAIL() << "not refused";
  } catch (const ScheduleError &error) {
    EXPECT_EQ(error.directive(), "s.unroll(m)");
    EXPECT_EQ(error.requirement(), "any.handle");
  }
}

/// A trace can refer only to names that exist. It does not create names.
TEST(Trace, OfNamesThatThereAreNot) {
  Schedule s(gemm(7, 5, 9));
  for (const char *name : {"", "a b", "1x", "i\n"}) {
    expect_user_error(
        [&] {
          apply(s, {"unroll", {LoopName{name}}, {}}, "t.json");
        },
        ExitCode::illegal_schedule, "there is no loop '" + std::string(name) + "'; the loops are ");
    expect_user_error(
        [&] {
          apply(s, {"cache_read", {BlockName{"AB"}, Word{name}, Word{"shared"}}, {}}, "t.json");
        },
        ExitCode::illegal_schedule, "'" + std::string(name) + "'");
  }
}

TEST(ParseTrace, RefusesWhatIsNoTrace) {
  auto refused = [](const std::string &text, const std::string &message) {
    expect_user_error([&] { parse_trace(text, "t.json"); }, ExitCode::usage, "t.json: " + message);
    expect_user_error([&] { parse_trace(text, "t.json"); }, ExitCode::usage,
                      "; save one with `show RUNG --trace json`");
  };
  refused("", "is not JSON: ");
  refused("{\"directives\": [", "is not JSON: ");
  refused("\x7f\x45\x4c\x46\x02\x01", "is not JSON: ");
  refused("[]", "is JSON, but not a nestsmith trace: it has no 'nestsmith_trace'");
  refused("3", "is JSON, but not a nestsmith trace");
  refused("{\"op\": \"split\"}", "is JSON, but not a nestsmith trace");
  refused(R"({"nestsmith_trace": "1"})", "is JSON, but not a nestsmith trace");
  refused(R"({"nestsmith_trace": 5})", "is a trace of version 5, expected 1 to 4");
  refused(R"({"nestsmith_trace": 0})", "is a trace of version 0, expected 1 to 4");
  refused(R"({"nestsmith_trace": 1})", "has no 'workload'");
  refused(R"({"nestsmith_trace": 1, "workload": "gemm"})", "has no 'target'");
  refused(R"({"nestsmith_trace": 1, "workload": "gemm", "target": "sm_80"})", "has no 'dtype'");

  std::string head = R"({"nestsmith_trace": 1, "workload": "gemm", "target": "sm_80", "dtype": )";
  refused(head + R"("f17"})", "has the unknown dtype 'f17', expected one of bool, i8, i16, i32,");
  refused(head + R"("f32", "shape": [1, "x"]})", "expected whole numbers below 2^62 in 'shape'");
  refused(head + R"("f32", "shape": [1, 2.5]})", "expected whole numbers below 2^62 in 'shape'");
  refused(head + R"("f32", "shape": [1, 9223372036854775807.5]})",
          "expected whole numbers below 2^62 in 'shape'");
  refused(head + R"("f32", "shape": [1, 1, 1]})", "has no 'directives'");
  auto directives = [&](const std::string &list) {
    return head + R"("f32", "shape": [1, 1, 1], "directives": [)" + list + "]}";
  };
  refused(directives("3"), "a directive has no 'op'");
  refused(directives(R"({"args": []})"), "a directive has no 'op'");
  refused(directives(R"({"op": "fuse", "results": [1]})"), "expected strings in 'results'");
  refused(directives(R"({"op": "split", "args": [["x"]]})"), "expected whole numbers below 2^62 in 'args'");
  refused(directives(R"({"op": "split", "args": [{"loops": [1]}]})"), "expected strings in 'loops'");
  refused(
      directives(R"({"op": "split", "args": [{"lop": "i"}]})"),
      "an argument is neither a number, a word, a list of numbers, a loop, a block, loops, blocks nor stages");
  refused(directives(R"({"op": "split", "args": [1.5]})"), "an argument is neither a number");
  refused(directives(R"({"op": "split", "args": [null]})"), "an argument is neither a number");
}

TEST(Replay, RefusesWhatDoesNotFit) {
  auto refused = [](const Directive &directive, ExitCode code, const std::string &message) {
    TraceFile file{"gemm", {7, 5, 9}, DType::u32, "sm_80", {directive}};
    expect_user_error([&] { replay(file, gemm(7, 5, 9), Target{}, "t.json"); }, code, message);
  };
  LoopName i{"i"};
  BlockName AB{"AB"};
  refused({"tensorise", {i}, {}}, ExitCode::usage,
          "t.json: has the unknown directive 'tensorise', expected one of async_copy, axes_from_loops, bind, ");
  refused({"unroll", {}, {}}, ExitCode::usage, "t.json: argument 1 of 'unroll': is missing, expected a loop");
  refused({"unroll", {AB}, {}}, ExitCode::usage, "argument 1 of 'unroll': expected a loop");
  refused({"cache_write", {i, Word{"local"}}, {}}, ExitCode::usage,
          "argument 1 of 'cache_write': expected a block");
  refused({"split", {i, Word{"4"}}, {}}, ExitCode::usage, "argument 2 of 'split': expected a list of numbers");
  refused({"reorder", {i}, {}}, ExitCode::usage, "argument 1 of 'reorder': expected a list of loops");
  refused({"bind", {i, Word{"threadIdx.w"}}, {}}, ExitCode::usage,
          "argument 2 of 'bind': got the axis 'threadIdx.w', expected blockIdx.x to threadIdx.z, warp or lane");
  refused({"bind", {i, std::int64_t{1}}, {}}, ExitCode::usage, "argument 2 of 'bind': expected a word");
  refused({"set_scope", {AB, Word{"register"}}, {}}, ExitCode::usage,
          "argument 2 of 'set_scope': got the scope 'register', expected global, shared, local or warp");
  refused({"transform_layout", {AB, Word{"i,j->j,i"}}, {}}, ExitCode::usage,
          "argument 2 of 'transform_layout': got the map 'i,j->j,i', expected it in the form 'i, j -> j, i'");
  refused({"transform_layout", {AB, Word{"i, j ->"}}, {}}, ExitCode::illegal_schedule,
          "'i, j ->' is not an index map: expected an index at character 8");
  refused({"storage_align", {AB, std::int64_t{0}, std::int64_t{2}}, {}}, ExitCode::usage,
          "argument 4 of 'storage_align': is missing, expected a whole number");
  refused({"unroll", {LoopName{"m"}}, {}}, ExitCode::illegal_schedule,
          "there is no loop 'm'; the loops are i, j, k");
  refused({"cache_write", {BlockName{"D"}, Word{"local"}}, {}}, ExitCode::illegal_schedule,
          "there is no block 'D'; the blocks are AB, C");
  refused({"split", {i, std::vector<std::int64_t>{2, 2}}, {}}, ExitCode::illegal_schedule,
          "the factors give 4 iterations, but i has 7");
  refused({"fuse", {i, LoopName{"j"}}, {"ij"}}, ExitCode::usage,
          "'auto ij = s.fuse(i, j);' gave 'auto i_j = s.fuse(i, j);' here; the trace was made for another "
          "computation");
  refused({"unroll", {i, i}, {}}, ExitCode::usage, "the trace was made for another computation");
}

} // namespace
} // namespace nestsmith
