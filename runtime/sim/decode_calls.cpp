/// Calls of intrinsics by a warp. A call runs its meaning: for each register of the result, and for each point
/// of the loops over which the meaning sums, instructions on 32 lanes gather the operands from the lanes that
/// hold them, evaluate the value and keep it. Rows in shared memory are loaded first, by the lanes that supply
/// their addresses.

#include "dsl/expr/error.h"
#include "dsl/hardware/intrinsics.h"
#include "dsl/ir/interpret.h"
#include "runtime/sim/decoder.h"
#include "runtime/sim/memory.h"

#include <algorithm>

namespace nestsmith::sim {

class CallDecoder {
public:
  CallDecoder(Decoder &decoder, const kernel::Call &call)
      : d_(decoder), intrinsic_(call.intrinsic), values_(decoder.values_) {
    for (std::size_t n = 0; n < call.places.size(); ++n)
      operands_[intrinsic_.operands[n].formal] = operand(intrinsic_.operands[n], call.places[n]);
  }

  void run() {
    RegionCounts &counts = d_.decoded_.regions[d_.region_];
    if (on_matrix_units(intrinsic_)) {
      ++counts.matrix[&intrinsic_];
      if (!d_.computes())
        return;
    }
    RegionCounts before = counts;
    if (d_.computes())
      check_operands();
    const Operand &result = intrinsic_.result();
    std::vector<ValueId> values;
    for (std::int64_t n = 0; n < lanes_of(result).per_lane; ++n)
      values.push_back(computed(result, n));
    if (result.as<Rows>())
      store_row(operands_.at(result.formal), values);
    else
      for (std::size_t n = 0; d_.computes() && n < values.size(); ++n)
        store(operands_.at(result.formal), static_cast<std::int64_t>(n), values[n]);
    count_arithmetic(counts, before);
  }

private:
  /// The meaning as executed here computes each replica of a result anew. The matrix units do all arithmetic of
  /// their calls; other units compute each result at least once.
  void count_arithmetic(RegionCounts &counts, const RegionCounts &before) {
    const Operand &result = intrinsic_.result();
    auto elements = static_cast<std::uint64_t>(lanes_of(result).spots.size()),
         registers = static_cast<std::uint64_t>(lanes_of(result).per_lane);
    for (auto field : {&RegionCounts::multiply_adds, &RegionCounts::floating, &RegionCounts::integer,
                       &RegionCounts::in_f64}) {
      std::uint64_t executed = counts.*field - before.*field;
      counts.*field = before.*field;
      if (!on_matrix_units(intrinsic_))
        counts.*field += executed * elements / (registers * warp_size);
    }
  }

  const LanesOfOperand &lanes_of(const Operand &operand) {
    auto [known, fresh] = d_.lanes_of_operands_.try_emplace(&operand);
    if (fresh)
      known->second = {spots_of(operand), elements_per_lane(operand), {}};
    return known->second;
  }

  /// The registers of an operand, and the lanes that hold its elements.
  struct Held {
    const kernel::OperandAddress *place;
    ValueId first = 0; ///< of a fragment: its first element in the local array
    std::vector<std::uint32_t> registers;
    const LanesOfOperand *lanes = nullptr;
  };
  /// The indices of an element, one for each loop of the meaning.
  using Point = std::map<Var, std::int64_t>;

  Held operand(const Operand &operand, const kernel::OperandAddress &place) {
    Held held{&place, 0, {}, &lanes_of(operand)};
    if (operand.as<InRegisters>())
      hold_fragment(operand, held);
    else if (operand.formal == intrinsic_.result().formal) // rows that the call writes
      held.first = d_.value(place.offset);
    else if (const auto *tile = operand.as<InTile>())
      load_tile(operand, held, tile->of_warp ? 1 : intrinsic_.warps);
    else
      load_rows(operand, *operand.as<Rows>(), held);
    return held;
  }

  void hold_fragment(const Operand &operand, Held &held) {
    held.first = d_.value(held.place->offset);
    if (!d_.computes())
      return;
    bool read = is_read(operand.formal);
    for (std::int64_t n = 0; n < held.lanes->per_lane; ++n)
      if (auto at = values_[element_of(held, n)].constant)
        held.registers.push_back(element(held.place->buffer, *at, read));
      else if (read)
        held.registers.push_back(loaded(held, n));
  }
  bool is_read(const Buffer &formal) const { return formal != intrinsic_.meaning.body.buffer || reads(formal); }
  bool reads(const Buffer &formal) const {
    return any_node(intrinsic_.meaning.body.value, [&](const Expr &e) {
      const auto *access = e.as<Load>();
      return access && access->buffer == formal;
    });
  }

  ValueId element_of(const Held &held, std::int64_t n) const {
    return values_.binary(BinaryOp::add, held.first, values_.constant(values_[held.first].dtype, n));
  }

  /// All copies of a call that unrolling makes have the same load.
  const Load &made_load(const Held &held, std::int64_t element, const Expr &e) {
    d_.made_ = d_.made_loads_.try_emplace({held.place, element}, e).first->second;
    return *d_.made_.as<Load>();
  }

  /// A copy of an element whose register is known only when the kernel runs.
  std::uint32_t loaded(const Held &held, std::int64_t n) {
    const auto &[buffer, offset] = *held.place;
    const Load &made = made_load(held, n, load(buffer, {offset + int_imm(n, offset.dtype())}));
    return values_.reg(values_.splat(d_.load(made, {})));
  }

  /// The register of an element of a local array. If it is read, reports lanes that have not written it.
  std::uint32_t element(const Buffer &buffer, std::int64_t at, bool read) {
    Access &access = d_.make_access(buffer, nullptr, values_.constant(DType::i64, at));
    bool inside = at >= 0 && at < access.storage.elements;
    if (!inside) { // the load reports it
      access.value.at = values_.allocate_temporary(buffer->dtype, false);
      values_.emit({.run = d_.handlers_.load(access), .access = &access});
      return access.value.at;
    }
    if (read && access.checked && !d_.written_.contains({buffer, at}))
      values_.emit({.run = d_.handlers_.check_written, .access = &access});
    return access.storage.local().element(at);
  }

  /// Reports operands that the instruction would not take as its meaning does: registers that do not start a
  /// word, a result that shares registers with another operand, and copies of an element that differ.
  void check_operands() {
    for (const Operand &operand : intrinsic_.operands) {
      if (!operand.as<InRegisters>())
        continue;
      const Held &held = operands_.at(operand.formal);
      check_word(operand, held);
      if (operand.formal != intrinsic_.result().formal)
        check_apart(held);
      if (d_.check_ && is_read(operand.formal) && held.lanes->spots.front().size() > 1)
        check_copies(held);
    }
  }

  Access &first_register(const Held &held, bool is_store) {
    Access &access = d_.make_access(held.place->buffer, nullptr, held.first);
    access.is_store = is_store;
    return access;
  }

  void check_word(const Operand &operand, const Held &held) {
    auto width = operand.alignment / byte_size(operand.formal->dtype);
    auto at = values_[held.first].constant;
    if (width > 1 && !(at && *at % width == 0))
      d_.first_of_vector(first_register(held, !is_read(operand.formal)), static_cast<int>(width));
  }

  void check_apart(const Held &operand) {
    const Held &result = operands_.at(intrinsic_.result().formal);
    if (operand.place->buffer != result.place->buffer)
      return;
    std::int64_t results = result.lanes->per_lane, count = operand.lanes->per_lane;
    if (auto distance = values_[values_.binary(BinaryOp::sub, operand.first, result.first)].constant;
        distance && (*distance >= results || *distance <= -count))
      return;
    auto at = static_cast<std::int64_t>(d_.decoded_.shared_registers.size());
    d_.decoded_.shared_registers.push_back(
        {&first_register(result, true), &first_register(operand, false), results, count});
    values_.emit({.run = sim::check_apart, .imm = at});
  }

  void check_copies(const Held &held) {
    DType dtype = held.place->buffer->dtype;
    if (dtype == DType::boolean) // the lanes share one mask
      return;
    for (const std::vector<Spot> &spots : held.lanes->spots) {
      auto at = values_[element_of(held, spots.front().at)].constant;
      Access &access = d_.make_access(held.place->buffer, nullptr, element_of(held, spots.front().at));
      bool inside = at && *at >= 0 && *at < access.storage.elements;
      ElementCopies copies{.access = &access, .at = {}};
      if (inside)
        copies.written = access.storage.local().written(*at);
      for (const Spot &spot : spots) {
        copies.lanes |= 1u << spot.lane;
        copies.at.push_back(held.registers[static_cast<std::size_t>(spot.at)] +
                            static_cast<std::uint32_t>(spot.lane * byte_size(dtype)));
      }
      values_.emit({.run = sim::check_replicas, .imm = static_cast<std::int64_t>(d_.decoded_.replicas.size())});
      d_.decoded_.replicas.push_back(std::move(copies));
    }
  }

  /// Each lane loads the elements that it supplies, as one vector. The lanes that receive them read them too.
  void load_rows(const Operand &operand, const Rows &rows, Held &held) {
    const auto &[buffer, offset] = *held.place;
    const Load &made = made_load(held, 0, load(buffer, {offset}, {}, {}, static_cast<int>(rows.count)));
    Decoder::Guard guard;
    if (rows.lanes < warp_size)
      guard = values_.binary(BinaryOp::lt, lane(), values_.constant(DType::i64, rows.lanes));
    for (int n = 0; n < (d_.computes() ? rows.count : 1); ++n) {
      ValueId id = d_.load_element(made, guard, n);
      if (!d_.computes())
        continue;
      held.registers.push_back(values_.reg(values_.splat(id)));
      const Access &access = *d_.decoded_.accesses.back();
      if (!access.checked)
        continue;
      values_.emit({.run = receive_rows,
                    .imm = static_cast<std::int64_t>(d_.decoded_.receivers.size()),
                    .access = &access});
      d_.decoded_.receivers.push_back(receivers(operand)[static_cast<std::size_t>(n)]);
    }
  }

  /// Each lane loads its chunks of 16 bytes. The matrix units read the tile for all lanes, so no other lane
  /// reads. They read it once for `warps` warps, of which each counts a part.
  void load_tile(const Operand &operand, Held &held, std::int64_t warps) {
    const auto &[buffer, offset] = *held.place;
    const DType dtype = buffer->dtype, index = offset.dtype();
    const std::int64_t chunk = 16 / byte_size(dtype);
    if (!d_.lane_)
      d_.lane_ = make_var("lane", index);
    d_.variables_[d_.lane_] = values_.cast(index, lane());
    for (std::int64_t n = 0; n * chunk < held.lanes->per_lane; n += d_.computes() ? 1 : warps) {
      const ChunkOfTile at_chunk = chunk_of_tile(operand, d_.lane_, n);
      const Expr at = offset_in_tile(offset, at_chunk.row, at_chunk.column, dtype);
      const Load &made = made_load(held, n, load(buffer, {at}, {}, {}, static_cast<int>(chunk)));
      if (n == 0 && d_.computes())
        values_.emit({.run = check_fenced,
                      .c = d_.storage_.at(buffer).slot,
                      .imm = static_cast<std::int64_t>(d_.site(&made))});
      if (intrinsic_.asynchronous && !d_.decoded_.sums.empty()) {
        const Access &access = d_.make_access(buffer, &made, d_.value(at));
        const auto units = static_cast<std::uint32_t>(chunk * access.storage.shared().units);
        values_.emit({.run = read_tile, .c = units, .access = &access});
      }
      for (int element = 0; element < (d_.computes() ? chunk : 1); ++element) {
        ValueId id = d_.load_element(made, {}, element);
        if (d_.computes())
          held.registers.push_back(values_.reg(values_.splat(id)));
      }
    }
  }

  /// A lane receives the elements from which its registers of the result are computed.
  const std::vector<Receivers> &receivers(const Operand &operand) {
    std::vector<Receivers> &known = d_.lanes_of_operands_.at(&operand).receivers;
    if (!known.empty())
      return known;
    const LanesOfOperand &rows = lanes_of(operand);
    known.resize(static_cast<std::size_t>(rows.per_lane));
    const Operand &result = intrinsic_.result();
    std::vector<Expr> indices = indices_of(intrinsic_.meaning, operand.formal);
    for (std::int64_t number = 0; number < lanes_of(result).per_lane; ++number) {
      std::array<Point, warp_size> points = points_of(result, number);
      each_term(points, [&] {
        for (std::size_t lane = 0; lane < warp_size; ++lane)
          for (const Spot &spot : rows.spots[element_at(operand.formal, indices, points[lane])])
            known[static_cast<std::size_t>(spot.at)][static_cast<std::size_t>(spot.lane)] |= 1u << lane;
      });
    }
    return known;
  }

  ValueId lane() const {
    auto constant = [&](std::int64_t n) { return values_.constant(DType::i64, n); };
    const auto &block = d_.decoded_.block;
    ValueId thread = values_.thread_index(2, DType::i64);
    for (std::size_t dimension : {1, 0})
      thread = values_.binary(BinaryOp::add, values_.binary(BinaryOp::mul, thread, constant(block[dimension])),
                              values_.thread_index(dimension, DType::i64));
    return values_.binary(BinaryOp::floormod, thread, constant(warp_size));
  }

  /// The new value of one register of the result, which holds another element in each lane.
  ValueId computed(const Operand &result, std::int64_t number) {
    const Held &held = operands_.at(result.formal);
    std::array<Point, warp_size> points = points_of(result, number);
    DType dtype = result.formal->dtype;
    ValueId value = d_.computes() && reads(result.formal)
                        ? in_register(dtype, held.registers[static_cast<std::size_t>(number)])
                        : d_.unknown(dtype);
    each_term(points, [&] { value = term(intrinsic_.meaning.body.value, points, value); });
    return value;
  }

  /// For each lane, the indices of the element in this register of the result.
  std::array<Point, warp_size> points_of(const Operand &result, std::int64_t number) {
    std::array<Point, warp_size> points;
    const std::vector<std::vector<Spot>> &spots = lanes_of(result).spots;
    for (std::size_t n = 0; n < spots.size(); ++n)
      for (const Spot &spot : spots[n])
        if (spot.at == number)
          points[static_cast<std::size_t>(spot.lane)] =
              point(intrinsic_.meaning.body.indices, result.formal, n);
    return points;
  }

  /// Calls f for each iteration of the loops over which the meaning sums, with their variables set in `points`.
  template <class F> void each_term(std::array<Point, warp_size> &points, const F &f) const {
    std::vector<NestLoop> sums;
    std::int64_t count = 1;
    for (const NestLoop &loop : intrinsic_.meaning.loops)
      if (!points[0].contains(loop.var)) {
        sums.push_back(loop);
        count *= loop.extent;
      }
    for (std::int64_t n = 0; n < count; ++n) {
      std::int64_t rest = n;
      for (auto loop = sums.rbegin(); loop != sums.rend(); rest /= loop->extent, ++loop)
        for (Point &at : points)
          at[loop->var] = rest % loop->extent;
      f();
    }
  }

  /// The row-major number of the element of an operand at a point.
  static std::size_t element_at(const Buffer &formal, const std::vector<Expr> &indices, const Point &point) {
    std::int64_t element = 0;
    for (std::size_t d = 0; d < indices.size(); ++d)
      element = element * *as_int(formal->shape[d]) + point.at(*indices[d].as<Var>());
    return static_cast<std::size_t>(element);
  }

  static Point point(const std::vector<Expr> &indices, const Buffer &formal, std::size_t element) {
    Point at;
    auto rest = static_cast<std::int64_t>(element);
    for (std::size_t d = indices.size(); d-- > 0;) {
      std::int64_t extent = *as_int(formal->shape[d]);
      at[*indices[d].as<Var>()] = rest % extent;
      rest /= extent;
    }
    return at;
  }

  ValueId in_register(DType dtype, std::uint32_t reg) const {
    return values_.given({.dtype = dtype, .uniform = false, .pinned = true, .reg = reg});
  }

  /// The value of the meaning at one point for each lane, where `old` is the stored element. What depends on
  /// one operand only, such as its conversion, is computed once for each choice of its elements.
  ValueId term(const Expr &value, const std::array<Point, warp_size> &points, ValueId old) {
    Expr e = replace_nodes(value, [&](const Expr &node) -> Expr {
      const Load *only = only_load(node);
      bool stored = only && only->buffer == intrinsic_.meaning.body.buffer;
      if (!only || (stored && !node.as<Load>()))
        return {};
      Var var = make_data(only->buffer->name, node.dtype());
      d_.variables_[var] = stored          ? old
                           : d_.computes() ? of_operand(node, *only, points)
                                           : d_.unknown(node.dtype());
      return var;
    });
    return d_.value(e);
  }

  /// The load, if the expression consists of it and of conversions.
  static const Load *only_load(const Expr &e) {
    const auto *conversion = e.as<Cast>();
    return conversion ? only_load(conversion->a) : e.as<Load>();
  }

  ValueId of_operand(const Expr &e, const Load &access, const std::array<Point, warp_size> &points) {
    Gather from{};
    const Held &held = operands_.at(access.buffer);
    for (std::size_t lane = 0; lane < warp_size; ++lane) {
      const std::vector<Spot> &spots =
          held.lanes->spots[element_at(access.buffer, access.indices, points[lane])];
      auto own = std::ranges::find(spots, static_cast<std::int64_t>(lane), &Spot::lane);
      const Spot &spot = own == spots.end() ? spots.front() : *own;
      from[lane] = held.registers[static_cast<std::size_t>(spot.at)] +
                   static_cast<std::uint32_t>(spot.lane * byte_size(access.buffer->dtype));
    }
    auto [known, fresh] = gathered_.try_emplace({e.get(), from});
    if (!fresh)
      return known->second;
    std::uint32_t reg = values_.allocate_temporary(access.buffer->dtype, false);
    values_.emit({.run = d_.handlers_.gather(access.buffer->dtype),
                  .dst = reg,
                  .imm = static_cast<std::int64_t>(d_.decoded_.gathers.size())});
    d_.decoded_.gathers.push_back(from);
    ValueId id = in_register(access.buffer->dtype, reg);
    for (std::vector<DType> types = conversions(e); !types.empty(); types.pop_back())
      id = values_.cast(types.back(), id);
    return gathered_.at({e.get(), from}) = id;
  }

  static std::vector<DType> conversions(const Expr &e) {
    std::vector<DType> types; // the outermost first
    for (const auto *x = e.as<Cast>(); x; x = x->a.as<Cast>())
      types.push_back(x->dtype);
    return types;
  }

  void store(const Held &held, std::int64_t number, ValueId value) {
    ValueId index = element_of(held, number);
    Access &access = d_.make_store(held.place->buffer, index);
    access.value = d_.in_register(values_.splat(value));
    values_.emit({.run = d_.handlers_.store(access), .access = &access});
    if (auto at = values_[index].constant)
      d_.written_.insert({held.place->buffer, *at});
  }

  /// Each lane stores the row that it supplies, as one vector. The lanes that hold its elements store them,
  /// too.
  void store_row(const Held &held, const std::vector<ValueId> &values) {
    d_.note_store(held.place->buffer);
    d_.store_elements(held.place->buffer, held.first, values, [&](const Access &access, std::size_t n) {
      if (!access.checked)
        return;
      values_.emit({.run = store_rows,
                    .imm = static_cast<std::int64_t>(d_.decoded_.receivers.size()),
                    .access = &access});
      d_.decoded_.receivers.push_back(holders(static_cast<std::int64_t>(n)));
    });
  }

  /// For each lane, the lanes that hold the element `number` of the row that it supplies.
  Receivers holders(std::int64_t number) {
    Receivers result{};
    const std::array<Point, warp_size> points = points_of(intrinsic_.result(), number);
    for (const Operand &operand : intrinsic_.operands) {
      if (operand.formal == intrinsic_.result().formal)
        continue;
      const std::vector<Expr> indices = indices_of(intrinsic_.meaning, operand.formal);
      for (std::size_t lane = 0; lane < warp_size; ++lane)
        for (const Spot &spot : lanes_of(operand).spots[element_at(operand.formal, indices, points[lane])])
          result[lane] |= 1u << spot.lane;
    }
    return result;
  }

  Decoder &d_;
  const Intrinsic &intrinsic_;
  Values &values_;
  std::map<Buffer, Held> operands_;
  std::map<std::pair<const ExprNode *, Gather>, ValueId> gathered_;
};

bool on_matrix_units(const Intrinsic &intrinsic) {
  using enum Feature;
  constexpr std::array units = {mma_f16_k8, mma_f16, mma_bf16, mma_tf32, mma_i8, wgmma};
  return intrinsic.feature && std::ranges::find(units, *intrinsic.feature) != units.end();
}

void Decoder::call(const kernel::Call &node) {
  if (computes())
    values_.emit({.run = check_whole_warp, .imm = static_cast<std::int64_t>(site(nullptr))});
  if (auto sums = node.intrinsic.get().asynchronous ? number_of_sums(node.result().buffer) : std::nullopt)
    values_.emit({.run = start_call, .c = *sums, .imm = static_cast<std::int64_t>(site(nullptr))});
  CallDecoder(*this, node).run();
}

} // namespace nestsmith::sim
