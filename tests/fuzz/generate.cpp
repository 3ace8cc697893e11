/// Draws random computations: their extents, tensors and stages.

#include "tests/fuzz/generator.h"

#include "dsl/expr/math.h"
#include "tests/dsl/affine_rows.h"
#include "tests/fuzz/user_intrinsics.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

namespace nestsmith::fuzz {

namespace {

/// Limits of the number of elements of a stage times the terms of its sum. The simulator takes a millisecond
/// for 2500.
constexpr std::int64_t most_instances = 2500, most_of_huge = INT32_MAX;
DType any_arithmetic(Random &random) {
  using enum DType;
  return random.pick(std::vector{u32, u32, u32, u32, u32, u32, u32, f32, f32, f32, f32,
                                 f32, f32, i32, i32, i32, i64, i64, u64, f64, f64});
}

const std::vector<std::string> axis_names = {"i", "j", "l"}, sum_names = {"k", "r"};

} // namespace

Generator::Generator(std::uint64_t seed)
    : random_(seed ^ 0x6a09e667f3bcc909U), work_(generated_prefix + std::to_string(seed)),
      main_(any_arithmetic(random_)), functions_(seed % 16 == 5) {
  if (functions_)
    main_ = seed % 64 == 5 ? DType::f64 : DType::f32;
}

Generated Generator::make() {
  wide_ = chance(30);
  huge_ = chance(4);
  most_instances_ = huge_ ? most_of_huge : most_instances;
  choose_extents();
  tangled_ = chance(40);
  for (std::size_t n = chance(tangled_ ? 75 : 40) ? 1 + random_.below(2) : 0; n > 0; --n)
    add_inout();
  if (chance(15))
    scalars_.push_back({work_.scalar(fresh("s"), main_), 8, 0, true});
  std::size_t stages = (tangled_ ? 0 : 1) + random_.below(tangled_ ? 3 : 4);
  if (chance(30))
    stages += random_.below(3);
  if (tangled_ && chance(30))
    add_look_back();
  for (InPlace &target : inouts_)
    if (tangled_ && chance(50))
      add_overwrite(target);
  for (std::size_t n = 0; n < stages; ++n) {
    if (!inouts_.empty() && chance(35)) {
      InPlace &target = inouts_[random_.below(inouts_.size())];
      if (!target.updated) {
        add_update(target, chance(30));
        continue;
      }
    }
    add_stage();
  }
  for (InPlace &target : inouts_)
    if (!target.updated) {
      add_update(target, chance(30));
      if (chance(50))
        add_stage();
    }
  if (stages_.empty() && inouts_.empty())
    add_stage();
  return {work_.output(results()), shape_, main_, fits_, huge_};
}

// ---- extents

void Generator::choose_extents() {
  static const std::vector<std::int64_t> extents = {1,  2,  3,  4,  4,  5,  6,  7,  8,  8,  9, 11,
                                                    12, 13, 15, 16, 16, 17, 19, 24, 31, 32, 33};
  std::size_t rank = 1 + random_.below(3);
  do {
    shape_.clear();
    for (std::size_t n = 0; n < rank; ++n)
      shape_.push_back(rank == 1 && chance(50) ? random_.pick({33, 63, 64, 65, 100, 127, 129})
                       : rank == 1 && wide_    ? random_.pick({131, 255, 257, 1000, 1025, 2049})
                                               : random_.pick(extents));
    if (huge_)
      shape_[random_.below(rank)] = random_.pick({1000003, (1 << 20) + 1, 3 << 20, (1 << 24) + 1, INT32_MAX});
  } while (std::accumulate(shape_.begin(), shape_.end(), std::int64_t{1}, std::multiplies()) > most_instances_);
  if (!huge_ && chance(wide_ ? 30 : 12)) {
    std::int64_t unit = random_.pick({1, 1, 1, 4});
    for (std::int64_t &extent : shape_)
      extent = (extent + unit - 1) / unit * unit;
    shape_.stated = Size{.max = std::int64_t{1} << 15, .multiple_of = unit};
  }
  static const char *const names[] = {"M", "N", "K"};
  for (std::size_t n = 0; n < rank; ++n)
    bases_.push_back({shape_.stated ? work_.size(names[n], *shape_.stated) : Expr(shape_[n]), shape_[n]});
}

Extent Generator::any_extent() {
  const Extent &base = bases_[random_.below(bases_.size())];
  if (chance(75))
    return base;
  if (chance(30)) {
    std::int64_t number = random_.pick({1, 2, 3, 4, 8});
    return {Expr(number), number};
  }
  if (chance(50)) {
    std::int64_t more = random_.pick({1, 2});
    return {base.size + more, base.value + more};
  }
  const Extent &other = bases_[random_.below(bases_.size())];
  if (!shape_.stated && !huge_ && base.value * other.value <= 400)
    return {base.size * other.size, base.value * other.value};
  return base;
}

std::vector<Extent> Generator::any_shape() {
  if (tangled_ && chance(90)) {
    std::vector<Extent> shape = bases_;
    shape.resize(std::min<std::size_t>(shape.size(), 2));
    return shape;
  }
  while (true) {
    std::vector<Extent> shape;
    double elements = 1;
    // Often the shape of an existing tensor is used, so that loops of stages match.
    if (!stages_.empty() && chance(55))
      shape = random_.pick(stages_).shape;
    else
      for (std::size_t n = chance(15) ? 3 : 1 + random_.below(2); n > 0; --n)
        shape.push_back(any_extent());
    for (const Extent &extent : shape)
      elements *= static_cast<double>(extent.value);
    if (elements <= static_cast<double>(most_instances_))
      return shape;
  }
}

// ---- tensors

DType Generator::any_storage(DType type) {
  using enum DType;
  if (type == f32)
    return random_.pick(std::vector{f32, f32, f32, f16, bf16});
  if (type == f64)
    return random_.pick(std::vector{f64, f64, f64, f32});
  if (type == u32)
    return random_.pick(std::vector{u32, u32, u32, u32, u32, u16, u8, i8});
  if (type == i32)
    return random_.pick(std::vector{i32, i32, i32, i8, i16, u8});
  return type;
}

Stored Generator::any_stored(const std::vector<Extent> &shape) {
  if (shape.size() < 2 || !chance(wide_ && shape_.stated ? 45 : 12))
    return {};
  if (shape_.stated) {
    const Extent &base = bases_[random_.below(bases_.size())]; // an extent of another dimension
    bool fits = base.value >= shape.back().value && !base.is(shape.back());
    return {fits && chance(wide_ ? 85 : 35) ? base.size : work_.size(fresh("ld"), *shape_.stated)};
  }
  const std::int64_t row = shape.back().value, to_vector = (row + 3) / 4 * 4 - row;
  return {Expr(row + random_.pick(std::vector<std::int64_t>{to_vector, 1, 3, 4}))};
}

static std::int64_t elements_of(const std::vector<Extent> &shape) {
  std::int64_t elements = 1;
  for (const Extent &extent : shape)
    elements *= extent.value;
  return elements;
}

static std::vector<Expr> sizes_of(const std::vector<Extent> &shape) {
  std::vector<Expr> sizes;
  for (const Extent &extent : shape)
    sizes.push_back(extent.size);
  return sizes;
}

Tensor Generator::placeholder(const std::vector<Extent> &shape, DType dtype) {
  Stored stored = any_stored(shape);
  Tensor tensor = work_.placeholder(fresh("X"), sizes_of(shape), dtype, stored);
  sources_.push_back({tensor, shape, 8, 0, true});
  return tensor;
}

void Generator::add_inout() {
  std::vector<Extent> shape = any_shape();
  DType dtype = chance(80) ? main_ : any_arithmetic(random_);
  Stored stored = any_stored(shape);
  inouts_.push_back({work_.inout(fresh("C"), sizes_of(shape), dtype, stored), shape});
  sources_.push_back({inouts_.back().tensor, shape, 8});
}

// ---- stages

void Generator::open(const std::vector<Extent> &shape, bool sums) {
  places_.clear();
  sums_.clear();
  std::int64_t instances = 1;
  for (std::size_t n = 0; n < shape.size(); ++n) {
    places_.push_back({make_var(axis_names[n]), shape[n]});
    instances *= shape[n].value;
  }
  for (std::size_t n = 0; sums && n < (chance(25) ? 2U : 1U); ++n) {
    Extent extent = any_extent();
    if (chance(25)) {
      std::int64_t window = random_.pick({2, 3, 4});
      extent = {Expr(window), window};
    }
    if (instances * extent.value > most_instances_)
      extent = {Expr(2), 2};
    instances *= extent.value;
    sums_.push_back(reduce_axis(sum_names[n], extent.size));
    places_.push_back({sums_.back(), extent});
  }
  bool others = sums && chance(30);
  reducer_ = others ? reducers[1 + random_.below(reducers.size() - 1)] : Reducer::sum;
}

double Generator::terms() const {
  double terms = 1;
  for (std::size_t n = places_.size() - sums_.size(); n < places_.size(); ++n)
    terms *= static_cast<double>(places_[n].extent.value);
  return terms;
}

Value Generator::stage_value(DType type) {
  if (type == DType::boolean)
    return {condition(1), 1, 0, true};
  Value result;
  if (!sums_.empty() && chance(50)) {
    Value a = read(type), b = read(type);
    result = combine(BinaryOp::mul, a, b);
  } else {
    result = value(type, tangled_ ? 1 : 2);
  }
  while (!wanted_.empty()) {
    Value more = read(type);
    result = combine(BinaryOp::add, result, more);
  }
  if (reducer_ == Reducer::product &&
      (is_float(type) || byte_size(type) == 8)) // its magnitude has no useful limit
    reducer_ = Reducer::max;
  if (is_float(type)) {
    if (result.magnitude * terms() > most_in_f32)
      result = read(type, true);
    if (wide_ && type == DType::f32 && chance(6))
      result = beyond_f32(result);
    result.given = result.given && sums_.empty();
  } else if (byte_size(type) == 8 && result.magnitude * terms() > most_in_64_bits) {
    result = {shift_right(result.expr, 24), 0x1p40, 0, true};
  }
  result.magnitude = reducer_ == Reducer::product ? all_of_64_bits : result.magnitude * terms();
  return sums_.empty() ? stored(result) : result;
}

Value Generator::beyond_f32(Value value) {
  for (int n = 0; n < 2; ++n)
    value.expr = (value.expr + constant(DType::f32, chance(60) ? 0.5 : 0)) * Expr(3e38F);
  return {value.expr, most_in_f32, 0, false};
}

Value Generator::stored(Value value) {
  if (!chance(10))
    return value;
  if (is_float(value.type())) {
    DType narrow = chance(50) ? DType::f16 : value.type() == DType::f64 ? DType::f32 : DType::bf16;
    Value result = rounded(value, narrow);
    result.expr = cast(narrow, value.expr);
    return result.bits == value.bits && rounds_ <= most_rounds && value.magnitude < 60000 ? result : value;
  }
  if (value.type() == DType::u32)
    return {cast(chance(60) ? DType::u16 : DType::u8, value.expr), 0x1p16, 0, true};
  if (value.type() == DType::i32)
    return {cast(chance(50) ? DType::i8 : DType::i16, value.expr), 0x1p15, 0, true};
  return value;
}

Definition Generator::definition(const Value &value, const std::vector<Expr> &indices) {
  walk(value.expr, [&](const Expr &e) {
    if (const auto *access = e.as<Load>())
      read_.insert(access->buffer);
  });
  Expr expr = substitute(value.expr, [&](const Var &var) -> Expr {
    for (std::size_t n = 0; n < indices.size(); ++n)
      if (*places_[n].at.as<Var>() == var)
        return indices[n];
    return {};
  });
  bool is_constant = expr.as<IntImm>() || expr.as<FloatImm>(); // no reducer but a sum depends on it for sure
  return {expr, sums_, is_constant ? Reducer::sum : reducer_};
}

void Generator::add_stage() {
  if (wanted_.empty() && chance(15))
    return add_stage_of_intrinsic();
  if (wanted_.empty() && chance(5))
    return add_stage_of_tuples();
  std::vector<Extent> shape = any_shape();
  bool is_mask = chance(5);
  open(shape, !is_mask && chance(tangled_ ? 20 : 40));
  add_tensor(shape, stage_value(is_mask ? DType::boolean : chance(82) ? main_ : any_arithmetic(random_)));
}

void Generator::add_tensor(const std::vector<Extent> &shape, const Value &value) {
  std::vector<std::string> names(axis_names.begin(),
                                 axis_names.begin() + static_cast<std::ptrdiff_t>(shape.size()));
  Tensor tensor = work_.compute(fresh("T"), sizes_of(shape), names,
                                [&](const std::vector<Expr> &indices) { return definition(value, indices); });
  stages_.push_back({tensor, shape, value.magnitude, value.bits, value.given});
  sources_.push_back(stages_.back());
}

/// A stage of tuples, and two stages with the parts: the best of its terms and the last index of the best, or a
/// composition of functions, whose order counts.
void Generator::add_stage_of_tuples() {
  std::vector<Extent> shape = any_shape();
  open(shape, true);
  bool composes = chance(40);
  DType type = composes || is_narrow(main_) ? DType::u32 : main_;
  Value term = read(type, true);
  Reducer reducer = composes ? test::composed() : chance(50) ? argmax(type) : argmin(type);
  std::vector<TuplePart> parts = parts_of(identity_of(reducer, type).dtype());
  std::vector<std::string> names(axis_names.begin(),
                                 axis_names.begin() + static_cast<std::ptrdiff_t>(shape.size()));
  Tensor tuples = work_.compute(fresh("T"), sizes_of(shape), names, [&](const std::vector<Expr> &indices) {
    Expr value = definition(term, indices).value;
    Expr last = cast(parts[1].dtype, sums_.back());
    return reduce(reducer, tuple({{parts[0].name, value}, {parts[1].name, last}}), sums_);
  });
  read_.insert(tuples.buffer());
  Value second{Expr(0), static_cast<double>(places_.back().extent.value), 0, true};
  if (composes)
    term = second = {Expr(0), all_of_64_bits, 0, true};
  for (const auto &[n, of] : {std::pair(0, term), std::pair(1, second)}) {
    Tensor part_of = work_.compute(fresh("T"), sizes_of(shape), names, [&](const std::vector<Expr> &indices) {
      return part(load(tuples.buffer(), indices), static_cast<std::size_t>(n));
    });
    stages_.push_back({part_of, shape, of.magnitude, of.bits, of.given});
    sources_.push_back(stages_.back());
  }
}

void Generator::add_stage_of_intrinsic() {
  ThreadIntrinsic user = thread_intrinsic(any_thread_intrinsic(random_));
  const Nest &meaning = user.intrinsic->meaning;
  DType type = meaning.body.buffer->dtype;
  std::vector<Extent> shape = any_shape();
  std::int64_t number = user.width * random_.pick({1, 2, 2, 3, 4}) + (chance(12) ? random_.pick({1, 2, 3}) : 0);
  Extent extent{Expr(number), number};
  while (elements_of(shape) * number > most_instances_)
    shape.pop_back();
  if (shape.empty())
    shape.push_back({Expr(2), 2});
  open(shape, false);
  sums_.push_back(reduce_axis(sum_names[0], extent.size));
  places_.push_back({sums_.back(), extent});
  std::map<Buffer, Expr> elements;
  for (const Operand &operand : user.intrinsic->operands)
    if (operand.formal != meaning.body.buffer)
      elements[operand.formal] = element_of_rows(operand.formal->dtype, !operand.formal->shape.empty());
  Value value{replace_nodes(user.term,
                            [&](const Expr &e) {
                              const auto *access = e.as<Load>();
                              return access ? elements.at(access->buffer) : Expr();
                            }),
              user.magnitude * terms(), 0, !is_float(type)};
  double most = is_float(type) ? most_in_f32 : byte_size(type) == 8 ? most_in_64_bits : all_of_64_bits;
  if (value.magnitude > most)
    value = {constant(type, 1), terms(), 0, true};
  else
    fits_.push_back({"T" + std::to_string(names_), user.intrinsic->name, user.width});
  add_tensor(shape, value);
}

void Generator::add_update(InPlace &target, bool sums) {
  open(target.shape, sums);
  DType type = target.tensor.buffer()->dtype;
  auto source = std::ranges::find(sources_, target.tensor.buffer(),
                                  [](const Source &source) { return source.tensor.buffer(); });
  Source old = *source;
  sources_.erase(source); // the update may read the overwritten element only
  Value result = stage_value(type);
  if (result.type() != type)
    result = {cast(type, result.expr), result.magnitude, result.bits, result.given};
  if (sums_.empty() && chance(65)) {
    std::vector<Expr> own;
    for (const StageAxis &place : places_)
      own.push_back(place.at);
    Value element{load(target.tensor.buffer(), own), old.magnitude, 0, !is_float(type)};
    BinaryOp op = chance(50) ? BinaryOp::add : BinaryOp::mul;
    element = chance(30) ? any_change(element) : combine(op, element, result);
    if (element.magnitude <= (is_float(type)         ? most_in_f32
                              : byte_size(type) == 8 ? most_in_64_bits
                                                     : all_of_64_bits))
      result = element;
  }
  std::vector<std::string> names(axis_names.begin(),
                                 axis_names.begin() + static_cast<std::ptrdiff_t>(target.shape.size()));
  work_.update(target.tensor, names,
               [&](const std::vector<Expr> &indices) { return definition(result, indices); });
  target.updated = true;
  old.magnitude = std::max(old.magnitude, result.magnitude);
  old.bits = result.bits;
  sources_.push_back(old);
}

void Generator::add_overwrite(InPlace &target) {
  wanted_ = {{*std::ranges::find(sources_, target.tensor.buffer(),
                                 [](const Source &source) { return source.tensor.buffer(); })}};
  add_stage();
  Source kept = stages_.back();
  inner_.insert(kept.tensor.buffer());
  bool sums = chance(40);
  if (sums || chance(50))
    wanted_ = {{kept}};
  add_update(target, sums);
  if (sums) // no other stage reads T
    std::erase_if(sources_,
                  [&](const Source &source) { return source.tensor.buffer() == kept.tensor.buffer(); });
  else
    wanted_ = {{kept}};
  add_stage();
}

void Generator::add_look_back() {
  add_stage();
  Source first = stages_.back();
  inner_.insert(first.tensor.buffer());
  wanted_ = {{first}};
  add_stage();
  Source second = stages_.back();
  outer_.insert(second.tensor.buffer());
  wanted_ = {{first}, {second, true}};
  add_stage();
}

std::vector<Result> Generator::results() {
  std::vector<Result> results;
  for (const Source &stage : stages_)
    if (!read_.contains(stage.tensor.buffer()) || outer_.contains(stage.tensor.buffer()) ||
        (!inner_.contains(stage.tensor.buffer()) && chance(30)))
      results.emplace_back(stage.tensor, any_stored(stage.shape));
  return results;
}

Generated generated(std::uint64_t seed) { return Generator(seed).make(); }

} // namespace nestsmith::fuzz
