#pragma once
/// The declaration of a primitive: its name, its method of Schedule, and the parameters of the method. The code
/// that prints, reads and applies directives uses it, and the tests draw and list directives from it.
///
/// A declaration stands in the primitive's source file, next to the definition of the method:
///
///     constinit const Primitive primitives::swizzle = primitive<&Schedule::swizzle>(
///         "swizzle", {block("writer"), integer("bits", 1, 5), integer("base", 1, 5), integer("shift", 2, 7)});

#include "dsl/ir/layout.h"
#include "dsl/schedule/schedule.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

namespace nestsmith {

/// Kinds of parameters. The kind determines the C++ type of the parameter. It also names arguments that are
/// likely to be accepted, for tests that choose them: all others may be given too, and may be refused.
enum class ParameterKind {
  loop,
  outer_loop,    ///< has a loop directly inside of it
  inner_loop,    ///< directly inside of the parameter `of`
  next_loop,     ///< after the parameter `of` in the order of the program, mostly inside of it
  near_loop,     ///< encloses a block that uses what the block `of` writes, or the reverse
  loop_of_nests, ///< contains several nests
  loops,         ///< of one nest
  block,
  blocks,  ///< of one nest
  stages,  ///< of the nests of the loop `of`
  integer, ///< the usual value is `usual`
  factors, ///< `count` of them, or any number if it is 0
  points,  ///< numbers of iterations from the start of the loop `of`, or negative ones from its end
  axis,
  scope,
  size,      ///< its name; the computation declares it
  buffer,    ///< its name; the block `of` reads it
  intrinsic, ///< its name
  index_map,
};

namespace primitives {

struct Parameter {
  std::string_view name;
  ParameterKind kind;
  std::string_view of = {}; ///< an earlier parameter
  std::int64_t usual = 0;
  std::int64_t below = 0; ///< an integer is usually in [0, below); 0: any number
  std::size_t count = 0;
};

} // namespace primitives

struct Primitive {
  static constexpr std::size_t most_parameters = 4;

  std::string_view name;
  std::array<primitives::Parameter, most_parameters> slots = {};
  std::size_t count = 0;
  bool gives_list = false; ///< the method returns a list of loops: `auto [i_outer, i_inner] = …`
  /// Applies a directive of this name. `where` names the trace file in messages. Throws UserError (usage) if an
  /// argument is missing or has another kind. Also throws the errors of the method.
  void (*apply)(Schedule &schedule, const Directive &directive, const std::string &where) = nullptr;

  std::span<const primitives::Parameter> parameters() const { return {slots.data(), count}; }
  /// The position of the parameter that `parameter.of` names.
  std::size_t position_of(const primitives::Parameter &parameter) const {
    auto found = std::ranges::find(parameters(), parameter.of, &primitives::Parameter::name);
    return static_cast<std::size_t>(found - parameters().begin());
  }
};

/// One line of C++: `auto [i_outer, i_inner] = s.split(i, {infer, 32});`, with `end` after the call.
std::string to_cpp(const Primitive &primitive, const Directive &directive, const char *end = ";");

/// An argument as a directive states it: by name.
Argument to_argument(const Loop &loop);
Argument to_argument(const BlockRef &block);
Argument to_argument(const std::vector<Loop> &loops);
Argument to_argument(const std::vector<BlockRef> &blocks);
Argument to_argument(const std::vector<Stage> &stages);
Argument to_argument(Axis axis);
Argument to_argument(Scope scope);
Argument to_argument(const IndexMap &map);
inline Argument to_argument(const std::string &word) { return Word{word}; }
inline Argument to_argument(std::int64_t number) { return number; }
inline Argument to_argument(const std::vector<std::int64_t> &factors) { return factors; }

/// Reads the arguments of a directive in order, each as the type that the method takes.
class ArgumentReader {
public:
  ArgumentReader(const Schedule &schedule, const Directive &directive, const std::string &where)
      : schedule_(schedule), directive_(directive), where_(where) {}

  template <class T> T read();

private:
  [[noreturn]] void fail(const std::string &message) const;
  template <class T> const T &next(const char *expected);

  const Schedule &schedule_;
  const Directive &directive_;
  const std::string &where_;
  std::size_t at_ = 0;
};

template <> Caller ArgumentReader::read();
template <> Loop ArgumentReader::read();
template <> BlockRef ArgumentReader::read();
template <> std::int64_t ArgumentReader::read();
template <> std::string ArgumentReader::read();
template <> std::vector<Loop> ArgumentReader::read();
template <> std::vector<BlockRef> ArgumentReader::read();
template <> std::vector<Stage> ArgumentReader::read();
template <> std::vector<std::int64_t> ArgumentReader::read();
template <> Axis ArgumentReader::read();
template <> Scope ArgumentReader::read();
template <> IndexMap ArgumentReader::read();

namespace primitives {

constexpr Parameter loop(std::string_view name) { return {name, ParameterKind::loop}; }
constexpr Parameter outer_loop(std::string_view name) { return {name, ParameterKind::outer_loop}; }
constexpr Parameter inner_loop(std::string_view name, std::string_view of) {
  return {name, ParameterKind::inner_loop, of};
}
constexpr Parameter next_loop(std::string_view name, std::string_view of) {
  return {name, ParameterKind::next_loop, of};
}
constexpr Parameter near_loop(std::string_view name, std::string_view of) {
  return {name, ParameterKind::near_loop, of};
}
constexpr Parameter loop_of_nests(std::string_view name) { return {name, ParameterKind::loop_of_nests}; }
constexpr Parameter loops(std::string_view name) { return {name, ParameterKind::loops}; }
constexpr Parameter block(std::string_view name) { return {name, ParameterKind::block}; }
constexpr Parameter blocks(std::string_view name) { return {name, ParameterKind::blocks}; }
constexpr Parameter stages(std::string_view name, std::string_view of) {
  return {name, ParameterKind::stages, of};
}
constexpr Parameter integer(std::string_view name, std::int64_t usual, std::int64_t below = 0) {
  return {name, ParameterKind::integer, {}, usual, below};
}
constexpr Parameter factors(std::string_view name, std::size_t count = 0) {
  return {name, ParameterKind::factors, {}, 0, 0, count};
}
constexpr Parameter points(std::string_view name, std::string_view of) {
  return {name, ParameterKind::points, of};
}
constexpr Parameter axis(std::string_view name) { return {name, ParameterKind::axis}; }
constexpr Parameter scope(std::string_view name) { return {name, ParameterKind::scope}; }
constexpr Parameter size(std::string_view name) { return {name, ParameterKind::size}; }
constexpr Parameter buffer(std::string_view name, std::string_view of) {
  return {name, ParameterKind::buffer, of};
}
constexpr Parameter intrinsic(std::string_view name) { return {name, ParameterKind::intrinsic}; }
constexpr Parameter index_map(std::string_view name) { return {name, ParameterKind::index_map}; }

template <class T> consteval bool is_type_of(ParameterKind kind) {
  switch (kind) {
  case ParameterKind::loop:
  case ParameterKind::outer_loop:
  case ParameterKind::inner_loop:
  case ParameterKind::next_loop:
  case ParameterKind::near_loop:
  case ParameterKind::loop_of_nests:
    return std::is_same_v<T, Loop>;
  case ParameterKind::loops:
    return std::is_same_v<T, std::vector<Loop>>;
  case ParameterKind::block:
    return std::is_same_v<T, BlockRef>;
  case ParameterKind::blocks:
    return std::is_same_v<T, std::vector<BlockRef>>;
  case ParameterKind::stages:
    return std::is_same_v<T, std::vector<Stage>>;
  case ParameterKind::integer:
    return std::is_same_v<T, std::int64_t>;
  case ParameterKind::factors:
  case ParameterKind::points:
    return std::is_same_v<T, std::vector<std::int64_t>>;
  case ParameterKind::axis:
    return std::is_same_v<T, Axis>;
  case ParameterKind::scope:
    return std::is_same_v<T, Scope>;
  case ParameterKind::size:
  case ParameterKind::buffer:
  case ParameterKind::intrinsic:
    return std::is_same_v<T, std::string>;
  case ParameterKind::index_map:
    return std::is_same_v<T, IndexMap>;
  }
}

/// Whether a parameter of this kind refers to a parameter of the kind `of`.
constexpr bool may_refer(ParameterKind kind, ParameterKind of) {
  switch (kind) {
  case ParameterKind::inner_loop:
  case ParameterKind::next_loop:
    return of == ParameterKind::outer_loop;
  case ParameterKind::stages:
    return of == ParameterKind::loop_of_nests;
  case ParameterKind::points:
    return of == ParameterKind::loop;
  case ParameterKind::near_loop:
  case ParameterKind::buffer:
    return of == ParameterKind::block;
  default:
    return false;
  }
}

/// A method of Schedule. Its last parameter is a Caller.
template <class Method> struct MethodOf;
template <class Result, class... Arguments> struct MethodOf<Result (Schedule::*)(Arguments...)> {
  static constexpr std::size_t parameters = sizeof...(Arguments) - 1;
  static constexpr bool gives_list = std::is_same_v<Result, std::vector<Loop>>;

  template <Result (Schedule::*method)(Arguments...)>
  static void apply(Schedule &schedule, const Directive &directive, const std::string &where) {
    ArgumentReader reader(schedule, directive, where);
    // Braces evaluate their elements from left to right.
    std::tuple<std::decay_t<Arguments>...> arguments{reader.read<std::decay_t<Arguments>>()...};
    std::apply([&](auto &...argument) { (schedule.*method)(argument...); }, arguments);
  }
  static consteval bool takes(const Primitive &primitive) {
    std::size_t n = 0;
    return ((n == primitive.count || is_type_of<std::decay_t<Arguments>>(primitive.slots[n++].kind)) && ...);
  }
};

/// Selects the form of an overloaded method that traces use.
template <class Result, class... Arguments> using Method = Result (Schedule::*)(Arguments..., Caller);

/// Not a constant: what calls it does not compile.
inline void declaration_differs_from_the_method() {}

template <auto method> consteval Primitive primitive(std::string_view name) {
  using Of = MethodOf<decltype(method)>;
  static_assert(Of::parameters == 0, "the declaration has no parameters, but the method does");
  return {name, {}, 0, Of::gives_list, Of::template apply<method>};
}

template <auto method, std::size_t n>
consteval Primitive primitive(std::string_view name, const Parameter (&parameters)[n]) {
  using Of = MethodOf<decltype(method)>;
  static_assert(n == Of::parameters, "the declaration and the method differ in the number of parameters");
  Primitive result{name, {}, n, Of::gives_list, Of::template apply<method>};
  for (std::size_t at = 0; at < n; ++at) {
    bool refers = parameters[at].of.empty();
    for (std::size_t before = 0; before < at; ++before)
      refers = refers || (parameters[before].name == parameters[at].of &&
                          may_refer(parameters[at].kind, parameters[before].kind));
    if (!refers)
      declaration_differs_from_the_method();
    result.slots[at] = parameters[at];
  }
  if (!Of::takes(result))
    declaration_differs_from_the_method();
  return result;
}

} // namespace primitives
} // namespace nestsmith
