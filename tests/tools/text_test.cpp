/// Tests the helpers for the output of commands: diffs, tables and names.

#include "dsl/expr/error.h"
#include "dsl/schedule/extents.h"
#include "runtime/records/knob_table.h"
#include "tests/tools/plain_text.h"
#include "tools/options/arguments.h"
#include "tools/options/scheduled.h"
#include "tools/output/highlight.h"
#include "tools/output/table.h"
#include "tools/output/terminal.h"
#include "tools/output/text_diff.h"

#include <gtest/gtest.h>

namespace nestsmith::cli {
namespace {

using test::plain;

const Style coloured(Colour::always);

TEST(TextDiff, ALoopAroundANestIsOneLine) {
  auto lines = diff_lines("for i < 8:\n  body\n", "for i < 2:\n  for j < 4:\n    body\n");
  EXPECT_EQ(render_diff(lines, plain), "- for i < 8:\n+ for i < 2:\n+   for j < 4:\n      body\n");
}

TEST(TextDiff, EqualTextsHaveNoChange) {
  EXPECT_FALSE(any_change(diff_lines("a\nb\n", "a\nb\n")));
  EXPECT_FALSE(any_change(diff_lines("", "")));
  EXPECT_TRUE(any_change(diff_lines("", "a\n")));
}

TEST(TextDiff, FarContextIsLeftOut) {
  auto lines = diff_lines("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\n5\n6\n7\n8\nnine\n");
  EXPECT_EQ(render_diff(lines, plain, 2), "  ⋮\n  7\n  8\n- 9\n+ nine\n");
}

TEST(TextDiff, WhatDiffersInAPairIsBold) {
  std::string text = render_diff(diff_lines("for i < 8:\n", "for i < 4:\n"), coloured);
  EXPECT_NE(text.find("\x1b[1m\x1b[31m8\x1b[0m"), std::string::npos) << text;
  EXPECT_NE(text.find("\x1b[1m\x1b[32m4\x1b[0m"), std::string::npos) << text;
}

TEST(TextDiff, WordsAreNotCut) {
  std::string text = render_diff(diff_lines("global AB\n", "local AB\n"), coloured);
  EXPECT_NE(text.find("\x1b[1m\x1b[31mglobal\x1b[0m"), std::string::npos) << text;
}

TEST(Table, ColumnsAreAlignedByWhatIsSeen) {
  Table table({{"a"}, {"b", Align::right}});
  table.add({coloured.bold("lång"), "1"});
  table.add({"x", "100"});
  EXPECT_EQ(table.text(plain), " a    │   b\n──────┼─────\n \x1b[1mlång\x1b[0m │   1\n x    │ 100\n");
}

TEST(Wrapped, BreaksAtSpaces) {
  EXPECT_EQ(wrapped("aa bb cc", 5), (std::vector<std::string>{"aa bb", "cc"}));
  EXPECT_EQ(wrapped("unbreakable", 3), std::vector<std::string>{"unbreakable"});
  EXPECT_EQ(wrapped("", 9), std::vector<std::string>{""});
}

TEST(Highlight, ChangesColoursOnly) {
  std::string text = "for i < 4 in threadIdx.x:\n  block C(i = i//2): // note\n";
  EXPECT_EQ(highlight(text, plain), text);
  std::string marked = highlight(text, coloured);
  EXPECT_NE(marked.find("\x1b[34mfor\x1b[0m"), std::string::npos);
  EXPECT_NE(marked.find("\x1b[36mthreadIdx.x\x1b[0m"), std::string::npos);
  EXPECT_NE(marked.find("i//2"), std::string::npos);
  std::string stripped;
  for (std::size_t n = 0; n < marked.size(); ++n) {
    if (marked[n] == '\x1b')
      n = marked.find('m', n);
    else
      stripped += marked[n];
  }
  EXPECT_EQ(stripped, text);
}

TEST(Nearest, AShortWordHasItsFirstLetter) {
  EXPECT_EQ(nearest("nope", {"one", "naive"}), std::vector<std::string>{});
  EXPECT_EQ(nearest("shwo", {"show", "run"}), std::vector<std::string>{"show"});
}

TEST(FoldedCode, BreaksAtSpacesAndMarksEachPart) {
  EXPECT_EQ(folded_code("a = b;\n", 40), "a = b;\n");
  EXPECT_EQ(folded_code("  auto [first_loop, second_loop] = s.split(loop, {infer, 8});\nend", 40),
            "  auto [first_loop, second_loop] =\n      s.split(loop, {infer, 8});\nend");
  EXPECT_EQ(
      folded_code(
          "  for first_loop in 1024 bound to threadIdx.x\n  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n", 40),
      "  for first_loop in 1024 bound to\n  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
      "      threadIdx.x\n      ^^^^^^^^^^^\n");
}

TEST(Nearest, TyposAndBeginnings) {
  std::vector<std::string> names = {"naive", "coalesced", "shared"};
  EXPECT_EQ(nearest("nave", names), std::vector<std::string>{"naive"});
  EXPECT_EQ(nearest("coal", names), std::vector<std::string>{"coalesced"});
  EXPECT_TRUE(nearest("quux", names).empty());
}

TEST(Arguments, FormsOfOptions) {
  std::vector<Option> options = {{"shape", "MxNxK", ""}, {"json", "", ""}, {"output", "FILE", "", 'o'}};
  Arguments given("run", {"a", "--shape=1x2x3", "-o", "f", "--json", "--", "--b"}, options);
  EXPECT_EQ(given.positional(), (std::vector<std::string>{"a", "--b"}));
  EXPECT_EQ(given.value("shape"), "1x2x3");
  EXPECT_EQ(given.value("output"), "f");
  EXPECT_TRUE(given.has("json"));
}

TEST(ParseShape, ReadsBackWhatItPrints) {
  EXPECT_EQ(parse_shape("1x22x2147483647", 3), (Shape{1, 22, 2147483647}));
  EXPECT_EQ(to_text({4, 5}), "4x5");
  EXPECT_THROW(parse_shape("4x5", 3), UserError);
}

TEST(ParseShape, RefusesAnExtentThatIsNoneWithTheReason) {
  auto reason = [](const std::string &text, std::size_t extents) -> std::string {
    try {
      parse_shape(text, extents);
    } catch (const UserError &error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(reason("4xax5", 3), "shape '4xax5': 'a' is not a number; give MxNxK such as 512x512x512");
  EXPECT_EQ(reason("", 1), "shape '': '' is not a number; give one number such as 65536");
  EXPECT_EQ(reason("-7x1", 2),
            "shape '-7x1': an extent must be at least 1, got -7; give 2 extents joined by 'x'");
  EXPECT_EQ(reason("1x2", 3), "shape '1x2': it has 2 extents, expected 3; give MxNxK such as 512x512x512");
}

TEST(ParseShape, ARecordHasTheSameExtents) {
  std::string why;
  for (const char *text : {"1", "127x1x2147483647", "007x5"})
    EXPECT_EQ(parse_extents(text, why).size(),
              parse_extents(extents_text(parse_extents(text, why)), why).size());
  EXPECT_EQ(why, "");
  for (const char *text : {"", "x", "4x", "0x1", "-1", "+1", "4x99999999999999999999"}) {
    EXPECT_TRUE(parse_extents(text, why).empty()) << text;
    records::Record record;
    record.shape = text;
    EXPECT_TRUE(records::extents_of(record).empty()) << text;
  }
}

TEST(ShortText, OfEqualExtentsIsOneNumber) {
  EXPECT_EQ(short_text({512, 512, 512}), "512");
  EXPECT_EQ(short_text({512, 512, 8}), "512x512x8");
}

} // namespace
} // namespace nestsmith::cli
