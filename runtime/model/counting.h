#pragma once
/// Counts the requests of a kernel to global and shared memory during execution.
///
/// The cost of a request depends on its lanes and on its phase (tally.h). If both follow from the execution of
/// a region, no instruction is executed for the access; see `CountedBy`.

#include "runtime/model/tally.h"

namespace nestsmith::model {

enum class CountedBy : std::uint8_t {
  region,  ///< the phase is a constant, and the lanes are those that execute the region
  phase,   ///< phases of the uniform part are counted once for all accesses of a region that share it
  request, ///< each request is counted, since it has a mask of its own or addresses without a pattern
};

struct CountedAccess {
  const sim::Access *access = nullptr;
  std::uint32_t region = 0;
  CountedBy by = CountedBy::region;
  std::uint32_t number = 0; ///< by phase: of the base; by request: of the access
  std::int64_t phase = 0;   ///< in elements; by region: of the address; by phase: relative to the base
  std::int64_t bytes = 0;   ///< access size of one lane: all elements of a vector
};

class Counting : public sim::RunObserver {
public:
  /// `merge`: also count with loads of shared memory merged as by a compiler (`AccessCounts::merged`).
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
  /// The same with loads of shared memory merged as by a compiler; empty if nothing was merged.
  const std::vector<CountedAccess> &merged() const { return merged_; }
  std::uint32_t bases() const { return bases_; }
  std::uint32_t single() const { return single_; }

  std::vector<Counters> counters; ///< of each executed program

private:
  /// The parts of an address, for merging.
  struct Address {
    std::uint32_t epoch;
    DType index;
    sim::Sum uniform;
  };
  void begin();

  bool merge_, done_ = true;
  std::vector<CountedAccess> accesses_, merged_;
  std::vector<Address> addresses_; ///< by position in `accesses_`
  std::uint32_t bases_ = 0, single_ = 0;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> known_bases_; ///< by region and register
};

} // namespace nestsmith::model
