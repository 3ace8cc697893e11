#pragma once
/// Counts the requests of a kernel to global and shared memory during execution.
///
/// The cost of a request depends on its active lanes and on its *phase* (tally.h): the position of its address
/// within 128 bytes. If the region determines both, the counter emits no instruction for the access; see
/// `CountedBy`.

#include "runtime/model/tally.h"

namespace nestsmith::model {

/// The way in which the requests of an access are counted.
enum class CountedBy : std::uint8_t {
  region,  ///< by executions of the region: the phase is constant, and all lanes of the region take part
  phase,   ///< accesses in a region with the same uniform base share one histogram of phases
  request, ///< each request is counted, because it has its own mask or its addresses have no pattern
};

struct CountedAccess {
  const sim::Access *access = nullptr;
  std::uint32_t region = 0;
  CountedBy by = CountedBy::region;
  std::uint32_t number = 0; ///< number of the base (`CountedBy::phase`) or of the access (`CountedBy::request`)
  /// In elements: phase of the address (`region`), or its distance from the base (`phase`).
  std::int64_t phase = 0;
  std::int64_t bytes = 0; ///< access size of one lane: all elements of a vector
};

class Counting : public sim::RunObserver {
public:
  /// `merge`: also compute the counts after loads are merged as a compiler merges them
  /// (`AccessCounts::merged`).
  explicit Counting(bool merge) : merge_(merge) {}

  void decoded(const sim::DecodedAccess &decoded, sim::Values &values) override;
  void decoded_all(const sim::Values &values, const sim::Program &program) override;
  std::unique_ptr<sim::Observation> start(const sim::Program &program) override;
  /// Appends to `counters`.
  void finish(const sim::Program &program, const sim::Executions &executions,
              const std::vector<std::unique_ptr<sim::Observation>> &parts) override;

  Tally tally(const sim::Program &program) const { return {program, bases_, single_}; }
  /// The accesses of the last decoded program, in program order.
  const std::vector<CountedAccess> &accesses() const { return accesses_; }
  /// The accesses after loads are merged as a compiler merges them. Empty if nothing was
  /// merged.
  const std::vector<CountedAccess> &merged() const { return merged_; }
  std::uint32_t bases() const { return bases_; }
  std::uint32_t single() const { return single_; }

  std::vector<Counters> counters; ///< one element for each executed program

private:
  /// The parts of an address that decide whether two loads can be merged.
  struct Address {
    std::uint32_t epoch;
    DType index;
    sim::Sum uniform;
  };
  void begin();

  bool merge_, done_ = true;
  std::vector<CountedAccess> accesses_, merged_;
  std::vector<Address> addresses_; ///< for each element of `accesses_`: its address
  std::uint32_t bases_ = 0, single_ = 0;
  /// Numbers of the known bases, by region and register.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> known_bases_;
};

} // namespace nestsmith::model
