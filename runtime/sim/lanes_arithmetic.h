// Part of lanes_impl.h: what computes.

template <BinaryOp op, class T, bool uniform> NESTSMITH_LANES const Instr *binary(const Instr *ip, Warp &w) {
  if constexpr (uniform) {
    T a = scalar<T>(w, ip->a), b = scalar<T>(w, ip->b);
    if constexpr (is_comparison(op))
      reg<Uniform>(w, ip->dst) = compare<op>(a, b);
    else
      set_scalar<T>(w, ip->dst, arithmetic<op>(a, b));
  } else {
    const T *a = lanes<T>(w, ip->a), *b = lanes<T>(w, ip->b);
    if constexpr (is_comparison(op)) {
      alignas(64) std::int32_t bits[warp_size];
      NESTSMITH_EACH_LANE(l)
      bits[l] = compare<op>(a[l], b[l]);
      reg<Mask>(w, ip->dst) = pack(bits);
    } else {
      T *dst = lanes<T>(w, ip->dst);
      NESTSMITH_EACH_LANE(l)
      dst[l] = arithmetic<op>(a[l], b[l]);
    }
  }
  return ip + 1;
}

template <BinaryOp op, bool uniform> NESTSMITH_LANES const Instr *logical(const Instr *ip, Warp &w) {
  using T = std::conditional_t<uniform, Uniform, Mask>;
  T a = reg<T>(w, ip->a), b = reg<T>(w, ip->b), all = uniform ? T{1} : static_cast<T>(~T{0});
  T result = 0;
  if constexpr (op == BinaryOp::logical_and)
    result = a & b;
  else if constexpr (op == BinaryOp::logical_or)
    result = a | b;
  else if constexpr (op == BinaryOp::ne)
    result = a ^ b;
  else
    result = (a ^ b) ^ all;
  reg<T>(w, ip->dst) = result;
  return ip + 1;
}

template <bool uniform> NESTSMITH_LANES const Instr *complement(const Instr *ip, Warp &w) {
  if constexpr (uniform)
    reg<Uniform>(w, ip->dst) = reg<Uniform>(w, ip->a) ^ 1;
  else
    reg<Mask>(w, ip->dst) = ~reg<Mask>(w, ip->a);
  return ip + 1;
}

template <class T> NESTSMITH_LANES const Instr *select_lanes(const Instr *ip, Warp &w) {
  Mask mask = reg<Mask>(w, ip->a);
  const T *b = lanes<T>(w, ip->b), *c = lanes<T>(w, ip->c);
  T *dst = lanes<T>(w, ip->dst);
  NESTSMITH_EACH_LANE(l)
  dst[l] = (mask >> l & 1) ? b[l] : c[l];
  return ip + 1;
}

NESTSMITH_LANES const Instr *select_mask(const Instr *ip, Warp &w) {
  Mask mask = reg<Mask>(w, ip->a);
  reg<Mask>(w, ip->dst) = (reg<Mask>(w, ip->b) & mask) | (reg<Mask>(w, ip->c) & ~mask);
  return ip + 1;
}

NESTSMITH_LANES const Instr *select_uniform(const Instr *ip, Warp &w) {
  reg<Uniform>(w, ip->dst) = reg<Uniform>(w, reg<Uniform>(w, ip->a) ? ip->b : ip->c);
  return ip + 1;
}

/// `bool` stands for masks.
template <class To, class From, bool uniform> NESTSMITH_LANES const Instr *cast(const Instr *ip, Warp &w) {
  if constexpr (uniform && std::is_same_v<To, bool>) {
    reg<Uniform>(w, ip->dst) = scalar<From>(w, ip->a) != From{};
  } else if constexpr (uniform && std::is_same_v<From, bool>) {
    set_scalar<To>(w, ip->dst, convert<To>(reg<Uniform>(w, ip->a)));
  } else if constexpr (uniform) {
    set_scalar<To>(w, ip->dst, convert<To>(scalar<From>(w, ip->a)));
  } else if constexpr (std::is_same_v<To, bool>) {
    const From *a = lanes<From>(w, ip->a);
    alignas(64) std::int32_t bits[warp_size];
    NESTSMITH_EACH_LANE(l)
    bits[l] = a[l] != From{};
    reg<Mask>(w, ip->dst) = pack(bits);
  } else if constexpr (std::is_same_v<From, bool>) {
    Mask mask = reg<Mask>(w, ip->a);
    To *dst = lanes<To>(w, ip->dst);
    NESTSMITH_EACH_LANE(l)
    dst[l] = static_cast<To>(mask >> l & 1);
  } else {
    const From *a = lanes<From>(w, ip->a);
    To *dst = lanes<To>(w, ip->dst);
    NESTSMITH_EACH_LANE(l)
    dst[l] = convert<To>(a[l]);
  }
  return ip + 1;
}

template <class T> NESTSMITH_LANES const Instr *splat(const Instr *ip, Warp &w) {
  T value = scalar<T>(w, ip->a);
  T *dst = lanes<T>(w, ip->dst);
  NESTSMITH_EACH_LANE(l)
  dst[l] = value;
  return ip + 1;
}

NESTSMITH_LANES const Instr *splat_mask(const Instr *ip, Warp &w) {
  reg<Mask>(w, ip->dst) = reg<Uniform>(w, ip->a) ? ~Mask{0} : 0;
  return ip + 1;
}

template <std::size_t bytes> NESTSMITH_LANES const Instr *copy(const Instr *ip, Warp &w) {
  if constexpr (bytes % 128 == 0)
    move<bytes>(w.frame + ip->dst, w.frame + ip->a);
  else
    std::memcpy(w.frame + ip->dst, w.frame + ip->a, bytes);
  return ip + 1;
}

template <class T, bool a_uniform> NESTSMITH_LANES const Instr *multiply_add(const Instr *ip, Warp &w) {
  T *dst = lanes<T>(w, ip->dst);
  const T *b = lanes<T>(w, ip->b), *c = lanes<T>(w, ip->c);
  if constexpr (a_uniform) {
    T a = scalar<T>(w, ip->a);
    NESTSMITH_EACH_LANE(l)
    dst[l] = c[l] + a * b[l];
  } else {
    const T *a = lanes<T>(w, ip->a);
    NESTSMITH_EACH_LANE(l)
    dst[l] = c[l] + a[l] * b[l];
  }
  return ip + 1;
}

template <class T, bool a_uniform> NESTSMITH_LANES const Instr *accumulate(const Instr *ip, Warp &w) {
  T *dst = lanes<T>(w, ip->dst);
  const T *b = lanes<T>(w, ip->b);
  if (w.active != w.live) [[unlikely]] {
    const T *a = &reg<T>(w, ip->a);
    NESTSMITH_EACH_LANE(l)
    if (w.active >> l & 1)
      dst[l] = dst[l] + a[a_uniform ? 0 : l] * b[l];
  } else if constexpr (a_uniform) {
    T a = scalar<T>(w, ip->a);
    NESTSMITH_EACH_LANE(l)
    dst[l] = dst[l] + a * b[l];
  } else {
    const T *a = lanes<T>(w, ip->a);
    NESTSMITH_EACH_LANE(l)
    dst[l] = dst[l] + a[l] * b[l];
  }
  return ip + 1;
}
