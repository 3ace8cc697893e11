#pragma once
/// The invariant of programs, checked after every directive. A breach is a bug of ours.

#include "dsl/program.h"

#include <optional>
#include <string>

namespace nestsmith {

/// What is broken, or none:
///   - every loop extent is positive and a constant, or of sizes where the loop is serial or bound to a block
///     axis; a loop variable is bound once;
///   - bindings use enclosing loops and sizes only and are quasi-affine; they never fall below 0;
///   - an axis whose binding may reach its extent is guarded;
///   - a reduction axis has its first value in the block's spatial axes;
///   - bodies use their block's variables and the program's scalars and sizes only;
///   - a buffer has one producer, or an init and an update;
///   - a temporary that is no parameter is written before it is read, in program order.
///
/// Of a program that was made from `verified`, in which nothing is broken, a block is looked at again only
/// where it or a loop around it is another.
std::optional<std::string> find_breach(const Program &program, const Program *verified = nullptr);

} // namespace nestsmith
