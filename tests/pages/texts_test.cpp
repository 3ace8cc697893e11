/// Tests the parts of a page: escaped text, links between lines, and differences of steps.

#include "dsl/ir/printer.h"
#include "dsl/schedule/trace.h"
#include "lowering/lower.h"
#include "schedules/rung.h"
#include "tools/output/html.h"
#include "tools/pages/differences.h"
#include "tools/pages/labels.h"
#include "tools/pages/links.h"
#include "tools/pages/steps.h"

#include <gmock/gmock.h>
#include <llvm/Support/FormatVariadic.h>

namespace nestsmith {
namespace {

using namespace cli::report;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(Html, TextAndValuesOfAttributesAreEscaped) {
  EXPECT_EQ(Html("<b>\"&'").markup(), "&lt;b&gt;&quot;&amp;&#39;");
  EXPECT_EQ(element("a", {{"href", "\"><script>"}}, {"</a>"}).markup(),
            "<a href=\"&quot;&gt;&lt;script&gt;\">&lt;/a&gt;</a>");
  EXPECT_EQ(element("p", {element("b", {"x"}), " < y"}).markup(), "<p><b>x</b> &lt; y</p>");
  EXPECT_EQ(element("input", {{"type", "range"}}).markup(), "<input type=\"range\">");
}

TEST(Html, DataCannotEndItsBlock) {
  std::string block =
      data_block("x", llvm::formatv("{0}", llvm::json::Value("</script><script>alert(1)</script>")).str())
          .markup();
  EXPECT_EQ(block.find("</script>"), block.size() - std::string("</script>\n").size()) << block;
  EXPECT_THAT(block, HasSubstr("\\u003c/script>"));
}

/// The expected hash is the known hash of the empty text.
TEST(Html, ThePolicyAllowsTheOwnScriptOnly) {
  std::string policy = security_policy("", "");
  EXPECT_THAT(policy, HasSubstr("default-src 'none'; "));
  EXPECT_THAT(policy, HasSubstr("script-src 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='; "));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
}

TEST(Labels, AreInEveryLanguage) {
  for (std::size_t n = 0; n < static_cast<std::size_t>(Label::last_); ++n) {
    auto braces = [&](Language language) {
      return say(static_cast<Label>(n), language).find("{}") != std::string_view::npos;
    };
    EXPECT_EQ(braces(Language::en), braces(Language::ko)) << say(static_cast<Label>(n), Language::en);
  }
}

Schedule schedule_of(const std::string &name, std::int64_t extent = 64) {
  for (const Rung &rung : builtin_rungs())
    if (rung.full_name() == name)
      return rung.build(Shape(rung.default_shape.size(), extent), rung.dtype(), Target{});
  throw std::runtime_error("no rung " + name);
}

/// Returns the keys of the first line that contains `part`.
std::vector<std::string> keys_of(const LinkedText &text, const std::string &part) {
  for (const LinkedLine &line : text)
    if (line.text.find(part) != std::string::npos)
      return line.keys;
  return {"no line has " + part};
}

TEST(Links, ALineOfAKernelNamesTheLoopOrTheBlockThatItComesFrom) {
  Schedule s = schedule_of("deep_dive/tile1d");
  LinkedText program = linked_program(s.program()), cuda = linked_cuda(lower(s)),
             kernel = linked_kernels(lower(s));
  EXPECT_EQ(joined(program), print(s.program()));
  EXPECT_EQ(joined(kernel), kernel::print(lower(s)));
  EXPECT_EQ(joined(cuda), cuda_kernels(lower(s)));

  EXPECT_THAT(keys_of(program, "for k_outer <"), ElementsAre("for k_outer"));
  EXPECT_THAT(keys_of(program, "block AB("), ElementsAre("block AB", "init AB"));
  EXPECT_THAT(keys_of(program, "init AB["), ElementsAre("init AB"));
  EXPECT_THAT(keys_of(program, "AB[i, j] = AB[i, j] +"), ElementsAre("block AB"));
  EXPECT_THAT(keys_of(program, "shared A_shared:"), ElementsAre("buffer A_shared"));

  EXPECT_THAT(keys_of(cuda, "for (int k_outer"), ElementsAre("for k_outer"));
  EXPECT_THAT(keys_of(cuda, "AB[i_2] = 0.0f"), ElementsAre("init AB"));
  EXPECT_THAT(keys_of(cuda, "AB[i_2] += "), ElementsAre("block AB"));
  EXPECT_THAT(keys_of(cuda, "A_shared[tid] = A["), ElementsAre("block A_shared"));
  EXPECT_THAT(keys_of(cuda, "__shared__ float A_shared["), ElementsAre("buffer A_shared"));
  EXPECT_THAT(keys_of(cuda, "= threadIdx.x;"), Contains("for i_1_j_inner"));
  EXPECT_THAT(keys_of(cuda, "__syncthreads"),
              ElementsAre("block A_shared", "block AB", "block B_shared", "block B_shared_local"));
  EXPECT_THAT(keys_of(cuda, "C[i * 64 + j] ="), ElementsAre("block C"));
  EXPECT_THAT(cuda.back().keys, IsEmpty()) << "a brace";

  EXPECT_THAT(keys_of(kernel, "for k_outer <"), ElementsAre("for k_outer"));
  EXPECT_THAT(keys_of(kernel, "A_shared[tid] = A["), ElementsAre("block A_shared"));
  EXPECT_THAT(keys_of(kernel, "let tid"), Contains("for ax_A_i_ax_A_k"));
}

/// Both kernels declare a variable i.
TEST(Links, OfKernelsWithEqualNamesLeadToTheirOwnBlocks) {
  LinkedText cuda = linked_cuda(lower(schedule_of("principles/unfused", 1000)));
  std::vector<std::vector<std::string>> keys;
  for (const LinkedLine &line : cuda)
    if (line.text.find("const int i =") != std::string::npos)
      keys.push_back(line.keys);
  EXPECT_THAT(keys, ElementsAre(ElementsAre("block t"), ElementsAre("block y")));
}

/// Every key of a kernel must be that of a line of the program.
TEST(Links, LeadToALineOfTheProgramForEveryRung) {
  for (const Rung &rung : builtin_rungs()) {
    Schedule s = rung.build(Shape(rung.default_shape.size(), 64), rung.dtype(), Target{.arch = {90}});
    LinkedText program = linked_program(s.program());
    std::size_t linked = 0, lines = 0;
    for (const LinkedText &text : {linked_cuda(lower(s)), linked_kernels(lower(s))})
      for (const LinkedLine &line : text) {
        ++lines;
        linked += line.keys.empty() ? 0 : 1;
        for (const std::string &key : line.keys)
          EXPECT_TRUE(std::ranges::any_of(
              program, [&](const LinkedLine &known) { return std::ranges::count(known.keys, key) > 0; }))
              << rung.full_name() << ": " << key << " of " << line.text;
      }
    EXPECT_GT(3 * linked, lines) << rung.full_name() << ": most lines are statements";
  }
}

/// Applies a script of differences as the page does.
LinkedText replayed(const LinkedText &before, const llvm::json::Array &script, const llvm::json::Value &table) {
  const llvm::json::Array &lines = *table.getAsObject()->getArray("lines"),
                          &keys = *table.getAsObject()->getArray("keys");
  auto line = [&](std::int64_t indent, std::int64_t index) {
    const llvm::json::Value &known = lines[static_cast<std::size_t>(index)];
    LinkedLine made{std::string(static_cast<std::size_t>(indent), ' '), {}};
    if (auto text = known.getAsString()) {
      made.text += text->str();
      return made;
    }
    made.text += (*known.getAsArray())[0].getAsString()->str();
    for (std::size_t n = 1; n < known.getAsArray()->size(); ++n)
      made.keys.push_back(
          keys[static_cast<std::size_t>(*(*known.getAsArray())[n].getAsInteger())].getAsString()->str());
    return made;
  };
  LinkedText after;
  std::size_t at = 0;
  for (const llvm::json::Value &op : script)
    if (auto count = op.getAsInteger(); count && *count > 0)
      for (std::int64_t n = 0; n < *count; ++n)
        after.push_back(before.at(at++));
    else if (count)
      at += static_cast<std::size_t>(-*count);
    else {
      const llvm::json::Array &parts = *op.getAsArray();
      auto number = [&](std::size_t n) { return *parts[n].getAsInteger(); };
      for (std::int64_t n = 0; n < number(0); ++n, ++at) {
        std::size_t indent = before.at(at).text.find_first_not_of(' ');
        after.push_back(before[at]);
        after.back().text =
            std::string(indent + static_cast<std::size_t>(number(1)), ' ') + before[at].text.substr(indent);
      }
      if (number(0) < 0)
        after.push_back(line(number(1), number(2))), ++at;
      for (std::size_t n = 1; number(0) == 0 && n < parts.size(); n += 2)
        after.push_back(line(number(n), number(n + 1)));
    }
  EXPECT_EQ(at, before.size());
  return after;
}

TEST(Differences, GiveEveryStepBack) {
  for (const char *rung : {"deep_dive/tile1d", "worklog/6", "tensor/async3"}) {
    std::vector<Step> steps = steps_of(schedule_of(rung));
    LineTable table;
    std::vector<llvm::json::Array> programs, cudas;
    const LinkedText none;
    for (std::size_t n = 0; n < steps.size(); ++n) {
      programs.push_back(difference(n == 0 ? none : steps[n - 1].program, steps[n].program, table));
      cudas.push_back(difference(n == 0 ? none : steps[n - 1].cuda, steps[n].cuda, table));
    }
    llvm::json::Value lines = table.json();
    LinkedText program, cuda;
    for (std::size_t n = 0; n < steps.size(); ++n) {
      program = replayed(program, programs[n], lines);
      cuda = replayed(cuda, cudas[n], lines);
      EXPECT_EQ(program, steps[n].program) << rung << ", step " << n;
      EXPECT_EQ(cuda, steps[n].cuda) << rung << ", step " << n;
    }
  }
}

TEST(Steps, AreThoseOfTheScheduleWithAKernelWhenNothingIsOwed) {
  Schedule s = schedule_of("deep_dive/shared");
  std::vector<Step> steps = steps_of(s);
  ASSERT_EQ(steps.size(), s.trace().size() + 1);
  bool open = false;
  for (std::size_t n = 0; n < steps.size(); ++n) {
    EXPECT_EQ(joined(steps[n].program), print(s.step(n)));
    EXPECT_EQ(steps[n].directive, n == 0 ? "" : to_cpp(s.trace()[n - 1]));
    EXPECT_EQ(steps[n].owed.empty(), !steps[n].cuda.empty());
    open = open || !steps[n].owed.empty();
  }
  EXPECT_TRUE(open);
  EXPECT_EQ(joined(steps.back().kernels), kernel::print(lower(s)));
}

} // namespace
} // namespace nestsmith
