#include "dsl/expr/error.h"
#include "dsl/expr/expr_text.h"
#include "dsl/expr/identifier.h"
#include "dsl/hardware/intrinsic_table.h"
#include "dsl/hardware/intrinsics.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace nestsmith {

namespace {

/// Checks a declaration.
class DeclarationChecker {
public:
  explicit DeclarationChecker(const Intrinsic &intrinsic) : intrinsic_(intrinsic) {}

  void run() {
    if (!is_identifier(intrinsic_.name) || is_cpp_keyword(intrinsic_.name))
      fail("its name is not an identifier");
    if (intrinsic_.name.size() > most_identifier_length)
      fail("its name has {} letters, expected at most {}", intrinsic_.name.size(), most_identifier_length);
    check_operands();
    check_meaning();
    if (intrinsic_.group == Group::thread)
      return check_thread();
    for (const Operand &operand : intrinsic_.operands)
      check_place(operand);
    if (const Operand &result = intrinsic_.result(); result.as<InTile>())
      fail("{} is written, so it must be a fragment, or rows in shared memory", result.formal->name);
    else if (const auto *rows = result.as<Rows>(); rows && rows->lanes != lanes_per_warp)
      fail("{} lanes supply the rows of {}, which is written, expected {}", rows->lanes, result.formal->name,
           lanes_per_warp);
  }

private:
  template <class... Args> [[noreturn]] void fail(fmt::format_string<Args...> format, Args &&...args) const {
    throw UserError(ExitCode::usage, fmt::format("the intrinsic '{}' is malformed: {}", intrinsic_.name,
                                                 fmt::format(format, std::forward<Args>(args)...)));
  }

  void check_operands() const {
    std::set<Buffer> seen;
    for (const Operand &operand : intrinsic_.operands) {
      if (!operand.formal || !seen.insert(operand.formal).second)
        fail("each operand needs a formal buffer of its own");
      for (const Expr &extent : operand.formal->shape)
        if (as_int(extent).value_or(0) < 1)
          fail("the operand {} has the extent {}, expected a positive constant", operand.formal->name,
               extent.exists() ? to_string(extent) : "null");
    }
  }

  void check_meaning() const {
    const Nest &nest = intrinsic_.meaning;
    if (nest.loops.empty() || !nest.body.buffer || !nest.body.value.exists())
      fail("its meaning is not a nest of loops around one store");
    for (const NestLoop &loop : nest.loops)
      if (!loop.var || loop.extent < 2)
        fail("a loop of its meaning has {} iterations, expected at least 2", loop.extent);
    std::map<Buffer, Expr> used;
    auto check_access = [&](const Buffer &buffer, const std::vector<Expr> &indices) {
      check_indices(buffer, indices);
      Expr access = load(buffer, indices);
      if (auto [other, first] = used.emplace(buffer, access); !first && !same(other->second, access))
        fail("its meaning reads {} and {}, expected one element of each operand", to_string(other->second),
             to_string(access));
    };
    check_access(nest.body.buffer, nest.body.indices);
    walk(nest.body.value, [&](const Expr &e) {
      const auto *access = e.as<Load>();
      if (!access)
        return;
      check_access(access->buffer, access->indices);
      if (access->mask.exists())
        fail("its meaning reads {} under a mask", access->buffer->name);
    });
    Expr without_loads = replace_nodes(
        nest.body.value, [](const Expr &e) { return e.as<Load>() ? constant(e.dtype(), 0) : Expr(); });
    if (any_node(without_loads, [](const Expr &e) { return e.as<Var>() != nullptr; }))
      fail("its meaning computes with a variable, expected only elements of its operands");
    if (nest.body.value.dtype() != nest.body.buffer->dtype)
      fail("its meaning stores a value of {} to {}, which has {}", name(nest.body.value.dtype()),
           nest.body.buffer->name, name(nest.body.buffer->dtype));
    for (const Operand &operand : intrinsic_.operands)
      if (!used.contains(operand.formal))
        fail("its meaning does not use the operand {}", operand.formal->name);
  }

  /// Each index is a loop of its own that covers the dimension.
  void check_indices(const Buffer &buffer, const std::vector<Expr> &indices) const {
    const auto &operands = intrinsic_.operands;
    if (std::ranges::find(operands, buffer, &Operand::formal) == operands.end())
      fail("its meaning accesses {}, which is no operand", buffer->name);
    std::set<Var> seen;
    bool covers = indices.size() == buffer->shape.size();
    for (std::size_t d = 0; covers && d < indices.size(); ++d) {
      const Var *var = indices[d].as<Var>();
      auto loop = std::ranges::find_if(intrinsic_.meaning.loops,
                                       [&](const NestLoop &x) { return var && x.var == *var; });
      covers = loop != intrinsic_.meaning.loops.end() && as_int(buffer->shape[d]) == loop->extent &&
               seen.insert(*var).second;
    }
    if (!covers)
      fail("its meaning accesses {}, expected one loop for each dimension of {}, with the extent of the "
           "dimension",
           to_string(load(buffer, indices)), buffer->name);
  }

  void check_thread() const {
    if (intrinsic_.meaning.loops.size() != 1)
      fail("its meaning has {} loops, but an intrinsic of a thread has one", intrinsic_.meaning.loops.size());
    if (!intrinsic_.result().formal->shape.empty())
      fail("{} has several elements, but an intrinsic of a thread has one result",
           intrinsic_.result().formal->name);
    for (const Operand &operand : intrinsic_.operands)
      if (!operand.as<ByValue>())
        fail("the operand {} is in a fragment or in rows, but a thread passes its operands by value",
             operand.formal->name);
  }

  void check_place(const Operand &operand) const {
    const std::string &name = operand.formal->name;
    if (operand.as<ByValue>())
      fail("the operand {} is by value, but a warp has fragments and rows in shared memory", name);
    if (const auto *tile = operand.as<InTile>()) {
      const auto &shape = operand.formal->shape;
      const std::int64_t of_k = 32 / byte_size(operand.formal->dtype);
      if (shape.size() != 2 || operand.alignment != tile_alignment ||
          *as_int(shape[tile->across ? 1 : 0]) % 16 != 0 || *as_int(shape[tile->across ? 0 : 1]) != of_k)
        fail("{} is in a tile, expected {}, and the alignment {}", name,
             tile->across ? fmt::format("{} rows of 16*n elements", of_k) : "16*n rows of 32 bytes",
             tile_alignment);
      return check_spots(operand);
    }
    if (const auto *fragment = operand.as<InRegisters>()) {
      std::size_t rank = operand.formal->shape.size(), given = fragment->map.logical().size();
      if (given != rank && given != rank + 1)
        fail("the map {} of {} has {} indices, expected {}, or {} with a replica", to_string(fragment->map),
             name, given, rank, rank + 1);
      if (fragment->map.physical().size() != 2)
        fail("the map {} of {} gives {} indices, expected a lane and a register", to_string(fragment->map),
             name, fragment->map.physical().size());
    } else if (const auto &rows = *operand.as<Rows>();
               rows.start.size() != operand.formal->shape.size() || rows.along >= rows.start.size()) {
      fail("the rows of {} start at {} indices, expected {}", name, rows.start.size(),
           operand.formal->shape.size());
    }
    check_spots(operand);
  }

  /// Each lane holds each of its registers once. Rows supply each element once.
  void check_spots(const Operand &operand) const {
    const std::string &name = operand.formal->name;
    bool fragment = operand.as<InRegisters>() != nullptr;
    auto spots = spots_of(operand);
    if (spots.empty())
      fail("the rows of {} extend past its end", name);
    std::set<Spot> seen;
    for (const std::vector<Spot> &places : spots)
      for (const Spot &spot : places) {
        if (spot.lane < 0 || spot.lane >= lanes_per_warp || spot.at < 0)
          fail("the map of {} gives the lane {} and the register {}", name, spot.lane, spot.at);
        if (!seen.insert(spot).second)
          fail("two elements of {} are in register {} of lane {}", name, spot.at, spot.lane);
      }
    std::size_t per_lane = 0;
    for (const Spot &spot : seen)
      per_lane = std::max(per_lane, static_cast<std::size_t>(spot.at) + 1);
    if (fragment && seen.size() != per_lane * lanes_per_warp)
      fail("{} fills {} of the {} registers of its lanes", name, seen.size(), per_lane * lanes_per_warp);
    if (!fragment && std::ranges::any_of(spots, [](const auto &x) { return x.size() != 1; }))
      fail("the rows of {} do not supply each element once", name);
  }

  const Intrinsic &intrinsic_;
};

} // namespace

void check_declaration(const Intrinsic &intrinsic) { DeclarationChecker(intrinsic).run(); }

} // namespace nestsmith
