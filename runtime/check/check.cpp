#include "runtime/check/check.h"

#include "dsl/expr/error.h"
#include "dsl/expr/function_ref.h"
#include "dsl/expr/math_functions.h"
#include "dsl/ir/printer.h"
#include "dsl/ir/specialise.h"
#include "dsl/ir/workload_info.h"
#include "runtime/check/error_analysis.h"
#include "runtime/check/roundings.h"
#include "runtime/check/stored_array.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace nestsmith {

namespace {

std::string label_of(CheckRun run, const Program &source) {
  switch (run) {
  case CheckRun::random:
    return "floating point";
  case CheckRun::integers:
    return "integer mode";
  case CheckRun::ring:
    return "ring mode";
  case CheckRun::infinite:
    return "infinities, 1 of 2";
  case CheckRun::opposite:
    return "infinities, 2 of 2";
  case CheckRun::ties:
    return "ties of roundings";
  case CheckRun::positive:
    return "positive inputs";
  case CheckRun::alternating:
    return "inputs of both signs";
  case CheckRun::graded:
    return "inputs of several sizes";
  case CheckRun::rising:
    return "rising inputs";
  case CheckRun::steep_up:
    return "1e3 to 2.1e4, rising";
  case CheckRun::steep_down:
    return "-1e3 to -2.1e4, falling";
  case CheckRun::scattered:
    return "-1e4 to 1e4, scattered";
  case CheckRun::residue_ring:
    return "residues modulo 2^31";
  case CheckRun::residue_field:
    return "residues modulo 2^31 - 1";
  case CheckRun::switched:
    auto read = switched_read(source);
    const char *content = is_float(read->buffer->dtype) ? "NaN" : "poison";
    return fmt::format("{} = 0, {} full of {}", read->scalar->name, read->buffer->name, content);
  }
  internal_error("a run of the closed set");
}

/// Whether all results are integers.
bool in_ring(const Program &source) {
  return std::ranges::none_of(written_params(source), [](const Buffer &b) { return is_float(b->dtype); });
}

bool has_float_inputs(const Program &source) {
  return std::ranges::any_of(source.scalars, [](const Var &scalar) { return is_float(scalar->dtype); }) ||
         std::ranges::any_of(source.params, [](const Buffer &param) {
           return param->role != Role::output && is_float(param->dtype);
         });
}

/// Whether all floating-point numbers are f64.
bool is_all_f64(const Program &source) {
  bool found = false, all = true;
  auto note = [&](DType type) {
    found |= type == DType::f64;
    all &= !is_float(type) || type == DType::f64;
  };
  for (const Buffer &param : source.params)
    note(param->dtype);
  for (const Var &scalar : source.scalars)
    note(scalar->dtype);
  for (const Block *block : blocks_of(source.body))
    for (const Expr &part : parts_of(without_reducer_calls(block->body.value)))
      walk(part, [&](const Expr &e) { note(e.dtype()); });
  return found && all;
}

bool any_operation(const Program &source, FunctionRef<bool(const Expr &)> holds) {
  return std::ranges::any_of(blocks_of(source.body), [&](const Block *block) {
    return any_node(without_reducer_calls(block->body.value), holds);
  });
}
bool calls_exp(const Program &source) {
  return any_operation(source, [](const Expr &e) {
    const MathFunction *function = math_function(e);
    return function && (function->name == "exp" || function->name == "exp2" || function->name == "fast_exp");
  });
}
bool takes_maximum(const Program &source) {
  return any_operation(source, [](const Expr &e) {
    const auto *op = e.as<Binary>();
    return op && is_float(e.dtype()) && (op->op == BinaryOp::max || op->op == BinaryOp::min);
  });
}

std::vector<CheckRun> runs_of(const Program &source, const CheckOptions &options) {
  std::vector<CheckRun> runs;
  bool ring = in_ring(source), fractions = !options.exact_only && (!ring || has_float_inputs(source));
  if (fractions)
    runs.push_back(CheckRun::random);
  runs.push_back(ring ? CheckRun::ring : CheckRun::integers);
  if (fractions && rounds_to_narrow(source))
    runs.push_back(CheckRun::ties);
  if (switched_read(source))
    runs.push_back(CheckRun::switched);
  if (fractions && calls_exp(source) && takes_maximum(source))
    runs.insert(runs.end(), {CheckRun::steep_up, CheckRun::steep_down, CheckRun::scattered});
  if (options.infinite && (!ring || has_float_inputs(source)))
    runs.insert(runs.end(), {CheckRun::infinite, CheckRun::opposite});
  return runs;
}

/// Whether the inputs of a run are no special case, so that the run shows that an output is right. Residues are
/// one: they do not show whether floating-point numbers overflow.
bool shows_all(CheckRun run) {
  return is_floating_point(run) || run == CheckRun::integers || run == CheckRun::ring;
}

/// Whether an exact run compared each element of each output.
bool all_exactly(const Program &source, const CheckResult &result) {
  return std::ranges::any_of(result.runs, [&](const RunResult &run) {
    return !is_floating_point(run.run) && shows_all(run.run) && run.exact &&
           run.outputs.size() == written_params(source).size() &&
           std::ranges::all_of(run.outputs, &ComparedOutput::in_full);
  });
}

void note_coverage(const RunResult &run, CheckResult &result) {
  for (const ComparedOutput &output : run.outputs) {
    auto known = std::ranges::find(result.outputs, output.buffer, &Coverage::buffer);
    if (known == result.outputs.end())
      known = result.outputs.insert(known, Coverage{output.buffer, output.elements, 0, ""});
    if (shows_all(run.run) && output.compared > known->compared) {
      known->compared = output.compared;
      known->run = run.label;
    }
  }
}

std::int64_t elements_of(const Buffer &param) {
  std::int64_t elements = 1;
  for (std::int64_t extent : constant_shape(param))
    elements *= extent;
  return elements;
}

bool in_full(const CheckResult &result, const std::string &buffer) {
  auto known = std::ranges::find(result.outputs, buffer, &Coverage::buffer);
  return known != result.outputs.end() && known->in_full();
}

/// Whether a run with this reference compares in full an output that no earlier run did.
bool adds(const Reference &expected, const CheckResult &result) {
  return std::ranges::any_of(expected.outputs, [&](const ReferenceOutput &output) {
    return !in_full(result, output.buffer->name) && UsefulBound(output).count() == std::ssize(output.value);
  });
}

bool all_in_full(const Program &source, const CheckResult &result) {
  return std::ranges::all_of(written_params(source),
                             [&](const Buffer &param) { return in_full(result, param->name); });
}

void note_gaps(const Program &source, const RunResult &run, const Reference &expected, CheckResult &result) {
  if (is_floating_point(run.run) && expected.outputs.front().estimated)
    result.skipped.push_back({run.label,
                              "the bounds are estimates: a kernel may combine the terms of a reducer of the "
                              "program in any order, and the reference has one of them"});
  if (run.without_bound > 0)
    result.skipped.push_back(
        {run.label, fmt::format("{} elements have no error bound, because {} may overflow or a divisor may be "
                                "0, or they depend on roundings, or a function may have no finite value",
                                run.without_bound, is_all_f64(source) ? "f64" : "f32")});
  if (run.wide_bound > 0)
    result.skipped.push_back(
        {run.label, fmt::format("{} elements have an error bound that is too wide to tell right values from "
                                "wrong ones",
                                run.wide_bound)});
}

} // namespace

std::string_view name(CheckOutcome outcome) {
  static constexpr std::string_view names[] = {"right", "wrong", "not compared"};
  return names[static_cast<std::size_t>(outcome)];
}

CheckOutcome CheckResult::outcome() const {
  if (passed)
    return CheckOutcome::right;
  bool known =
      std::ranges::all_of(runs, &RunResult::passed) && !std::ranges::all_of(outputs, &Coverage::in_full);
  return known ? CheckOutcome::not_compared : CheckOutcome::wrong;
}

std::vector<SkippedRun> by_reason(const std::vector<SkippedRun> &skipped) {
  struct Joined {
    std::string labels, words; ///< of the reason, without the number at its beginning
    std::vector<std::int64_t> counts;
  };
  std::vector<Joined> all;
  for (const SkippedRun &run : skipped) {
    std::size_t digits = std::min(run.why.find_first_not_of("0123456789"), run.why.size());
    std::string words = run.why.substr(digits);
    auto known = std::ranges::find(all, words, &Joined::words);
    if (known == all.end())
      known = all.insert(known, {run.label, words, {}});
    else
      known->labels += "; " + run.label;
    if (digits > 0)
      known->counts.push_back(std::stoll(run.why));
  }
  std::vector<SkippedRun> joined;
  for (const auto &[labels, words, counts] : all) {
    auto [least, most] = std::ranges::minmax_element(counts);
    std::string number = counts.empty()    ? ""
                         : *least == *most ? std::to_string(*least)
                                           : fmt::format("{} to {}", *least, *most);
    joined.push_back({labels, number + words});
  }
  return joined;
}

const RunResult *CheckResult::find(CheckRun run) const {
  auto it = std::ranges::find(runs, run, &RunResult::run);
  return it == runs.end() ? nullptr : &*it;
}

std::optional<bool> CheckResult::exact() const {
  std::optional<bool> exact;
  for (const RunResult &result : runs)
    if (!is_floating_point(result.run) && arithmetic_of(result.run) == Arithmetic::floating && result.exact)
      exact = exact.value_or(true) && result.wrong_elements == 0;
  return exact;
}

std::vector<std::string> CheckResult::messages() const {
  std::vector<std::string> all;
  for (const RunResult &result : runs)
    for (const std::string &message : result.messages)
      all.push_back(fmt::format("{}: {}", result.label, message));
  if (outcome() != CheckOutcome::not_compared)
    return all;
  for (const Coverage &output : outputs)
    if (!output.in_full())
      all.push_back(fmt::format(
          "{}: {}; no run compared every element, expected an error bound for each: keep divisors away from 0 "
          "and values in the range of f32 and of the functions",
          output.buffer,
          output.run.empty() ? "not compared"
                             : fmt::format("{} of {} elements compared in the run {}", output.compared,
                                           output.elements, output.run)));
  return all;
}

std::shared_ptr<const Checker::Case> Checker::make_case(const Program &source, CheckRun run,
                                                        const CheckOptions &options) {
  std::int64_t scale = in_ring(source) && !has_float_inputs(source) ? 1 : options.rounding_scale;
  std::string key = fmt::format("{} {} {}\n{}", static_cast<int>(run), options.seed, scale, print(source));
  std::shared_ptr<const Case> &known = cases_[key];
  if (known)
    return known;
  const bool wide = is_all_f64(source);
  const double largest_exact = wide ? 0x1p53 : 0x1p24;
  const std::string_view numbers = wide ? "f64" : "f32";
  bool integers = !in_ring(source) && (run == CheckRun::integers || run == CheckRun::switched);
  // Smaller integers for longer sums. With ±1 a sum of 2^22 terms is still exact, and beyond it the
  // run is left out.
  std::string skip;
  bool special = with_infinities(run) || run >= CheckRun::ties;
  Arithmetic arithmetic = arithmetic_of(run);
  for (int largest = 8; largest >= 1; largest /= 2) {
    Inputs inputs = make_inputs(source, run, options.seed, largest);
    Reference expected;
    try {
      expected = arithmetic == Arithmetic::floating
                     ? reference(source, inputs.arrays, inputs.scalars, multiplier_, scale)
                     : exact_reference(source, inputs.arrays, inputs.scalars, arithmetic);
    } catch (const UserError &error) { // a number that is converted to an index is too large
      if (!special)
        throw;
      skip = fmt::format("not possible with these inputs: {}", error.what());
      break;
    }
    bool endless = integers && expected.fraction_bits >= endless_fraction;
    bool exact = !integers || (!endless && expected.largest < largest_exact);
    if (endless)
      skip = fmt::format("{} in {}",
                         expected.applies ? "a function of the computation is not exact"
                         : expected.divides
                             ? "a quotient or a constant of the computation is not exact"
                             : "a constant of the computation has too many digits for exact results",
                         numbers);
    else if (!exact)
      skip = fmt::format("the sums are too large to be exact in {}", numbers);
    // The run with beta = 0 compares within the error bound, too.
    bool last = endless || largest == 1;
    if (exact || (last && run == CheckRun::switched))
      return known = std::make_shared<const Case>(Case{std::move(inputs), std::move(expected), ""});
    if (last)
      break;
  }
  return known = std::make_shared<const Case>(Case{{}, {}, skip});
}

CheckResult Checker::check(const Program &symbolic, const kernel::Plan &plan, Executor &executor,
                           const CheckOptions &options) {
  const Program source = specialise(symbolic, plan.values);
  std::vector<StoredArray> stored;
  for (const Buffer &param : source.params)
    stored.emplace_back(param);
  auto compute = [&](Arithmetic arithmetic, std::vector<Array> &arrays, const std::vector<Scalar> &scalars) {
    std::vector<Array> memory;
    for (std::size_t n = 0; n < stored.size(); ++n)
      memory.push_back(stored[n].spread(arrays[n], filler_of(source.params[n])));
    Execution execution = arithmetic == Arithmetic::floating
                              ? executor.run(plan, memory, scalars)
                              : executor.run_residues(arithmetic, plan, memory, scalars);
    for (std::size_t n = 0; n < stored.size(); ++n) {
      const Buffer &param = source.params[n];
      arrays[n] = stored[n].gather(memory[n]);
      if (memory[n] != stored[n].spread(arrays[n], filler_of(param)))
        execution.diagnostics.push_back(fmt::format("{} was written in the gap between its rows", param->name));
    }
    return execution;
  };
  CheckOptions scaled = options;
  scaled.rounding_scale = rounding_scale(plan);
  auto floating = [&](std::vector<Array> &arrays, const std::vector<Scalar> &scalars) {
    return compute(Arithmetic::floating, arrays, scalars);
  };
  return check(source, floating, executor.has_residues() ? compute : ComputeResidues(), scaled);
}

CheckResult Checker::check(const Program &source, const Compute &compute, const CheckOptions &options) {
  return check(source, compute, ComputeResidues(), options);
}

CheckResult Checker::check(const Program &source, const Compute &compute, const ComputeResidues &residues,
                           const CheckOptions &options) {
  CheckResult result;
  for (CheckRun run : runs_of(source, options))
    if (result.passed || !options.to_first)
      make_run(source, compute, run, options, result);
  if (residues && !in_ring(source) && !all_exactly(source, result) && (result.passed || !options.to_first)) {
    CheckRun run =
        calls_exp(source) ? CheckRun::residue_ring : CheckRun::residue_field; // exp is in the ring only
    auto in_residues = [&](std::vector<Array> &arrays, const std::vector<Scalar> &scalars) {
      return residues(arithmetic_of(run), arrays, scalars);
    };
    make_run(source, in_residues, run, options, result);
  }
  for (CheckRun run :
       {CheckRun::random, CheckRun::positive, CheckRun::alternating, CheckRun::graded, CheckRun::rising}) {
    if (!result.passed || all_in_full(source, result))
      break;
    if (!result.find(run) && adds(make_case(source, run, options)->expected, result))
      make_run(source, compute, run, options, result);
  }
  for (const Buffer &param : written_params(source))
    if (std::ranges::find(result.outputs, param->name, &Coverage::buffer) == result.outputs.end())
      result.outputs.push_back({param->name, elements_of(param), 0, ""});
  result.passed &= all_in_full(source, result);
  return result;
}

void Checker::make_run(const Program &source, const Compute &compute, CheckRun run, const CheckOptions &options,
                       CheckResult &result) {
  auto given = make_case(source, run, options);
  if (!given->skip.empty()) {
    result.skipped.push_back({label_of(run, source), given->skip});
    return;
  }
  std::vector<Array> arrays = given->inputs.arrays;
  Execution execution = compute(arrays, given->inputs.scalars);

  RunResult &one = result.runs.emplace_back();
  one.run = run;
  one.label = label_of(run, source);
  one.passed = execution.diagnostics.empty();
  one.messages = execution.diagnostics;
  std::size_t output = 0;
  for (std::size_t n = 0; n < source.params.size(); ++n) {
    const Buffer &param = source.params[n];
    if (param->role != Role::input) {
      compare_output(given->expected.outputs[output++], given->inputs.arrays[n], arrays[n], one);
    } else if (arrays[n] != given->inputs.arrays[n]) {
      one.passed = false;
      one.messages.push_back(fmt::format("the input {} was modified", param->name));
    }
  }
  count_wrong(one);
  note_gaps(source, one, given->expected, result);
  note_coverage(one, result);
  result.passed &= one.passed;
}

} // namespace nestsmith
