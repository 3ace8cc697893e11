#pragma once
/// Directives. Each is one line of the trace of a schedule: a primitive, its arguments, and the names of its
/// results.

#include "dsl/expr/where.h"

#include <cstdint>
#include <string>
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
                              std::vector<std::int64_t>, std::vector<StageName>>;

struct Directive {
  std::string op;
  std::vector<Argument> arguments;
  std::vector<std::string> results; ///< names of the new loops, or of the new block
  Where where = {};                 ///< the line that states it; no part of its meaning, and not in traces
  bool operator==(const Directive &other) const {
    return op == other.op && arguments == other.arguments && results == other.results;
  }
};

/// The C++ variable that holds the loop or block of this name: the name itself. If the name is a keyword or a
/// name that every trace uses (`s`, `infer`), the name with the suffix `_`.
std::string handle_name(const std::string &name);

/// Throws UserError (usage) for a file that is not a trace of a schedule. `where` names it.
[[noreturn]] void refuse_trace(const std::string &where, const std::string &message);

} // namespace nestsmith
