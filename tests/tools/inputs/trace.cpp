/// Fuzz target for traces: parses them and applies their directives.

#include "dsl/schedule/trace.h"
#include "dsl/ir/tensor.h"
#include "tests/tools/inputs/targets.h"

namespace nestsmith::inputs {

/// C = alpha*A*B + beta*C, the computation of most rungs.
static Program product() {
  Workload w("gemm");
  Tensor a = w.placeholder("A", {5, 8}, DType::u32), b = w.placeholder("B", {8, 3}, DType::u32);
  Tensor c = w.inout("C", {5, 3}, DType::u32);
  Expr alpha = w.scalar("alpha", DType::u32), beta = w.scalar("beta", DType::u32);
  Reduce k = reduce_axis("k", 8);
  Tensor ab = w.compute("AB", {5, 3}, {"i", "j"}, [&](Expr i, Expr j) { return sum(a(i, k) * b(k, j), k); });
  w.update(c, {"i", "j"}, [&](const std::vector<Expr> &x) -> Definition {
    return alpha * ab(x[0], x[1]) + beta * c.where(not_equal(beta, 0), x[0], x[1]);
  });
  return w.output();
}

void trace(const std::string &bytes) {
  refused_or_done([&] {
    TraceFile file = parse_trace(bytes, "trace.json");
    std::string written = to_json(file);
    internal_check(to_json(parse_trace(written, "trace.json")) == written, "a trace reads as it is written");
    if (file.directives.size() > most_directives || (!file.computation && !file.sizes.empty()))
      return;
    Schedule schedule =
        replay(file, file.computation.value_or(product()), make_target(file.arch), "trace.json");
    trace_to_cpp(schedule);
  });
}

} // namespace nestsmith::inputs
