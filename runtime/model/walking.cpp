#include "runtime/model/walking.h"

#include "lowering/plan.h"
#include "runtime/model/evaluate.h"
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

void Walking::access_decoded(const sim::ObservedAccess &seen, sim::Values &values) {
  accesses_.push_back(&seen.access);
  if (!shared_ && seen.access.buffer->scope != Scope::global)
    return;
  seen.need_base(values);
  auto number = static_cast<std::uint32_t>(accesses_.size() - 1);
  values.emit({.run = tell_request, .b = number, .access = &seen.access});
}

ParameterMemory::ParameterMemory(const kernel::Kernel &kernel) : buffers(kernel.params.size()) {
  for (std::size_t n = 0; n < buffers.size(); ++n) {
    buffers[n].elements = kernel::element_count(kernel.params[n]);
    dtypes_.push_back(kernel.params[n]->dtype);
  }
}

void ParameterMemory::fill() {
  for (std::size_t n = 0; n < buffers.size(); ++n) {
    Array &array = arrays.emplace_back(dtypes_[n], std::vector{buffers[n].elements});
    buffers[n].data = array.data();
    buffers[n].written.resize(static_cast<std::size_t>(buffers[n].elements));
  }
}

sim::DecodedKernel decode_to_walk(const kernel::Kernel &kernel, std::span<const Scalar> scalars,
                                  ParameterMemory &memory, FunctionRef<sim::Observer &()> start) {
  sim::DecodedKernel decoded =
      decode(kernel, scalars, memory.buffers,
             {.values = false, .unroll = unrolled_statements, .iterations = phases, .observer = &start()});
  if (!decoded.depends_on_data)
    return decoded;
  memory.fill();
  return decode(kernel, scalars, memory.buffers, {.check = false, .observer = &start()});
}

} // namespace nestsmith::model
