#pragma once
/// Executes a kernel request by request: each warp stops after each of its requests.

#include "runtime/sim/decode.h"
#include "runtime/sim/observer.h"

#include <list>

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

  void access_decoded(const sim::ObservedAccess &seen, sim::Values &values) override;

  /// All accesses to global and shared memory, in program order.
  const std::vector<const sim::Access *> &accesses() const { return accesses_; }

private:
  bool shared_;
  std::vector<const sim::Access *> accesses_;
};

/// The parameters of a kernel. A run that needs no values uses only their sizes. Otherwise, `fill` allocates
/// them with zeros.
struct ParameterMemory {
  std::list<Array> arrays;
  std::vector<sim::GlobalBuffer> buffers;

  explicit ParameterMemory(const kernel::Kernel &kernel);
  void fill();

private:
  std::vector<DType> dtypes_;
};

/// Loops of constant extent are unrolled about as far as by a compiler: into at most this many statements. The
/// model merges loads as a compiler does. All that decodes a kernel for the model has this limit, because the
/// accesses of a kernel depend on it: a load whose mask is false in each unrolled iteration is no access.
inline constexpr std::int64_t unrolled_statements = 2048;

/// The kernel, decoded for the observer that `start` returns, which has observed nothing yet. If an address or
/// a condition depends on loaded values, the machine computes values, from memory that is zero. So the accesses
/// are those of `count` in count.h.
sim::DecodedKernel decode_to_walk(const kernel::Kernel &kernel, std::span<const Scalar> scalars,
                                  ParameterMemory &memory, FunctionRef<sim::Observer &()> start);

} // namespace nestsmith::model
