#include "dsl/hardware/lane_reductions.h"

#include "dsl/expr/expr.h"
#include "dsl/hardware/intrinsic_table.h"

#include <fmt/format.h>
#include <map>
#include <mutex>
#include <utility>

namespace nestsmith {

namespace {

Intrinsic shuffle(DType dtype, const std::string &name, const std::string &comment, const std::string &value,
                  std::int64_t elements, IndexMap from, IndexMap to) {
  Buffer x = formal_buffer("x", dtype, {elements}), r = formal_buffer("result", dtype, {elements});
  Var i = make_var("i");
  std::string_view type = cuda_types().at(dtype);
  return {.name = name,
          .group = Group::warp,
          .operands = {{x, InRegisters{std::move(from)}}, {r, InRegisters{std::move(to)}}},
          .meaning = {{{i, elements}}, {r, {i}, load(x, {i})}},
          .prelude = fmt::format("/// *result = {}\n"
                                 "static __device__ __forceinline__ void {}(const {} *x, {} *result) {{\n"
                                 "  *result = {};\n"
                                 "}}\n",
                                 comment, name, type, type, value)};
}

/// Entries keep their addresses, and are never destroyed: kernels refer to them.
template <class Key> struct Made {
  std::mutex mutex;
  std::map<Key, Intrinsic> entries;

  template <class Make> const Intrinsic &operator()(const Key &key, const Make &make) {
    std::scoped_lock lock(mutex);
    auto at = entries.find(key);
    return at != entries.end() ? at->second : entries.emplace(key, make()).first->second;
  }
};

} // namespace

const Intrinsic *lane_reduction(const OwnReducer &reducer) {
  static auto *made = new Made<const OwnReducer *>;
  DType dtype = reducer.identity.dtype();
  for (const Expr &part : parts_of(reducer.identity))
    if (part.dtype() == DType::boolean)
      return nullptr;
  return &(*made)(&reducer, [&]() -> Intrinsic {
    Buffer x = formal_buffer("x", dtype, {lanes_per_warp}), r = formal_buffer("result", dtype, {});
    Var i = make_var("i");
    return {.name = "warp_" + reducer.name,
            .group = Group::warp,
            .operands = {{x, InRegisters{"i -> i, 0"}}, {r, InRegisters{"r -> r, 0"}}},
            .meaning = {{{i, lanes_per_warp}}, {r, {}, combine(Reducer(reducer), load(r, {}), load(x, {i}))}},
            .combines = &reducer};
  });
}

const Intrinsic &shuffle_xor(DType dtype, int distance) {
  static auto *made = new Made<std::pair<DType, int>>;
  return (*made)({dtype, distance}, [&] {
    // Element i, of lane i, goes to the lane i ^ distance.
    return shuffle(dtype, fmt::format("shuffle_xor_{}", distance),
                   fmt::format("*x of the lane whose number differs by {}, in the bit of that value", distance),
                   fmt::format("__shfl_xor_sync(0xffffffffu, *x, {})", distance), lanes_per_warp, "i -> i, 0",
                   IndexMap(fmt::format("i -> i + {0} - i // {0} % 2 * {1}, 0", distance, 2 * distance)));
  });
}

const Intrinsic &shuffle_first(DType dtype) {
  static auto *made = new Made<DType>;
  return (*made)(dtype, [&] {
    return shuffle(dtype, "shuffle_first", "*x of lane 0", "__shfl_sync(0xffffffffu, *x, 0)", 1, "i -> i, 0",
                   "i, r -> i + r, 0");
  });
}

std::vector<const Intrinsic *> lane_shuffles() {
  std::vector<const Intrinsic *> all;
  for (const auto &[dtype, type] : cuda_types()) {
    for (int distance = lanes_per_warp / 2; distance > 0; distance /= 2)
      all.push_back(&shuffle_xor(dtype, distance));
    all.push_back(&shuffle_first(dtype));
  }
  return all;
}

} // namespace nestsmith
