#pragma once
/// The spelling of operators, for messages and for traces.

#include "dsl/expr/ops.h"

#include <string_view>

namespace nestsmith {

/// As the user writes it: "+", "floordiv", "&&".
std::string_view spelling(BinaryOp op);

} // namespace nestsmith
