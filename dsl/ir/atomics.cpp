#include "dsl/ir/atomics.h"

#include "dsl/expr/error.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith {

bool has_atomic(Reducer reducer, DType dtype) {
  bool integer = dtype == DType::i32 || dtype == DType::u32;
  switch (reducer.kind()) {
  case Reducer::sum:
    return integer || dtype == DType::f32 || dtype == DType::f64;
  case Reducer::max:
  case Reducer::min:
    return integer;
  case Reducer::product:
  case Reducer::own:
    return false;
  }
  internal_error("a reducer of unknown kind");
}

std::string_view atomic_function(Reducer reducer) {
  switch (reducer.kind()) {
  case Reducer::sum:
    return "atomicAdd";
  case Reducer::max:
    return "atomicMax";
  case Reducer::min:
    return "atomicMin";
  case Reducer::product:
  case Reducer::own:
    break;
  }
  internal_error("a reducer without an atomic operation");
}

bool depends_on_order(Reducer reducer, DType dtype) {
  return std::ranges::any_of(order_effects(reducer, dtype),
                             [](OrderEffect effect) { return effect != OrderEffect::none; });
}

std::vector<std::string> nondeterministic_results(const Program &program) {
  std::vector<std::string> found;
  for (const Block *block : blocks_of(program.body)) {
    const Buffer &buffer = block->body.buffer;
    if (block->atomic && depends_on_order(block->reducer, buffer->dtype))
      found.push_back(fmt::format("not deterministic: block {} adds to {} ({}) by atomics in any order, so its "
                                  "roundings differ from run to run",
                                  block->id->name, buffer->name, name(buffer->dtype)));
  }
  return found;
}

} // namespace nestsmith
