/// Tests the list of primitives.

#include "dsl/schedule/primitives/registry.h"

#include "tests/dsl/small_world.h"

namespace nestsmith {
namespace {

TEST(Registry, IsInAlphabeticalOrder) {
  const std::vector<Primitive> &list = all_primitives();
  EXPECT_TRUE(std::ranges::is_sorted(list, {}, &Primitive::name));
  for (const Primitive &primitive : list)
    EXPECT_EQ(find_primitive(primitive.name), &primitive);
  EXPECT_EQ(find_primitive("splits"), nullptr);
}

TEST(Registry, HasTheParametersOfTheMethods) {
  using enum ParameterKind;
  auto kinds = [](const char *name) {
    std::vector<ParameterKind> list;
    for (const primitives::Parameter &parameter : find_primitive(name)->parameters())
      list.push_back(parameter.kind);
    return list;
  };
  EXPECT_EQ(kinds("split"), (std::vector{loop, factors}));
  EXPECT_EQ(kinds("cut"), (std::vector{loop, points}));
  EXPECT_EQ(kinds("bind"), (std::vector{loop, axis}));
  EXPECT_EQ(kinds("fuse"), (std::vector{outer_loop, inner_loop}));
  EXPECT_EQ(kinds("reorder"), (std::vector{loops}));
  EXPECT_EQ(kinds("cache_read"), (std::vector{block, buffer, scope}));
  EXPECT_EQ(kinds("swizzle"), (std::vector{block, integer, integer, integer}));
  EXPECT_EQ(kinds("pipeline"), (std::vector{loop_of_nests, stages}));
  EXPECT_EQ(kinds("transform_layout"), (std::vector{block, index_map}));
  for (const Primitive &primitive : all_primitives())
    EXPECT_EQ(
        primitive.gives_list,
        std::set<std::string_view>({"cut", "fission", "split", "split_by", "tile"}).contains(primitive.name))
        << primitive.name;
}

TEST(Registry, NamesTheParametersThatAParameterRefersTo) {
  const Primitive &cache_read = *find_primitive("cache_read");
  EXPECT_EQ(cache_read.position_of(cache_read.slots[1]), 0U);
  for (const Primitive &primitive : all_primitives())
    for (const primitives::Parameter &parameter : primitive.parameters()) {
      EXPECT_FALSE(parameter.name.empty()) << primitive.name;
      EXPECT_TRUE(parameter.of.empty() || primitive.position_of(parameter) < primitive.count) << primitive.name;
    }
}

/// A value of each kind is applied or refused, and never of the wrong type.
TEST(Registry, IsWhatTheSmallWorldTries) {
  Schedule s(test::gemm(3, 5, 4));
  s.compute_at(s.cache_read(s.block("AB"), "A", Scope::shared), s.loop("k")); // a loop to be pipelined
  std::set<std::string_view> tried, listed;
  std::vector<Directive> moves = test::moves_of(s);
  for (const Directive &move : moves) {
    tried.insert(move.op);
    Schedule moved = s;
    test::apply(moved, move);
  }
  for (const Primitive &primitive : all_primitives())
    if (primitive.name != "split_by") // the program declares no size
      listed.insert(primitive.name);
  EXPECT_EQ(tried, listed);
}

} // namespace
} // namespace nestsmith
