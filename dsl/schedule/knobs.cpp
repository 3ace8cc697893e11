#include "dsl/schedule/knobs.h"

#include "dsl/expr/error.h"
#include "dsl/expr/identifier.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llvm/Support/xxhash.h>
#include <set>

namespace nestsmith {

namespace {

/// The limits of a knob of factors: the product, which is factored by trial division, the factors of a
/// candidate, and the candidates.
constexpr std::int64_t largest_product = std::int64_t{1} << 40;
constexpr std::size_t most_factors = 64, most_factor_lists = 1 << 16;

/// The divisors of `product`, in ascending order.
std::vector<std::int64_t> divisors_of(std::int64_t product) {
  std::vector<std::int64_t> low, high;
  for (std::int64_t factor = 1; factor <= product / factor; ++factor)
    if (product % factor == 0) {
      low.push_back(factor);
      if (factor != product / factor)
        high.push_back(product / factor);
    }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

/// Lists the factorings of a product into a number of factors.
class FactorLists {
public:
  FactorLists(std::int64_t product, std::size_t parts, std::int64_t largest)
      : largest_(largest), divisors_(divisors_of(product)) {
    add(product, parts);
  }
  std::vector<std::vector<std::int64_t>> lists; ///< at most `most_factor_lists` + 1

private:
  /// Adds all lists of `parts` factors of `product`, each after `head_`.
  void add(std::int64_t product, std::size_t parts) {
    if (parts == 1) {
      if (product > largest_)
        return;
      lists.push_back(head_);
      lists.back().push_back(product);
      return;
    }
    for (std::int64_t factor : divisors_) {
      if (factor > product || factor > largest_ || lists.size() > most_factor_lists)
        return;
      if (product % factor != 0 || !can_be_split(product / factor, parts - 1))
        continue;
      head_.push_back(factor);
      add(product / factor, parts - 1);
      head_.pop_back();
    }
  }

  /// Whether `parts` numbers up to the largest factor can reach the product, so that no search is in vain for
  /// its size alone.
  bool can_be_split(std::int64_t product, std::size_t parts) const {
    std::int64_t most = 1;
    for (std::size_t n = 0; n < parts && most < product; ++n)
      if (__builtin_mul_overflow(most, largest_, &most))
        return true;
    return most >= product;
  }

  std::int64_t largest_;
  std::vector<std::int64_t> divisors_, head_;
};

std::string factors_text(const std::vector<std::int64_t> &factors) {
  return fmt::format("{}", fmt::join(factors, "x"));
}

} // namespace

Knobs Knobs::random(std::uint64_t seed, KnobValues values) {
  Knobs knobs(std::move(values));
  knobs.seed_ = seed;
  return knobs;
}

std::size_t Knobs::choice(const std::string &name, std::vector<std::string> candidates) {
  auto refuse = [&](const std::string &message) {
    throw UserError(ExitCode::usage, fmt::format("the knob '{}' {}", name, message));
  };
  check_identifier(name, "the name of a knob");
  if (candidates.empty())
    refuse("has no candidates, expected at least one");
  if (std::set<std::string>(candidates.begin(), candidates.end()).size() != candidates.size())
    refuse(fmt::format("has a candidate twice: {}", fmt::join(candidates, ", ")));
  for (const std::string &candidate : candidates)
    if (std::ranges::any_of(candidate, [](unsigned char c) { return c == ',' || std::iscntrl(c); }))
      refuse(fmt::format("has the candidate '{}', which --set cannot name, because a comma ends a value; use "
                         "candidates without commas and control characters, such as 2x4x4 or 'j i k'",
                         candidate));
  if (auto known = std::ranges::find(asked_, name, &Knob::name); known != asked_.end()) {
    if (known->candidates != candidates)
      refuse(fmt::format("was asked for with the candidates {}, and now with {}; give each choice its own name",
                         fmt::join(known->candidates, ", "), fmt::join(candidates, ", ")));
    return known->chosen;
  }
  std::size_t chosen = 0;
  auto position = [&](const std::string &value) {
    return static_cast<std::size_t>(std::ranges::find(candidates, value) - candidates.begin());
  };
  if (auto value = values_.find(name); value != values_.end()) {
    chosen = position(value->second);
    if (chosen == candidates.size())
      refuse(fmt::format("is '{}', expected one of {}", value->second, fmt::join(candidates, ", ")));
  } else if (seed_)
    chosen = llvm::xxHash64(fmt::format("{} {}", *seed_, name)) % candidates.size();
  else if (auto preferred = preferred_.find(name);
           preferred != preferred_.end() && position(preferred->second) < candidates.size())
    chosen = position(preferred->second);
  asked_.push_back({name, std::move(candidates), chosen});
  return chosen;
}

std::int64_t Knobs::choose(const std::string &name, const std::vector<std::int64_t> &candidates) {
  std::vector<std::string> texts;
  for (std::int64_t candidate : candidates)
    texts.push_back(std::to_string(candidate));
  return candidates[choice(name, std::move(texts))];
}

std::string Knobs::choose(const std::string &name, const std::vector<std::string> &candidates) {
  return candidates[choice(name, candidates)];
}

bool Knobs::flag(const std::string &name, bool otherwise) {
  auto text = [](bool value) { return value ? "true" : "false"; };
  return (choice(name, {text(otherwise), text(!otherwise)}) == 1) != otherwise;
}

std::vector<std::int64_t> Knobs::factors(const std::string &name, const std::vector<std::int64_t> &usual,
                                         std::int64_t largest) {
  std::int64_t product = 1;
  for (std::int64_t factor : usual)
    if (factor < 1 || factor > largest || __builtin_mul_overflow(product, factor, &product))
      throw UserError(ExitCode::usage,
                      fmt::format("the knob '{}' has the factors {}, expected factors from 1 to {}", name,
                                  factors_text(usual), largest));
  if (product > largest_product)
    throw UserError(ExitCode::usage,
                    fmt::format("the knob '{}' factors {}, expected at most 2^40", name, product));
  if (usual.size() > most_factors)
    throw UserError(ExitCode::usage, fmt::format("the knob '{}' has {} factors, expected at most {}", name,
                                                 usual.size(), most_factors));
  std::vector<std::vector<std::int64_t>> lists;
  if (!usual.empty())
    lists = FactorLists(product, usual.size(), largest).lists;
  if (lists.size() > most_factor_lists)
    throw UserError(ExitCode::usage,
                    fmt::format("the knob '{}' factors {} into {} factors in more than {} ways; use fewer "
                                "factors, or smaller ones",
                                name, product, usual.size(), most_factor_lists));
  std::ranges::stable_partition(lists, [&](const auto &list) { return list == usual; });
  std::vector<std::string> texts;
  for (const std::vector<std::int64_t> &list : lists)
    texts.push_back(factors_text(list));
  return lists[choice(name, std::move(texts))];
}

KnobValues Knobs::chosen() const {
  KnobValues values;
  for (const Knob &knob : asked_)
    values[knob.name] = knob.candidates[knob.chosen];
  return values;
}

void Knobs::refuse_unknown() const {
  std::vector<std::string> names;
  for (const Knob &knob : asked_)
    names.push_back(knob.name);
  for (const auto &[name, value] : values_)
    if (std::ranges::find(names, name) == names.end())
      throw UserError(ExitCode::usage, names.empty()
                                           ? fmt::format("the schedule has no knob '{}'; it has no knobs", name)
                                           : fmt::format("the schedule has no knob '{}', expected one of {}",
                                                         name, fmt::join(names, ", ")));
}

std::string to_string(const KnobValues &values) {
  std::string text;
  for (const auto &[name, value] : values)
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, value);
  return text;
}

KnobValues parse_knobs(const std::string &text) {
  KnobValues values;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    std::size_t end = std::min(text.find(',', begin), text.size());
    std::string item = text.substr(begin, end - begin);
    item.erase(0, std::min(item.find_first_not_of(' '), item.size()));
    std::size_t equals = item.find('=');
    if (equals == std::string::npos || equals == 0)
      throw UserError(ExitCode::usage,
                      fmt::format("'{}' does not set a knob, expected NAME=VALUE, such as bk=16", item));
    if (!values.emplace(item.substr(0, equals), item.substr(equals + 1)).second)
      throw UserError(ExitCode::usage, fmt::format("the knob '{}' is set twice", item.substr(0, equals)));
    begin = end + 1;
  }
  return values;
}

void KnobSpace::advance(const Knobs &built) {
  const std::vector<Knob> &asked = built.asked();
  for (std::size_t n = asked.size(); n-- > 0;)
    if (asked[n].chosen + 1 < asked[n].candidates.size() && !fixed_.contains(asked[n].name)) {
      next_ = fixed_;
      for (std::size_t m = 0; m < n; ++m)
        next_[asked[m].name] = asked[m].candidates[asked[m].chosen];
      next_[asked[n].name] = asked[n].candidates[asked[n].chosen + 1];
      return;
    }
  has_point_ = false;
}

} // namespace nestsmith
