#include "dsl/schedule/directive.h"

#include "dsl/expr/axis.h"
#include "dsl/expr/expr.h"
#include "dsl/expr/identifier.h"
#include "dsl/schedule/primitives/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith {

namespace {

/// Spells an axis or a scope as its enumerator, and any other word as a string.
std::string word_to_cpp(const std::string &word, ArgumentKind kind) {
  auto axis = kind == ArgumentKind::axis ? parse_axis(word) : std::nullopt;
  if (axis) {
    static constexpr const char *spelled[] = {"block_x",  "block_y",  "block_z", "thread_x",
                                              "thread_y", "thread_z", "warp",    "lane"};
    return fmt::format("Axis::{}", spelled[static_cast<std::size_t>(*axis)]);
  }
  return kind == ArgumentKind::scope ? "Scope::" + word : "\"" + word + "\"";
}

std::string factor_to_cpp(std::int64_t factor) { return factor == -1 ? "infer" : fmt::format("{}", factor); }

std::vector<std::string> handle_names(std::vector<std::string> names) {
  for (std::string &name : names)
    name = handle_name(name);
  return names;
}

std::string to_cpp(const Argument &argument, ArgumentKind kind) {
  return std::visit(Overloaded{
                        [](const LoopName &x) { return handle_name(x.name); },
                        [](const BlockName &x) { return handle_name(x.name); },
                        [&](const Word &x) { return word_to_cpp(x.text, kind); },
                        [](std::int64_t x) { return fmt::format("{}", x); },
                        [](const std::vector<LoopName> &x) {
                          std::vector<std::string> names;
                          for (const LoopName &loop : x)
                            names.push_back(handle_name(loop.name));
                          return fmt::format("{{{}}}", fmt::join(names, ", "));
                        },
                        [](const std::vector<std::int64_t> &x) {
                          std::vector<std::string> factors;
                          for (std::int64_t factor : x)
                            factors.push_back(factor_to_cpp(factor));
                          return fmt::format("{{{}}}", fmt::join(factors, ", "));
                        },
                        [](const std::vector<StageName> &x) {
                          std::vector<std::string> stages;
                          for (const StageName &s : x)
                            stages.push_back(
                                fmt::format("{{{}, {}, {}}}", handle_name(s.block), s.stage, s.order));
                          return fmt::format("{{{}}}", fmt::join(stages, ", "));
                        },
                    },
                    argument);
}

} // namespace

std::string handle_name(const std::string &name) {
  // `int` becomes int_, so int_ becomes int__. Distinct names stay distinct.
  std::string stem = name.substr(0, name.find_last_not_of('_') + 1);
  return is_cpp_keyword(stem) || stem == "s" || stem == "infer" ? name + "_" : name;
}

std::string to_cpp(const Directive &directive, const char *end) {
  const Primitive *primitive = find_primitive(directive.op);
  std::vector<std::string> arguments;
  for (std::size_t n = 0; n < directive.arguments.size(); ++n)
    arguments.push_back(to_cpp(directive.arguments[n], primitive && n < primitive->arguments.size()
                                                           ? primitive->arguments[n]
                                                           : ArgumentKind::word));
  std::string call = fmt::format("s.{}({}){}", directive.op, fmt::join(arguments, ", "), end);
  if (directive.results.empty())
    return call;
  if (primitive && primitive->gives_list)
    return fmt::format("auto [{}] = {}", fmt::join(handle_names(directive.results), ", "), call);
  return fmt::format("auto {} = {}", handle_name(directive.results.front()), call);
}

} // namespace nestsmith
