#pragma once
/// One line of a schedule's trace: a primitive, its arguments, and the names it gave to what it made.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace nestsmith {

/// Loops, blocks and buffers are named: names are unique within a schedule and stay valid.
struct LoopName {
  std::string name;
  bool operator==(const LoopName &) const = default;
};
struct BlockName {
  std::string name;
  bool operator==(const BlockName &) const = default;
};
struct Word { ///< an axis, a scope or a buffer
  std::string text;
  bool operator==(const Word &) const = default;
};
struct StageName { ///< a block of a pipelined loop
  std::string block;
  std::int64_t stage, order;
  bool operator==(const StageName &) const = default;
};
using Argument = std::variant<LoopName, BlockName, Word, std::int64_t, std::vector<LoopName>,
                              std::vector<std::int64_t>, std::vector<StageName>>;

struct Directive {
  std::string op;
  std::vector<Argument> arguments;
  std::vector<std::string> results; ///< names of the loops or the block that it made
  bool operator==(const Directive &) const = default;
};

/// The variable that holds the loop or the block of this name in C++: the name, or, where it is a keyword or
/// what every trace uses (`s`, `infer`), the name with a `_`.
std::string handle_name(const std::string &name);

/// As one line of C++: `auto [i_outer, i_inner] = s.split(i, {infer, 32});`, with `end` after the call.
std::string to_cpp(const Directive &directive, const char *end = ";");

} // namespace nestsmith
