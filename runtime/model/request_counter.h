#pragma once
/// Counts the requests of a kernel to global and shared memory during execution.
///
/// The cost of a request depends on its active lanes and on its *phase* (request_histograms.h): the position of
/// its address within 128 bytes. If the region determines both, the counter emits no instruction for the
/// access; see `CountedBy`.

#include "runtime/model/evaluate.h"

namespace nestsmith::model {

class RequestCounter : public sim::RunObserver {
public:
  /// `merge`: also compute the counts after loads are merged as a compiler merges them
  /// (`AccessCounts::merged`).
  explicit RequestCounter(bool merge) : merge_(merge) {}

  void access_decoded(const sim::ObservedAccess &seen, sim::Values &values) override;
  void kernel_decoded(const sim::Values &values, const sim::DecodedKernel &decoded) override;
  std::unique_ptr<sim::Observation> start(const sim::DecodedKernel &decoded) override;
  /// Appends to `counters`.
  void finish(const sim::DecodedKernel &decoded, const sim::Executions &executions,
              const std::vector<std::unique_ptr<sim::Observation>> &parts) override;

  RequestHistograms histograms(const sim::DecodedKernel &decoded) const {
    return {decoded, accesses_.bases, accesses_.single};
  }
  /// The accesses of the last decoded program.
  const CountedAccesses &accesses() const { return accesses_; }

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
  CountedAccesses accesses_;
  std::vector<Address> addresses_; ///< for each element of `accesses_.all`: its address
  /// Numbers of the known bases, by region and register.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> known_bases_;
};

} // namespace nestsmith::model
