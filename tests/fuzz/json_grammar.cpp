#include "tests/fuzz/json_grammar.h"

#include "dsl/expr/math_functions.h"

#include <algorithm>

namespace nestsmith::fuzz {

namespace json = llvm::json;

/// Draws numbers near limits: of types, of tiles, and of the masks of the simulator.
std::int64_t any_number(Random &random) {
  if (random.chance(60))
    return random.pick({0, 1, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 130, 257, -1, -2, -7});
  static const std::vector<std::int64_t> large = {127,
                                                  128,
                                                  255,
                                                  256,
                                                  1000,
                                                  1024,
                                                  4097,
                                                  65535,
                                                  65536,
                                                  (1 << 20) + 1,
                                                  (1 << 24) + 1,
                                                  (1 << 26) + 3,
                                                  INT32_MAX,
                                                  -std::int64_t{INT32_MAX} - 1,
                                                  std::int64_t{1} << 32,
                                                  std::int64_t{1} << 40,
                                                  (std::int64_t{1} << 53) + 1,
                                                  (std::int64_t{1} << 61) + 1,
                                                  1103515245,
                                                  1000003};
  return random.pick(large);
}

json::Value list_of(std::initializer_list<json::Value> items) {
  json::Array array;
  for (const json::Value &item : items)
    array.push_back(item);
  return array;
}

json::Value Grammar::name() {
  return scope_.names.empty() ? json::Value(random_.pick({0, 1})) : json::Value(random_.pick(scope_.names));
}

json::Value Grammar::index(int depth) {
  if (depth == 0 || random_.chance(45))
    return random_.chance(75) ? name() : json::Value(any_number(random_));
  if (random_.chance(8))
    return list_of({"cast", "i64", of(random_.chance(50) ? "i32" : "u32", depth - 1)});
  static const std::vector<std::string> operators = {
      "+",   "+",   "-",       "-",      "*",       "*",          "floordiv",   "floormod",
      "min", "max", "bit_and", "bit_or", "bit_xor", "shift_left", "shift_right"};
  return list_of({random_.pick(operators), index(depth - 1), index(depth - 1)});
}

json::Value Grammar::condition() {
  static const std::vector<std::string> compares = {"<", "<=", "<", "<=", "==", "!="};
  if (random_.chance(15))
    return list_of({random_.chance(50) ? "&&" : "||", condition(), condition()});
  std::string dtype = random_.chance(80) ? "i64" : any_buffer_dtype();
  return list_of({random_.pick(compares), of(dtype, 1), of(dtype, 1)});
}

json::Value Grammar::extent() {
  if (random_.chance(40) && !scope_.names.empty())
    return random_.chance(70) ? name() : list_of({random_.chance(50) ? "+" : "*", name(), any_number(random_)});
  return any_number(random_);
}

json::Value Grammar::zero(const std::string &dtype) { return list_of({dtype.empty() ? "f32" : dtype, 0}); }

json::Value Grammar::of(const std::string &dtype, int depth) {
  if (dtype.empty() || dtype == "i64")
    return index(depth);
  if (dtype == "bool")
    return condition();
  bool real = dtype.find('f') != std::string::npos;
  if (depth > 0 && random_.chance(50)) {
    static const std::vector<std::string> common = {"+", "-", "*", "min", "max"}, reals = {"+", "*", "/"},
                                          integers = {"*",       "floordiv",   "floormod",
                                                      "+",       "bit_and",    "bit_or",
                                                      "bit_xor", "shift_left", "shift_right"};
    if (random_.chance(12))
      return list_of(
          {random_.chance(50) ? "select" : "branch", condition(), of(dtype, depth - 1), of(dtype, depth - 1)});
    if (real && random_.chance(10)) {
      const MathFunction &function = math_functions()[random_.below(math_functions().size())];
      json::Array made{std::string(function.name)};
      for (int n = 0; n < function.operands; ++n)
        made.push_back(of(random_.chance(90) ? dtype : "i32", depth - 1));
      return made;
    }
    const std::string &op = random_.pick(random_.chance(60) ? common : real ? reals : integers);
    return list_of({op, of(dtype, depth - 1), of(dtype, depth - 1)});
  }
  if (random_.chance(65))
    return element(dtype);
  if (random_.chance(40))
    return list_of({"cast", dtype, index(1)});
  if (real && random_.chance(60))
    return list_of({dtype, random_.pick(std::vector<double>{0, 0.5, 1, 2, 3, 0.1, -1e9, 1e10, 1e-7, 3e38})});
  return list_of({dtype, any_number(random_)});
}

json::Value Grammar::element(const std::string &dtype) {
  std::vector<KnownBuffer> fitting;
  for (const KnownBuffer &buffer : scope_.buffers)
    if (buffer.dtype == dtype)
      fitting.push_back(buffer);
  bool fits = !fitting.empty() && random_.chance(85);
  if (!fits)
    fitting = scope_.buffers;
  if (fitting.empty())
    return list_of({"cast", dtype, index(1)});
  json::Value read = load(random_.pick(fitting));
  return fits ? read : list_of({"cast", dtype, std::move(read)});
}

void Grammar::adapt(json::Value &expression) {
  walk_nodes(expression, [&](json::Value &node) {
    if (auto text = node.getAsString()) {
      if (dtype_of(node, scope_).empty())
        node = name();
      return;
    }
    json::Array *array = node.getAsArray();
    if (!array || array->size() < 2)
      return;
    auto head = (*array)[0].getAsString();
    if (head == llvm::StringRef("value")) {
      auto place = (*array)[1].getAsInteger();
      if (!place || *place < 0 || static_cast<std::size_t>(*place) >= scope_.values.size())
        node = name();
    } else if (head == llvm::StringRef("load") && array->size() > 2) {
      adapt_load(node, *array);
    }
  });
}

std::string Grammar::any_buffer_dtype() {
  return scope_.buffers.empty() ? "i64" : random_.pick(scope_.buffers).dtype;
}
json::Value Grammar::load(const KnownBuffer &buffer) {
  json::Array indices;
  for (std::size_t n = 0; n < buffer.rank; ++n)
    indices.push_back(random_.chance(75) ? name() : index());
  if (random_.chance(30))
    return list_of({"load", buffer.name, std::move(indices), condition(), zero(buffer.dtype)});
  return list_of({"load", buffer.name, std::move(indices)});
}

void Grammar::adapt_load(json::Value &node, json::Array &array) {
  auto text = array[1].getAsString();
  auto known = std::ranges::find(scope_.buffers, text ? text->str() : "", &KnownBuffer::name);
  if (known == scope_.buffers.end()) {
    if (scope_.buffers.empty()) {
      node = name();
      return;
    }
    known = scope_.buffers.begin() + static_cast<std::ptrdiff_t>(random_.below(scope_.buffers.size()));
    array[1] = known->name;
  }
  if (array.size() == 5 && !known->dtype.empty())
    array[4] = zero(known->dtype);
  json::Array *indices = array[2].getAsArray();
  while (indices && indices->size() > known->rank)
    indices->pop_back();
  while (indices && indices->size() < known->rank)
    indices->push_back(name());
}

/// Draws a leading dimension up to the limits of 64 bits.
json::Value Grammar::leading() {
  if (random_.chance(60))
    return extent();
  std::int64_t large = std::int64_t{1} << random_.pick({20, 31, 32, 58, 60, 61, 62});
  return large + random_.pick({-1, 0, 1, large / 2});
}

} // namespace nestsmith::fuzz
