#include "runtime/model/walking.h"

#include "runtime/sim/machine.h"

namespace nestsmith::model {

namespace {

const sim::Instr *tell_request(const sim::Instr *ip, sim::Warp &w) {
  const sim::Access &access = *ip->access;
  std::uint32_t mask = w.active & reg<std::uint32_t>(w, access.mask);
  if (mask == 0)
    return ip + 1;
  static_cast<Sink &>(*w.machine->observation).request(ip->b, access, w, mask);
  w.pc = ip + 1;
  return nullptr;
}

} // namespace

void Walking::decoded(const sim::DecodedAccess &decoded, sim::Values &values) {
  accesses_.push_back(&decoded.access);
  if (!shared_ && decoded.access.buffer->scope != Scope::global)
    return;
  decoded.need_base(values);
  auto number = static_cast<std::uint32_t>(accesses_.size() - 1);
  values.emit({.run = tell_request, .b = number, .access = &decoded.access});
}

} // namespace nestsmith::model
