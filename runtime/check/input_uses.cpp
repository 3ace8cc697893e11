#include "runtime/check/input_uses.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace nestsmith {

namespace {

/// Larger multiples would not stay exact in f32 over a sum.
constexpr std::int64_t most_multiple = 1 << 12;

/// |value| without its factors of 2, or 1 if that is no small integer.
std::int64_t odd_part(double value) {
  int exponent = 0;
  double odd = std::abs(std::frexp(value, &exponent));
  while (odd != std::trunc(odd) && odd < static_cast<double>(most_multiple))
    odd *= 2;
  return odd >= 1 && odd < static_cast<double>(most_multiple) ? static_cast<std::int64_t>(odd) : 1;
}

} // namespace

InputUses::InputUses(const Program &source) {
  for (const Block *block : blocks_of(source.body)) {
    std::vector<const Store *> stores = {&block->body};
    if (block->init)
      stores.push_back(&*block->init);
    for (const Store *store : stores) {
      Expr value = without_reducer_calls(store->value);
      note(value);
      Origins from = origins(value);
      if (block->reducer == Reducer::product)
        factors.insert(from.begin(), from.end());
      of_stage_[store->buffer.get()].merge(std::move(from));
      values_[store->buffer.get()].push_back(value);
    }
  }
}

void InputUses::note(const Expr &e) {
  walk(e, [&](const Expr &node) {
    if (const auto *access = node.as<Load>())
      for (const Expr &index : access->indices)
        indices.merge(origins(index));
    if (const auto *cast = node.as<Cast>(); cast && is_float(cast->dtype) && !is_float(cast->a.dtype()))
      converted.merge(origins(cast->a));
    if (const auto *binary = node.as<Binary>(); binary && is_comparison(binary->op))
      for (const Expr &side : {binary->a, binary->b})
        compared.merge(origins(side));
    if (const auto *binary = node.as<Binary>(); binary && binary->op == BinaryOp::div)
      note_division(*binary);
  });
}

void InputUses::note_division(const Binary &division) {
  Expr divisor = division.b;
  while (const auto *cast = divisor.as<Cast>())
    divisor = cast->a;
  if (const auto *access = divisor.as<Load>(); access && access->buffer->role != Role::temporary)
    divisors.insert(access->buffer.get());
  if (const auto *var = divisor.as<Var>())
    divisors.insert(var->get());
  const auto *number = divisor.as<FloatImm>();
  std::int64_t odd = number ? odd_part(number->value) : 1;
  if (odd == 1)
    return;
  Search search;
  if (auto needed = carriers(division.a, odd, search))
    for (InputId input : *needed) {
      std::int64_t &multiple = multiples.try_emplace(input, 1).first->second;
      multiple = std::min(std::lcm(multiple, odd), most_multiple);
    }
}

std::optional<Origins> InputUses::carriers(const Expr &e, std::int64_t number, Search &search) const {
  if (--search.steps < 0)
    return std::nullopt;
  auto all = [&](const std::vector<Expr> &parts) {
    std::optional<Origins> result = Origins();
    for (const Expr &part : parts) {
      auto more = result ? carriers(part, number, search) : std::nullopt;
      if (more)
        result->merge(*more);
      else
        result.reset();
    }
    return result;
  };
  if (const auto *constant = e.as<FloatImm>())
    return std::fmod(constant->value, static_cast<double>(number)) == 0 ? std::optional(Origins())
                                                                        : std::nullopt;
  if (const auto *var = e.as<Var>())
    return Origins{var->get()};
  if (const auto *cast = e.as<Cast>())
    return is_float(cast->a.dtype()) ? carriers(cast->a, number, search) : std::nullopt;
  if (const auto *choice = e.as<Select>())
    return all({choice->when_true, choice->when_false});
  if (const auto *binary = e.as<Binary>()) {
    if (binary->op != BinaryOp::mul)
      return binary->op == BinaryOp::div ? std::nullopt : all({binary->a, binary->b});
    auto left = carriers(binary->a, number, search), right = carriers(binary->b, number, search);
    return !right || (left && left->size() <= right->size()) ? left : right;
  }
  const auto *access = e.as<Load>();
  if (!access)
    return std::nullopt;
  if (!search.open.insert(access->buffer.get()).second) // a sum: its earlier value is a multiple
    return Origins();
  std::vector<Expr> parts;
  if (access->fill.exists())
    parts.push_back(access->fill);
  if (auto stage = values_.find(access->buffer.get()); stage != values_.end())
    parts.insert(parts.end(), stage->second.begin(), stage->second.end());
  std::optional<Origins> result = all(parts);
  search.open.erase(access->buffer.get());
  if (result && access->buffer->role != Role::temporary)
    result->insert(access->buffer.get());
  return result;
}

Origins InputUses::origins(const Expr &e) const {
  Origins result;
  walk(e, [&](const Expr &node) {
    if (const auto *var = node.as<Var>())
      result.insert(var->get());
    const auto *access = node.as<Load>();
    if (!access)
      return;
    auto stage = of_stage_.find(access->buffer.get());
    if (stage != of_stage_.end())
      result.insert(stage->second.begin(), stage->second.end());
    if (access->buffer->role != Role::temporary)
      result.insert(access->buffer.get());
  });
  return result;
}

} // namespace nestsmith
