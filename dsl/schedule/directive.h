#pragma once
/// Directives. Each is one line of the trace of a schedule: a primitive, its arguments, and the names of its
/// results.

#include "dsl/expr/where.h"

#include <concepts>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace nestsmith {

/// Loops, blocks and buffers are identified by name. Names are unique within a schedule and stay valid.
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
struct StageName { ///< a block of a pipelined loop with its stage and order
  std::string block;
  std::int64_t stage, order;
  bool operator==(const StageName &) const = default;
};
using Argument = std::variant<LoopName, BlockName, Word, std::int64_t, std::vector<LoopName>,
                              std::vector<BlockName>, std::vector<std::int64_t>, std::vector<StageName>>;

struct Directive {
  std::string op;
  std::vector<Argument> arguments;
  std::vector<std::string> results;    ///< names of the new loops, or of the new block
  std::vector<std::string> named = {}; ///< the results, if the user chose their names (`named`)
  Where where = {};                    ///< the line that states it; no part of its meaning, and not in traces
  bool operator==(const Directive &other) const {
    return op == other.op && arguments == other.arguments && results == other.results && named == other.named;
  }
};

/// The caller of a directive: the line of its source, and the names that it chooses for the results.
struct Caller {
  Where where;
  std::vector<std::string> names; ///< empty: the directive derives names

  Caller(Where line = {}, std::vector<std::string> chosen = {}) : where(line), names(std::move(chosen)) {}
};

/// The first name of `named`, which also has the line of the call.
struct FirstName {
  std::string text;
  Where where;

  template <std::convertible_to<std::string> Text>
  FirstName(Text name, Where line = Where::current()) : text(std::move(name)), where(line) {}
};
/// Chooses the names of the loops or of the block that a directive makes:
/// `auto [block, thread] = s.split(i, {infer, 256}, named("block", "thread"));`. A kernel uses these names.
template <class... More> Caller named(FirstName first, const More &...more) {
  return {first.where, {std::move(first.text), std::string(more)...}};
}

/// The C++ variable that holds the loop or block of this name: the name itself. If the name is a keyword or a
/// name that every trace uses (`s`, `infer`), the name with the suffix `_`.
std::string handle_name(const std::string &name);

/// Throws UserError (usage) for a file that is not a trace of a schedule. `where` names it.
[[noreturn]] void refuse_trace(const std::string &where, const std::string &message);

} // namespace nestsmith
