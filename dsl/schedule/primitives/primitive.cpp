#include "dsl/schedule/primitives/primitive.h"

#include "dsl/expr/axis.h"
#include "dsl/expr/expr.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith {

namespace {

/// Spells an axis or a scope as its enumerator, and any other word as a string.
std::string word_to_cpp(const std::string &word, const primitives::Parameter *parameter) {
  auto axis = parameter && parameter->kind == ParameterKind::axis ? parse_axis(word) : std::nullopt;
  if (axis) {
    static constexpr const char *spelled[] = {"block_x",  "block_y",  "block_z", "cluster", "thread_x",
                                              "thread_y", "thread_z", "warp",    "lane"};
    return fmt::format("Axis::{}", spelled[static_cast<std::size_t>(*axis)]);
  }
  return parameter && parameter->kind == ParameterKind::scope ? "Scope::" + word : "\"" + word + "\"";
}

std::string number_to_cpp(std::int64_t number) { return fmt::format("{}", number); }
std::string factor_to_cpp(std::int64_t factor) { return factor == infer ? "infer" : number_to_cpp(factor); }

/// The elements in braces.
template <class T, class Spell> std::string list_to_cpp(const std::vector<T> &list, Spell spell) {
  std::vector<std::string> texts;
  for (const T &element : list)
    texts.push_back(spell(element));
  return fmt::format("{{{}}}", fmt::join(texts, ", "));
}

std::string argument_to_cpp(const Argument &argument, const primitives::Parameter *parameter) {
  return std::visit(Overloaded{
                        [](const LoopName &x) { return handle_name(x.name); },
                        [](const BlockName &x) { return handle_name(x.name); },
                        [&](const Word &x) { return word_to_cpp(x.text, parameter); },
                        [](std::int64_t x) { return fmt::format("{}", x); },
                        [](const std::vector<LoopName> &x) {
                          return list_to_cpp(x, [](const LoopName &loop) { return handle_name(loop.name); });
                        },
                        [](const std::vector<BlockName> &x) {
                          return list_to_cpp(x, [](const BlockName &block) { return handle_name(block.name); });
                        },
                        [&](const std::vector<std::int64_t> &x) {
                          bool points = parameter && parameter->kind == ParameterKind::points;
                          return list_to_cpp(x, points ? number_to_cpp : factor_to_cpp);
                        },
                        [](const std::vector<StageName> &x) {
                          return list_to_cpp(x, [](const StageName &s) {
                            return fmt::format("{{{}, {}, {}}}", handle_name(s.block), s.stage, s.order);
                          });
                        },
                    },
                    argument);
}

} // namespace

std::string to_cpp(const Primitive &primitive, const Directive &directive, const char *end) {
  std::vector<std::string> arguments, results;
  for (std::size_t n = 0; n < directive.arguments.size(); ++n)
    arguments.push_back(
        argument_to_cpp(directive.arguments[n], n < primitive.count ? &primitive.slots[n] : nullptr));
  for (const std::string &name : directive.results)
    results.push_back(handle_name(name));
  if (!directive.named.empty())
    arguments.push_back(fmt::format("named(\"{}\")", fmt::join(directive.named, "\", \"")));
  bool counted = std::ranges::any_of(directive.arguments, [](const Argument &argument) {
    return std::holds_alternative<std::vector<std::int64_t>>(argument);
  });
  std::string count =
      primitive.gives_list && !results.empty() && !counted ? fmt::format("<{}>", results.size()) : "";
  std::string call = fmt::format("s.{}{}({}){}", directive.op, count, fmt::join(arguments, ", "), end);
  if (results.empty())
    return call;
  return primitive.gives_list ? fmt::format("auto [{}] = {}", fmt::join(results, ", "), call)
                              : fmt::format("auto {} = {}", results.front(), call);
}

Argument to_argument(const Loop &loop) { return LoopName{Schedule::name(loop)}; }
Argument to_argument(const BlockRef &block) { return BlockName{Schedule::name(block)}; }
Argument to_argument(Axis axis) { return Word{std::string(name(axis))}; }
Argument to_argument(Scope scope) { return Word{std::string(name(scope))}; }
Argument to_argument(const IndexMap &map) { return Word{to_string(map)}; }

Argument to_argument(const std::vector<Loop> &loops) {
  std::vector<LoopName> names;
  for (const Loop &loop : loops)
    names.push_back({Schedule::name(loop)});
  return names;
}

Argument to_argument(const std::vector<BlockRef> &blocks) {
  std::vector<BlockName> names;
  for (const BlockRef &block : blocks)
    names.push_back({Schedule::name(block)});
  return names;
}

Argument to_argument(const std::vector<Stage> &stages) {
  std::vector<StageName> names;
  for (const Stage &stage : stages)
    names.push_back({Schedule::name(stage.block), stage.stage, stage.order});
  return names;
}

void ArgumentReader::fail(const std::string &message) const {
  refuse_trace(where_, fmt::format("argument {} of '{}': {}", at_, directive_.op, message));
}

template <class T> const T &ArgumentReader::next(const char *expected) {
  ++at_;
  if (at_ > directive_.arguments.size())
    fail(fmt::format("is missing, expected {}", expected));
  const T *value = std::get_if<T>(&directive_.arguments[at_ - 1]);
  if (!value)
    fail(fmt::format("expected {}", expected));
  return *value;
}

/// A trace does not state where its directives were written.
template <> Caller ArgumentReader::read() { return {{}, directive_.named}; }
template <> Loop ArgumentReader::read() { return schedule_.loop(next<LoopName>("a loop").name); }
template <> BlockRef ArgumentReader::read() { return schedule_.block(next<BlockName>("a block").name); }
template <> std::int64_t ArgumentReader::read() { return next<std::int64_t>("a whole number"); }
template <> std::string ArgumentReader::read() { return next<Word>("a word").text; }
template <> std::vector<std::int64_t> ArgumentReader::read() {
  return next<std::vector<std::int64_t>>("a list of numbers");
}

template <> std::vector<Loop> ArgumentReader::read() {
  std::vector<Loop> handles;
  for (const LoopName &name : next<std::vector<LoopName>>("a list of loops"))
    handles.push_back(schedule_.loop(name.name));
  return handles;
}

template <> std::vector<BlockRef> ArgumentReader::read() {
  std::vector<BlockRef> handles;
  for (const BlockName &name : next<std::vector<BlockName>>("a list of blocks"))
    handles.push_back(schedule_.block(name.name));
  return handles;
}

template <> std::vector<Stage> ArgumentReader::read() {
  std::vector<Stage> handles;
  for (const StageName &x : next<std::vector<StageName>>("a list of stages"))
    handles.push_back({schedule_.block(x.block), x.stage, x.order});
  return handles;
}

template <> Axis ArgumentReader::read() {
  std::string text = read<std::string>();
  if (auto axis = parse_axis(text))
    return *axis;
  fail(fmt::format("got the axis '{}', expected blockIdx.x to threadIdx.z, warp or lane", text));
}

template <> Scope ArgumentReader::read() {
  std::string text = read<std::string>();
  for (Scope scope : {Scope::global, Scope::shared, Scope::local, Scope::warp})
    if (name(scope) == text)
      return scope;
  fail(fmt::format("got the scope '{}', expected global, shared, local or warp", text));
}

template <> IndexMap ArgumentReader::read() {
  std::string text = read<std::string>();
  IndexMap map(text);
  if (to_string(map) != text)
    fail(fmt::format("got the map '{}', expected it in the form '{}'", text, to_string(map)));
  return map;
}

} // namespace nestsmith
