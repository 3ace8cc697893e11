#pragma once
/// The sequential interpreter, which defines the meaning of a program. It is slow and simple; everything else
/// is tested against it.

#include "dsl/array.h"
#include "dsl/program.h"

#include <map>
#include <vector>

namespace nestsmith {

/// Runs the program. `arrays` holds one array for each parameter, in order; outputs are overwritten. Throws
/// UserError (wrong_result) on an access out of bounds and on a read of an unwritten element of a temporary or
/// a pure output.
void interpret(const Program &program, std::vector<Array> &arrays, const std::vector<Scalar> &scalars);

/// Evaluates an expression without loads. `environment` has a value for each variable in it.
Scalar evaluate(const Expr &e, const std::map<Var, Scalar> &environment);

} // namespace nestsmith
