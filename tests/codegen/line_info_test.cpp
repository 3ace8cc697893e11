/// Tests `#line` directives: they map the lines of a kernel to the lines of this file that state them.

#include "codegen/line_info.h"

#include "codegen/emit.h"
#include "dsl/ir/tensor.h"
#include "dsl/schedule/makers.h"
#include "dsl/schedule/trace.h"
#include "lowering/lower.h"

#include <gmock/gmock.h>
#include <map>

namespace nestsmith {
namespace {

using testing::EndsWith;

/// The numbers of the lines below that state the parts of `scaled`.
struct Lines {
  unsigned stage, cache, split;
};

Schedule scaled(Lines &lines) {
  Workload w("scaled");
  Tensor x = w.placeholder("x", {1000});
  lines.stage = Where::current().line() + 1;
  Tensor y = w.compute("y", {1000}, {"i"}, [&](Expr i) -> Definition { return 2.0f * x(i); });
  Schedule s(w.output({y}));
  lines.cache = Where::current().line() + 1;
  BlockRef copy = s.cache_read(s.block("y"), "x", Scope::local);
  lines.split = Where::current().line() + 1;
  auto [block, thread] = s.split(s.loops(s.block("y"))[0], {infer, 128});
  s.compute_at(copy, thread);
  s.bind(block, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  return s;
}

/// Returns the file and the line number that a compiler reports for each line of the text.
std::map<std::string, std::pair<std::string, unsigned>> reported(const std::string &text) {
  std::map<std::string, std::pair<std::string, unsigned>> result;
  std::string file = "the file";
  unsigned number = 1;
  for (std::size_t at = 0; at < text.size();) {
    std::string line = text.substr(at, text.find('\n', at) - at);
    at += line.size() + 1;
    if (line.starts_with("#line ")) {
      number = static_cast<unsigned>(std::stoul(line.substr(6)));
      std::size_t quote = line.find('"');
      file = line.substr(quote + 1, line.rfind('"') - quote - 1);
      continue;
    }
    result.emplace(line.substr(std::min(line.find_first_not_of(' '), line.size())), std::pair{file, number++});
  }
  return result;
}

TEST(LineInfo, ALineOfTheKernelLeadsToTheDirectiveOrTheStageThatMadeIt) {
  Lines lines{};
  Schedule s = scaled(lines);
  Makers makers(s);
  EmitInfo info;
  info.source_lines = [&](const OriginPart &part) { return makers.where(part); };
  std::string text = with_own_lines(emit(info, lower(s)), "scaled.cu");
  auto at = reported(text);
  for (const auto &[line, number] :
       std::map<std::string, unsigned>{{"const int i_outer = blockIdx.x;", lines.split},
                                       {"const int i_inner = threadIdx.x;", lines.split},
                                       {"if (x_i < 1000) {  // tail of x_i", lines.stage},
                                       {"const float x_local = x_i < 1000 ? x[x_i] : 0.0f;", lines.cache},
                                       {"y[x_i] = 2.0f * x_local;", lines.stage}}) {
    ASSERT_TRUE(at.contains(line)) << line << "\n" << text;
    EXPECT_THAT(at[line].first, EndsWith("line_info_test.cpp")) << line;
    EXPECT_EQ(at[line].second, number) << line;
  }
}

/// After the kernel, the compiler reports the line numbers of the emitted file itself.
TEST(LineInfo, TheRestOfTheFileKeepsItsOwnLines) {
  Lines lines{};
  Schedule s = scaled(lines);
  Makers makers(s);
  EmitInfo info;
  info.source_lines = [&](const OriginPart &part) { return makers.where(part); };
  std::string text = with_own_lines(emit(info, lower(s)), "a \"b\".cu");
  std::size_t launcher = text.find("extern \"C\" cudaError_t"), own = text.rfind("#line", launcher);
  ASSERT_NE(own, std::string::npos);
  auto lines_before = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(own), '\n');
  std::string expected = "#line " + std::to_string(lines_before + 2) + " \"a \\\"b\\\".cu\"\n";
  EXPECT_EQ(text.substr(own, text.find('\n', own) + 1 - own), expected);
}

/// The directives of the two schedules differ only in their line numbers.
TEST(LineInfo, IsNoPartOfADirective) {
  Lines lines{};
  Schedule here = scaled(lines);
  TraceFile trace = trace_file(here, {1000}, DType::f32);
  Schedule replayed = replay(trace, here.source(), {}, "here");
  EXPECT_EQ(here.trace(), replayed.trace());
  EXPECT_GT(here.trace()[0].where.line(), 0U);
  EXPECT_EQ(replayed.trace()[0].where.line(), 0U);
  Makers makers(replayed);
  EmitInfo info;
  info.source_lines = [&](const OriginPart &part) {
    return makers.directive_of(part) == 0 ? Where() : makers.where(part);
  };
  EXPECT_EQ(emit(info, lower(replayed)), emit({}, lower(here)))
      << "a trace does not state where it was written";
}

TEST(Makers, KnowTheDirectiveOfLoopsBlocksAndBuffers) {
  Lines lines{};
  Schedule s = scaled(lines);
  Makers makers(s);
  BlockRef copy = s.block("x_local");
  EXPECT_EQ(makers.directive_of(s.block("y").id), 0U);
  EXPECT_EQ(makers.directive_of(InitOf{s.block("y").id}), 0U);
  EXPECT_EQ(makers.directive_of(copy.id), 1U);
  EXPECT_EQ(makers.directive_of(find_block(s.program().body, copy.id)->body.buffer), 1U);
  EXPECT_EQ(makers.directive_of(s.loop("i_outer").var), 2U);
  EXPECT_EQ(makers.where(s.loop("i_outer").var).line(), lines.split);
  EXPECT_EQ(makers.directive_of(make_var("unknown")), 0U);
  EXPECT_EQ(makers.where(make_var("unknown")).line(), 0U);
}

} // namespace
} // namespace nestsmith
