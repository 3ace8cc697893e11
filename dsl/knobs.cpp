#include "dsl/knobs.h"

#include "dsl/error.h"
#include "dsl/identifier.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llvm/Support/xxhash.h>
#include <set>

namespace nestsmith {

namespace {

/// Adds all lists of `parts` factors of `product` to `lists`, each after `head`.
void add_factors(std::vector<std::int64_t> &head, std::int64_t product, std::size_t parts, std::int64_t largest,
                 std::vector<std::vector<std::int64_t>> &lists) {
  if (parts == 1) {
    if (product > largest)
      return;
    lists.push_back(head);
    lists.back().push_back(product);
    return;
  }
  for (std::int64_t factor = 1; factor <= std::min(product, largest); ++factor)
    if (product % factor == 0) {
      head.push_back(factor);
      add_factors(head, product / factor, parts - 1, largest, lists);
      head.pop_back();
    }
}

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
  std::vector<std::vector<std::int64_t>> lists;
  std::vector<std::int64_t> head;
  if (!usual.empty())
    add_factors(head, product, usual.size(), largest, lists);
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
