#include "runtime/sim/warp.h"

#include <algorithm>
#include <cstring>

namespace nestsmith::sim {

std::int64_t address(const Access &access, const Warp &w, std::uint32_t lane) {
  const Address &from = access.address;
  std::int64_t at = reg<std::int64_t>(w, from.base) + from.constant;
  if (from.has_pattern())
    at += from.pattern(w.index).offset[lane];
  else if (const auto *offsets = std::get_if<Address::LaneOffsets>(&from.lane_offset))
    at +=
        offsets->wide ? lanes<std::int64_t>(w, offsets->reg)[lane] : lanes<std::int32_t>(w, offsets->reg)[lane];
  return from.wraps ? static_cast<std::int32_t>(at) : at;
}

void addresses(const Access &access, const Warp &w, std::array<std::int64_t, warp_size> &to) {
  const Address &from = access.address;
  to.fill(reg<std::int64_t>(w, from.base) + from.constant);
  auto add = [&](const auto *offsets) {
    for (std::size_t lane = 0; lane < warp_size; ++lane)
      to[lane] += offsets[lane];
  };
  if (from.has_pattern())
    add(from.pattern(w.index).offset.data());
  else if (const auto *offsets = std::get_if<Address::LaneOffsets>(&from.lane_offset))
    offsets->wide ? add(lanes<std::int64_t>(w, offsets->reg)) : add(lanes<std::int32_t>(w, offsets->reg));
  if (from.wraps)
    for (std::int64_t &at : to)
      at = static_cast<std::int32_t>(at);
}

std::vector<std::int64_t> iteration_of(const DecodedKernel &decoded, const Warp &w, std::uint32_t site) {
  std::vector<std::int64_t> values;
  for (const Site::Iteration &loop : decoded.sites[site].loops)
    values.push_back(reg<std::int64_t>(w, loop.reg) + loop.plus);
  return values;
}

std::uint64_t get_lane(const Warp &w, DType dtype, Register from, std::uint32_t lane) {
  if (from.uniform)
    return reg<std::uint64_t>(w, from.at);
  if (dtype == DType::boolean)
    return reg<std::uint32_t>(w, from.at) >> lane & 1;
  std::uint64_t bits = 0;
  auto width = static_cast<std::size_t>(byte_size(dtype));
  std::memcpy(&bits, w.frame + from.at + lane * width, width);
  return bits;
}

void lane_values(const Warp &w, DType dtype, Register from, std::array<std::uint64_t, warp_size> &to) {
  auto copy = [&]<class T>(const T *values) { std::copy_n(values, warp_size, to.begin()); };
  if (from.uniform)
    to.fill(reg<std::uint64_t>(w, from.at));
  else if (dtype == DType::boolean)
    for (std::uint32_t lane = 0; lane < warp_size; ++lane)
      to[lane] = get_lane(w, dtype, from, lane);
  else if (byte_size(dtype) == 1)
    copy(lanes<std::uint8_t>(w, from.at));
  else if (byte_size(dtype) == 2)
    copy(lanes<std::uint16_t>(w, from.at));
  else if (byte_size(dtype) == 4)
    copy(lanes<std::uint32_t>(w, from.at));
  else
    copy(lanes<std::uint64_t>(w, from.at));
}

void set_lane(const Warp &w, DType dtype, std::uint32_t to, std::uint32_t lane, std::uint64_t bits) {
  if (dtype == DType::boolean) {
    std::uint32_t &mask = reg<std::uint32_t>(w, to), one = std::uint32_t{1} << lane;
    mask = bits != 0 ? mask | one : mask & ~one;
    return;
  }
  auto width = static_cast<std::size_t>(byte_size(dtype));
  std::memcpy(w.frame + to + lane * width, &bits, width);
}

} // namespace nestsmith::sim
