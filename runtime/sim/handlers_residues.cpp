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

template <class T> constexpr bool is_real = std::is_floating_point_v<T> || is_narrow_float<T>;
template <class T>
constexpr DType dtype_of = std::is_same_v<T, F16>      ? DType::f16
                           : std::is_same_v<T, BF16>   ? DType::bf16
                           : std::is_same_v<T, TF32>   ? DType::tf32
                           : std::is_same_v<T, double> ? DType::f64
                                                       : DType::f32;

/// A residue as an element of 64 bits, the upper of which are 0.
template <class R> struct alignas(8) WideElement {
  R low{};
  std::uint32_t high = 0;
  WideElement() = default;
  WideElement(R residue) : low(residue) {}
  operator R() const { return low; }
};

template <class T> std::uint32_t bits_of(T element) {
  if constexpr (std::is_same_v<T, double>)
    return static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(element));
  else if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<std::uint32_t>(element);
  else
    return element.bits;
}
template <class T> T element_of(std::uint32_t bits) {
  if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<double>(std::uint64_t{bits});
  else if constexpr (std::is_same_v<T, float>)
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

/// `E` is an element in a lane register: a residue or, of an f64, a wide element.
template <class R, class E, BinaryOp op, bool uniform> const Instr *binary(const Instr *ip, Warp &w) {
  if constexpr (uniform) {
    R a = reg<R>(w, ip->a), b = reg<R>(w, ip->b);
    if constexpr (is_comparison(op))
      reg<std::int64_t>(w, ip->dst) = compare<op>(a, b);
    else
      reg<std::uint64_t>(w, ip->dst) = static_cast<std::uint32_t>(arithmetic<op>(a, b).bits);
  } else {
    const E *a = lanes<E>(w, ip->a), *b = lanes<E>(w, ip->b);
    std::uint32_t mask = 0;
    for (std::size_t l = 0; l < all_lanes; ++l)
      if constexpr (is_comparison(op))
        mask |= static_cast<std::uint32_t>(compare<op>(R(a[l]), R(b[l]))) << l;
      else
        lanes<E>(w, ip->dst)[l] = arithmetic<op>(R(a[l]), R(b[l]));
    if constexpr (is_comparison(op))
      reg<std::uint32_t>(w, ip->dst) = mask;
  }
  return ip + 1;
}

template <class R, class E, bool uniform> const Instr *function(const Instr *ip, Warp &w) {
  const MathFunction &called = math_functions()[static_cast<std::size_t>(ip->imm)];
  if constexpr (uniform) {
    R result = R::apply(called, reg<R>(w, ip->a), reg<R>(w, ip->b), reg<R>(w, ip->c));
    reg<std::uint64_t>(w, ip->dst) = static_cast<std::uint32_t>(result.bits);
  } else {
    const E *a = lanes<E>(w, ip->a), *b = lanes<E>(w, ip->b), *c = lanes<E>(w, ip->c);
    for (std::size_t l = 0; l < all_lanes; ++l)
      lanes<E>(w, ip->dst)[l] = R::apply(called, a[l], b[l], c[l]);
  }
  return ip + 1;
}

template <class R, class E, bool a_uniform> const Instr *multiply_add(const Instr *ip, Warp &w) {
  const E *b = lanes<E>(w, ip->b), *c = lanes<E>(w, ip->c), *a = &reg<E>(w, ip->a);
  for (std::size_t l = 0; l < all_lanes; ++l)
    lanes<E>(w, ip->dst)[l] = R(c[l]) + R(a[a_uniform ? 0 : l]) * R(b[l]);
  return ip + 1;
}

template <class R, class E, bool a_uniform> const Instr *accumulate(const Instr *ip, Warp &w) {
  E *dst = lanes<E>(w, ip->dst);
  const E *b = lanes<E>(w, ip->b), *a = &reg<E>(w, ip->a);
  for (std::size_t l = 0; l < all_lanes; ++l)
    if (w.active >> l & 1)
      dst[l] = R(dst[l]) + R(a[a_uniform ? 0 : l]) * R(b[l]);
  return ip + 1;
}

/// The handlers of `base`, with residues in the place of floating-point numbers.
template <Arithmetic kind, const HandlerTable &(*base)()> struct Finders {
  using R = Residue<kind>;
  /// Calls `f.template operator()<E>()` with the type of an element in a lane register.
  template <class F> static Handler with_element(DType dtype, const F &f) {
    return dtype == DType::f64 ? f.template operator()<WideElement<R>>() : f.template operator()<R>();
  }
  static Handler find_binary(BinaryOp op, DType dtype, bool uniform) {
    if (!is_float(dtype))
      return base().binary(op, dtype, uniform);
    return with_op(op, [&]<BinaryOp o>() -> Handler {
      if constexpr (is_defined_on_residues(o))
        return with_element(dtype, [&]<class E>() -> Handler {
          return uniform ? binary<R, E, o, true> : binary<R, E, o, false>;
        });
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
  static Handler find_function(DType dtype, bool uniform) {
    return with_element(
        dtype, [&]<class E>() -> Handler { return uniform ? function<R, E, true> : function<R, E, false>; });
  }
  static Handler find_multiply_add(DType dtype, bool a_uniform) {
    if (!is_float(dtype))
      return base().multiply_add(dtype, a_uniform);
    return with_element(dtype, [&]<class E>() -> Handler {
      return a_uniform ? multiply_add<R, E, true> : multiply_add<R, E, false>;
    });
  }
  static Handler find_accumulate(DType dtype, bool a_uniform) {
    if (!is_float(dtype))
      return base().accumulate(dtype, a_uniform);
    return with_element(dtype, [&]<class E>() -> Handler {
      return a_uniform ? accumulate<R, E, true> : accumulate<R, E, false>;
    });
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
