/// Schedules for warps: loops bound to warps and lanes, fragments, and the intrinsics of a warp.

#include "dsl/ir/allocation.h"
#include "dsl/schedule/primitives/edit.h"
#include "schedules/tensor/tiles.h"
#include "tests/fuzz/author_steps.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith::fuzz {

namespace {

Word map(const std::string &text) { return {to_string(IndexMap(text))}; }

/// Returns the number of values of a digit such as k%16//8, or 0 for a digit without an upper limit, such as
/// i//16.
std::int64_t values_of(const std::string &digit) {
  std::size_t mod = digit.find('%'), div = digit.find("//");
  if (mod == std::string::npos)
    return 0;
  std::int64_t values = std::stoll(digit.substr(mod + 1));
  return div == std::string::npos ? values : values / std::stoll(digit.substr(div + 2));
}

/// Returns the layout with other distances between its tiles: merges the dimensions of the last tiles with
/// those of the elements in a tile, and draws a stride for the tiles.
std::string with_other_strides(const std::string &layout, Random &random) {
  Names parts;
  std::size_t from = layout.find("-> ") + 3;
  for (std::size_t end = 0; end != std::string::npos; from = end + 2) {
    end = layout.find(", ", from);
    parts.push_back(layout.substr(from, end - from));
  }
  std::string joined;
  std::int64_t stride = 1;
  for (bool tiles = false; parts.size() > 1 && !tiles; parts.pop_back()) {
    std::int64_t values = values_of(parts.back());
    tiles = values == 0;
    if (tiles)
      stride += random.pick({0, 1, 1, 2, 3, 4, 8, -1});
    joined = fmt::format("{}*{}{}", parts.back(), stride, joined.empty() ? "" : " + " + joined);
    stride *= values;
  }
  parts.push_back(joined);
  return layout.substr(0, layout.find("-> ") + 3) + fmt::format("{}", fmt::join(parts, ", "));
}

} // namespace

/// Schedules a product or a sum of rows, and appends a few arbitrary directives.
void Author::write_for_warps() {
  most_ = most_directives_for_warps;
  limit_ = most_ - 5;
  std::string name = anchor();
  Names around;
  for (const For *loop : serial_loops(name))
    around.push_back(loop->var->name);
  if (around.size() >= 3 && loads_of(block(name)).size() > 2)
    has_units() && apart_.chance(95)                          ? product_of_units(name, around)
    : has_warp_intrinsics(draft_.setting.dtype) && chance(18) ? product_by_call(name, around)
                                                              : product_of_warps(name, around);
  else if (around.size() == 2)
    sums_of_warps(name, around);
  while (chance(12))
    wander();
  if (chance(10))
    go("launch_bounds", {random_.pick({1, 2, 4})});
  if (chance(10))
    go("launch_early", {});
  mend();
}

bool Author::has_units() const {
  const DType dtype = draft_.setting.dtype;
  return dtype == DType::u32 ||
         ((dtype == DType::f16 || dtype == DType::bf16) && s_.target().arch.has(Feature::wgmma));
}

/// Four warps multiply by units that read both operands from tiles in shared memory.
void Author::product_of_units(const std::string &name, Names around) {
  const std::int64_t bytes = draft_.setting.dtype == DType::u32 ? 4 : 2, of_call = 32 / bytes,
                     row = 128 / bytes;
  std::size_t n = around.size();
  std::string i = around[n - 3], j = around[n - 2], k = around[n - 1], out = sums_in_fragment(name);
  const std::int64_t warps = apart_.pick({4, 4, 8}), width = apart_.pick({64, 64, 128});
  Names rows = split(i, {infer, warps, 16}), columns = split(j, {infer, width}),
        sums = split(k, {infer, apart_.chance(95) ? 4 : 2, of_call});
  if (out.empty() || rows.empty() || columns.empty() || sums.empty())
    return;
  const std::string store = tile_of_results(out, 55);
  std::vector<LoopName> order;
  for (std::size_t d = 0; d + 3 < n; ++d)
    order.push_back({around[d]});
  for (const std::string &loop : {rows[0], columns[0], rows[1], sums[0], sums[1], rows[2], columns[1], sums[2]})
    order.push_back({loop});
  if (!go("reorder", {order}))
    return;
  const std::string batch = n > 3 ? "b, " : "";
  go("transform_layout", {BlockName{name}, map(batch + "i, j -> i%8*4 + j%8//2, i//16, j//8, i%16//8, j%2")});
  go("reverse_compute_at", {BlockName{out}, LoopName{rows[1]}});
  const std::string around_results = store_in_boxes(store, out, rows[1]);
  Names blocks(around.begin(), around.end() - 3);
  blocks.insert(blocks.end(), {rows[0], columns[0]});
  const std::int64_t cluster = clusters_.chance(12) ? clusters_.pick({2, 2, 4}) : 1;
  bool clusters = false;
  if (cluster > 1)
    if (Names parts = split(rows[0], {infer, cluster}); !parts.empty()) {
      blocks[blocks.size() - 2] = parts[0];
      clusters = go("bind", {LoopName{parts[1]}, Word{"cluster"}});
    }
  if (!clusters && stores_.chance(15)) // a block computes several tiles one after the other
    if (Names parts = split(rows[0], {infer, stores_.pick({1, 2, 2, 3})}); !parts.empty())
      blocks[blocks.size() - 2] = parts[0];
  bind(blocks, {Axis::block_x, Axis::block_y, Axis::block_z});
  go("bind", {LoopName{rows[1]}, Word{"warp"}});
  std::string intrinsic = fmt::format("wgmma_m64n{}k{}", width, of_call);
  std::vector<StageName> stages;
  const std::int64_t distance = apart_.pick({1, 1, 2});
  const bool roles = apart_.chance(97);       // one for each tile
  for (const std::string &operand : {i, j}) { // the operand with the rows, then that with the columns
    std::string tile;
    bool along_k = true, mapped = false;
    for (const Load *access : loads_of(block(name)))
      if (access->buffer != block(name).body.buffer && access->indices.size() >= 2) {
        const Var &axis = block(name).iters[n - (operand == i ? 3 : 2)].var,
                  &sum = block(name).iters.back().var;
        const std::size_t rank = access->indices.size();
        if (uses(access->indices[rank - 1], axis) || uses(access->indices[rank - 2], axis)) {
          along_k = uses(access->indices[rank - 1], sum);
          tile = access->buffer->name;
          mapped = has_map(*access->buffer);
        }
      }
    if (tile.empty() || !go("cache_read", {BlockName{name}, Word{tile}, Word{"shared"}}))
      return;
    const std::string copy = results().front();
    if (!go("compute_at", {BlockName{copy}, LoopName{sums[0]}}))
      return;
    const std::int64_t filling = roles ? apart_.pick({1, 2, 4}) : warps;
    if (roles && !go("role", {std::vector{BlockName{copy}}, filling, std::int64_t{0}}))
      return;
    const bool bulk = roles && apart_.chance(mapped ? 96 : 4); // its loops stay as they are
    if (Names own = loops_inside(copy, sums[0]); own.size() >= 2 && !bulk)
      if (go("fuse", {LoopName{own[own.size() - 2]}, LoopName{own.back()}}))
        if (Names parts = split(results().front(), {infer, 32 * filling}); !parts.empty())
          go("bind", {LoopName{parts[1]}, Word{"threadIdx.x"}});
    if (!along_k) {
      intrinsic += operand == i ? "_a_across" : "_b_across";
      go("transform_layout", {BlockName{copy}, map(fmt::format("{0}k, n -> n//{1}, k, n%{1}", batch, row))});
      if (Names own = loops_inside(copy, sums[0]);
          own.size() >= 2 && bulk) // boxes of columns that stay together
        if (Names parts = split(own.back(), {infer, row}); !parts.empty())
          go("reorder", {std::vector<LoopName>{{parts[0]}, {own[own.size() - 2]}, {parts[1]}}});
    }
    if (apart_.chance(97))
      go("swizzle", {BlockName{copy}, std::int64_t{3}, std::int64_t{bytes == 2 ? 3 : 2}, std::int64_t{3}});
    stages.push_back({copy, 0, static_cast<std::int64_t>(stages.size())});
    if (bulk)
      go("bulk_copy", {BlockName{copy}});
    else if (bytes == 4 && apart_.chance(50))
      go("async_copy", {BlockName{copy}});
    // The columns are those of all blocks of the cluster, and the rows are not.
    if (clusters && bulk && clusters_.chance(operand == j ? 85 : 5))
      if (Names own = loops_inside(copy, sums[0]); !own.empty())
        if (Names parts = split(own[0], {cluster, infer}); !parts.empty())
          go("bind", {LoopName{parts[0]}, Word{"cluster"}});
  }
  if (!go("decompose_reduction", {BlockName{name}, LoopName{sums[0]}}))
    return;
  if (Names zeros = loops_inside(results().front(), rows[1]); zeros.size() == 2)
    to_lanes(zeros[0], zeros[1], 2);
  go("tensorize", {LoopName{rows[2]}, Word{intrinsic}});
  if (Names own = loops_inside(out, around_results); own.size() >= 2)
    to_lanes(own[own.size() - 2], own.back(), 2);
  stages.push_back({name, distance, 2});
  if (apart_.chance(roles ? 97 : 80) && go("pipeline", {LoopName{sums[0]}, stages}) && apart_.chance(85))
    go("in_flight", {BlockName{name}, apart_.pick({1, 1, 2})});
}

Names Author::split(const std::string &loop, std::vector<std::int64_t> factors) {
  return go("split", {LoopName{loop}, std::move(factors)}) ? results() : Names();
}

Names Author::loops_inside(const std::string &name, const std::string &outer) const {
  Names names;
  bool inside = false;
  for (const For *loop : loops(name)) {
    if (inside)
      names.push_back(loop->var->name);
    inside = inside || loop->var->name == outer;
  }
  return names;
}

void Author::to_lanes(const std::string &row, const std::string &column, std::int64_t width) {
  Names rows = split(row, {infer, 8}), columns = split(column, {infer, 4, width});
  if (rows.empty() || columns.empty())
    return;
  std::vector<LoopName> order = {{rows[1]}, {columns[1]}, {rows[0]}, {columns[0]}, {columns[2]}};
  if (chance(5))
    random_.shuffle(order);
  if (!go("reorder", {order}) || !go("fuse", {LoopName{rows[1]}, LoopName{columns[1]}}))
    return;
  go("bind", {LoopName{results().front()}, Word{"lane"}});
  if (chance(20))
    go("vectorize", {LoopName{columns[2]}});
  for (const std::string &loop : {rows[0], columns[0], columns[2]})
    if (has_loop(loop) && chance(15))
      go("unroll", {LoopName{loop}});
}

/// Moves the sums to a fragment, and the block that reads them into the same loop. Returns the name of this
/// block, or "" if there is none.
std::string Author::sums_in_fragment(const std::string &name) {
  Buffer sums = block(name).body.buffer;
  if (sums->role != Role::temporary)
    return go("cache_write", {BlockName{name}, Word{"warp"}}) ? results().front() : "";
  std::vector<const Block *> readers = readers_of(body(), sums);
  bool moved = !readers.empty() && go("set_scope", {BlockName{name}, Word{"warp"}});
  return moved ? readers.front()->id->name : "";
}

void Author::product_of_warps(const std::string &name, Names around) {
  bool has_unit = std::ranges::find(tensor::dtypes, draft_.setting.dtype) != tensor::dtypes.end();
  tensor::Instruction unit = tensor::instruction_for(has_unit ? draft_.setting.dtype : DType::tf32);
  bool call = has_unit && chance(85);
  std::size_t n = around.size();
  std::string i = around[n - 3], j = around[n - 2], k = around[n - 1], out = sums_in_fragment(name);
  WarpTile tile{random_.pick({1, 1, 1, 2, 2, 3}), random_.pick({1, 1, 1, 2, 2}), unit, call};
  Names rows = split(i, {infer, tile.rows, random_.pick({1, 1, 1, 2}), 16}),
        columns = split(j, {infer, tile.columns, random_.pick({1, 1, 2, 2, 3}), 8}),
        sums = split(k, {infer, random_.pick({1, 1, 2, 2, 3}), chance(95) ? unit.k() : 4});
  if (out.empty() || rows.empty() || columns.empty() || sums.empty())
    return;
  tile.k_outer = sums[0], tile.k_step = sums[1];
  const std::string store = tile_of_results(out, 40);
  std::vector<LoopName> order;
  for (std::size_t d = 0; d + 3 < n; ++d)
    order.push_back({around[d]});
  for (const std::string &loop : {rows[0], columns[0], rows[1], columns[1], sums[0], sums[1], rows[2],
                                  columns[2], rows[3], columns[3], sums[2]})
    order.push_back({loop});
  if (chance(4))
    std::swap(order[order.size() - 1], order[order.size() - 3]); // an intrinsic accepts any order of its loops
  if (!go("reorder", {order}) || !go("fuse", {LoopName{rows[1]}, LoopName{columns[1]}}))
    return;
  tile.warp = results().front();
  tile.batch = n > 3 ? "b, " : "";
  const char *lanes = chance(96) ? "i%8*4 + j%8//2" : "j%8*4 + i%8//2";
  go("transform_layout",
     {BlockName{name}, map(tile.batch + "i, j -> " + lanes +
                           (chance(80) ? ", i//16, j//8, i%16//8, j%2" : ", j//8, i//16, i%16//8*2 + j%2"))});
  go("reverse_compute_at", {BlockName{out}, LoopName{tile.warp}});
  const std::string around_results = store_in_boxes(store, out, tile.warp);
  Names blocks(around.begin(), around.end() - 3);
  blocks.insert(blocks.end(), {rows[0], columns[0]});
  bind(blocks, {Axis::block_x, Axis::block_y, Axis::block_z});
  go("bind", {LoopName{tile.warp}, Word{chance(97) ? "warp" : "threadIdx.y"}});
  Names fragments;
  std::set<std::string> operands;
  for (const Load *access : loads_of(block(name)))
    if (access->buffer != block(name).body.buffer)
      operands.insert(access->buffer->name);
  for (const std::string &operand : operands)
    if (std::string fragment = operand_of_warps(name, operand, tile); !fragment.empty())
      fragments.push_back(fragment);
  if (chance(97))
    clear_by_lanes(name, tile);
  call ? void(go("tensorize", {LoopName{rows[3]}, Word{unit.name}})) : to_lanes(rows[3], columns[3], 2);
  if (Names own = loops_inside(out, around_results); own.size() >= 2)
    to_lanes(own[own.size() - 2], own.back(), 2);
  for (const std::string &loop : {sums[1], rows[2], columns[2]})
    if (has_loop(loop) && chance(50))
      go("unroll", {LoopName{loop}});
  overlap_for_warps(name, fragments, tile);
}

/// Binds the initialisation of the sums to the lanes that hold them.
void Author::clear_by_lanes(const std::string &name, const WarpTile &tile) {
  if (!go("decompose_reduction", {BlockName{name}, LoopName{tile.k_outer}}))
    return;
  Names zeros = loops_inside(results().front(), tile.warp);
  if (zeros.size() != 4 ||
      !go("reorder", {std::vector<LoopName>{{zeros[0]}, {zeros[2]}, {zeros[1]}, {zeros[3]}}}) ||
      !go("fuse", {LoopName{zeros[0]}, LoopName{zeros[2]}}))
    return;
  std::string row = results().front();
  if (go("fuse", {LoopName{zeros[1]}, LoopName{zeros[3]}}))
    to_lanes(row, results().front(), 2);
}

void Author::overlap_for_warps(const std::string &name, const Names &fragments, const WarpTile &tile) {
  if (fragments.size() == 2 && chance(25))
    go("pipeline", {LoopName{tile.k_step},
                    std::vector<StageName>{{fragments[0], 0, 0}, {fragments[1], 0, 1}, {name, 1, 2}}});
  const auto *outer = has_loop(tile.k_outer) ? find_loop(body(), s_.loop(tile.k_outer).var) : nullptr;
  if (!outer || !as<Seq>(outer->body) || chance(45))
    return;
  std::vector<Stmt> nests = nests_of(outer->body);
  std::int64_t stage = random_.pick({1, 1, 2, 3}), order = 0;
  std::vector<StageName> list;
  for (const Stmt &nest : nests) {
    bool last = nest == nests.back();
    for (const Block *each : blocks_of(nest))
      list.push_back({each->id->name, last ? stage : 0, order});
    ++order;
  }
  if (chance(80) ? go("pipeline", {LoopName{tile.k_outer}, list})
                 : go(any_pipeline(*outer, random_)) && chance(60))
    if (chance(40))
      go("join_pipelines", {LoopName{tile.k_step}});
}

/// Copies an operand to a fragment, from global memory or through a tile in shared memory. Returns the block
/// that writes the fragment.
std::string Author::operand_of_warps(const std::string &name, const std::string &operand,
                                     const WarpTile &tile) {
  const std::vector<Expr> indices = [&] {
    for (const Load *access : loads_of(block(name)))
      if (access->buffer->name == operand)
        return access->indices;
    return std::vector<Expr>();
  }();
  std::size_t rank = indices.size();
  auto sums = [&](const Expr &index) {
    return std::ranges::any_of(block(name).iters, [&](const IterVar &iter) {
      return iter.kind == IterKind::reduction && uses(index, iter.var);
    });
  };
  if (rank < 2 || (!sums(indices[rank - 1]) && !sums(indices[rank - 2])))
    return "";
  bool along_k = sums(indices[rank - 1]), a = operand == "A" || operand == "X";
  std::string source = operand, copy;
  if (chance(tile.call ? 70 : 60) && go("cache_read", {BlockName{name}, Word{operand}, Word{"shared"}}))
    source = copy = results().front();
  std::string fragment;
  if (tile.call && go("cache_read", {BlockName{name}, Word{source}, Word{"warp"}})) {
    fragment = results().front();
    std::string text = a ? tile.unit.a_layout() : tile.unit.b_layout(along_k);
    if (a && !along_k)
      text.replace(0, 4, "k, i");
    if (chance(12))
      text = with_other_strides(text, random_);
    go("transform_layout", {BlockName{fragment}, map(tile.batch + text)});
    go("compute_at", {BlockName{fragment}, LoopName{tile.k_step}});
    load_fragment(fragment, a, along_k, !copy.empty(), tile);
  }
  if (!copy.empty())
    share_among_warps(copy, a, along_k, tile);
  return fragment;
}

void Author::load_fragment(const std::string &fragment, bool a, bool along_k, bool from_shared,
                           const WarpTile &tile) {
  Names own = loops_inside(fragment, tile.k_step);
  if (own.size() < 2)
    return;
  std::string along = own[own.size() - (along_k ? 2 : 1)], k = own[own.size() - (along_k ? 1 : 2)];
  if (!chance(from_shared ? 60 : 3) || (tile.unit.width != 2 && !along_k))
    return to_lanes(along, k, tile.unit.width);
  auto extent = as_int(find_loop(body(), s_.loop(along).var)->extent).value_or(1);
  bool two = !a && extent % 16 == 0 && chance(70);
  Names parts = split(along, {infer, a || two ? 16 : 8});
  if (parts.empty())
    return;
  std::vector<LoopName> order = {{parts[0]}, {parts[1]}, {k}};
  if (chance(40))
    std::swap(order[1], order[2]);
  if (!go("reorder", {order}))
    return;
  std::string intrinsic = a ? "ldmatrix_a" : two ? "ldmatrix_b2" : "ldmatrix_b";
  bool transposed = a != along_k;
  if (chance(3))
    transposed = !transposed;
  go("tensorize", {LoopName{order[1].name}, Word{transposed ? intrinsic + "_trans" : intrinsic}});
}

/// Lets the threads copy a tile to shared memory: all threads together, or each warp its own part.
void Author::share_among_warps(const std::string &copy, bool a, bool along_k, const WarpTile &tile) {
  if (!go("compute_at", {BlockName{copy}, LoopName{tile.k_outer}}))
    return;
  std::int64_t warps = tile.rows * tile.columns, bytes = byte_size(block(copy).body.buffer->dtype);
  Names own = loops_inside(copy, tile.k_outer);
  if (own.size() < 2)
    return;
  std::string &first = own[own.size() - 2], &last = own.back(), lanes;
  bool alone = (a ? tile.columns : tile.rows) == 1; // each warp uses a part of its own
  if (std::string &side = along_k ? first : last; alone && warps > 1 && chance(50)) {
    Names parts = split(side, {warps, infer});
    if (parts.empty() || !go("bind", {LoopName{parts[0]}, Word{"warp"}}))
      return;
    side = parts[1];
    warps = 1;
  }
  if (Names parts = chance(60)
                        ? split(last, {infer, random_.pick({2, 4, 8, 16}) / std::min(bytes, std::int64_t{2})})
                        : Names();
      !parts.empty())
    last = parts[0], lanes = parts[1];
  if (!go("fuse", {LoopName{first}, LoopName{last}}))
    return;
  if (warps == 1 || chance(20)) {
    Names parts = split(results().front(), {infer, warps, 32});
    if (parts.empty())
      return;
    go("bind", {LoopName{parts[2]}, Word{"lane"}});
    if (warps > 1)
      go("bind", {LoopName{parts[1]}, Word{"warp"}});
  } else if (Names parts = split(results().front(), {infer, 32 * warps}); !parts.empty()) {
    go("bind", {LoopName{parts[1]}, Word{"threadIdx.x"}});
  }
  if (!lanes.empty())
    by_lanes(copy, lanes);
  if (chance(40)) {
    std::int64_t groups = bytes == 1 ? 4 : bytes == 2 ? 3 : 2; // elements in 16 bytes, as a power of two
    go("swizzle", {BlockName{copy}, random_.pick({1, 2, 3}), groups, random_.pick({2, 3, 3, 4})});
  } else if (chance(30)) {
    go("storage_align", {BlockName{copy}, std::int64_t{0}, std::int64_t{32}, 16 / bytes});
  } else if (chance(10)) {
    go(any_storage(s_, copy, random_));
  }
  if (chance(45))
    go("async_copy", {BlockName{copy}});
}

/// Lets a warp sum a row. In each step, a lane adds one element, or all lanes together call `warp_sum`.
void Author::sums_of_warps(const std::string &name, const Names &around) {
  std::string out = sums_in_fragment(name);
  std::vector<std::int64_t> factors = {infer, random_.pick({1, 2, 3, 4})};
  if (chance(40)) // a warp sums more than one row
    factors.push_back(random_.pick({2, 8, 32}));
  Names rows = split(around[0], factors), steps = split(around[1], {infer, chance(95) ? 32 : 16});
  if (out.empty() || rows.empty() || steps.empty())
    return;
  go("reverse_compute_at", {BlockName{out}, LoopName{rows[1]}});
  bind({rows[0]}, {Axis::block_x, Axis::block_y});
  go("bind", {LoopName{rows[1]}, Word{"warp"}});
  std::string operand;
  bool rows_first = true;
  for (const Load *access : loads_of(block(name)))
    if (access->buffer != block(name).body.buffer) {
      operand = access->buffer->name;
      rows_first = access->indices.size() == 2 && std::ranges::any_of(block(name).iters, [&](const IterVar &x) {
                     return x.kind == IterKind::reduction && uses(access->indices[1], x.var);
                   });
    }
  if (!go("cache_read", {BlockName{name}, Word{operand}, Word{"warp"}}))
    return;
  std::string fragment = results().front();
  go("compute_at", {BlockName{fragment}, LoopName{steps[0]}});
  go("transform_layout", {BlockName{fragment}, map(rows_first ? "i, k -> k%32, i" : "k, i -> k%32, i")});
  if (Names own = loops_inside(fragment, steps[0]); own.size() == 2)
    go("bind", {LoopName{own[rows_first ? 1 : 0]}, Word{"lane"}});
  go("transform_layout", {BlockName{name}, map("i, r -> r, i")}); // each lane has a copy of the sum
  if (Names own = loops_inside(out, rows[1]); !own.empty())
    if (Names parts = split(own.back(), {infer, 32}); !parts.empty())
      go("bind", {LoopName{parts[1]}, Word{"lane"}});
  if (chance(35) &&
      go("decompose_reduction", {BlockName{name}, LoopName{rows.size() > 2 ? rows[2] : steps[0]}}))
    if (Names own = loops_inside(results().front(), rows[1]); !own.empty() && chance(25)) // one lane stores
      if (Names parts = split(own.back(), {infer, 32}); !parts.empty())
        go("bind", {LoopName{parts[1]}, Word{"lane"}});
  go("tensorize", {LoopName{steps[1]}, Word{"warp_sum"}});
  if (chance(25))
    go("double_buffer", {LoopName{steps[0]}});
}

} // namespace nestsmith::fuzz
