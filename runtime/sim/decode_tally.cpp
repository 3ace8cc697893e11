/// How the decoder counts accesses: by what is known of their addresses before the run.

#include "runtime/sim/decoder.h"

#include <algorithm>

namespace nestsmith::sim {

namespace {

/// Moving all addresses by so many elements changes no cost.
std::int64_t period(const Access &access) {
  std::int64_t bytes = access.buffer->scope == Scope::global ? line_bytes : bank_bytes;
  return std::max<std::int64_t>(bytes / byte_size(access.buffer->dtype), 1);
}

} // namespace

/// Whether the uniform part is always a multiple of the period.
bool Decoder::on_phase(const Access &access, const Sum &uniform) const {
  for (auto [term, coefficient] : uniform.terms)
    if (coefficient % period(access) * values_[term].multiple % period(access) != 0)
      return false;
  return true;
}

void Decoder::tally(Access &access, bool masked) {
  const auto &[dtype, uniform] = uniform_parts_.at(&access);
  bool pinned = false;
  for (auto [term, coefficient] : uniform.terms)
    pinned = pinned || values_[term].pinned;
  if (masked || pinned || access.kind == AddressKind::lanes) {
    set_base(access, dtype, uniform);
    access.tallied = Tallied::singly;
    access.counter = program_.single++;
    values_.emit({.run = count_request, .access = &access});
    return;
  }
  access.phase = access.constant;
  if (on_phase(access, uniform)) {
    access.tallied = Tallied::by_region;
    return;
  }
  set_base(access, dtype, uniform);
  access.tallied = Tallied::by_phase;
  auto [it, fresh] = bases_.try_emplace({region_, access.base}, program_.bases);
  access.counter = it->second;
  if (fresh) {
    ++program_.bases;
    values_.emit({.run = count_phase, .a = access.base, .b = access.counter});
  }
}

} // namespace nestsmith::sim
