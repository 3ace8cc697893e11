#include "runtime/sim/diagnostic.h"

#include "dsl/expr/error.h"

namespace nestsmith::sim {

const char *name(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::race:
    return "race";
  case ErrorKind::out_of_bounds:
    return "out of bounds";
  case ErrorKind::unwritten_read:
    return "unwritten read";
  case ErrorKind::in_flight:
    return "in flight";
  case ErrorKind::misaligned:
    return "misaligned";
  case ErrorKind::unfenced:
    return "unfenced";
  case ErrorKind::counter_left:
    return "counter left";
  case ErrorKind::operands_overlap:
    return "operands overlap";
  case ErrorKind::replicas_differ:
    return "replicas differ";
  case ErrorKind::order_of_blocks:
    return "order of blocks";
  case ErrorKind::divergent_barrier:
    return "divergent barrier";
  case ErrorKind::deadlock:
    return "deadlock";
  }
  internal_error("no such kind of error");
}

} // namespace nestsmith::sim
