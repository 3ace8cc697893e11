/// Judges a schedule by the oracles that judge.cpp does not use: other sizes, registers, wrong results, and
/// commands.

#include "tests/fuzz/judge_all.h"

#include "dsl/expr/error.h"
#include "dsl/ir/interpret.h"
#include "dsl/ir/intrinsic.h"
#include "dsl/ir/printer.h"
#include "dsl/ir/specialise.h"
#include "lowering/lower.h"
#include "runtime/check/blame.h"
#include "runtime/check/check.h"
#include "runtime/check/sim_executor.h"
#include "runtime/check/stored_array.h"
#include "tests/fuzz/commands.h"
#include "tests/fuzz/isolated.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>

namespace nestsmith::fuzz {

namespace {

constexpr double most_at_other_sizes = 2e5, most_checked_again = 2e4; ///< block instances

/// Returns other values of the sizes: the smallest ones, each size about doubled alone, and the sizes in
/// reverse order.
std::vector<Shape> other_shapes(const Shape &shape) {
  std::int64_t unit = shape.stated->multiple_of,
               least = (std::max<std::int64_t>(shape.stated->min, 1) + unit - 1) / unit * unit;
  std::vector<Shape> shapes;
  auto add = [&](std::vector<std::int64_t> extents) {
    Shape other(std::move(extents));
    other.stated = shape.stated;
    if (!(other == shape) && std::ranges::find(shapes, other) == shapes.end())
      shapes.push_back(std::move(other));
  };
  add(std::vector(shape.size(), least));
  for (std::size_t n = 0; n < shape.size(); ++n) {
    std::vector<std::int64_t> extents = shape;
    extents[n] = 2 * extents[n] + unit;
    add(extents);
  }
  std::vector<std::int64_t> reversed(shape.rbegin(), shape.rend());
  add(reversed);
  return shapes;
}

bool is_gathered(const Program &program) {
  return std::ranges::any_of(blocks_of(program.body), [](const Block *block) {
    return any_node(block->body.value, [](const Expr &e) {
      const auto *access = e.as<Load>();
      return access && (std::ranges::any_of(access->indices, reads_memory) ||
                        (access->mask.exists() && reads_memory(access->mask)));
    });
  });
}

/// Returns a fault that a launch with other accepted sizes shows. Computations whose indices are data are
/// skipped, because the indices are not known before the launch.
std::optional<std::string> fault_at_other_sizes(const Schedule &schedule, const kernel::Plan &plan,
                                                const Shape &shape) {
  if (!shape.stated || is_gathered(schedule.source()))
    return std::nullopt;
  sim::Options single;
  single.host_threads = 1;
  SimExecutor simulator(single);
  for (const Shape &other : other_shapes(shape)) {
    std::vector<std::int64_t> sizes = sizes_for(schedule.source(), other, 0);
    if (!are_stated(schedule.source(), sizes))
      continue;
    try {
      kernel::Plan sized = with_sizes(plan, sizes);
      Program source = specialise(schedule.source(), sizes);
      if (block_instances(specialise(schedule.program(), sizes).body) > most_at_other_sizes)
        continue;
      Inputs inputs = make_inputs(source, CheckRun::ring, 1);
      for (std::size_t n = 0; n < inputs.arrays.size(); ++n)
        inputs.arrays[n] = StoredArray(source.params[n]).spread(inputs.arrays[n], filler_of(source.params[n]));
      Execution execution = simulator.run(sized, inputs.arrays, inputs.scalars);
      if (!execution.diagnostics.empty())
        return fmt::format("a launch takes the sizes {}: {}", fmt::join(sizes, ", "),
                           execution.diagnostics.front());
    } catch (const UserError &) { // the sizes are refused
    }
  }
  return std::nullopt;
}

/// Returns a fault if, for some iteration, the registers of an operand are not aligned to the words of the
/// intrinsic.
std::optional<std::string> fault_of_registers(const kernel::Plan &plan) {
  for (const kernel::Kernel &kernel : plan.kernels) {
    std::vector<std::pair<Var, std::int64_t>> loops;
    kernel::walk(kernel.body, [&](const kernel::Stmt &stmt) {
      if (const auto *loop = kernel::as<kernel::Loop>(stmt))
        loops.emplace_back(loop->var, as_int(loop->extent).value_or(2));
    });
    std::optional<std::string> fault;
    auto check = [&](const kernel::OperandAddress &place, std::int64_t word) {
      std::int64_t bytes = byte_size(place.buffer->dtype);
      if (bytes >= word || place.buffer->scope == Scope::shared || reads_memory(place.offset))
        return;
      for (std::int64_t step = 0; step < 8 && !fault; ++step) {
        std::map<Var, Scalar> at;
        std::int64_t n = 0;
        walk(place.offset, [&](const Expr &e) {
          if (const auto *var = e.as<Var>(); var && !at.contains(*var)) {
            auto loop = std::ranges::find(loops, *var, &std::pair<Var, std::int64_t>::first);
            std::int64_t most = loop == loops.end() ? 0 : loop->second - 1;
            at[*var] =
                Scalar::from_double((*var)->dtype, static_cast<double>(std::min(most, (step >> n++) & 1)));
          }
        });
        if (static_cast<std::int64_t>(evaluate(place.offset, at).to_double()) * bytes % word != 0)
          fault = fmt::format("an instruction takes words from {} at the element {}", place.buffer->name,
                              to_string(place.offset));
      }
    };
    kernel::walk(kernel.body, [&](const kernel::Stmt &stmt) {
      if (const auto *call = kernel::as<kernel::Call>(stmt))
        for (std::size_t n = 0; n < call->places.size(); ++n)
          check(call->places[n], call->intrinsic.get().operands[n].alignment);
    });
    if (fault)
      return fault;
  }
  return std::nullopt;
}

/// Returns a value that differs from `value`.
Scalar wrong_value(Scalar value) {
  if (is_float(value.dtype))
    return Scalar::from_double(value.dtype, value.to_double() * -17.5 + 3);
  value.bits ^= 1;
  return value;
}

/// Returns a fault if the check passes an output with only wrong elements.
std::optional<std::string> fault_of_check(const Program &source) {
  for (std::size_t n = 0; n < source.params.size(); ++n) {
    if (source.params[n]->role == Role::input)
      continue;
    CheckResult result =
        Checker().check(source, [&](std::vector<Array> &arrays, const std::vector<Scalar> &scalars) {
          interpret(source, arrays, scalars);
          for (std::int64_t element = 0; element < arrays[n].size(); ++element)
            arrays[n].set(element, wrong_value(arrays[n].at(element)));
          return Execution{};
        });
    if (result.passed)
      return fmt::format("check passes {} with all elements wrong", source.params[n]->name);
  }
  return std::nullopt;
}

} // namespace

Verdict judge_all(const Case &test_case, const Schedule &schedule, const Thoroughness &thoroughness) {
  doing("judge");
  Verdict verdict = judge(schedule, test_case.shape, thoroughness);
  if (breaks_promise(verdict.kind))
    return verdict;
  doing("a schedule of a scheduled program");
  try {
    Schedule again(schedule.program(), schedule.target());
    if (again.obligations().empty())
      lower(again);
  } catch (const UserError &) { // no trace can represent the scheduled program as a computation
  }
  if (verdict.kind == Kind::refused)
    return verdict;
  auto found = [&](Kind kind, std::optional<std::string> fault) {
    if (fault) {
      verdict.kind = kind;
      verdict.message = *fault;
    }
    return fault.has_value();
  };
  doing("registers");
  kernel::Plan plan = lower(schedule);
  if (found(Kind::wrong_kernel, fault_of_registers(plan)))
    return verdict;
  bool runs = verdict.kind == Kind::exact;
  doing("other sizes");
  if (runs && found(Kind::wrong_kernel, fault_at_other_sizes(schedule, plan, test_case.shape)))
    return verdict;
  doing("check of wrong results");
  const Program &source = schedule.source();
  if (runs && source.sizes.empty() && block_instances(source.body) <= most_checked_again &&
      found(Kind::vacuous, fault_of_check(source)))
    return verdict;
  Case own = test_case;
  own.directives = schedule.trace();
  found(Kind::command,
        fault_of_commands(own, schedule,
                          {.report = thoroughness.report, .sample = thoroughness.sample, .runs = runs}));
  return verdict;
}

} // namespace nestsmith::fuzz
