#pragma once
/// The sequential interpreter, which defines the meaning of a program. It is slow and simple. The tests compare
/// all other implementations with it.

#include "dsl/ir/array.h"
#include "dsl/ir/program.h"
#include "dsl/ir/residues.h"

#include <map>
#include <vector>

namespace nestsmith {

/// Runs the program. `arrays` holds one array for each parameter, in order; outputs are overwritten. Throws
/// UserError (wrong_result) if an access is out of bounds, or if the program reads an element of a temporary or
/// of a pure output before it is written.
void interpret(const Program &program, std::vector<Array> &arrays, const std::vector<Scalar> &scalars,
               Arithmetic arithmetic = Arithmetic::floating);

/// Evaluates an expression without loads. `environment` has a value for each variable of the expression.
Scalar evaluate(const Expr &e, const std::map<Var, Scalar> &environment,
                Arithmetic arithmetic = Arithmetic::floating);

} // namespace nestsmith
