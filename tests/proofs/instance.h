#pragma once
/// A block of a program at an iteration of the loops around it that is not known.

#include "dsl/ir/program.h"
#include "tests/proofs/translate.h"

#include <vector>

namespace nestsmith::proofs {

class Instance {
public:
  /// Known are the extents of the loops and the guards of the block.
  Instance(const Program &program, const Block &block);

  void define(const For &loop); ///< another loop, at an iteration that is not known
  Poly integer(const Expr &e) { return translator_.integer(e); }
  Formula condition(const Expr &e) { return translator_.condition(e); }
  Formula guards(const Block &block); ///< of a block with the same axes
  /// Each index is below the extent of its dimension.
  Formula within(const std::vector<Expr> &indices, const std::vector<Expr> &shape);

  Prover prover;

private:
  Translator translator_;
};

} // namespace nestsmith::proofs
