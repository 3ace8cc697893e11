#include "dsl/hardware/intrinsics.h"

#include "dsl/expr/error.h"
#include "dsl/hardware/intrinsic_table.h"
#include "dsl/hardware/lane_reductions.h"
#include "dsl/ir/interpret.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <fmt/format.h>
#include <llvm/ADT/StringRef.h>
#include <mutex>
#include <utility>

namespace nestsmith {

namespace {

std::int64_t elements_of(const Buffer &formal) {
  std::int64_t elements = 1;
  for (const Expr &extent : formal->shape)
    elements *= as_int(extent).value();
  return elements;
}

using LaneValues = std::map<Var, Scalar>;
std::int64_t evaluated(const Expr &e, const LaneValues &environment) {
  return evaluate(e, environment).as<std::int64_t>();
}

/// The spots of one replica.
std::vector<Spot> spots_of(const Buffer &formal, const IndexMap &map, std::int64_t replica) {
  std::vector<Spot> spots;
  for (std::int64_t n = 0; n < elements_of(formal); ++n) {
    LaneValues environment = {{map.logical().back(), Scalar::of(DType::i64, replica)}};
    std::int64_t rest = n;
    for (std::size_t d = formal->shape.size(); d-- > 0;) {
      std::int64_t extent = *as_int(formal->shape[d]);
      environment[map.logical()[d]] = Scalar::of(DType::i64, rest % extent);
      rest /= extent;
    }
    spots.push_back({evaluated(map.physical()[0], environment), evaluated(map.physical()[1], environment)});
  }
  return spots;
}

/// Together, the replicas fill the registers that the first replica uses.
std::vector<std::vector<Spot>> spots_of(const Buffer &formal, const InRegisters &fragment) {
  std::vector<std::vector<Spot>> result(static_cast<std::size_t>(elements_of(formal)));
  std::int64_t replicas = 1;
  for (std::int64_t replica = 0; replica < replicas; ++replica) {
    std::vector<Spot> spots = spots_of(formal, fragment.map, replica);
    for (std::size_t n = 0; n < spots.size(); ++n)
      result[n].push_back(spots[n]);
    if (replica == 0 && fragment.map.logical().size() > formal->shape.size())
      replicas = lanes_per_warp * (std::ranges::max(spots, {}, &Spot::at).at + 1) / elements_of(formal);
  }
  return result;
}

std::vector<std::vector<Spot>> spots_in_tile(const Operand &operand) {
  const Buffer &formal = operand.formal;
  const std::int64_t columns = *as_int(formal->shape[1]), chunk = 16 / byte_size(formal->dtype);
  std::vector<std::vector<Spot>> spots(static_cast<std::size_t>(elements_of(formal)));
  const Var lane = make_var("lane", DType::i64);
  for (std::int64_t n = 0; n < elements_of(formal) / (lanes_per_warp * chunk); ++n) {
    const ChunkOfTile first = chunk_of_tile(operand, lane, n);
    for (std::int64_t l = 0; l < lanes_per_warp; ++l) {
      const LaneValues environment = {{lane, Scalar::of(DType::i64, l)}};
      const std::int64_t at =
          evaluated(first.row, environment) * columns + evaluated(first.column, environment);
      for (std::int64_t element = 0; element < chunk; ++element)
        spots[static_cast<std::size_t>(at + element)].push_back({l, n * chunk + element});
    }
  }
  return spots;
}

std::vector<std::vector<Spot>> spots_of(const Buffer &formal, const Rows &rows) {
  std::vector<std::vector<Spot>> spots(static_cast<std::size_t>(elements_of(formal)));
  for (std::int64_t lane = 0; lane < lanes_per_warp; ++lane) // the ignored addresses are valid too
    for (std::int64_t n = 0; n < rows.count; ++n) {
      LaneValues environment = {{rows.lane, Scalar::of(DType::i64, lane)}};
      std::int64_t element = 0;
      for (std::size_t d = 0; d < rows.start.size(); ++d) {
        std::int64_t extent = *as_int(formal->shape[d]);
        std::int64_t index = evaluated(rows.start[d], environment) + (d == rows.along ? n : 0);
        if (index < 0 || index >= extent)
          return {};
        element = element * extent + index;
      }
      if (lane < rows.lanes)
        spots[static_cast<std::size_t>(element)].push_back({lane, n});
    }
  return spots;
}

} // namespace

std::vector<std::vector<Spot>> spots_of(const Operand &operand) {
  if (const auto *fragment = operand.as<InRegisters>())
    return spots_of(operand.formal, *fragment);
  if (operand.as<InTile>())
    return spots_in_tile(operand);
  internal_check(operand.as<Rows>() != nullptr, "an operand by value has no lanes");
  return spots_of(operand.formal, *operand.as<Rows>());
}

bool is_replicated(const Operand &operand) {
  const auto *fragment = operand.as<InRegisters>();
  return fragment && fragment->map.logical().size() > operand.formal->shape.size();
}

std::int64_t elements_per_lane(const Operand &operand) {
  if (const auto *rows = operand.as<Rows>())
    return rows->count;
  const std::int64_t elements = elements_of(operand.formal);
  // Each lane holds each of its registers once (intrinsic_check.cpp), but for a value of one lane only.
  if (!is_replicated(operand) && elements % lanes_per_warp == 0)
    return elements / lanes_per_warp;
  std::int64_t most = 0;
  for (const std::vector<Spot> &spots : spots_of(operand))
    for (const Spot &spot : spots)
      most = std::max(most, spot.at + 1);
  return most;
}

std::string updated_registers(std::string_view array, std::int64_t count) {
  std::string text;
  for (std::int64_t n = 0; n < count; ++n)
    text += fmt::format("{}\"+f\"({}[{}])", n == 0 ? "" : n % 8 == 0 ? ",\n                 " : ", ", array, n);
  return text;
}

bool reads_tiles(const Intrinsic &intrinsic) {
  return std::ranges::any_of(intrinsic.operands, [](const Operand &x) { return x.as<InTile>() != nullptr; });
}

Swizzle swizzle_of_tiles(DType dtype) {
  return {3, std::countr_zero(static_cast<std::uint64_t>(16 / byte_size(dtype))), 3};
}

Expr offset_in_tile(const Expr &first, const Expr &row, const Expr &column, DType dtype) {
  auto number = [&](std::int64_t n) { return int_imm(n, first.dtype()); };
  const std::int64_t columns = columns_of_tile(dtype);
  const Expr at = first + floordiv(column, number(columns)) * number(columns * columns) +
                  row * number(columns) + floormod(column, number(columns));
  return binary(BinaryOp::bit_xor, at,
                floormod(floordiv(at, number(columns)), number(rows_of_swizzle)) *
                    number(16 / byte_size(dtype)));
}

ChunkOfTile chunk_of_tile(const Operand &operand, const Expr &lane, std::int64_t n) {
  auto number = [&](std::int64_t value) { return int_imm(value, lane.dtype()); };
  const DType dtype = operand.formal->dtype;
  const std::int64_t rows = *as_int(operand.formal->shape[0]), columns = *as_int(operand.formal->shape[1]),
                     chunk = 16 / byte_size(dtype), whole = bytes_of_tile_row / 16,
                     in_row = std::min(columns / chunk, whole), at_once = lanes_per_warp / in_row;
  if (in_row == whole) // 8 lanes read a row, which has no bank conflicts
    return {number(n * at_once % rows) + floordiv(lane, number(whole)),
            number(n * at_once / rows * columns_of_tile(dtype)) +
                floormod(lane, number(whole)) * number(chunk)};
  return {number(n * at_once) + floormod(lane, number(at_once)),
          floordiv(lane, number(at_once)) * number(chunk)};
}

namespace {

/// One call as an expression: the value that the loop stores in the end.
Function function_of(const Intrinsic &intrinsic) {
  std::map<Buffer, Var> parameters;
  Function result{intrinsic.name, intrinsic.meaning.body.buffer->dtype, {}, {}, intrinsic.prelude};
  for (const Operand &operand : intrinsic.operands) {
    auto lanes = static_cast<int>(elements_of(operand.formal));
    Var parameter = make_var(operand.formal->name, operand.formal->dtype, lanes);
    parameters[operand.formal] = parameter;
    result.parameters.push_back(parameter);
  }
  const Buffer &stored = intrinsic.meaning.body.buffer;
  const NestLoop &loop = intrinsic.meaning.loops.front();
  Expr value = parameters.at(stored);
  for (std::int64_t n = 0; n < loop.extent; ++n)
    value = replace_nodes(intrinsic.meaning.body.value, [&](const Expr &e) {
      const auto *access = e.as<Load>();
      if (!access)
        return e.as<Var>() ? Expr(n) : Expr();
      if (access->buffer == stored)
        return value;
      const Var &parameter = parameters.at(access->buffer);
      return parameter->lanes > 1 ? lane(parameter, static_cast<int>(n)) : Expr(parameter);
    });
  result.meaning = value;
  return result;
}

/// Entries keep their addresses.
struct Table {
  std::mutex mutex;
  std::deque<Intrinsic> entries;

  const Intrinsic &add(Intrinsic intrinsic) {
    check_declaration(intrinsic);
    std::scoped_lock lock(mutex);
    for (const Intrinsic &other : entries)
      if (signature(other) == signature(intrinsic))
        throw UserError(ExitCode::usage, fmt::format("the intrinsic {} is registered already; an intrinsic of "
                                                     "the same name needs operands of other dtypes",
                                                     signature(intrinsic)));
    return append(std::move(intrinsic));
  }
  const Intrinsic &append(Intrinsic intrinsic) {
    if (intrinsic.group == Group::thread)
      intrinsic.function = function_of(intrinsic);
    return entries.emplace_back(std::move(intrinsic));
  }
};

Table &table() {
  static Table *made = [] {
    auto *fresh = new Table; // never destroyed: programs refer to its entries until the end
    for (Intrinsic &intrinsic : standard_intrinsics())
      fresh->append(std::move(intrinsic)); // a test checks them, so that programs start faster
    return fresh;
  }();
  return *made;
}

} // namespace

/// "argmax" for "warp_argmax"; empty for other names.
static std::string_view reducer_of_lanes(std::string_view name) {
  constexpr std::string_view prefix = "warp_";
  return name.starts_with(prefix) ? name.substr(prefix.size()) : std::string_view();
}

const Intrinsic &register_intrinsic(Intrinsic intrinsic) { return table().add(std::move(intrinsic)); }

std::vector<const Intrinsic *> all_intrinsics() {
  Table &all = table();
  std::scoped_lock lock(all.mutex);
  std::vector<const Intrinsic *> list;
  for (const Intrinsic &intrinsic : all.entries)
    list.push_back(&intrinsic);
  return list;
}

std::vector<const Intrinsic *> find_intrinsics(std::string_view name, DType result) {
  std::vector<const Intrinsic *> found = all_intrinsics();
  std::erase_if(found,
                [&](const Intrinsic *x) { return x->name != name || x->meaning.body.buffer->dtype != result; });
  if (const OwnReducer *reducer = found.empty() ? find_own_reducer(reducer_of_lanes(name), result) : nullptr;
      reducer && reducer->commutative) // shuffles exchange the results of any two lanes
    if (const Intrinsic *lanes = lane_reduction(*reducer))
      found.push_back(lanes);
  return found;
}

bool is_intrinsic(std::string_view name) {
  if (is_own_reducer(reducer_of_lanes(name)))
    return true;
  Table &all = table();
  std::scoped_lock lock(all.mutex);
  return std::ranges::any_of(all.entries, [&](const Intrinsic &x) { return x.name == name; });
}

std::vector<std::string> similar_intrinsics(std::string_view name, DType result) {
  std::vector<const Intrinsic *> all = all_intrinsics();
  std::ranges::stable_sort(all, {}, [&](const Intrinsic *x) {
    bool other = x->meaning.body.buffer->dtype != result;
    return std::pair(llvm::StringRef(x->name).edit_distance(llvm::StringRef(name.data(), name.size())), other);
  });
  std::vector<std::string> signatures;
  for (std::size_t n = 0; n < std::min<std::size_t>(3, all.size()); ++n)
    signatures.push_back(signature(*all[n]));
  return signatures;
}

} // namespace nestsmith
