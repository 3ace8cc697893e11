/// Draws the reads of random computations: the tensors, their indices and masks.

#include "tests/fuzz/generator.h"

#include <algorithm>

namespace nestsmith::fuzz {

static Value value_of(const Expr &element, const Source &source) {
  if (is_float(element.dtype()))
    return {element, source.magnitude, source.bits, source.given};
  return {element, byte_size(element.dtype()) < 8 ? 0x1p32 : source.magnitude, 0, true};
}

Value Generator::read_wanted(const Wanted &wanted) {
  const Source &source = wanted.source;
  std::vector<Expr> indices;
  Expr mask;
  for (std::size_t n = 0; n < source.shape.size(); ++n) {
    bool own = n < places_.size() && places_[n].extent.is(source.shape[n]);
    indices.push_back(own ? places_[n].at : index_below(source.shape[n], mask));
    if (n > 0 || !own || !wanted.before)
      continue;
    std::int64_t by = random_.pick({1, 1, 2});
    indices[0] = indices[0] - by;
    mask = Expr(by - 1) < places_[0].at;
  }
  const Buffer &buffer = source.tensor.buffer();
  Expr element =
      mask.exists() ? load(buffer, indices, mask, constant(buffer->dtype, 0)) : load(buffer, indices);
  return value_of(element, source);
}

Value Generator::read(DType type, bool only_given) {
  if (!wanted_.empty() && nested_ == 0 && !only_given) {
    Wanted wanted = wanted_.back();
    wanted_.pop_back();
    if (auto value = converted(read_wanted(wanted), type))
      return *value;
  }
  // Draw later tensors more often, so that stages read each other.
  for (int tries = 0; tries < 3 && !sources_.empty() && chance(tangled_ ? 92 : 75); ++tries) {
    std::size_t at = std::max(random_.below(sources_.size()), random_.below(sources_.size()));
    const Source source = sources_[at];
    if (only_given && is_float(type) && !source.given)
      continue;
    if (auto value = converted(read_of(source), type))
      return *value;
  }
  if (!scalars_.empty() && scalars_[0].type() == type && chance(20))
    return scalars_[0];
  if (chance(8)) { // read an index as a number
    if (wide_ && chance(40))
      return {cast(type, max(min(divided_index(any_place()), Expr(6)), Expr(-6))), 6, 0, true};
    Expr at = any_place().at + random_.pick({0, 1, 5});
    Expr index = floormod(at, random_.pick({2, 3, 7}));
    return {cast(type, index), 6, 0, true};
  }
  return read_of_new(type);
}

Value Generator::read_of(const Source &source) {
  std::vector<Expr> indices;
  Expr mask;
  std::size_t axes = places_.size() - sums_.size();
  bool own = tangled_ && source.shape.size() == axes && chance(70);
  for (std::size_t n = 0; n < source.shape.size(); ++n)
    indices.push_back(own && places_[n].extent.is(source.shape[n]) ? places_[n].at
                                                                   : index_below(source.shape[n], mask));
  const Buffer &buffer = source.tensor.buffer();
  mask = any_mask(mask);
  Expr element =
      mask.exists() ? load(buffer, indices, mask, constant(buffer->dtype, 0)) : load(buffer, indices);
  return value_of(element, source);
}

Value Generator::read_of_new(DType type) {
  std::vector<Extent> shape;
  std::vector<Expr> indices;
  std::vector<StageAxis> places = places_;
  random_.shuffle(places);
  std::int64_t elements = 1;
  for (std::size_t n = std::min(places.size(), 1 + random_.below(3)); n-- > 0;) {
    auto [index, extent] = index_of_new(places[n]);
    if (extent.value > most_elements() / elements)
      continue;
    elements *= extent.value;
    indices.push_back(index);
    shape.push_back(extent);
  }
  if (shape.empty()) {
    indices.push_back(0);
    shape.push_back({Expr(1), 1});
  }
  Tensor tensor = placeholder(shape, any_storage(type));
  Expr mask = any_mask({});
  const Buffer &buffer = tensor.buffer();
  Expr element =
      mask.exists() ? load(buffer, indices, mask, constant(buffer->dtype, 0)) : load(buffer, indices);
  bool wide = !is_float(buffer->dtype) && byte_size(buffer->dtype) < 8;
  return *converted({element, wide ? 0x1p32 : 8, 0, true}, type);
}

Expr Generator::element_of_rows(DType stored, bool in_rows) {
  std::vector<Extent> shape;
  std::vector<Expr> indices;
  std::int64_t elements = in_rows ? places_.back().extent.value : 1;
  for (std::size_t n = 0; n + 1 < places_.size(); ++n)
    if (chance(60) && places_[n].extent.value <= most_elements() / elements) {
      elements *= places_[n].extent.value;
      indices.push_back(places_[n].at);
      shape.push_back(places_[n].extent);
    }
  if (in_rows || shape.empty()) {
    indices.push_back(in_rows ? places_.back().at : Expr(0));
    shape.push_back(in_rows ? places_.back().extent : Extent{Expr(1), 1});
  }
  Tensor tensor = placeholder(shape, stored);
  Expr mask = chance(20) ? any_mask({}) : Expr();
  return mask.exists() ? load(tensor.buffer(), indices, mask, constant(stored, 0))
                       : load(tensor.buffer(), indices);
}

/// Returns `mask`, sometimes combined with another condition.
Expr Generator::any_mask(Expr mask) {
  if (nested_ > 0 || !chance(huge_ ? 35 : 7))
    return mask;
  ++nested_;
  Expr more = condition(0);
  --nested_;
  return mask.exists() ? mask && more : more;
}

Expr Generator::index_below(const Extent &extent, Expr &mask) {
  if (chance(6))
    if (auto index = index_below_another(any_place(), extent, mask))
      return *index;
  std::vector<StageAxis> fitting;
  for (const StageAxis &place : places_)
    if (place.extent.is(extent))
      fitting.push_back(place);
  if (!fitting.empty() && chance(70))
    return random_.pick(fitting).at;
  StageAxis place = any_place();
  if (!fitting.empty() && chance(70))
    place = random_.pick(fitting);
  if (nested_ == 0 && chance(15))
    return gathered_index(extent);
  if (wide_ && chance(8))
    return max(min(divided_index(place), extent.size - 1), 0);
  if (chance(25))
    return masked_index(place, extent, mask);
  if (chance(25) && place.extent.is(extent))
    return clamped_index(place, extent);
  if (auto index = direct_index(place, extent))
    return *index;
  return chance(85) ? floormod(place.at + random_.pick({0, 0, 1, 3}), extent.size) : Expr(0);
}

/// Returns an index that is in bounds because of the extents alone, or none.
std::optional<Expr> Generator::direct_index(const StageAxis &place, const Extent &extent) {
  const Expr &at = place.at;
  if (place.extent.is(extent))
    return chance(60) ? extent.size - 1 - at : at;
  if (auto more = as_int(extent.size - place.extent.size); more && *more > 0)
    return at + static_cast<std::int64_t>(random_.below(static_cast<std::size_t>(*more) + 1));
  if (!extent.fixed() || !place.extent.fixed())
    return std::nullopt;
  std::int64_t own = place.extent.value, all = extent.value;
  const StageAxis &other = any_place();
  if (other.extent.fixed() && own > 1 && other.extent.value > 1 && *other.at.as<Var>() != *at.as<Var>()) {
    if (own * other.extent.value <= all && chance(60))
      return at * other.extent.value + other.at;
    if (own + other.extent.value - 1 <= all && chance(60))
      return at + other.at;
  }
  if (2 * own - 1 <= all && chance(50))
    return at * 2 + (2 * own <= all && chance(50) ? 1 : 0);
  if (own <= all)
    return chance(30) ? all - 1 - at
                      : at + static_cast<std::int64_t>(random_.below(static_cast<std::size_t>(all - own) + 1));
  std::int64_t parts = (own + all - 1) / all;
  return chance(60) ? floordiv(at, parts) : floormod(at, all);
}

Expr Generator::masked_index(const StageAxis &place, const Extent &extent, Expr &mask) {
  auto require = [&](const Expr &condition) { mask = mask.exists() ? mask && condition : condition; };
  if (place.extent.is(extent) && chance(60)) { // read an adjacent element, if it exists
    std::int64_t by = random_.pick({1, 1, 2});
    if (chance(50)) {
      require(Expr(by - 1) < place.at);
      return place.at - by;
    }
    require(place.at + by < extent.size);
    return place.at + by;
  }
  Expr index = chance(40)   ? place.at * 2 - 1
               : chance(50) ? place.at + any_place().at
                            : place.at - random_.pick({0, 1, 2});
  require(Expr(0) <= index && index < extent.size);
  return index;
}

Expr Generator::clamped_index(const StageAxis &place, const Extent &extent) {
  const Expr &at = place.at;
  Expr last = extent.size - 1;
  switch (random_.below(3)) {
  case 0:
    return min(at + 1, last);
  case 1:
    return max(at - 1, 0);
  default:
    return select(at < random_.pick({1, 3, 4}), at, last - at);
  }
}

std::optional<Expr> Generator::index_below_another(const StageAxis &place, const Extent &extent, Expr &mask) {
  std::vector<StageAxis> others;
  for (const StageAxis &other : places_)
    if (other.extent.is(extent) && *other.at.as<Var>() != *place.at.as<Var>())
      others.push_back(other);
  if (others.empty())
    return std::nullopt;
  const Expr &most = random_.pick(others).at, &at = place.at;
  std::int64_t by = random_.pick({0, 0, 0, 1, 2});
  auto require = [&](const Expr &condition) { mask = mask.exists() ? mask && condition : condition; };
  switch (random_.below(4)) {
  case 0:
    require(at <= most);
    return at;
  case 1:
    require(equal(at + by, most));
    return at + by;
  case 2:
    require(at + by <= most);
    return most - at;
  default:
    require(at + by < most);
    return at + by;
  }
}

Expr Generator::divided_index(const StageAxis &place) {
  const StageAxis &other = any_place();
  Expr dividend = place.at * random_.pick({1, 1, 3}) + random_.pick({0, 1, -5});
  Expr divisor = chance(30)   ? other.at
                 : chance(40) ? other.at - random_.pick({1, 2, 7})
                 : chance(50) ? place.at
                              : Expr(random_.pick({-7, -2, -1, 3, (1 << 24) + 1}));
  return chance(50) ? floordiv(dividend, divisor) : floormod(dividend, divisor);
}

Expr Generator::gathered_index(const Extent &extent) {
  ++nested_;
  Value position = read(DType::u32);
  --nested_;
  Expr size = extent.fixed() ? int_imm(extent.value, DType::u32) : cast(DType::u32, extent.size);
  return cast(DType::i64, floormod(position.expr, size));
}

std::pair<Expr, Extent> Generator::index_of_new(const StageAxis &place) {
  const Expr &at = place.at;
  const Extent &own = place.extent;
  if (chance(60))
    return {at, own};
  // Use a dimension of another size that is large enough in the run.
  const Extent &base = bases_[random_.below(bases_.size())];
  if (shape_.stated && chance(wide_ ? 50 : 5) && base.value >= own.value && !base.is(own))
    return {at, base};
  switch (random_.below(6)) {
  case 0: {
    std::int64_t more = random_.pick({1, 2, 3});
    return {at + random_.pick({0, 1, more}), {own.size + more, own.value + more}};
  }
  case 1:
    return {at * 2 + random_.pick({0, 1}), {own.size * 2, own.value * 2}};
  case 2:
    return {own.size - 1 - at, own};
  case 3: {
    const StageAxis &other = any_place();
    return {at + other.at, {own.size + other.extent.size - 1, own.value + other.extent.value - 1}};
  }
  case 4: {
    const StageAxis &other = any_place();
    if (other.extent.fixed() && own.value * other.extent.value <= 2000)
      return {at * other.extent.size + other.at,
              {own.size * other.extent.size, own.value * other.extent.value}};
    return {at, own};
  }
  default:
    if (!own.fixed())
      return {floormod(at, 3), {Expr(3), 3}};
    if (chance(25)) { // bits
      std::int64_t even = (own.value + 1) / 2 * 2;
      if (chance(40))
        return {at ^ 1, {Expr(even), even}};
      return chance(50) ? std::pair(at >> 1, Extent{Expr(even / 2), even / 2})
                        : std::pair((at & 3) << 1 | 1, Extent{Expr(8), 8});
    }
    std::int64_t by = random_.pick({2, 3, 4});
    return {floordiv(at, by), {Expr((own.value + by - 1) / by), (own.value + by - 1) / by}};
  }
}

} // namespace nestsmith::fuzz
