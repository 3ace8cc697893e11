#pragma once
/// Any directive that could be written down next, legal or not.

#include "dsl/schedule/primitives/registry.h"
#include "tests/fuzz/random.h"

#include <vector>

namespace nestsmith::fuzz {

/// The loops of a statement, outermost first.
std::vector<const For *> all_loops(const Stmt &stmt);

/// A directive of this primitive with random arguments, each of the kind that its declaration states.
Directive directive_of(const Primitive &primitive, const Schedule &schedule, Random &random);

/// A directive of a random primitive with random arguments: handles of this program, small numbers, now and
/// then numbers that no one would write.
Directive any_directive(const Schedule &schedule, Random &random);

/// A layout, padding or swizzle for what `block` writes.
Directive any_storage(const Schedule &schedule, const std::string &block, Random &random);

/// A pipeline of the loop whose stages follow from what reads what, in the program's order or in any.
Directive any_pipeline(const For &loop, Random &random);

} // namespace nestsmith::fuzz
