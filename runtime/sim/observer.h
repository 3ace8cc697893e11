#pragma once
/// Observers of a kernel's accesses and statements. The simulator executes and checks; an observer measures.
///
/// The decoder passes each access to global or shared memory, and each statement, to the observer. The observer
/// may then emit instructions, which execute together with the access or after the statement. These
/// instructions use the state `Machine::observation`.

#include "runtime/sim/machine.h"
#include "runtime/sim/values.h"

#include <memory>
#include <vector>

namespace nestsmith::sim {

struct ObservedAccess {
  Access &access;
  std::uint32_t region; ///< the region whose executions perform the access
  std::uint32_t epoch;  ///< number of preceding stores to shared memory and barriers
  bool masked;          ///< the access has its own mask, so not all lanes that execute the region perform it
  DType index;          ///< dtype of the address
  const Sum &uniform;   ///< the part of the address that all lanes share, without its constant

  /// Sets `access.address.base` to a register with the value of `uniform`. If the code already computes this
  /// value, no code is added.
  void need_base(Values &values) const {
    if (!uniform.terms.empty())
      access.address.base = values.reg(values.sum(index, uniform));
  }
};

/// A statement that contains no other statement. `loops` are those around it, outermost first.
struct ObservedStatement {
  const kernel::Stmt &stmt;
  const std::vector<Site::Iteration> &loops;
};

/// Observes kernels during decoding. `values` emits instructions at the point of the call.
class Observer {
public:
  virtual ~Observer() = default;
  /// Called for each access in program order.
  virtual void access_decoded(const ObservedAccess & /*seen*/, Values & /*values*/) {}
  /// Called for each statement in program order. A loop that is unrolled has several copies of a statement.
  virtual void statement_decoded(const ObservedStatement & /*seen*/, Values & /*values*/) {}
  /// Called after the whole kernel is decoded.
  virtual void kernel_decoded(const Values & /*values*/, const DecodedKernel & /*decoded*/) {}
};

/// An observer that also observes the execution (`Options::observer`).
class RunObserver : public Observer {
public:
  /// Creates the state of one machine. Machines run concurrently.
  virtual std::unique_ptr<Observation> start(const DecodedKernel &decoded) = 0;
  /// Called after all machines have finished, with their states and the sum of their executions.
  virtual void finish(const DecodedKernel &decoded, const Executions &executions,
                      const std::vector<std::unique_ptr<Observation>> &parts) = 0;
};

} // namespace nestsmith::sim
