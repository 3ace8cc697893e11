#pragma once
/// A block of a program in an unknown iteration of the loops around it.

#include "dsl/ir/program.h"
#include "tests/proofs/translate.h"

#include <vector>

namespace nestsmith::proofs {

class Instance {
public:
  /// Defines the loop variables with the extents of the loops. The guards of the block are assumed.
  Instance(const Program &program, const Block &block);

  void define(const For &loop); ///< defines another loop in an unknown iteration
  Poly integer(const Expr &e) { return translator_.integer(e); }
  Formula condition(const Expr &e) { return translator_.condition(e); }
  Formula guards(const Block &block); ///< the guards of a block with the same axes
  /// Whether each index is in [0, extent) of its dimension.
  Formula within(const std::vector<Expr> &indices, const std::vector<Expr> &shape);

  Prover prover;

private:
  Translator translator_;
};

} // namespace nestsmith::proofs
