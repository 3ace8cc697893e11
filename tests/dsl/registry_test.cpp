/// The list of the primitives.

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

TEST(Registry, HasTheArgumentsOfTheMethods) {
  using enum ArgumentKind;
  auto arguments = [](const char *name) { return find_primitive(name)->arguments; };
  EXPECT_EQ(arguments("split"), (std::vector{loop, integers}));
  EXPECT_EQ(arguments("bind"), (std::vector{loop, axis}));
  EXPECT_EQ(arguments("reorder"), (std::vector{loops}));
  EXPECT_EQ(arguments("cache_read"), (std::vector{block, word, scope}));
  EXPECT_EQ(arguments("swizzle"), (std::vector{block, integer, integer, integer}));
  EXPECT_EQ(arguments("pipeline"), (std::vector{loop, stages}));
  EXPECT_EQ(arguments("transform_layout"), (std::vector{block, index_map}));
  for (const Primitive &primitive : all_primitives())
    EXPECT_EQ(primitive.gives_list, primitive.name == "split" || primitive.name == "tile") << primitive.name;
}

/// tests/dsl/small_world.h writes its directives by hand.
TEST(Registry, IsWhatTheSmallWorldTries) {
  Schedule s(test::gemm(3, 5, 4));
  s.compute_at(s.cache_read(s.block("AB"), "A", Scope::shared), s.loop("k")); // a loop to be pipelined
  std::set<std::string> tried, listed;
  for (const test::Move &move : test::moves_of(s))
    tried.insert(move.text.substr(0, move.text.find('(')));
  for (const Primitive &primitive : all_primitives())
    listed.insert(primitive.name);
  EXPECT_EQ(tried, listed);
}

} // namespace
} // namespace nestsmith
