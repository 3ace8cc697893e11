/// Tests for problems that new users met with schedules of their own.

#include "dsl/expr/error.h"
#include "dsl/expr/math.h"
#include "tests/tools/call_main.h"
#include "tests/tools/run_binary.h"

#include <algorithm>
#include <new>

namespace nestsmith {
namespace {

using test::axpy;
using test::call_main;
using test::Called;
using test::contains;
using test::count_of;
using test::matches;

using Build = std::function<Schedule(const Shape &, DType, const Target &)>;

Rung rung(const std::string &name, Build build, Shape shape = {1000}) {
  return {.tutorial = "",
          .name = name,
          .summary = "",
          .build = std::move(build),
          .default_shape = std::move(shape)};
}

/// y = f(x) for N elements, with one thread each.
Schedule map_of(Workload &w, const Expr &N, DType dtype, const Target &target,
                const std::function<Expr(Expr)> &f) {
  Tensor x = w.placeholder("x", {N}, dtype);
  Tensor y = w.compute("y", {N}, {"i"}, [&](Expr i) -> Definition { return f(x(i)); });
  Schedule s(w.output({y}), target);
  auto [i] = s.loops<1>(s.block("y"));
  auto [block, thread] = s.split(i, {infer, 128});
  s.bind(block, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  return s;
}

/// Returns a schedule that is symbolic for every shape.
Build sized(Size stated = {}) {
  return [stated](const Shape &, DType dtype, const Target &target) {
    Workload w("twice");
    return map_of(w, w.size("N", stated), dtype, target, [](const Expr &x) { return x + x; });
  };
}

/// Returns a schedule of y = x * factor in f32, for every requested type.
Build scaled(double factor) {
  return [factor](const Shape &shape, DType dtype, const Target &target) {
    Workload w("scaled");
    return map_of(w, shape.at(0), dtype, target, [&](const Expr &x) { return x * float_imm(factor); });
  };
}

/// Returns a schedule whose data has this type, for every requested type.
Build always(DType type) {
  return [type](const Shape &shape, DType, const Target &target) {
    Workload w("twice");
    return map_of(w, shape.at(0), type, target, [](const Expr &x) { return x + x; });
  };
}

/// Returns a schedule without bound loops.
Schedule unbound(const Shape &shape, DType dtype, const Target &target) {
  Workload w("unbound");
  Tensor x = w.placeholder("x", {shape.at(0)}, dtype);
  Tensor y = w.compute("y", {shape.at(0)}, {"i"}, [&](Expr i) -> Definition { return x(i) + x(i); });
  return Schedule(w.output({y}), target);
}

TEST(Sizes, ARungThatDeclaresThemIsSymbolicUnasked) {
  std::vector<Rung> own = {rung("sized", sized())};
  for (const char *command : {"run", "check", "show", "emit", "diff", "explain"})
    for (const char *shape : {"1000", "1", "257"}) {
      Called ran = call_main({command, "sized", "--shape", shape}, own);
      EXPECT_EQ(ran.code, 0) << command << " " << ran.out << ran.err;
    }
  EXPECT_TRUE(contains(call_main({"show", "sized"}, own).out, "f32 1000 by one kernel for all shapes"));
  EXPECT_TRUE(contains(call_main({"emit", "sized"}, own).out, "int N"));
  EXPECT_EQ(call_main({"run", "sized", "--symbolic", "--device", "sim"}, own).code, 0);
  Called steps = call_main({"check", "sized", "--each-step"}, own);
  EXPECT_EQ(steps.code, 0) << steps.out << steps.err;
  EXPECT_FALSE(contains(steps.out, "✗"));
}

TEST(Sizes, AFixedRungRefusesSymbolic) {
  std::vector<Rung> own = {rung("axpy", axpy)};
  std::vector<std::vector<std::string>> commands = {
      {"run"}, {"check"}, {"check", "--each-step"}, {"show"}, {"emit"}, {"explain"}, {"diff"}, {"compile"}};
  for (std::vector<std::string> words : commands) {
    words.push_back("--symbolic");
    Called ran = call_main(words, own);
    EXPECT_EQ(ran.code, 2) << words[0] << ran.out << ran.err;
    EXPECT_TRUE(contains(ran.err, "nestsmith: 'axpy' is built for one shape: it declares no size"));
    EXPECT_TRUE(contains(ran.err,
                         "take its extents from Workload::size, as in w.size(\"M\"), or leave --symbolic out"));
    EXPECT_EQ(ran.out, "");
  }
  Called climb =
      call_main({"run", "--symbolic", "--device", "sim"}, {rung("axpy", axpy), rung("sized", sized())});
  EXPECT_EQ(climb.code, 2);
  EXPECT_TRUE(matches(climb.out, "axpy .*REFUSED"));
  EXPECT_TRUE(matches(climb.out, "sized .*PASSED"));
}

TEST(Sizes, AShapeIsWhatIsStatedOfThem) {
  std::vector<Rung> own = {rung("fours", sized({.min = 8, .max = 4000, .multiple_of = 4}), {1001})};
  for (const char *command : {"run", "emit", "show"}) {
    Called ran = call_main({command, "fours"}, own);
    EXPECT_EQ(ran.code, 2) << ran.out;
    EXPECT_TRUE(contains(ran.err, "the size N of 'fours' must be a multiple of 4, from 8 to 4000, but the "
                                  "shape 1001 has 1001; give --shape, such as 1004"));
    EXPECT_TRUE(contains(call_main({command, "fours", "--shape", "4"}, own).err, "such as 8\n"));
    EXPECT_TRUE(contains(call_main({command, "fours", "--shape", "9999"}, own).err, "such as 4000\n"));
    EXPECT_EQ(call_main({command, "fours", "--shape", "1004"}, own).code, 0);
  }
  Called steps = call_main({"check", "fours", "--each-step"}, own);
  EXPECT_EQ(steps.code, 0) << steps.out << steps.err;
}

TEST(Sizes, AreAsManyAsTheExtents) {
  Called ran = call_main({"run"}, {rung("few", sized(), {64, 64, 64})});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(contains(ran.err,
                       "'few' has 3 extents in its shape 64x64x64 and declares 1 size, N; declare a size for "
                       "each extent, in their order, or give the rung a default shape of 1 extent"));
}

TEST(Sizes, AMultipleThatTheDefaultShapeIsNotIsRefused) {
  for (const char *command : {"run", "run ladder/naive", "emit ladder/naive", "show ladder/naive"}) {
    test::Ran ran = test::nestsmith(std::string(command) + " --symbolic --multiple-of 3");
    EXPECT_EQ(ran.code, 2);
    EXPECT_TRUE(contains(
        ran.err, "nestsmith: the size M of 'ladder/naive' must be a multiple of 3, from 1 to 1073741824, but "
                 "the shape 1024x1024x1024 has 1024; give --shape, such as 1026x1026x1026\n"));
    EXPECT_EQ(ran.out, "");
  }
  EXPECT_EQ(test::nestsmith("emit ladder/naive --symbolic --multiple-of 3 --shape 1026x1026x1026").code, 0);
  for (const char *command : {"run", "check ladder/naive --each-step"}) {
    test::Ran zero = test::nestsmith(std::string(command) + " --symbolic --multiple-of 0");
    EXPECT_EQ(zero.code, 2);
    EXPECT_TRUE(contains(zero.err, "option '--multiple-of' must be a number of at least 1, got '0'"));
  }
  EXPECT_EQ(test::nestsmith("check ladder/naive --each-step --symbolic --multiple-of 4").code, 0);
}

TEST(Sizes, TheMultipleOfRowsIsThatOfLeadingDimensions) {
  test::Ran ran =
      test::nestsmith("emit fast/gemm --symbolic --rows-multiple-of 4 --set async=true --arch sm_80");
  EXPECT_EQ(ran.code, 0);
  EXPECT_TRUE(contains(ran.out, "copy_async_part_16(&B_shared[")) << ran.out;
  EXPECT_TRUE(contains(ran.out, "ldb must be a multiple of 4")) << ran.out;
  EXPECT_FALSE(contains(ran.out, "N must be a multiple")) << ran.out;
  ran = test::nestsmith("check fast/gemm --symbolic --rows-multiple-of 4 --set async=true --shape 17x131x19");
  EXPECT_EQ(ran.code, 0) << ran.out;
  ran = test::nestsmith("emit fast/gemm --rows-multiple-of 4");
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(
      contains(ran.err, "--rows-multiple-of applies to the sizes of a symbolic kernel; give --symbolic too"));
}

TEST(FloatConstants, HaveNoRingModeAndAllOthers) {
  std::vector<Rung> own = {rung("half", scaled(0.5))};
  Called check = call_main({"check", "--device", "sim"}, own);
  EXPECT_EQ(check.code, 0) << check.out << check.err;
  EXPECT_TRUE(matches(check.out, "✓ floating point +error/bound 0.000, bit for bit"));
  EXPECT_TRUE(matches(check.out, "✓ integer mode +bit for bit"));
  EXPECT_TRUE(matches(check.out, "– not checked +ring mode: it cannot be built for u32: "));
  Called json = call_main({"check", "--device", "sim", "--json"}, own);
  auto value = llvm::json::parse(json.out);
  ASSERT_TRUE(static_cast<bool>(value)) << json.out;
  const llvm::json::Array *skipped = value->getAsObject()->getArray("skipped");
  ASSERT_EQ(skipped->size(), 1U);
  EXPECT_EQ((*skipped)[0].getAsObject()->getString("run"), llvm::StringRef("ring mode"));
  EXPECT_TRUE(contains((*skipped)[0].getAsObject()->getString("why")->str(), "cannot be built for u32"));
  Called steps = call_main({"check", "--each-step"}, own);
  EXPECT_EQ(steps.code, 0) << steps.out << steps.err;
  EXPECT_TRUE(contains(steps.out, "ring mode: not checked: it cannot be built for u32"));
  EXPECT_TRUE(
      contains(call_main({"check", "--each-step", "--json"}, own).out, "\"no_ring_mode\": \"it cannot"));
  EXPECT_TRUE(matches(call_main({"run", "--device", "sim"}, own).out, "half .*PASSED"));
  // A user who asks for ring mode must get the reason.
  EXPECT_EQ(call_main({"check", "--dtype", "u32"}, own).code, 2);
}

/// 0.1 * 3 is rounded in f32, so nothing can be compared bit for bit.
TEST(FloatConstants, ThatAreNotExactHaveNoIntegerMode) {
  std::vector<Rung> own = {rung("tenth", scaled(0.1))};
  Called check = call_main({"check", "--device", "sim"}, own);
  EXPECT_EQ(check.code, 0) << check.out << check.err;
  EXPECT_TRUE(matches(check.out, "✓ floating point +error/bound"));
  EXPECT_TRUE(matches(check.out, "– not checked +integer mode: a constant of the computation"));
  EXPECT_TRUE(matches(check.out, "✓ infinities, 1 of 2 +error/bound")); // 0.1 * 3 is within its error bound
  Called run = call_main({"run", "--device", "sim"}, own);
  EXPECT_EQ(run.code, 0);
  EXPECT_TRUE(contains(run.out, "tenth: not checked: integer mode: a constant of the computation")) << run.out;
  EXPECT_TRUE(contains(call_main({"run", "--device", "sim", "--json"}, own).out,
                       "\"skipped\":[{\"run\":\"integer mode\",\"why\":\"a constant"));
  Called steps = call_main({"check", "--each-step"}, own);
  EXPECT_EQ(steps.code, 0) << steps.out << steps.err;
}

TEST(FloatConstants, DoNotHideAWrongKernel) {
  // The inputs have only as many fractional bits as keep integers exact, so integer mode still finds a wrong
  // element.
  test::Ran ladder = test::nestsmith("check ladder/shared --shape 33x17x9 --device sim --json");
  EXPECT_TRUE(contains(ladder.out, "\"skipped\": []")) << "no run of ours is left out";
}

TEST(DataTypes, TheHeaderHasThatOfTheData) {
  std::vector<Rung> own = {rung("whole", always(DType::i32))};
  Called run = call_main({"run", "--device", "sim"}, own);
  EXPECT_EQ(run.code, 0) << run.out << run.err;
  EXPECT_TRUE(run.out.starts_with("i32 1000 on the simulator")) << run.out;
  EXPECT_TRUE(contains(call_main({"run", "--device", "sim", "--json"}, own).out, "\"dtype\":\"i32\""));
  for (const char *command : {"show", "check", "diff"}) {
    Called title = call_main({command}, own);
    EXPECT_TRUE(contains(title.out, "whole  i32 1000")) << title.err;
    EXPECT_FALSE(contains(title.out, "f32"));
  }
  Called steps = call_main({"check", "--each-step"}, own);
  EXPECT_EQ(steps.code, 0) << steps.out << steps.err;
  EXPECT_TRUE(contains(steps.out, "ring mode: not checked: the data are i32 regardless of --dtype"));
  // The requested type must be kept if the data has it.
  for (const char *dtype : {"f16", "bf16", "tf32", "i8", "u8", "u32"})
    EXPECT_TRUE(test::nestsmith(std::string("run gemm/nn --shape 8x8x8 --device sim --dtype ") + dtype)
                    .out.starts_with(dtype));
}

TEST(Climb, GoesOnAfterARungThatThrows) {
  std::vector<Rung> own = {
      rung("first", axpy),
      rung("thrower",
           [](const Shape &, DType, const Target &) -> Schedule { throw std::runtime_error("no luck"); }),
      rung("greedy", [](const Shape &, DType, const Target &) -> Schedule { throw std::bad_alloc(); }),
      rung("odd", [](const Shape &, DType, const Target &) -> Schedule { throw 7; }),
      rung("usage",
           [](const Shape &, DType, const Target &) -> Schedule {
             throw UserError(ExitCode::usage, "this rung wants a GPU of its own");
           }),
      rung("last", axpy)};
  Called run = call_main({"run", "--device", "sim"}, own);
  EXPECT_EQ(run.code, 3) << run.out << run.err;
  for (const char *good : {"first", "last"})
    EXPECT_TRUE(matches(run.out, std::string(" ") + good + " .*PASSED"));
  EXPECT_TRUE(matches(run.out,
                      "thrower .*REFUSED\n +the rung 'thrower' threw an exception for the shape 1000: no luck; "
                      "fix its"));
  EXPECT_TRUE(matches(run.out, "greedy .*REFUSED\n +not enough memory for this shape"));
  EXPECT_TRUE(matches(run.out, "odd .*REFUSED\n +the rung 'odd' threw an exception"));
  EXPECT_TRUE(matches(run.out, "usage .*REFUSED\n +this rung wants a GPU of its own"));
  own.erase(own.begin() + 1, own.begin() + 4);
  EXPECT_EQ(call_main({"run", "--device", "sim"}, own).code, 2);
}

TEST(Climb, WithJsonIsAnObjectALine) {
  Called run = call_main(
      {"run", "--device", "sim", "--json"},
      {rung("thrower",
            [](const Shape &, DType, const Target &) -> Schedule { throw std::runtime_error("no luck"); }),
       rung("axpy", axpy)});
  EXPECT_EQ(run.code, 3);
  std::vector<llvm::json::Value> lines = test::parsed_lines({run.code, run.out, run.err});
  ASSERT_EQ(lines.size(), 3U) << run.out;
  const llvm::json::Object &refused = *lines[0].getAsObject(), &passed = *lines[1].getAsObject(),
                           &climb = *lines[2].getAsObject();
  EXPECT_EQ(refused.getString("rung"), llvm::StringRef("thrower"));
  EXPECT_EQ(refused.getString("verdict"), llvm::StringRef("REFUSED"));
  EXPECT_TRUE(contains((*refused.getArray("messages"))[0].getAsString()->str(), "no luck"));
  EXPECT_EQ(passed.getString("verdict"), llvm::StringRef("PASSED"));
  EXPECT_EQ(climb.getBoolean("passed"), false);
}

TEST(Climb, AVariantThatThrowsIsARefusal) {
  Rung broken = rung("broken", axpy);
  broken.variant = [](const Shape &, DType) -> std::optional<Variant> { throw std::runtime_error("no luck"); };
  Called run = call_main({"show"}, {broken});
  EXPECT_EQ(run.code, 3);
  EXPECT_TRUE(
      contains(run.err, "the rung 'broken' threw an exception for the shape 1000: no luck; fix its variant"));
}

TEST(Unbound, IsWarnedOfOnce) {
  std::vector<Rung> own = {rung("unbound", unbound, {64})};
  const std::string warning =
      "nestsmith: warning: 'unbound' binds no loop, so one thread does all the work, <<<1, 1>>>; "
      "bind loops to blocks and threads, as in s.bind(i, Axis::block_x)";
  for (const char *command : {"run", "check", "emit", "compile"}) {
    Called ran = call_main({command}, own);
    EXPECT_EQ(count_of(ran.err, warning), 1) << command << ran.err;
    EXPECT_FALSE(contains(ran.out, "warning"));
  }
  for (const char *command : {"run", "check", "emit"})
    EXPECT_FALSE(contains(call_main({command}, {rung("axpy", axpy)}).err, "warning"));
}

/// Y = 2*Z and Z = 2*X, where only the nest of Z is bound.
Schedule half_bound(const Shape &shape, DType dtype, const Target &target) {
  Workload w("half_bound");
  Tensor x = w.placeholder("X", {shape.at(0)}, dtype);
  Tensor z = w.compute("Z", {shape.at(0)}, {"i"}, [&](Expr i) { return x(i) + x(i); });
  Schedule s(w.output({w.compute("Y", {shape.at(0)}, {"i"}, [&](Expr i) { return z(i) + z(i); })}), target);
  s.bind(s.loops(s.block("Z"))[0], Axis::thread_x);
  return s;
}

TEST(Unbound, OneOfTwoKernelsIsWarnedOf) {
  Called ran = call_main({"emit"}, {rung("half", half_bound, {64})});
  EXPECT_EQ(
      count_of(ran.err,
               "nestsmith: warning: 'half' binds no loop of the kernel half_bound_Y, so one thread does all "
               "the work of it, <<<1, 1>>>; bind loops to blocks and threads"),
      1)
      << ran.err;
}

/// Reads x(i + 1), whose last element is out of bounds.
Schedule shifted(const Shape &shape, DType dtype, const Target &target) {
  Workload w("shifted");
  Tensor x = w.placeholder("X", {shape.at(0)}, dtype);
  Schedule s(w.output({w.compute("Y", {shape.at(0)}, {"i"}, [&](Expr i) { return x(i + 1) + x(i); })}), target);
  s.bind(s.loops(s.block("Y"))[0], Axis::thread_x);
  return s;
}

TEST(OutOfBounds, IsRefusedByEachCommandThatLowers) {
  for (const char *command : {"check", "emit", "compile"}) {
    Called ran = call_main({command}, {rung("shifted", shifted, {8})});
    EXPECT_NE(ran.code, 0) << command;
    EXPECT_TRUE(contains(ran.err + ran.out, "block Y reads X at i + 1 in dimension 0, which is 8 where i = 7"))
        << command << ran.err << ran.out;
  }
}

TEST(ListOfRungs, IsChecked) {
  auto refused = [](const std::vector<Rung> &own, const std::string &message) {
    for (const char *command : {"list", "run", "show"}) {
      Called ran = call_main({command}, own);
      EXPECT_EQ(ran.code, 2);
      EXPECT_TRUE(contains(ran.err, "nestsmith: " + message));
      EXPECT_EQ(ran.out, "");
    }
  };
  refused({rung("twin", axpy), rung("other", axpy), rung("twin", axpy)},
          "two rungs of cli_main are called 'twin'; give each a name of its own");
  refused({rung("", axpy)}, "a rung of cli_main has no name; give it one");
  refused({rung("saved.json", axpy)}, "a rung of cli_main is called 'saved.json', which the command line "
                                      "parses as a trace file; give it another name");
  refused({rung("-o", axpy)}, "a rung of cli_main is called '-o', which the command line parses as an option");
  refused({rung("empty", nullptr)}, "the rung 'empty' of cli_main has no build function; give it one");
  Rung lonely = rung("lonely", axpy);
  lonely.against = "gone";
  refused({lonely},
          "the rung 'lonely' of cli_main is compared with 'gone', which is none of its rungs; name one of "
          "them in `against`");
  refused({rung("point", axpy, Shape{})}, "the rung 'point' of cli_main has a default shape without extents");
  // Rungs with the same name in two tutorials are no twins.
  Rung a = rung("twin", axpy), b = a;
  a.tutorial = "one", b.tutorial = "two";
  EXPECT_EQ(call_main({"list"}, {a, b}).code, 0);
}

/// A user may define a rung of vectors without the other default shapes, which are those of a matrix product.
TEST(ListOfRungs, OneShapeIsEnough) {
  std::vector<Rung> own = {rung("axpy", axpy)};
  EXPECT_TRUE(contains(call_main({"explain"}, own).out, "axpy  f32 1000 on "));
  EXPECT_EQ(call_main({"check", "--each-step"}, own).code, 0);
}

TEST(ListOfTutorials, HasTitleSourceAndLesson) {
  std::string all = test::nestsmith("list").out;
  for (const char *part : {"\n\ndeep_dive: GEMM deep dive, part 1\n  source   moonull-ptr's post of 2025-10-26 "
                           "(in Korean), measured on an RTX 5090\n",
                           "\n  teaches  coalescing", "\n  deep_dive/naive      one thread per element"})
    EXPECT_TRUE(contains(all, part));
  for (const Tutorial &tutorial : builtin_tutorials()) {
    std::string one = test::nestsmith("list " + tutorial.name).out;
    EXPECT_TRUE(one.starts_with(tutorial.name + ": " + tutorial.title + "\n"));
    for (const Rung &each : builtin_rungs())
      EXPECT_EQ(contains(one, "\n  " + each.full_name() + " "), each.tutorial == tutorial.name);
  }
  std::string unknown = test::nestsmith("list tvm_step").err;
  EXPECT_TRUE(contains(unknown, "there is no tutorial 'tvm_step', expected 'ladder', "));
  EXPECT_TRUE(unknown.ends_with("; did you mean 'tvm_steps'?\n")) << unknown;
}

TEST(ListOfTutorials, HasAnEntryForEachTutorial) {
  std::vector<std::string> names;
  for (const Rung &each : builtin_rungs())
    if (names.empty() || names.back() != each.tutorial)
      names.push_back(each.tutorial);
  std::vector<std::string> known;
  for (const Tutorial &tutorial : builtin_tutorials())
    known.push_back(tutorial.name);
  EXPECT_EQ(names, known);
  const llvm::json::Value list = test::parsed(test::nestsmith("list --json"));
  const llvm::json::Array *tutorials = list.getAsObject()->getArray("tutorials");
  ASSERT_EQ(tutorials->size(), known.size());
  for (std::size_t n = 0; n < known.size(); ++n) {
    const llvm::json::Object &tutorial = *(*tutorials)[n].getAsObject();
    EXPECT_EQ(tutorial.getString("tutorial"), llvm::StringRef(known[n]));
    for (const char *fact : {"title", "source", "teaches"})
      EXPECT_FALSE(tutorial.getString(fact)->empty());
  }
}

/// Both posts end with tensor cores.
TEST(ListOfTutorials, NamesTheTutorialsThatFollow) {
  EXPECT_TRUE(contains(test::nestsmith("list transposed").out,
                       "\n  next     worklog/10, with warp tiles; tensor, with tensor cores"));
  EXPECT_TRUE(contains(test::nestsmith("list principles").out, "\n  next     tensor: lower precision"));
  for (const Tutorial &tutorial : builtin_tutorials()) // what follows is a tutorial, a rung or a command
    EXPECT_TRUE(std::ranges::any_of(builtin_rungs(), [&](const Rung &each) {
      return each.tutorial != tutorial.name ? contains(tutorial.next, each.tutorial)
                                            : contains(tutorial.next, "tune " + each.full_name());
    })) << tutorial.name;
  const llvm::json::Value list = test::parsed(test::nestsmith("list transposed --json"));
  const llvm::json::Object &tutorial = *(*list.getAsObject()->getArray("tutorials"))[0].getAsObject();
  EXPECT_TRUE(tutorial.getString("next")->str().starts_with("worklog/10"));
}

TEST(ListOfTutorials, HasTheAddressOfASource) {
  EXPECT_TRUE(
      contains(test::nestsmith("list worklog").out, "\n  url      https://siboehm.com/articles/22/CUDA-MMM\n"));
  EXPECT_FALSE(contains(test::nestsmith("list tensor").out, "  url "));
  const llvm::json::Value list = test::parsed(test::nestsmith("list worklog --json"));
  const llvm::json::Object &tutorial = *(*list.getAsObject()->getArray("tutorials"))[0].getAsObject();
  EXPECT_EQ(tutorial.getString("url"), llvm::StringRef("https://siboehm.com/articles/22/CUDA-MMM"));
}

TEST(ListOfTutorials, OfAUserMayBeThereOrNot) {
  Rung plain = rung("plain", axpy), taught = plain, bare = plain;
  taught.tutorial = "course", taught.name = "one";
  bare.tutorial = "bare", bare.name = "two";
  Called list = call_main({"list"}, {plain, taught, bare}, {{"course", "A course", "us", "axpy"}});
  EXPECT_EQ(list.code, 0);
  EXPECT_EQ(list.out,
            "plain\n\ncourse: A course\n  source   us\n  teaches  axpy\n\n  course/one\n\nbare\n  bare/two\n");
}

TEST(Mistakes, InWordsHaveAMessage) {
  auto refused = [](const std::string &arguments, const std::string &message) {
    test::Ran ran = test::nestsmith(arguments);
    EXPECT_EQ(ran.code, 2) << arguments;
    EXPECT_EQ(ran.err, "nestsmith: " + message + "\n");
    EXPECT_EQ(ran.out, "");
  };
  refused("doctor x", "'doctor' takes no argument, got 'x'");
  refused("list ladder gemm", "'list' takes at most 1 argument, got 'gemm' after it");
  refused("help run list", "'help' takes at most 1 command, got 'list' after it");
  refused("--help nowhere", "unknown command 'nowhere'; `nestsmith --help` lists them");
  refused("show ''", "unknown rung ''; `nestsmith list` shows them");
  refused("show .", "unknown rung '.'; `nestsmith list` shows them");
  refused("run ladder --shape 64", "shape '64': it has 1 extent, expected 3; give MxNxK such as 512x512x512");
  EXPECT_EQ(test::nestsmith("--help run").out, test::nestsmith("run --help").out);
}

TEST(Emit, IsColouredOnRequest) {
  std::string plain = test::nestsmith("emit ladder/shared").out,
              coloured = test::nestsmith("emit ladder/shared --color always").out, stripped;
  EXPECT_TRUE(contains(coloured, "\x1b[36m__global__\x1b[0m"));
  EXPECT_TRUE(contains(coloured, "\x1b[34mconst\x1b[0m \x1b[34mfloat\x1b[0m"));
  EXPECT_TRUE(contains(coloured, "\x1b[36m    #pragma unroll\x1b[0m"));
  for (std::size_t n = 0; n < coloured.size(); ++n)
    if (coloured[n] == '\x1b')
      n = coloured.find('m', n);
    else
      stripped += coloured[n];
  EXPECT_EQ(stripped, plain);
  test::TemporaryFolder folder;
  std::string file = (folder / "k.cu").string();
  EXPECT_EQ(test::nestsmith("emit ladder/shared --color always -o " + file).code, 0);
  EXPECT_EQ(test::read_file(file), plain) << "a file has no colours";
  EXPECT_FALSE(contains(test::nestsmith("emit ladder/shared --color always --json").out, "\\u001b"));
}

} // namespace
} // namespace nestsmith
