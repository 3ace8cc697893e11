/// Schedules of products that a warp computes by a user's intrinsic (tests/fuzz/user_intrinsics.h).

#include "tests/fuzz/author_steps.h"

#include <fmt/format.h>
#include <set>

namespace nestsmith::fuzz {

namespace {

/// Returns the layout "i, j -> the lane, i//16, j//8, the register" of a box of any number of tiles.
Word map_of_tiles(const std::string &batch, const BitLayout &layout, const char *first, const char *second,
                  std::int64_t rows, std::int64_t columns, bool swapped) {
  auto [lane, at] = layout.texts(first, second);
  std::string own = swapped ? fmt::format("{}, {}", second, first) : fmt::format("{}, {}", first, second);
  return {to_string(IndexMap(
      fmt::format("{}{} -> {}, {}//{}, {}//{}, {}", batch, own, lane, first, rows, second, columns, at)))};
}

} // namespace

void Author::bits_to_lanes(const std::string &first, const std::string &second, const BitLayout &layout) {
  std::size_t bits[2] = {};
  for (const std::vector<IndexBit> *part : {&layout.lane, &layout.registers})
    for (const IndexBit &bit : *part)
      bits[bit.dimension] = std::max(bits[bit.dimension], bit.bit + 1);
  Names parts[2];
  for (std::size_t n : {0, 1}) {
    std::vector<std::int64_t> factors(bits[n] + 1, 2);
    factors[0] = infer;
    parts[n] = split(n == 0 ? first : second, factors);
    if (parts[n].empty())
      return;
  }
  auto loop = [&](const IndexBit &bit) {
    return LoopName{parts[bit.dimension][bits[bit.dimension] - bit.bit]};
  };
  std::vector<LoopName> order;
  for (auto bit = layout.lane.rbegin(); bit != layout.lane.rend(); ++bit)
    order.push_back(loop(*bit));
  for (const Names &part : parts)
    order.push_back({part[0]});
  for (auto bit = layout.registers.rbegin(); bit != layout.registers.rend(); ++bit)
    order.push_back(loop(*bit));
  if (chance(3))
    random_.shuffle(order);
  if (!go("reorder", {order}))
    return;
  std::string lane = order[0].name;
  for (std::size_t n = 1; n < layout.lane.size(); ++n) {
    if (!go("fuse", {LoopName{lane}, order[n]}))
      return;
    lane = results().front();
  }
  go("bind", {LoopName{lane}, Word{"lane"}});
}

void Author::product_by_call(const std::string &name, const Names &around) {
  WarpIntrinsic unit = warp_intrinsic(thread_intrinsics + 1 + random_.below(warp_intrinsics_of_users));
  std::size_t n = around.size();
  std::string out = sums_in_fragment(name), batch = n > 3 ? "b, " : "";
  Names rows = split(around[n - 3], {infer, random_.pick({1, 1, 2}), random_.pick({1, 1, 2}), unit.m}),
        columns = split(around[n - 2], {infer, random_.pick({1, 1, 2}), random_.pick({1, 1, 2}), unit.n}),
        sums = split(around[n - 1], {infer, random_.pick({1, 1, 2}), unit.k});
  if (out.empty() || rows.empty() || columns.empty() || sums.empty())
    return;
  std::vector<LoopName> order;
  for (std::size_t d = 0; d + 3 < n; ++d)
    order.push_back({around[d]});
  for (const std::string &loop : {rows[0], columns[0], rows[1], columns[1], sums[0], sums[1], rows[2],
                                  columns[2], rows[3], columns[3], sums[2]})
    order.push_back({loop});
  if (!go("reorder", {order}) || !go("fuse", {LoopName{rows[1]}, LoopName{columns[1]}}))
    return;
  std::string warp = results().front();
  go("transform_layout", {BlockName{name}, map_of_tiles(batch, unit.c, "i", "j", unit.m, unit.n, false)});
  go("reverse_compute_at", {BlockName{out}, LoopName{warp}});
  Names blocks(around.begin(), around.end() - 3);
  blocks.insert(blocks.end(), {rows[0], columns[0]});
  bind(blocks, {Axis::block_x, Axis::block_y, Axis::block_z});
  go("bind", {LoopName{warp}, Word{"warp"}});
  std::set<std::string> operands;
  for (const Load *access : loads_of(block(name)))
    if (access->buffer != block(name).body.buffer)
      operands.insert(access->buffer->name);
  for (const std::string &operand : operands) {
    bool a = operand == "A" || operand == "X", along_k = false;
    for (const Load *access : loads_of(block(name)))
      for (const IterVar &iter : block(name).iters)
        if (access->buffer->name == operand && iter.kind == IterKind::reduction)
          along_k = along_k || uses(access->indices.back(), iter.var);
    if (!go("cache_read", {BlockName{name}, Word{operand}, Word{"warp"}}))
      continue;
    std::string fragment = results().front();
    const BitLayout &layout = a ? unit.a : unit.b;
    bool swapped = a != along_k;
    go("transform_layout",
       {BlockName{fragment}, a ? map_of_tiles(batch, layout, "i", "k", unit.m, unit.k, swapped)
                               : map_of_tiles(batch, layout, "k", "j", unit.k, unit.n, swapped)});
    go("compute_at", {BlockName{fragment}, LoopName{chance(70) ? sums[1] : sums[0]}});
    if (Names own = loops_inside(fragment, warp); own.size() >= 2)
      swapped ? bits_to_lanes(own.back(), own[own.size() - 2], layout)
              : bits_to_lanes(own[own.size() - 2], own.back(), layout);
  }
  if (go("decompose_reduction", {BlockName{name}, LoopName{sums[0]}}))
    if (Names zeros = loops_inside(results().front(), warp);
        zeros.size() == 4 &&
        go("reorder", {std::vector<LoopName>{{zeros[0]}, {zeros[2]}, {zeros[1]}, {zeros[3]}}}) &&
        go("fuse", {LoopName{zeros[0]}, LoopName{zeros[2]}}))
      if (std::string row = results().front(); go("fuse", {LoopName{zeros[1]}, LoopName{zeros[3]}}))
        bits_to_lanes(row, results().front(), unit.c);
  go("tensorize", {LoopName{rows[3]}, Word{unit.name}});
  if (Names own = loops_inside(out, warp); own.size() >= 2)
    bits_to_lanes(own[own.size() - 2], own.back(), unit.c);
}

} // namespace nestsmith::fuzz
