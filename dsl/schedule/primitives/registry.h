#pragma once
/// The list of the primitives. The code that prints, reads and applies traces uses this list. The fuzzer
/// chooses primitives from it, and docs/make_language.sh takes their names from it.
///
/// A new primitive has a pair of files in this folder, a line in registry.cpp, a method of Schedule, and tests:
/// a refusal of each requirement, and a line in tests/dsl/small_world.h. The fuzzer generates each argument
/// according to its kind. If an argument constrains another argument, a rule in tests/fuzz/wander.cpp generates
/// both.

#include "dsl/schedule/directive.h"
#include "dsl/schedule/schedule.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

/// Kinds of arguments. In a directive, an axis, a scope and an index map are also stored as words.
enum class ArgumentKind { loop, loops, block, stages, integer, integers, axis, scope, word, index_map };

struct Primitive {
  std::string name;
  std::vector<ArgumentKind> arguments; ///< kinds of the parameters of the method of Schedule, in order
  bool gives_list = false;             ///< the method returns a list of loops: `auto [i_outer, i_inner] = …`
  /// Applies a directive of this name. `where` names the trace file in messages. Throws UserError (usage) if an
  /// argument is missing or has another kind. Also throws the errors of the method.
  std::function<void(Schedule &schedule, const Directive &directive, const std::string &where)> apply;
};

/// In alphabetical order.
const std::vector<Primitive> &all_primitives();
/// The primitive of this name, or null.
const Primitive *find_primitive(std::string_view name);

/// Throws UserError (usage) for a file that is not a trace of a schedule.
[[noreturn]] void refuse_trace(const std::string &where, const std::string &message);

} // namespace nestsmith
