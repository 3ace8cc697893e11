#pragma once
/// Computations of the tensor language (dsl/ir/tensor.h) as JSON, for traces (dsl/schedule/trace.h):
///
///   {"scalars": [{"name", "dtype"}],
///    "tensors": [{"name", "dtype", "role": "input" | "inout", "shape": [extent, …], "leading": extent}],
///    "stages":  [{"name", "axes": ["i", …], "shape": [extent, …], "sum": [{"name", "extent"}, …],
///                 "values": [expression, …], "value": expression}],
///    "outputs": [{"name", "leading": extent}]}
///
/// "leading", "sum" and "values" are optional. A stage with the name of an inout tensor overwrites the tensor
/// and has no "shape". dsl/expr/expr_json.h describes the expressions; an extent is one. The sizes are a part
/// of the trace itself.

#include "dsl/ir/program.h"

#include <llvm/Support/JSON.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nestsmith {

using Sizes = std::vector<std::pair<std::string, Size>>;
/// The name and the stated limits of each size of the program.
Sizes sizes_of(const Program &program);

/// None if `source` is not a program that the tensor language makes.
std::optional<llvm::json::Value> computation_to_json(const Program &source);

/// Rebuilds the computation. Throws UserError (usage) if the JSON has another form or if the tensor language
/// refuses the computation. `where` names the file in messages.
Program parse_computation(const llvm::json::Value &value, const std::string &name, const Sizes &sizes,
                          const std::string &where);

} // namespace nestsmith
