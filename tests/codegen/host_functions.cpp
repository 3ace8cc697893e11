/// Writes the host functions that execute the meaning of the intrinsics of a warp.

#include "tests/codegen/host_functions.h"

#include "codegen/spell.h"
#include "dsl/hardware/intrinsics.h"
#include "dsl/hardware/lane_reductions.h"
#include "lowering/data_arithmetic.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>

namespace nestsmith::host {
namespace {

/// Spells the meaning of an intrinsic. `element_a(i * 16 + k)` is an element of the operand a.
class MeaningSpeller : public ExprSpeller {
public:
  std::string element(const Load &load) const override {
    std::string index = "0";
    for (std::size_t d = 0; d < load.indices.size(); ++d)
      index = fmt::format("({}) * {} + {}", index, *as_int(load.buffer->shape[d]), (*this)(load.indices[d]));
    return fmt::format("element_{}({})", load.buffer->name, index);
  }

private:
  std::string variable(const Var &var) const override { return var->name; }
};

/// The expression with unsigned arithmetic where a sum of integers of 32 bits may wrap around.
Expr wrapping(const Expr &e) {
  Expr wrapped = wrap_on_data(e, {}, wrapping);
  return wrapped.exists() ? wrapped : map_children(e, wrapping);
}

/// Returns the text of a function that returns an element of a tile, which the first lane passes. The tile
/// starts at a multiple of 1024 bytes, so the address has the chunk of its first element.
std::string element_of_tile(const Operand &operand, std::size_t number) {
  const std::int64_t bytes = byte_size(operand.formal->dtype);
  return fmt::format("    auto element_{0} = [&](int n) -> {1} & {{\n"
                     "      {1} *start = ({1} *)operands[0][{2}];\n"
                     "      const int row = n / {3}, column = n % {3}, at = column % {4}, first = "
                     "(int)((size_t)start / 16 % 8);\n"
                     "      return start[column / {4} * {4} * {4} + row * {4} + (((first + at / {5}) ^ row % "
                     "8) - first) * {5} + at % "
                     "{5}];\n"
                     "    }};\n",
                     operand.formal->name, c_type(operand.formal->dtype), number,
                     *as_int(operand.formal->shape[1]), bytes_of_tile_row / bytes, 16 / bytes);
}

/// Returns the text of a table with the lane and the position of the first replica of each element, and of a
/// function that returns an element.
std::string element_text(const Operand &operand, std::size_t number) {
  std::vector<std::string> spots;
  for (const std::vector<Spot> &places : spots_of(operand))
    spots.push_back(fmt::format("{{{}, {}}}", places.front().lane, places.front().at));
  std::string_view type = c_type(operand.formal->dtype);
  return fmt::format("    static const int spots_{0}[][2] = {{{1}}};\n"
                     "    auto element_{0} = [&](int n) -> {2} & {{\n"
                     "      return (({2} *)operands[spots_{0}[n][0]][{3}])[spots_{0}[n][1]];\n"
                     "    }};\n",
                     operand.formal->name, fmt::join(spots, ", "), type, number);
}

/// Returns the text that copies each element of the result to its other replicas.
std::string replica_text(const Operand &result, std::size_t number) {
  std::string text;
  for (const std::vector<Spot> &places : spots_of(result))
    for (const Spot &spot : places)
      text += fmt::format("    (({0} *)operands[{1}][{2}])[{3}] = (({0} *)operands[{4}][{2}])[{5}];\n",
                          c_type(result.formal->dtype), spot.lane, number, spot.at, places.front().lane,
                          places.front().at);
  return text;
}

/// Returns the text of the host function. Each lane stores its pointers. Then the first lane executes the
/// meaning for all lanes.
std::string host_function(const Intrinsic &x) {
  std::string parameters, pointers, elements, loops, replicas;
  for (std::size_t n = 0; n < x.operands.size(); ++n) {
    const Operand &operand = x.operands[n];
    bool result = operand.formal == x.result().formal;
    parameters += fmt::format("{}{}{} *p{}", n == 0 ? "" : ", ", result ? "" : "const ",
                              c_type(operand.formal->dtype), n);
    pointers += fmt::format("  operands[threadIdx.x % 32][{0}] = (void *)p{0};\n", n);
    elements += operand.as<InTile>() ? element_of_tile(operand, n) : element_text(operand, n);
    if (result)
      replicas = replica_text(operand, n);
  }
  for (const NestLoop &loop : x.meaning.loops)
    loops += fmt::format("    for (int {0} = 0; {0} < {1}; ++{0})\n", loop.var->name, loop.extent);
  MeaningSpeller spell;
  const Store &body = x.meaning.body;
  return fmt::format("[[maybe_unused]] static void {}({}) {{\n"
                     "  static void *operands[32][{}];\n{}"
                     "  __syncwarp();\n"
                     "  if (threadIdx.x % 32 == 0) {{\n"
                     "    [[maybe_unused]] auto round_tf32 = host_round_tf32;\n{}{}      {} = {};\n{}"
                     "  }}\n"
                     "  __syncwarp();\n"
                     "}}\n",
                     x.name, parameters, x.operands.size(), pointers, elements, loops,
                     spell(load(body.buffer, body.indices)), spell(wrapping(body.value)), replicas);
}

/// Whether the host has all that the prelude calls.
bool is_of_shuffles(const Intrinsic &x) {
  return x.prelude.find("__shfl") != std::string::npos && x.prelude.find("asm") == std::string::npos;
}

} // namespace

std::string with_host_functions(std::string cuda, bool shuffles) {
  std::vector<const Intrinsic *> all = all_intrinsics();
  std::ranges::copy(lane_shuffles(), std::back_inserter(all));
  for (const Intrinsic *x : all)
    if (std::size_t at = x->prelude.empty() ? std::string::npos : cuda.find(x->prelude);
        x->group == Group::warp && at != std::string::npos && !(shuffles && is_of_shuffles(*x)))
      cuda.replace(at, x->prelude.size(), host_function(*x));
  return cuda;
}

} // namespace nestsmith::host
