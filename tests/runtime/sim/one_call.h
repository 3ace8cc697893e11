#pragma once
/// A hand-made kernel with one call of an intrinsic by a warp.

#include "dsl/hardware/intrinsics.h"
#include "tests/runtime/sim/kernel_builder.h"

#include <stdexcept>

namespace nestsmith::sim {

inline const Intrinsic &intrinsic(std::string_view name, DType result, DType operand) {
  for (const Intrinsic *x : find_intrinsics(name, result))
    for (const Operand &each : x->operands)
      if (each.formal->dtype == operand)
        return *x;
  throw std::runtime_error("no such intrinsic");
}

inline Expr number(std::int64_t n) { return int_imm(n, DType::i32); }

/// Returns the row that a lane supplies, in 32 bits and for the lane `t`.
inline Expr in_lane(const Expr &e, const Expr &t) {
  return rebuild(e, [&](const Expr &node) {
    const auto *imm = node.as<IntImm>();
    return imm ? number(imm->value) : node.as<Var>() ? t : node;
  });
}

/// A kernel of `threads` threads with the operands of one call. Each lane fills its registers with the elements
/// that the table of the intrinsic assigns to it.
struct OneCall {
  KernelBuilder b{"call"};
  Expr t;
  const Intrinsic &x;
  std::vector<Buffer> params;
  std::vector<kernel::OperandAddress> places;

  OneCall(const Intrinsic &called, std::int64_t threads = 32)
      : t(b.axis(Axis::thread_x, "t", threads)), x(called) {
    for (const Operand &operand : x.operands) {
      std::int64_t elements = 1;
      for (const Expr &extent : operand.formal->shape)
        elements *= *as_int(extent);
      DType dtype = operand.formal->dtype;
      bool result = operand.formal == x.result().formal;
      params.push_back(
          b.param("p_" + operand.formal->name, elements, result ? Role::inout : Role::input, dtype));
      std::int64_t count = operand.as<Rows>() ? elements : elements_per_lane(operand);
      places.push_back({operand.as<Rows>() ? b.shared(operand.formal->name, count, dtype)
                                           : b.local(operand.formal->name, count, dtype),
                        number(0)});
    }
  }

  /// Returns the index of the element in this register of the lane, as a chain of selects over the lanes.
  Expr element(std::size_t operand, std::int64_t at) const {
    auto spots = spots_of(x.operands[operand]);
    Expr index = number(0);
    for (std::size_t n = 0; n < spots.size(); ++n)
      for (const Spot &spot : spots[n])
        if (spot.at == at)
          index = select(equal(t % number(32), number(spot.lane)), number(static_cast<std::int64_t>(n)), index);
    return index;
  }
  void fill(std::size_t operand) {
    const Operand &o = x.operands[operand];
    for (std::int64_t r = 0; r < elements_per_lane(o); ++r)
      b.store(places[operand].buffer, number(r), at(params[operand], element(operand, r)));
  }
  void fill_all() {
    for (std::size_t n = 0; n < places.size(); ++n)
      if (x.operands[n].as<InRegisters>())
        fill(n);
  }
  void keep(std::size_t operand) {
    for (std::int64_t r = 0; r < elements_per_lane(x.operands[operand]); ++r)
      b.store(params[operand], element(operand, r), at(places[operand].buffer, number(r)));
  }
};

inline std::vector<Array> inputs(const kernel::Kernel &kernel) {
  std::vector<Array> arrays;
  std::uint32_t seed = 1;
  for (const Buffer &buffer : kernel.params) {
    arrays.emplace_back(buffer->dtype, std::vector<std::int64_t>{*as_int(buffer->shape[0])});
    bool is_unsigned = buffer->dtype == DType::u8 || buffer->dtype == DType::u32;
    for (std::int64_t n = 0; n < arrays.back().size(); ++n) {
      seed = seed * 1103515245 + 12345;
      arrays.back().set(
          n, Scalar::from_double(buffer->dtype, static_cast<double>(seed >> 16 & 7) - (is_unsigned ? 0 : 3)));
    }
  }
  return arrays;
}

inline Result simulate(const kernel::Kernel &kernel, std::vector<Array> &arrays) {
  std::vector<Argument> arguments;
  for (Array &array : arrays)
    arguments.push_back({&array});
  return run(kernel, arguments, {}, {});
}

} // namespace nestsmith::sim
