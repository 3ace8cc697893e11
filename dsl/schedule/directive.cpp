#include "dsl/schedule/directive.h"

#include "dsl/expr/error.h"
#include "dsl/expr/identifier.h"

#include <fmt/format.h>

namespace nestsmith {

std::string handle_name(const std::string &name) {
  // `int` becomes int_, so int_ becomes int__. Distinct names stay distinct.
  std::string stem = name.substr(0, name.find_last_not_of('_') + 1);
  return is_cpp_keyword(stem) || stem == "s" || stem == "infer" ? name + "_" : name;
}

void refuse_trace(const std::string &where, const std::string &message) {
  throw UserError(ExitCode::usage,
                  fmt::format("{}: {}; save one with `show RUNG --trace json`", where, message));
}

} // namespace nestsmith
