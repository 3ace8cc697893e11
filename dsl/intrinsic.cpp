#include "dsl/intrinsic.h"

#include "dsl/error.h"
#include "dsl/identifier.h"
#include "dsl/interpret.h"
#include "dsl/intrinsic_table.h"
#include "dsl/printer.h"

#include <algorithm>
#include <deque>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mutex>
#include <set>

namespace nestsmith {

std::string to_string(const Nest &nest) {
  std::string loops;
  for (const NestLoop &loop : nest.loops)
    loops += fmt::format("{}{} < {}", loops.empty() ? "for " : ", ", loop.var->name, loop.extent);
  return fmt::format("{}: {} = {}", loops, to_string(load(nest.body.buffer, nest.body.indices)),
                     to_string(nest.body.value));
}

Buffer formal_buffer(std::string name, DType dtype, std::vector<Expr> shape) {
  return std::make_shared<const BufferNode>(
      BufferNode{std::move(name), dtype, std::move(shape), Scope::local, Role::temporary});
}

std::vector<Expr> indices_of(const Nest &nest, const Buffer &buffer) {
  std::vector<Expr> indices = nest.body.indices;
  if (buffer != nest.body.buffer)
    walk(nest.body.value, [&](const Expr &e) {
      if (const auto *access = e.as<Load>(); access && access->buffer == buffer)
        indices = access->indices;
    });
  return indices;
}

const Operand &Intrinsic::operand(const Buffer &formal) const {
  auto found = std::ranges::find(operands, formal, &Operand::formal);
  internal_check(found != operands.end(), "a buffer that is no operand of the intrinsic");
  return *found;
}

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
  internal_check(operand.as<Rows>() != nullptr, "an operand by value has no lanes");
  return spots_of(operand.formal, *operand.as<Rows>());
}

std::int64_t elements_per_lane(const Operand &operand) {
  if (const auto *rows = operand.as<Rows>())
    return rows->count;
  std::int64_t most = 0;
  for (const std::vector<Spot> &spots : spots_of(operand))
    for (const Spot &spot : spots)
      most = std::max(most, spot.at + 1);
  return most;
}

namespace {

/// Checks a declaration.
class Checker {
public:
  explicit Checker(const Intrinsic &intrinsic) : intrinsic_(intrinsic) {}

  void run() {
    if (!is_identifier(intrinsic_.name) || is_cpp_keyword(intrinsic_.name))
      fail("its name is not an identifier");
    check_operands();
    check_meaning();
    if (intrinsic_.group == Group::thread)
      return check_thread();
    for (const Operand &operand : intrinsic_.operands)
      check_place(operand);
    if (!intrinsic_.result().as<InRegisters>())
      fail("{} is written, so it must be a fragment", intrinsic_.result().formal->name);
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
    auto per_lane = static_cast<std::size_t>(elements_per_lane(operand));
    if (fragment && seen.size() != per_lane * lanes_per_warp)
      fail("{} fills {} of the {} registers of its lanes", name, seen.size(), per_lane * lanes_per_warp);
    if (!fragment && std::ranges::any_of(spots, [](const auto &x) { return x.size() != 1; }))
      fail("the rows of {} do not supply each element once", name);
  }

  const Intrinsic &intrinsic_;
};

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
    Checker(intrinsic).run();
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
  return found;
}

bool is_intrinsic(std::string_view name) {
  return std::ranges::any_of(all_intrinsics(), [&](const Intrinsic *x) { return x->name == name; });
}

std::string signature(const Intrinsic &intrinsic) {
  std::vector<std::string_view> dtypes;
  for (const Operand &operand : intrinsic.operands)
    if (std::string_view dtype = name(operand.formal->dtype); std::ranges::find(dtypes, dtype) == dtypes.end())
      dtypes.push_back(dtype);
  return fmt::format("{} ({})", intrinsic.name, fmt::join(dtypes, ", "));
}

std::vector<std::string> intrinsic_signatures() {
  std::vector<std::string> signatures;
  for (const Intrinsic *intrinsic : all_intrinsics())
    signatures.push_back(signature(*intrinsic));
  return signatures;
}

} // namespace nestsmith
