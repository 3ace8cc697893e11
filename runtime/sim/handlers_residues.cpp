/// Handlers that compute residues in the place of floating-point numbers (dsl/ir/residues.h).

#include "dsl/expr/error.h"
#include "dsl/expr/numbers.h"
#include "dsl/ir/residues.h"
#include "runtime/sim/handlers.h"
#include "runtime/sim/warp.h"

#include <bit>
#include <concepts>
#include <cstring>
#include <type_traits>

namespace nestsmith::sim {

namespace {

constexpr auto all_lanes = static_cast<std::size_t>(warp_size);

template <class T> constexpr bool is_real = std::is_same_v<T, float> || is_narrow_float<T>;
template <class T>
constexpr DType dtype_of = std::is_same_v<T, F16>    ? DType::f16
                           : std::is_same_v<T, BF16> ? DType::bf16
                           : std::is_same_v<T, TF32> ? DType::tf32
                                                     : DType::f32;

template <class T> std::uint32_t bits_of(T element) {
  if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<std::uint32_t>(element);
  else
    return element.bits;
}
template <class T> T element_of(std::uint32_t bits) {
  if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<float>(bits);
  else
    return T{static_cast<decltype(T::bits)>(bits)};
}

template <Arithmetic kind, class To, class From> To converted(From value) {
  using R = Residue<kind>;
  R x{};
  if constexpr (is_real<From>)
    x = from_element<kind>(dtype_of<From>, bits_of(value));
  else
    x = R::of(static_cast<std::int64_t>(value));
  if constexpr (is_real<To>)
    return element_of<To>(to_element(dtype_of<To>, x));
  else if constexpr (std::is_same_v<To, bool>)
    return x.bits != 0;
  else
    return static_cast<To>(to_integer(x));
}

/// Reads element `lane`, and writes it. A boolean is in a mask, and a uniform register extends its value to 64
/// bits.
template <class T> T get(const Warp &w, std::uint32_t at, bool uniform, std::size_t lane) {
  if constexpr (std::is_same_v<T, bool>)
    return uniform ? reg<std::int64_t>(w, at) != 0 : (reg<std::uint32_t>(w, at) >> lane & 1) != 0;
  else
    return uniform ? reg<T>(w, at) : lanes<T>(w, at)[lane];
}
template <class T> void set_uniform(const Warp &w, std::uint32_t at, T value) {
  if constexpr (is_real<T>)
    reg<std::uint64_t>(w, at) = bits_of(value);
  else
    reg<std::int64_t>(w, at) = static_cast<std::int64_t>(value);
}

template <Arithmetic kind, class To, class From, bool uniform> const Instr *cast(const Instr *ip, Warp &w) {
  if constexpr (uniform) {
    set_uniform(w, ip->dst, converted<kind, To>(get<From>(w, ip->a, true, 0)));
    return ip + 1;
  }
  std::uint32_t mask = 0;
  for (std::size_t l = 0; l < all_lanes; ++l) {
    To value = converted<kind, To>(get<From>(w, ip->a, false, l));
    if constexpr (std::is_same_v<To, bool>)
      mask |= static_cast<std::uint32_t>(value) << l;
    else
      lanes<To>(w, ip->dst)[l] = value;
  }
  if constexpr (std::is_same_v<To, bool>)
    reg<std::uint32_t>(w, ip->dst) = mask;
  return ip + 1;
}

template <Arithmetic kind, class To, class From> Handler cast_shape(bool uniform) {
  if constexpr (is_real<To> || is_real<From>)
    return uniform ? cast<kind, To, From, true> : cast<kind, To, From, false>;
  else
    internal_error("a cast of a residue has one");
}

template <Arithmetic kind, BinaryOp op, bool uniform> const Instr *binary(const Instr *ip, Warp &w) {
  using R = Residue<kind>;
  if constexpr (uniform) {
    R a = reg<R>(w, ip->a), b = reg<R>(w, ip->b);
    if constexpr (is_comparison(op))
      reg<std::int64_t>(w, ip->dst) = compare<op>(a, b);
    else
      reg<std::uint64_t>(w, ip->dst) = static_cast<std::uint32_t>(arithmetic<op>(a, b).bits);
  } else {
    const R *a = lanes<R>(w, ip->a), *b = lanes<R>(w, ip->b);
    std::uint32_t mask = 0;
    for (std::size_t l = 0; l < all_lanes; ++l)
      if constexpr (is_comparison(op))
        mask |= static_cast<std::uint32_t>(compare<op>(a[l], b[l])) << l;
      else
        lanes<R>(w, ip->dst)[l] = arithmetic<op>(a[l], b[l]);
    if constexpr (is_comparison(op))
      reg<std::uint32_t>(w, ip->dst) = mask;
  }
  return ip + 1;
}

template <Arithmetic kind, bool uniform> const Instr *function(const Instr *ip, Warp &w) {
  using R = Residue<kind>;
  const MathFunction &called = math_functions()[static_cast<std::size_t>(ip->imm)];
  if constexpr (uniform) {
    R result = R::apply(called, reg<R>(w, ip->a), reg<R>(w, ip->b), reg<R>(w, ip->c));
    reg<std::uint64_t>(w, ip->dst) = static_cast<std::uint32_t>(result.bits);
  } else {
    const R *a = lanes<R>(w, ip->a), *b = lanes<R>(w, ip->b), *c = lanes<R>(w, ip->c);
    for (std::size_t l = 0; l < all_lanes; ++l)
      lanes<R>(w, ip->dst)[l] = R::apply(called, a[l], b[l], c[l]);
  }
  return ip + 1;
}

template <Arithmetic kind, bool a_uniform> const Instr *multiply_add(const Instr *ip, Warp &w) {
  using R = Residue<kind>;
  const R *b = lanes<R>(w, ip->b), *c = lanes<R>(w, ip->c), *a = &reg<R>(w, ip->a);
  for (std::size_t l = 0; l < all_lanes; ++l)
    lanes<R>(w, ip->dst)[l] = c[l] + a[a_uniform ? 0 : l] * b[l];
  return ip + 1;
}

template <Arithmetic kind, bool a_uniform> const Instr *accumulate(const Instr *ip, Warp &w) {
  using R = Residue<kind>;
  R *dst = lanes<R>(w, ip->dst);
  const R *b = lanes<R>(w, ip->b), *a = &reg<R>(w, ip->a);
  for (std::size_t l = 0; l < all_lanes; ++l)
    if (w.active >> l & 1)
      dst[l] = dst[l] + a[a_uniform ? 0 : l] * b[l];
  return ip + 1;
}

/// The handlers of `base`, with residues in the place of floating-point numbers.
template <Arithmetic kind, const HandlerTable &(*base)()> struct Finders {
  static Handler find_binary(BinaryOp op, DType dtype, bool uniform) {
    if (!is_float(dtype))
      return base().binary(op, dtype, uniform);
    return with_op(op, [&]<BinaryOp o>() -> Handler {
      if constexpr (is_defined_on_residues(o))
        return uniform ? binary<kind, o, true> : binary<kind, o, false>;
      else
        internal_error("an operator that has no meaning on its operands");
    });
  }
  static Handler find_cast(DType from, DType to, bool uniform) {
    if (!is_float(from) && !is_float(to))
      return base().cast(from, to, uniform);
    if (from == DType::boolean)
      return with_number(to, [&]<class To>() { return cast_shape<kind, To, bool>(uniform); });
    return with_number(from, [&]<class From>() {
      if (to == DType::boolean)
        return cast_shape<kind, bool, From>(uniform);
      return with_number(to, [&]<class To>() { return cast_shape<kind, To, From>(uniform); });
    });
  }
  static Handler find_function(bool uniform) { return uniform ? function<kind, true> : function<kind, false>; }
  static Handler find_multiply_add(DType dtype, bool a_uniform) {
    if (!is_float(dtype))
      return base().multiply_add(dtype, a_uniform);
    return a_uniform ? multiply_add<kind, true> : multiply_add<kind, false>;
  }
  static Handler find_accumulate(DType dtype, bool a_uniform) {
    if (!is_float(dtype))
      return base().accumulate(dtype, a_uniform);
    return a_uniform ? accumulate<kind, true> : accumulate<kind, false>;
  }
  static const HandlerTable &table() {
    static const HandlerTable made = [] {
      HandlerTable all = base();
      all.binary = find_binary;
      all.cast = find_cast;
      all.function = find_function;
      all.multiply_add = find_multiply_add;
      all.accumulate = find_accumulate;
      return all;
    }();
    return made;
  }
};

const HandlerTable &any_host() { return baseline_handlers; }

} // namespace

const HandlerTable &handlers_for(Arithmetic arithmetic, bool baseline) {
  if (arithmetic == Arithmetic::floating)
    return baseline ? baseline_handlers : host_handlers();
  return with_residues(arithmetic, [&]<Arithmetic kind>() -> const HandlerTable & {
    return baseline ? Finders<kind, any_host>::table() : Finders<kind, host_handlers>::table();
  });
}

} // namespace nestsmith::sim
