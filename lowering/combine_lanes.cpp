#include "lowering/combine_lanes.h"

#include "dsl/hardware/lane_reductions.h"

#include <algorithm>
#include <map>
#include <memory>

namespace nestsmith::kernel {

namespace {

class Combiner {
public:
  explicit Combiner(Kernel &kernel) : kernel_(kernel) {}

  Stmt rewrite(const Stmt &stmt) {
    const auto *call = as<Call>(stmt);
    if (call && call->intrinsic.get().combines)
      return combined(*call, stmt->origin);
    return map_children(stmt, [&](const Stmt &child) { return rewrite(child); });
  }

private:
  /// `own` is the element that a lane has combined so far. `other` is that of another lane.
  struct Registers {
    Buffer own, other;
  };

  Stmt combined(const Call &call, const Origin &origin) {
    const OwnReducer &reducer = *call.intrinsic.get().combines;
    const OperandAddress &x = call.places[0], &result = call.places[1];
    const auto &[own, other] = registers_for(result.buffer);
    auto element = [](const OperandAddress &at) { return load(at.buffer, {at.offset}); };
    const OperandAddress mine{own, int_imm(0, x.offset.dtype())}, others{other, mine.offset};
    std::vector<Stmt> stmts;
    auto store = [&](const OperandAddress &to, const Expr &value) {
      stmts.push_back(make(Store{to.buffer, {to.offset}, without_reducer_calls(value)}, origin));
    };
    auto moved = [&](auto shuffle) {
      std::vector<Buffer> from = parts(own), to = parts(other);
      for (std::size_t n = 0; n < from.size(); ++n)
        stmts.push_back(
            make(Call{shuffle(from[n]->dtype), {{from[n], mine.offset}, {to[n], mine.offset}}}, origin));
    };
    store(mine, element(x));
    for (int distance = lanes_per_warp / 2; distance > 0; distance /= 2) {
      moved([&](DType dtype) -> const Intrinsic & { return shuffle_xor(dtype, distance); });
      store(mine, combine(Reducer(reducer), element(mine), element(others)));
    }
    std::vector<OrderEffect> effects = order_effects(Reducer(reducer), own->dtype);
    bool rounds = std::ranges::any_of(effects, [](OrderEffect effect) { return effect != OrderEffect::none; });
    if (rounds)
      moved([](DType dtype) -> const Intrinsic & { return shuffle_first(dtype); });
    store(result, combine(Reducer(reducer), element(result), element(rounds ? others : mine)));
    return make_seq(std::move(stmts));
  }

  static std::vector<Buffer> parts(const Buffer &buffer) {
    return is_tuple(buffer->dtype) ? part_buffers(*buffer) : std::vector{buffer};
  }

  const Registers &registers_for(const Buffer &result) {
    auto [at, fresh] = registers_.try_emplace(result);
    if (fresh)
      at->second = {local(result, "_own"), local(result, "_other")};
    return at->second;
  }
  Buffer local(const Buffer &result, const char *suffix) {
    auto buffer = std::make_shared<const BufferNode>(
        BufferNode{result->name + suffix, result->dtype, {Expr(1)}, Scope::local, Role::temporary});
    kernel_.local.push_back({.buffer = buffer});
    return buffer;
  }

  Kernel &kernel_;
  std::map<Buffer, Registers> registers_;
};

} // namespace

void combine_lanes(Kernel &kernel) { kernel.body = Combiner(kernel).rewrite(kernel.body); }

} // namespace nestsmith::kernel
