#pragma once
/// Observers of a kernel's accesses. The simulator executes and checks; an observer measures.
///
/// An observer is told of each access to global or shared memory when the access is decoded, and may emit
/// instructions of its own there. Those instructions find the state that they work on in
/// `Machine::observation`.

#include "runtime/sim/executions.h"
#include "runtime/sim/values.h"

#include <memory>
#include <vector>

namespace nestsmith::sim {

struct DecodedAccess {
  Access &access;
  std::uint32_t region; ///< of the program, whose executions perform the access
  std::uint32_t epoch;  ///< stores to shared memory and barriers that were decoded before the access
  bool masked;          ///< only some of the lanes that execute the region perform it
  DType index;          ///< of the address
  const Sum &uniform;   ///< the part of the address that all lanes share, without its constant

  /// Makes `access.base` a register that holds the uniform part. A program that computes values has it anyway.
  void need_base(Values &values) const;
};

/// The state of an observer on one machine.
struct Observation {
  Observation() = default;
  virtual ~Observation() = default;
};

/// Observes programs while they are decoded.
class Observer {
public:
  virtual ~Observer() = default;
  /// Called for each access in the order of the program; `values` emits instructions at this place.
  virtual void decoded(const DecodedAccess &access, Values &values) = 0;
  /// Called once all of the program is decoded.
  virtual void decoded_all(const Values & /*values*/, const Program & /*program*/) {}
};

/// Observes runs as well (`Options::observer`).
class RunObserver : public Observer {
public:
  /// A new state for one machine. Machines run side by side.
  virtual std::unique_ptr<Observation> start(const Program &program) = 0;
  /// Called once all machines are done, with the states that they leave and all executions together.
  virtual void finish(const Program &program, const Executions &executions,
                      const std::vector<std::unique_ptr<Observation>> &parts) = 0;
};

} // namespace nestsmith::sim
