// Part of lanes_impl.h: which handler serves an operation. Plain code, run while decoding.

Handler find_logical(BinaryOp op, bool uniform) {
  switch (op) {
  case BinaryOp::logical_and:
    return uniform ? logical<BinaryOp::logical_and, true> : logical<BinaryOp::logical_and, false>;
  case BinaryOp::logical_or:
    return uniform ? logical<BinaryOp::logical_or, true> : logical<BinaryOp::logical_or, false>;
  case BinaryOp::eq:
    return uniform ? logical<BinaryOp::eq, true> : logical<BinaryOp::eq, false>;
  case BinaryOp::ne:
    return uniform ? logical<BinaryOp::ne, true> : logical<BinaryOp::ne, false>;
  default:
    internal_error("an arithmetic operator on booleans");
  }
}

Handler find_binary(BinaryOp op, DType dtype, bool uniform) {
  if (dtype == DType::boolean)
    return find_logical(op, uniform);
  return with_op(op, [&]<BinaryOp o>() -> Handler {
    if constexpr (is_logical(o)) {
      internal_error("a logical operator on numbers");
    } else {
      switch (dtype) {
      case DType::i32:
        return uniform ? binary<o, std::int32_t, true> : binary<o, std::int32_t, false>;
      case DType::i64:
        return uniform ? binary<o, std::int64_t, true> : binary<o, std::int64_t, false>;
      case DType::u32:
        return uniform ? binary<o, std::uint32_t, true> : binary<o, std::uint32_t, false>;
      case DType::f32:
        return uniform ? binary<o, float, true> : binary<o, float, false>;
      case DType::boolean:
        break;
      }
      internal_error("no such dtype");
    }
  });
}

Handler find_complement(bool uniform) { return uniform ? complement<true> : complement<false>; }

Handler find_select(DType dtype, bool uniform) {
  if (uniform)
    return select_uniform;
  if (dtype == DType::boolean)
    return select_mask;
  return byte_size(dtype) == 8 ? select_lanes<std::uint64_t> : select_lanes<std::uint32_t>;
}

template <class To, class From> Handler cast_shape(bool uniform) {
  return uniform ? cast<To, From, true> : cast<To, From, false>;
}

template <class To> Handler cast_from(DType from, bool uniform) {
  switch (from) {
  case DType::boolean:
    if constexpr (!std::is_same_v<To, bool>)
      return cast_shape<To, bool>(uniform);
    break;
  case DType::i32:
    return cast_shape<To, std::int32_t>(uniform);
  case DType::i64:
    return cast_shape<To, std::int64_t>(uniform);
  case DType::u32:
    return cast_shape<To, std::uint32_t>(uniform);
  case DType::f32:
    return cast_shape<To, float>(uniform);
  }
  internal_error("a cast of booleans to booleans");
}

Handler find_cast(DType from, DType to, bool uniform) {
  switch (to) {
  case DType::boolean:
    return cast_from<bool>(from, uniform);
  case DType::i32:
    return cast_from<std::int32_t>(from, uniform);
  case DType::i64:
    return cast_from<std::int64_t>(from, uniform);
  case DType::u32:
    return cast_from<std::uint32_t>(from, uniform);
  case DType::f32:
    return cast_from<float>(from, uniform);
  }
  internal_error("no such dtype");
}

Handler find_splat(DType dtype) {
  if (dtype == DType::boolean)
    return splat_mask;
  return byte_size(dtype) == 8 ? splat<std::uint64_t> : splat<std::uint32_t>;
}

Handler find_copy(DType dtype) {
  if (dtype == DType::boolean)
    return copy<sizeof(Mask)>;
  return byte_size(dtype) == 8 ? copy<8 * warp_size> : copy<4 * warp_size>;
}

Handler find_multiply_add(DType dtype, bool a_uniform) {
  if (is_float(dtype))
    return a_uniform ? multiply_add<float, true> : multiply_add<float, false>;
  return a_uniform ? multiply_add<std::uint32_t, true> : multiply_add<std::uint32_t, false>;
}

Handler find_accumulate(DType dtype, bool a_uniform) {
  if (is_float(dtype))
    return a_uniform ? accumulate<float, true> : accumulate<float, false>;
  return a_uniform ? accumulate<std::uint32_t, true> : accumulate<std::uint32_t, false>;
}

template <DType dtype> Handler load_uniform_of(bool shared, bool checked) {
  if (shared)
    return checked ? load_uniform<dtype, true, true> : load_uniform<dtype, true, false>;
  return load_uniform<dtype, false, false>;
}

Handler find_load_uniform(DType dtype, bool shared, bool checked) {
  switch (dtype) {
  case DType::i32:
    return load_uniform_of<DType::i32>(shared, checked);
  case DType::i64:
    return load_uniform_of<DType::i64>(shared, checked);
  case DType::u32:
    return load_uniform_of<DType::u32>(shared, checked);
  case DType::f32:
    return load_uniform_of<DType::f32>(shared, checked);
  case DType::boolean:
    break;
  }
  return slow_load;
}

template <class T> Handler load_pattern_of(bool shared, bool checked) {
  if (shared)
    return checked ? load_pattern<T, true, true> : load_pattern<T, true, false>;
  return load_pattern<T, false, false>;
}

/// Shadowed global memory, elements of several shadow units, booleans and addresses that are not known
/// to be uniform or a pattern go lane by lane.
Handler find_load(const Access &access) {
  DType dtype = access.buffer->dtype;
  bool shared = access.buffer->scope == Scope::shared, wide = byte_size(dtype) == 8;
  if (dtype == DType::boolean || access.kind == AddressKind::lanes)
    return slow_load;
  if (access.buffer->scope == Scope::local) {
    if (access.kind != AddressKind::uniform)
      return slow_load;
    return wide ? load_local<std::uint64_t> : load_local<std::uint32_t>;
  }
  if (access.checked && (shared ? access.units != 1 : true))
    return slow_load;
  if (access.kind == AddressKind::uniform)
    return access.value_uniform ? find_load_uniform(dtype, shared, access.checked) : slow_load;
  return wide ? load_pattern_of<std::uint64_t>(shared, access.checked)
              : load_pattern_of<std::uint32_t>(shared, access.checked);
}

Handler find_store(const Access &access) {
  DType dtype = access.buffer->dtype;
  bool wide = byte_size(dtype) == 8;
  if (dtype == DType::boolean || access.kind == AddressKind::lanes)
    return slow_store;
  if (access.buffer->scope == Scope::local) {
    if (access.kind != AddressKind::uniform)
      return slow_store;
    return wide ? store_local<std::uint64_t> : store_local<std::uint32_t>;
  }
  if (access.kind != AddressKind::pattern || access.value_uniform)
    return slow_store;
  if (access.buffer->scope == Scope::global) {
    if (access.checked)
      return slow_store;
    return wide ? store_global<std::uint64_t> : store_global<std::uint32_t>;
  }
  if (access.checked && access.units != 1)
    return slow_store;
  if (access.checked)
    return wide ? store_shared<std::uint64_t, true> : store_shared<std::uint32_t, true>;
  return wide ? store_shared<std::uint64_t, false> : store_shared<std::uint32_t, false>;
}
