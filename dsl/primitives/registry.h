#pragma once
/// The list of the primitives. Traces are printed, read and applied by it, the fuzzer draws from it, and
/// docs/make_language.sh takes its names.
///
/// A new primitive has a pair of files in this folder, a line in registry.cpp, a method of Schedule, and tests:
/// a refusal of each requirement, and a line in tests/dsl/small_world.h. The fuzzer draws its arguments by
/// their kinds; where these must suit each other, a rule in tests/fuzz/wander.cpp draws them.

#include "dsl/directive.h"
#include "dsl/schedule.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

/// Kinds of arguments. In a directive an axis, a scope and an index map are words too.
enum class ArgumentKind { loop, loops, block, stages, integer, integers, axis, scope, word, index_map };

struct Primitive {
  std::string name;
  std::vector<ArgumentKind> arguments; ///< in the order of its method of Schedule
  bool gives_list = false;             ///< of loops: `auto [i_outer, i_inner] = …`
  /// Applies a directive of this name. `where` names the trace file in messages. Throws UserError(usage) where
  /// an argument is missing or of another kind, and as the method does.
  std::function<void(Schedule &schedule, const Directive &directive, const std::string &where)> apply;
};

/// In alphabetical order.
const std::vector<Primitive> &all_primitives();
/// The primitive of this name, or null.
const Primitive *find_primitive(std::string_view name);

/// Throws UserError(usage) on what is no trace of a schedule.
[[noreturn]] void refuse_trace(const std::string &where, const std::string &message);

} // namespace nestsmith
