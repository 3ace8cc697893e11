#include "tests/fuzz/mutate_json.h"

#include "tests/fuzz/json_grammar.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <stdexcept>

namespace nestsmith::fuzz {

namespace json = llvm::json;

namespace {

constexpr std::size_t most_donors = 4000; ///< limit for one kind

std::int64_t changed(std::int64_t number, Random &random) {
  switch (random.below(8)) {
  case 0:
    return number + 1;
  case 1:
    return number - 1;
  case 2:
    return number / 2;
  case 3:
    return number > (std::int64_t{1} << 60) ? 1 : number * 2;
  case 4:
    return random.chance(30) ? -number : number + 1;
  case 5: // above the limits of unrolling, counting and simulation
    return number <= 0 || number > 1 << 20
               ? 1
               : (number << random.pick({4, 10, 16, 20, 24, 32})) + random.pick({0, 0, 1, -1});
  default:
    return any_number(random);
  }
}

class Mutator {
public:
  Mutator(json::Value trace, const Donors &donors, Random &random)
      : trace_(std::move(trace)), donors_(donors), random_(random) {}

  std::string run() {
    for (std::size_t n = 1 + random_.below(random_.chance(70) ? 3 : 8); n > 0; --n)
      step();
    std::string text;
    llvm::raw_string_ostream out(text);
    out << trace_;
    return out.str();
  }

private:
  static bool starts(const std::string &kind, const char *with) { return kind.rfind(with, 0) == 0; }

  /// Returns a random part of a kind that `f` accepts, or null.
  template <class F> Part *any_part(const F &f) {
    parts_ = parts_of(trace_);
    std::vector<Part *> fitting;
    for (Part &part : parts_)
      if (f(part.kind))
        fitting.push_back(&part);
    return fitting.empty() ? nullptr : random_.pick(fitting);
  }

  void step() {
    switch (random_.below(10)) {
    case 0:
      return change_everywhere();
    case 1:
    case 2:
      if (Part *part = any_part([](const std::string &kind) { return kind == "expression"; }))
        change_expression(*part);
      return;
    case 3:
      if (Part *part = any_part([](const std::string &kind) { return kind == "extent"; }))
        *part->at = Grammar(part->scope, random_).extent();
      return;
    case 4:
    case 5:
      return change_directives();
    case 6:
      if (Part *part = any_part([](const std::string &kind) {
            return kind == "stage" || kind == "size" || kind == "output" || kind == "tensor";
          }))
        change_object(*part);
      return;
    case 7:
      if (Part *part = any_part([](const std::string &kind) {
            return kind == "map" || kind == "number" || starts(kind, "argument");
          }))
        change_leaf(*part);
      return;
    default:
      if (Part *part = any_part([](const std::string &kind) { return kind != "stage" && kind != "tensor"; }))
        change_leaf(*part);
    }
  }

  /// Changes one number wherever it occurs, such as the extent of a size.
  void change_everywhere() {
    std::vector<std::int64_t> numbers;
    each_integer(trace_, [&](json::Value &, std::int64_t number) {
      if (number > 2)
        numbers.push_back(number);
    });
    if (numbers.empty())
      return;
    std::int64_t old = random_.pick(numbers), now = changed(old, random_);
    each_integer(trace_, [&](json::Value &value, std::int64_t number) {
      if (number == old)
        value = now;
    });
  }

  template <class F> static void each_integer(json::Value &value, const F &f) {
    if (value.getAsNumber()) {
      if (auto number = value.getAsInteger())
        f(value, *number);
    } else if (json::Array *array = value.getAsArray()) {
      for (json::Value &item : *array)
        each_integer(item, f);
    } else if (json::Object *object = value.getAsObject()) {
      for (auto &[key, item] : *object)
        if (key != "nestsmith_trace")
          each_integer(item, f);
    }
  }

  void change_expression(Part &part) {
    Grammar grammar(part.scope, random_);
    json::Value &at = *part.at;
    json::Array *array = at.getAsArray();
    bool load = array && array->size() >= 3 && (*array)[0].getAsString() == llvm::StringRef("load");
    switch (random_.below(7)) {
    case 0:
    case 1:
      at = grammar.of(part.dtype, 2);
      return;
    case 2: { // make the expression an operand of another operation
      bool real = part.dtype.find('f') != std::string::npos;
      static const std::vector<std::string> integers = {"+",      "-",        "*",          "min",
                                                        "max",    "floordiv", "floormod",   "bit_and",
                                                        "bit_or", "bit_xor",  "shift_left", "shift_right"},
                                            reals = {"+", "-", "*", "min", "max", "/"};
      if (part.dtype == "bool")
        return;
      json::Value copy = at;
      bool first = random_.chance(50);
      json::Value other = random_.chance(20) ? copy : grammar.of(part.dtype, 1);
      at = list_of({random_.pick(real ? reals : integers), first ? copy : other, first ? other : copy});
      return;
    }
    case 3:
      if (load) {
        auto name = (*array)[1].getAsString();
        auto known = std::ranges::find(part.scope.buffers, name ? name->str() : "", &KnownBuffer::name);
        std::string dtype = known == part.scope.buffers.end() ? "" : known->dtype;
        json::Value copy =
            list_of({(*array)[0], (*array)[1], (*array)[2], grammar.condition(), grammar.zero(dtype)});
        at = std::move(copy);
        return;
      }
      [[fallthrough]];
    case 4:
      if (array && array->size() == 3 && !load) { // exchange the operands
        std::swap((*array)[1], (*array)[2]);
        return;
      }
      [[fallthrough]];
    case 5:
      if (array && array->size() > 1 && (*array)[array->size() - 1].getAsArray() && !load) {
        json::Value inner = array->back();
        at = std::move(inner);
        return;
      }
      [[fallthrough]];
    default:
      replace(part);
    }
  }

  /// Replaces the part by another part of the same kind, from this trace or from another one.
  void replace(Part &part) {
    const json::Value *donor = nullptr;
    if (random_.chance(40)) {
      std::vector<const json::Value *> own;
      for (const Part &other : parts_)
        if (other.kind == part.kind && other.at != part.at)
          own.push_back(other.at);
      if (!own.empty())
        donor = random_.pick(own);
    }
    if (!donor)
      donor = donors_.any(part.kind, random_);
    if (!donor)
      return;
    json::Value copy = *donor;
    if (part.kind == "expression" || part.kind == "extent") {
      Grammar(part.scope, random_).adapt(copy);
      std::string dtype = dtype_of(copy, part.scope);
      if (dtype != part.dtype && !dtype.empty() && !part.dtype.empty() && dtype != "bool" &&
          part.dtype != "bool")
        copy = list_of({"cast", part.dtype, std::move(copy)});
    }
    *part.at = std::move(copy);
  }

  void change_leaf(Part &part) {
    auto number = part.at->getAsNumber() ? part.at->getAsInteger() : decltype(part.at->getAsInteger()){};
    if (part.kind == "map" && random_.chance(80)) {
      *part.at = changed_map(part.at->getAsString()->str());
    } else if (part.kind == "constant" && random_.chance(60)) {
      *part.at = random_.chance(70) ? json::Value(any_number(random_))
                 : random_.chance(50)
                     ? json::Value(-1e9)
                     : json::Value(random_.pick(std::vector<double>{0.1, 1e10, 1e-7, 0.5, 3e38}));
    } else if (number && random_.chance(80)) {
      *part.at = changed(*number, random_);
    } else if (starts(part.kind, "argument") && random_.chance(70)) {
      rename(*part.at);
    } else {
      replace(part);
    }
  }

  std::string changed_map(const std::string &map) {
    std::vector<std::size_t> numbers;
    for (std::size_t n = 1; n < map.size(); ++n)
      if (std::isdigit(static_cast<unsigned char>(map[n])) &&
          !std::isalnum(static_cast<unsigned char>(map[n - 1])) && map[n - 1] != '_')
        numbers.push_back(n);
    if (numbers.empty())
      return map;
    std::size_t at = random_.pick(numbers), length = 0;
    std::int64_t number = std::stoll(map.substr(at), &length);
    return map.substr(0, at) + std::to_string(std::abs(changed(number, random_))) + map.substr(at + length);
  }

  /// Replaces the name of a loop or a block, or the names of several loops.
  void rename(json::Value &argument) {
    std::vector<std::string> names = names_in(trace_);
    json::Object *object = argument.getAsObject();
    if (names.empty() || !object)
      return;
    for (auto &[key, value] : *object)
      if (json::Array *array = value.getAsArray()) {
        if (array->size() > 1 && random_.chance(60))
          std::swap((*array)[random_.below(array->size())], (*array)[random_.below(array->size())]);
        else if (!array->empty())
          (*array)[random_.below(array->size())] = random_.pick(names);
      } else {
        value = random_.pick(names);
      }
  }

  void change_directives() {
    Part *part = any_part([](const std::string &kind) { return kind == "directives"; });
    if (!part)
      return;
    json::Array &all = *part->at->getAsArray();
    std::size_t choice = random_.below(5), size = all.size();
    auto at = [&] { return all.begin() + static_cast<std::ptrdiff_t>(random_.below(size)); };
    if (size == 0)
      choice = 4;
    if (choice == 0) {
      json::Array fewer;
      std::size_t without = random_.below(size);
      for (std::size_t n = 0; n < size; ++n)
        if (n != without)
          fewer.push_back(std::move(all[n]));
      all = std::move(fewer);
    } else if (choice == 1) {
      json::Value copy = *at();
      all.insert(at(), std::move(copy));
    } else if (choice == 2) {
      std::swap(*at(), *at());
    } else if (choice == 3) { // remove the last elements
      if (random_.chance(30))
        while (all.size() > random_.below(size))
          all.pop_back();
    } else if (!donors_.directives().empty()) {
      const json::Value *donor = donors_.any(random_.pick(donors_.directives()), random_);
      json::Value copy = *donor;
      if (json::Array *arguments = copy.getAsObject() ? copy.getAsObject()->getArray("args") : nullptr)
        for (json::Value &argument : *arguments)
          rename(argument);
      all.insert(all.begin() + static_cast<std::ptrdiff_t>(random_.below(size + 1)), std::move(copy));
    }
  }

  void change_object(Part &part) {
    json::Object *object = part.at->getAsObject();
    if (!object)
      return;
    if (part.kind == "size") {
      (*object)[random_.chance(50) ? "multiple_of" : "max"] = any_number(random_);
    } else if (part.kind == "stage") {
      auto reduces = std::ranges::find_if(reducers, [&](Reducer x) { return object->get(name(x).data()); });
      if (reduces != reducers.end() && random_.chance(40)) {
        json::Value axes = *object->get(name(*reduces).data());
        object->erase(name(*reduces).data());
        if (random_.chance(50)) // by another reducer
          (*object)[name(reducers[random_.below(reducers.size())]).data()] = std::move(axes);
      } else if (json::Value *value = object->get("value"))
        *value = Grammar(part.scope, random_).of(dtype_of(*value, part.scope), 2);
    } else if (object->get("leading") && random_.chance(40)) {
      object->erase("leading");
    } else {
      (*object)["leading"] = Grammar(part.scope, random_).leading();
    }
  }

  json::Value trace_;
  const Donors &donors_;
  Random &random_;
  std::vector<Part> parts_;
};

json::Value parsed(const std::string &text) {
  auto value = json::parse(text);
  if (!value)
    throw std::runtime_error(llvm::toString(value.takeError()));
  return std::move(*value);
}

} // namespace

void Donors::add(const std::string &trace) {
  json::Value root = parsed(trace);
  for (const Part &part : parts_of(root)) {
    std::vector<json::Value> &list = parts_[part.kind];
    if (list.empty() && part.kind.rfind("directive ", 0) == 0)
      directives_.push_back(part.kind);
    if (list.size() < most_donors)
      list.push_back(*part.at);
  }
}

const json::Value *Donors::any(const std::string &kind, Random &random) const {
  auto found = parts_.find(kind);
  return found == parts_.end() ? nullptr : &random.pick(found->second);
}

std::string mutate(const std::string &trace, const Donors &donors, Random &random) {
  return Mutator(parsed(trace), donors, random).run();
}

} // namespace nestsmith::fuzz
