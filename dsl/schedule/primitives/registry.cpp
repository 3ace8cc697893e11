#include "dsl/schedule/primitives/registry.h"

#include <algorithm>
#include <fmt/format.h>
#include <tuple>

namespace nestsmith {

namespace {

/// Reads the arguments of a directive in order, each as the type that the method takes.
class Reader {
public:
  Reader(const Schedule &schedule, const Directive &directive, const std::string &where)
      : schedule_(schedule), directive_(directive), where_(where) {}

  template <class T> T read();

private:
  [[noreturn]] void fail(const std::string &message) {
    refuse_trace(where_, fmt::format("argument {} of '{}': {}", at_, directive_.op, message));
  }
  template <class T> const T &next(const char *expected) {
    ++at_;
    if (at_ > directive_.arguments.size())
      fail(fmt::format("is missing, expected {}", expected));
    const T *value = std::get_if<T>(&directive_.arguments[at_ - 1]);
    if (!value)
      fail(fmt::format("expected {}", expected));
    return *value;
  }

  const Schedule &schedule_;
  const Directive &directive_;
  const std::string &where_;
  std::size_t at_ = 0;
};

/// The kind of an argument of type T. Each type has a reader.
template <class T> constexpr ArgumentKind kind_of = ArgumentKind::word;

/// A trace does not state where its directives were written.
template <> Where Reader::read() { return {}; }

template <> constexpr ArgumentKind kind_of<Loop> = ArgumentKind::loop;
template <> Loop Reader::read() { return schedule_.loop(next<LoopName>("a loop").name); }

template <> constexpr ArgumentKind kind_of<BlockRef> = ArgumentKind::block;
template <> BlockRef Reader::read() { return schedule_.block(next<BlockName>("a block").name); }

template <> constexpr ArgumentKind kind_of<std::int64_t> = ArgumentKind::integer;
template <> std::int64_t Reader::read() { return next<std::int64_t>("a whole number"); }

template <> constexpr ArgumentKind kind_of<std::vector<std::int64_t>> = ArgumentKind::integers;
template <> std::vector<std::int64_t> Reader::read() {
  return next<std::vector<std::int64_t>>("a list of numbers");
}

template <> std::string Reader::read() { return next<Word>("a word").text; }

template <> constexpr ArgumentKind kind_of<std::vector<Loop>> = ArgumentKind::loops;
template <> std::vector<Loop> Reader::read() {
  std::vector<Loop> handles;
  for (const LoopName &name : next<std::vector<LoopName>>("a list of loops"))
    handles.push_back(schedule_.loop(name.name));
  return handles;
}

template <> constexpr ArgumentKind kind_of<std::vector<Stage>> = ArgumentKind::stages;
template <> std::vector<Stage> Reader::read() {
  std::vector<Stage> handles;
  for (const StageName &x : next<std::vector<StageName>>("a list of stages"))
    handles.push_back({schedule_.block(x.block), x.stage, x.order});
  return handles;
}

template <> constexpr ArgumentKind kind_of<Axis> = ArgumentKind::axis;
template <> Axis Reader::read() {
  std::string text = read<std::string>();
  if (auto axis = parse_axis(text))
    return *axis;
  fail(fmt::format("got the axis '{}', expected blockIdx.x to threadIdx.z, warp or lane", text));
}

template <> constexpr ArgumentKind kind_of<Scope> = ArgumentKind::scope;
template <> Scope Reader::read() {
  std::string text = read<std::string>();
  for (Scope scope : {Scope::global, Scope::shared, Scope::local, Scope::warp})
    if (name(scope) == text)
      return scope;
  fail(fmt::format("got the scope '{}', expected global, shared, local or warp", text));
}

template <> constexpr ArgumentKind kind_of<IndexMap> = ArgumentKind::index_map;
template <> IndexMap Reader::read() {
  std::string text = read<std::string>();
  IndexMap map(text);
  if (to_string(map) != text)
    fail(fmt::format("got the map '{}', expected it in the form '{}'", text, to_string(map)));
  return map;
}

template <class... Arguments> std::vector<ArgumentKind> kinds_of() {
  std::vector<ArgumentKind> kinds = {kind_of<std::decay_t<Arguments>>...};
  kinds.pop_back(); // the last parameter of a method is its `Where`
  return kinds;
}

template <class Result, class... Arguments>
Primitive primitive(const char *name, Result (Schedule::*method)(Arguments...)) {
  return {name, kinds_of<Arguments...>(), std::is_same_v<Result, std::vector<Loop>>,
          [method](Schedule &schedule, const Directive &directive, const std::string &where) {
            Reader reader(schedule, directive, where);
            // Braces evaluate their elements from left to right.
            std::tuple<std::decay_t<Arguments>...> arguments{reader.read<std::decay_t<Arguments>>()...};
            std::apply([&](auto &...argument) { (schedule.*method)(argument...); }, arguments);
          }};
}

/// These types select the form of an overloaded method that traces use.
using Factors = std::vector<std::int64_t>;
using Loops = std::vector<Loop>;

} // namespace

const std::vector<Primitive> &all_primitives() {
  static const std::vector<Primitive> list = {
      primitive("async_copy", &Schedule::async_copy),
      primitive("bind", &Schedule::bind),
      primitive("cache_read", &Schedule::cache_read),
      primitive("cache_write", &Schedule::cache_write),
      primitive("compute_at", &Schedule::compute_at),
      primitive("compute_inline", &Schedule::compute_inline),
      primitive("decompose_reduction", &Schedule::decompose_reduction),
      primitive("double_buffer", &Schedule::double_buffer),
      primitive("fuse", &Schedule::fuse),
      primitive("join_pipelines", &Schedule::join_pipelines),
      primitive("last_block", &Schedule::last_block),
      primitive("launch_bounds", &Schedule::launch_bounds),
      primitive("partition", &Schedule::partition),
      primitive("pipeline", &Schedule::pipeline),
      primitive("reorder", &Schedule::reorder),
      primitive("reverse_compute_at", &Schedule::reverse_compute_at),
      primitive("reverse_compute_inline", &Schedule::reverse_compute_inline),
      primitive("rfactor", &Schedule::rfactor),
      primitive("set_scope", &Schedule::set_scope),
      primitive("snake", &Schedule::snake),
      primitive<Loops, Loop, Factors, Where>("split", &Schedule::split),
      primitive("spread", &Schedule::spread),
      primitive("storage_align", &Schedule::storage_align),
      primitive("swizzle", &Schedule::swizzle),
      primitive("tensorize", &Schedule::tensorize),
      primitive<Loops, Loop, Loop, Factors, Where>("tile", &Schedule::tile),
      primitive("transform_layout", &Schedule::transform_layout),
      primitive("unroll", &Schedule::unroll),
      primitive("unroll_by", &Schedule::unroll_by),
      primitive("vectorize", &Schedule::vectorize),
  };
  return list;
}

const Primitive *find_primitive(std::string_view name) {
  const std::vector<Primitive> &list = all_primitives();
  auto found = std::ranges::lower_bound(list, name, {}, &Primitive::name);
  return found != list.end() && found->name == name ? &*found : nullptr;
}

void refuse_trace(const std::string &where, const std::string &message) {
  throw UserError(ExitCode::usage,
                  fmt::format("{}: {}; save one with `show RUNG --trace json`", where, message));
}

} // namespace nestsmith
