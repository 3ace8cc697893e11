#pragma once
/// The sequential interpreter: the meaning of a program. Slow and obvious; it tests everything else.

#include "dsl/array.h"
#include "dsl/program.h"

#include <map>
#include <vector>

namespace nestsmith {

/// Runs the program. `arrays` holds one array for each parameter, in order; outputs are overwritten.
/// Throws UserError(wrong_result) on an access out of bounds and on a read of an element that nothing
/// has written (a temporary, or a pure output).
void interpret(const Program &program, std::vector<Array> &arrays, const std::vector<Scalar> &scalars);

/// The value of an expression without loads, for given variables.
Scalar evaluate(const Expr &e, const std::map<Var, Scalar> &environment);

} // namespace nestsmith
