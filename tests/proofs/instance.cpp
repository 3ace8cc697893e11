#include "tests/proofs/instance.h"

namespace nestsmith::proofs {

Instance::Instance(const Program &program, const Block &block) : translator_(prover) {
  for (const For *loop : loops_of(path_to(program.body, block.id)))
    define(*loop);
  for (const IterVar &iter : block.iters)
    translator_.set(iter.var, integer(iter.binding));
  prover.assume(guards(block));
}

void Instance::define(const For &loop) {
  if (auto count = as_int(loop.extent)) {
    translator_.define(loop.var, {0, *count - 1});
    return;
  }
  Poly value = translator_.define(loop.var);
  prover.assume(all({less_equal(Poly(0), value), less(value, integer(loop.extent))}));
}

Formula Instance::guards(const Block &block) {
  std::vector<Formula> parts;
  for (const IterVar &iter : block.iters)
    if (iter.guarded) {
      parts.push_back(less_equal(Poly(0), integer(iter.binding)));
      parts.push_back(less(integer(iter.binding), integer(iter.extent)));
    }
  return all(std::move(parts));
}

Formula Instance::within(const std::vector<Expr> &indices, const std::vector<Expr> &shape) {
  std::vector<Formula> parts;
  for (std::size_t d = 0; d < indices.size(); ++d)
    parts.push_back(less(integer(indices[d]), integer(shape[d])));
  return all(std::move(parts));
}

} // namespace nestsmith::proofs
