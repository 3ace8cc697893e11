#pragma once
/// The state of the decoder, private to its source files: decoder.cpp has the kernel and its buffers, and
/// decode_*.cpp the parts of its code.

#include "dsl/hardware/intrinsics.h"
#include "lowering/hazards.h"
#include "runtime/sim/decode.h"
#include "runtime/sim/machine.h"
#include "runtime/sim/observer.h"
#include "runtime/sim/values.h"

#include <set>
#include <utility>

namespace nestsmith::sim {

/// The lanes that hold or supply each element of an operand (`spots_of`), and the number of elements in a lane.
struct LanesOfOperand {
  std::vector<std::vector<Spot>> spots;
  std::int64_t per_lane = 0;
  /// For rows, and each position after the address: the lanes that receive the element of each lane.
  std::vector<Receivers> receivers = {};
};

class Decoder {
public:
  Decoder(const kernel::Kernel &kernel, const std::vector<GlobalBuffer> &buffers, const DecodeOptions &options)
      : kernel_(kernel), buffers_(buffers), options_(options), check_(options.check && options.values),
        handlers_(handlers_for(options.arithmetic, options.baseline)), awaited_(!kernel.launches_early),
        values_(handlers_, decoded_) {}

  DecodedKernel decode(std::span<const Scalar> scalars);

private:
  friend class CallDecoder;
  // decoder.cpp
  void shape();
  void bind_scalars(std::span<const Scalar> scalars);
  void place_shared();
  void place_local();
  void find_uses();

  void stmt(const kernel::Stmt &s);
  void declare(const kernel::Declare &node);
  ValueId keep(ValueId id);

  // decode_control.cpp: what decides which code executes, and when
  void loop(const kernel::Loop &node);
  void unrolled(const kernel::Loop &node, std::int64_t extent);
  void rolled(const kernel::Loop &node, ValueId extent);
  void branch(const kernel::If &node);
  std::set<std::pair<Buffer, std::int64_t>> guarded(ValueId condition, const kernel::Stmt &body,
                                                    bool is_else = false);
  void sync(const kernel::Sync &node);
  void barrier(const kernel::Barrier &node);
  void arrive(const kernel::Arrive &node);
  Var common_loop(const Var &loop) const;
  void await(const kernel::Await &node);
  void signal(const kernel::Signal &node);

  // decode_stores.cpp
  void store(const kernel::Store &node);
  void update(const kernel::Store &node, ValueId index);
  void store_vector(const kernel::Store &node);
  /// Stores consecutive elements, as one access. `stored` is called after each of them.
  void store_elements(const Buffer &buffer, ValueId first, const std::vector<ValueId> &values,
                      FunctionRef<void(const Access &, std::size_t)> stored);
  /// Notes a store to a tile that matrix units or bulk stores read.
  void note_store(const Buffer &buffer);
  bool accumulate(const kernel::Store &node, std::int64_t element);
  void copy(const kernel::Store &node);
  void bulk_copy(const kernel::BulkCopy &node);
  void bulk_store(const kernel::BulkCopy &node);
  void commit(const kernel::Commit &node);
  void wait(const kernel::Wait &node);
  void wait_for_calls(const kernel::Wait &node);
  /// The index in `DecodedKernel::sums` of an array in registers; none if no asynchronous call adds to it.
  std::optional<std::uint32_t> number_of_sums(const Buffer &buffer) const;
  /// Notes the accesses of a statement itself to sums of asynchronous calls.
  void note_sums(const kernel::Stmt &s);

  void call(const kernel::Call &node); ///< decode_calls.cpp

  // decode_exprs.cpp

  /// A condition under which code executes; none: it always executes.
  using Guard = std::optional<ValueId>;
  ValueId value(const Expr &e, Guard guard = {});
  ValueId binary(const Binary &e, Guard guard);
  /// Counts an operation on this type.
  void count(DType dtype, std::uint64_t RegionCounts::*field) {
    if (stands_for_) // a unit computes the addresses
      return;
    RegionCounts &counts = decoded_.regions[region_];
    ++(counts.*field);
    counts.in_f64 += dtype == DType::f64;
  }
  ValueId scaled_sum(const Expr &x, const Binary &product, Guard guard);
  /// Decodes element n of a vector load. The code for element 0 checks the alignment of the whole vector.
  ValueId load(const Load &e, Guard guard, int n = 0);
  /// The same. Counts the integer operations of the address for element 0 only.
  ValueId load_element(const Load &vector, Guard guard, int n);
  ValueId call(const Call &e, Guard guard);
  /// One value for each element of a vector expression.
  std::vector<ValueId> vector(const Expr &e, Guard guard = {});
  Guard both(Guard a, ValueId b) { return a ? values_.binary(BinaryOp::logical_and, *a, b) : b; }

  // decode_accesses.cpp
  Access &make_access(const Buffer &buffer, const Load *load, ValueId index);
  Access &make_store(const Buffer &buffer, ValueId index);
  void set_address(Access &access, ValueId index);
  void first_of_vector(Access &access, int lanes);
  const Pattern *patterns_of(ValueId table);
  const Pattern *one_address();
  /// One pattern for each warp, of the offsets of its threads.
  const Pattern *add_patterns(const std::vector<std::int64_t> &of_threads);
  /// Counts an access for the statistics and passes it to the observer. `masked`: the access has its own mask.
  void count(Access &access, bool masked);
  bool computes() const { return options_.values; }
  Register in_register(ValueId id) { return {values_.reg(id), values_[id].uniform}; }
  /// The value of a load in a mode that does not compute values.
  ValueId unknown(DType dtype);
  void needs(ValueId id); ///< marks a value as used by an address or a condition
  std::uint32_t site(const Load *load);
  /// Emits a report of an access to global memory, or of an arrival, if the kernel before has not ended.
  void check_awaited(const Buffer &buffer, const Access *access, std::uint32_t site);

  const kernel::Kernel &kernel_;
  const std::vector<GlobalBuffer> &buffers_;
  const DecodeOptions &options_;
  bool check_;
  const HandlerTable &handlers_;
  bool awaited_;            ///< the kernel before has ended
  bool stores_box_ = false; ///< the store that is decoded is one of a bulk store
  DecodedKernel decoded_;
  Values values_;
  std::map<Var, ValueId> variables_;
  std::map<Var, std::vector<ValueId>> vectors_;
  std::map<Buffer, Storage> storage_;
  std::map<ValueId, const Pattern *> patterns_;
  std::map<std::pair<const void *, const void *>, int> sources_;
  /// Dtype and `uniform` of each access, for the observer.
  std::map<const Access *, std::pair<DType, Sum>> uniform_parts_;
  std::set<std::pair<Buffer, std::int64_t>> written_; ///< local elements that all active lanes have written
  /// The loads that calls make, by operand and element, and the last one.
  std::map<std::pair<const kernel::OperandAddress *, std::int64_t>, Expr> made_loads_;
  Expr made_;
  Var lane_; ///< in the addresses of tiles
  /// The lanes of the operands of called intrinsics. Unrolling makes many copies of a call.
  std::map<const Operand *, LanesOfOperand> lanes_of_operands_;
  std::vector<Site::Iteration> loops_;
  kernel::Stmt stmt_;          ///< the statement being decoded
  bool units_read_ = false;    ///< in a call for which matrix units read the tiles
  Guard exists_;               ///< the next load reads only where this holds, and is 0, or its fill, elsewhere
  bool whole_address_ = false; ///< the next load computes its address also where its mask is false
  bool to_cluster_ = false;    ///< that copy goes to all blocks of the cluster
  kernel::Stmt stands_for_ = nullptr; ///< the bulk copy whose elements are decoded as statements of their own
  std::uint32_t hint_ = no_register;  ///< preferred destination for the value of a store
  std::uint32_t region_ = 0;
  std::vector<Buffer> copied_;                  ///< destinations of asynchronous copies
  std::optional<kernel::OfProgram> of_program_; ///< if the kernel has roles
  std::uint32_t epoch_ = 0; ///< number of stores to shared memory and barriers that are decoded so far
  const Pattern *one_address_ = nullptr;
};

} // namespace nestsmith::sim
