#pragma once
/// Executes a kernel request by request: each warp stops after each of its requests.

#include "runtime/sim/observer.h"

namespace nestsmith::model {

/// Receives the requests of a machine. It is the `Observation` of this machine.
class Sink : public sim::Observation {
public:
  /// Called when the lanes in `mask` perform `access`, which is number `number` in `Walking::accesses()`.
  virtual void request(std::uint32_t number, const sim::Access &access, const sim::Warp &w,
                       std::uint32_t mask) = 0;
};

/// Makes a program stop at its requests. Each of its machines needs a sink.
class Walking : public sim::Observer {
public:
  /// `shared`: also stop at requests to shared memory.
  explicit Walking(bool shared) : shared_(shared) {}

  void decoded(const sim::DecodedAccess &decoded, sim::Values &values) override;

  /// All accesses to global and shared memory, in program order.
  const std::vector<const sim::Access *> &accesses() const { return accesses_; }

private:
  bool shared_;
  std::vector<const sim::Access *> accesses_;
};

} // namespace nestsmith::model
