/// Names that the user chooses for the results of a directive.

#include "dsl/schedule/trace.h"
#include "tests/dsl/support.h"

#include <gmock/gmock.h>

namespace nestsmith {
namespace {

using testing::HasSubstr;

TEST(Named, LoopsOfASplitAFusionAndATile) {
  Schedule s(test::product(64, 48, 32));
  auto [rows, columns, row, column] =
      s.tile(s.loop("i"), s.loop("j"), {8, 4}, named("rows", "columns", "row", "column"));
  EXPECT_EQ(s.name(rows) + s.name(columns) + s.name(row) + s.name(column), "rowscolumnsrowcolumn");
  Loop block = s.fuse(rows, columns, named("block"));
  auto [chunk, step] = s.split(s.loop("k"), {infer, 8}, named("chunk", "step"));
  EXPECT_EQ(s.name(block) + s.name(chunk) + s.name(step), "blockchunkstep");
  EXPECT_TRUE(test::same_meaning(s));
  EXPECT_EQ(to_cpp(s.trace().back()),
            "auto [chunk, step] = s.split(k, {infer, 8}, named(\"chunk\", \"step\"));");
}

TEST(Named, Blocks) {
  Schedule s(test::product(16, 16, 16));
  BlockRef tile = s.cache_read(s.block("C"), "A", Scope::shared, named("tile_of_A"));
  EXPECT_EQ(s.name(tile), "tile_of_A");
  EXPECT_THAT(print(s.program()), HasSubstr("tile_of_A["));
}

TEST(Named, OnlyTheResultsOfOneDirective) {
  Schedule s(test::product(16, 16, 16));
  s.split(s.loop("i"), {infer, 4}, named("a", "b"));
  auto [outer, inner] = s.split(s.loop("j"), {infer, 4});
  EXPECT_EQ(s.name(outer) + " " + s.name(inner), "j_outer j_inner");
}

TEST(Named, ATraceKeepsTheNames) {
  Schedule s(test::product(16, 16, 16));
  s.split(s.loop("i"), {infer, 4}, named("block", "thread"));
  s.split(s.loop("thread"), {infer, 2});
  std::string json = to_json(trace_file(s, {16, 16, 16}, DType::f32));
  EXPECT_THAT(json, HasSubstr(R"("results":["block","thread"],"named":true)"));
  Schedule again = replay(parse_trace(json, "t.json"), s.source(), s.target(), "t.json");
  EXPECT_EQ(print(again.program()), print(s.program()));
  EXPECT_EQ(again.trace(), s.trace());
  EXPECT_THAT(trace_to_cpp(s),
              HasSubstr("auto [block, thread] = s.split(i, {infer, 4}, named(\"block\", \"thread\"));"));
}

TEST(NamedRefuses, NamesThatAreTakenOrNoIdentifiersOrNotOneForEachResult) {
  Schedule s(test::product(16, 16, 16));
  Loop i = s.loop("i");
  auto refused = [&](std::vector<std::string> names, const std::string &message) {
    test::expect_refused(s, "any.named", [&] { s.split(i, {infer, 4}, Caller(Where(), names)); }, message, {});
  };
  refused({"block"}, "number of names: got 1, expected 2, the number of loops or blocks that split makes");
  refused({"a", "b", "c"}, "number of names: got 3, expected 2,");
  refused({"a", "a"}, "the name 'a' is taken; choose one that no loop, block or buffer has");
  refused({"a", "k"}, "the name 'k' is taken");
  refused({"a", "A"}, "the name 'A' is taken");
  refused({"two words", "a"}, "got the name 'two words', expected an identifier of at most 200 letters");
  refused({"a", "for"}, "got the name 'for', expected an identifier");
  test::expect_refused(s, "any.named",
                       [&] {
                         s.reorder({s.loop("j"), i}, named("a"));
                       },
                       "number of names: got 1, expected 0, the number of loops or blocks that reorder makes",
                       {});
  s.split(i, {infer, 4}); // a refusal leaves no name behind
  EXPECT_EQ(s.trace().back().results, (std::vector<std::string>{"i_outer", "i_inner"}));
}

} // namespace
} // namespace nestsmith
