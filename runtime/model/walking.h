#pragma once
/// Follows a kernel request by request: each warp stops after each of its requests.

#include "runtime/sim/observer.h"

namespace nestsmith::model {

/// Receives the requests of the machines whose observation it is.
class Sink : public sim::Observation {
public:
  /// The lanes of `mask` perform `access`, which is number `number` of `Walking::accesses()`.
  virtual void request(std::uint32_t number, const sim::Access &access, const sim::Warp &w,
                       std::uint32_t mask) = 0;
};

/// Makes a program stop at its requests. Its machines need a sink.
class Walking : public sim::Observer {
public:
  /// `shared`: at requests to shared memory, too.
  explicit Walking(bool shared) : shared_(shared) {}

  void decoded(const sim::DecodedAccess &decoded, sim::Values &values) override;

  /// All accesses to global and shared memory, in the order of the program.
  const std::vector<const sim::Access *> &accesses() const { return accesses_; }

private:
  bool shared_;
  std::vector<const sim::Access *> accesses_;
};

} // namespace nestsmith::model
