#pragma once
/// Proves that loops that skip tiles leave out nothing (dsl/ir/skip_tiles.h).

#include "dsl/expr/function_ref.h"
#include "dsl/ir/program.h"
#include "tests/proofs/proof.h"

namespace nestsmith::proofs {

/// Proves the claims `skipped`. Let the condition of an iteration be false. Then each instance below the loop
/// has a false guard, or a term that is the identity of its reducer, or writes a temporary that only blocks
/// below the loop use. The prover decides the masks and choices of the term, replaces reads of temporaries by
/// what their writer stores, and evaluates the rest: it must be a constant, and have the bits of the identity.
Proof prove_skipped(const Program &program, FunctionRef<Expr(const For &)> condition_of);
/// The same for the conditions that lowering uses.
Proof prove_skipped(const Program &program);

} // namespace nestsmith::proofs
