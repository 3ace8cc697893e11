#pragma once
/// The invariants of programs, checked after every directive. A breach is a bug in nestsmith.

#include "dsl/ir/program.h"

#include <optional>
#include <string>

namespace nestsmith {

/// Returns a description of the first violated invariant, or none:
///   - A loop extent is positive. It is constant, or an expression of sizes on a loop that is serial or bound
///     to a block axis. No loop encloses a loop of the same variable.
///   - A vectorized or tensorized loop contains one block, in the serial loops of its nest.
///   - Bindings use only variables of enclosing loops and sizes, and are quasi-affine.
///   - An axis is guarded if its binding may be negative or may reach its extent.
///   - The first value of a reduction axis is an expression of the block's spatial axes.
///   - A block with a reduction axis is a sum: it stores `element + term` to this element. The indices of the
///     element use no reduction axis, and the term does not read the buffer. An init stores to the same element
///     a value that uses no reduction axis. A block without a reduction axis has no init.
///   - Bodies use their block's variables and the program's scalars and sizes only.
///   - Each buffer is written by one block, or by two: an init and an update. Or all its writers are parts of
///   one
///     block (`BlockSymbol::part_of`), of which the first in the program begins the elements, unless the buffer
///     is a parameter.
///   - A temporary that is not a parameter is written before it is read, in program order.
///
/// `verified`, if not null, is a program that satisfies the invariants, and from which a directive made
/// `program`. Then the function checks a block only if the block or an enclosing loop has changed.
std::optional<std::string> find_breach(const Program &program, const Program *verified = nullptr);

} // namespace nestsmith
