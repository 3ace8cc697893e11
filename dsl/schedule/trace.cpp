#include "dsl/schedule/trace.h"

#include "dsl/expr/error.h"
#include "dsl/expr/expr_json.h"
#include "dsl/expr/outside.h"
#include "dsl/ir/printer.h"
#include "dsl/schedule/computation_json.h"
#include "dsl/schedule/primitives/registry.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llvm/Support/JSON.h>
#include <map>

namespace nestsmith {

namespace {

namespace json = llvm::json;
constexpr std::int64_t newest_version = 4;

/// The oldest version that has what the trace contains: 4 has tuples and reducers that the program defines, 3
/// reducers other than a sum, 2 the computation.
std::int64_t version_of(const Program *computation) {
  if (!computation)
    return 1;
  if (std::ranges::any_of(blocks_of(computation->body), [](const Block *block) {
        return block->reducer.definition() || is_tuple(block->body.buffer->dtype);
      }))
    return 4;
  auto sums = [](const Block *block) { return block->reducer == Reducer::sum; };
  return std::ranges::all_of(blocks_of(computation->body), sums) ? 2 : 3;
}

constexpr std::size_t most_directives = 5000;

json::Value to_json(const Argument &argument) {
  return std::visit(
      Overloaded{
          [](const LoopName &x) -> json::Value {
            return json::Object{{"loop", x.name}};
          },
          [](const BlockName &x) -> json::Value {
            return json::Object{{"block", x.name}};
          },
          [](const Word &x) -> json::Value { return x.text; },
          [](std::int64_t x) -> json::Value { return x; },
          [](const std::vector<LoopName> &x) -> json::Value {
            json::Array names;
            for (const LoopName &loop : x)
              names.push_back(loop.name);
            return json::Object{{"loops", std::move(names)}};
          },
          [](const std::vector<BlockName> &x) -> json::Value {
            json::Array names;
            for (const BlockName &block : x)
              names.push_back(block.name);
            return json::Object{{"blocks", std::move(names)}};
          },
          [](const std::vector<std::int64_t> &x) -> json::Value { return json::Array(x); },
          [](const std::vector<StageName> &x) -> json::Value {
            json::Array stages;
            for (const StageName &s : x)
              stages.push_back(json::Object{{"block", s.block}, {"stage", s.stage}, {"order", s.order}});
            return json::Object{{"stages", std::move(stages)}};
          },
      },
      argument);
}

std::vector<std::string> strings(const json::Array *array, const std::string &where, const char *what) {
  std::vector<std::string> result;
  for (const json::Value &value : array ? *array : json::Array{}) {
    auto text = value.getAsString();
    if (!text)
      refuse_trace(where, fmt::format("expected strings in '{}'", what));
    result.emplace_back(text->str());
  }
  return result;
}

std::optional<std::int64_t> whole(const json::Object *object, const char *key) {
  return whole_number(object ? object->get(key) : nullptr);
}

std::vector<std::int64_t> integers(const json::Array *array, const std::string &where, const char *what) {
  std::vector<std::int64_t> result;
  for (const json::Value &value : array ? *array : json::Array{}) {
    auto number = whole_number(&value);
    if (!number)
      refuse_trace(where, fmt::format("expected whole numbers below 2^62 in '{}'", what));
    result.push_back(*number);
  }
  return result;
}

std::vector<StageName> parse_stages(const json::Array &array, const std::string &where) {
  std::vector<StageName> stages;
  for (const json::Value &value : array) {
    const json::Object *object = value.getAsObject();
    auto block = object ? object->getString("block") : decltype(object->getString("")){};
    auto stage = whole(object, "stage");
    auto order = whole(object, "order");
    if (!block || !stage || !order)
      refuse_trace(where, "a stage is not of the form {\"block\": …, \"stage\": …, \"order\": …}");
    stages.push_back({block->str(), *stage, *order});
  }
  return stages;
}

Argument parse_argument(const json::Value &value, const std::string &where) {
  if (auto number = whole_number(&value))
    return *number;
  if (auto text = value.getAsString())
    return Word{text->str()};
  if (const json::Array *array = value.getAsArray())
    return integers(array, where, "args");
  if (const json::Object *object = value.getAsObject()) {
    if (auto loop = object->getString("loop"))
      return LoopName{loop->str()};
    if (auto block = object->getString("block"))
      return BlockName{block->str()};
    if (const json::Array *names = object->getArray("loops")) {
      std::vector<LoopName> loops;
      for (const std::string &text : strings(names, where, "loops"))
        loops.push_back({text});
      return loops;
    }
    if (const json::Array *names = object->getArray("blocks")) {
      std::vector<BlockName> blocks;
      for (const std::string &text : strings(names, where, "blocks"))
        blocks.push_back({text});
      return blocks;
    }
    if (const json::Array *stages = object->getArray("stages"))
      return parse_stages(*stages, where);
  }
  refuse_trace(where,
               "an argument is neither a number, a word, a list of numbers, a loop, a block, loops, blocks "
               "nor stages");
}

Directive parse_directive(const json::Value &value, const std::string &where) {
  const json::Object *object = value.getAsObject();
  auto op = object ? object->getString("op") : decltype(object->getString("op")){};
  if (!op)
    refuse_trace(where, "a directive has no 'op'");
  Directive directive{op->str(), {}, strings(object->getArray("results"), where, "results")};
  if (const json::Array *arguments = object->getArray("args"))
    for (const json::Value &argument : *arguments)
      directive.arguments.push_back(parse_argument(argument, where));
  if (auto named = object->getBoolean("named"); named && *named)
    directive.named = directive.results;
  return directive;
}

/// Visits the loops and blocks that the arguments of a directive name.
void for_each_handle(const Directive &directive, const std::function<void(const std::string &, bool)> &f) {
  for (const Argument &argument : directive.arguments) {
    if (const auto *loop = std::get_if<LoopName>(&argument))
      f(loop->name, true);
    if (const auto *block = std::get_if<BlockName>(&argument))
      f(block->name, false);
    if (const auto *loops = std::get_if<std::vector<LoopName>>(&argument))
      for (const LoopName &loop : *loops)
        f(loop.name, true);
    if (const auto *blocks = std::get_if<std::vector<BlockName>>(&argument))
      for (const BlockName &block : *blocks)
        f(block.name, false);
    if (const auto *stages = std::get_if<std::vector<StageName>>(&argument))
      for (const StageName &stage : *stages)
        f(stage.block, false);
  }
}

/// The loop or the block of this name, or null.
const void *symbol_of(const Program &program, const std::string &name) {
  const void *found = nullptr;
  walk(program.body, [&](const Stmt &stmt) {
    if (const auto *loop = as<For>(stmt); loop && loop->var->name == name)
      found = loop->var.get();
    if (const auto *block = as<Block>(stmt); block && block->id->name == name)
      found = block->id.get();
    return true;
  });
  return found;
}

} // namespace

std::string to_cpp(const Directive &directive, const char *end) {
  const Primitive *primitive = find_primitive(directive.op);
  return to_cpp(primitive ? *primitive : Primitive(), directive, end);
}

std::string trace_to_cpp(const Schedule &schedule) {
  // A rebuilt nest has new loops with the old names, so the text fetches their handles again.
  std::map<std::string, const void *> handles;
  std::string text;
  for (std::size_t n = 0; n < schedule.trace().size(); ++n) {
    const Directive &directive = schedule.trace()[n];
    for_each_handle(directive, [&](const std::string &handle, bool is_loop) {
      auto [known, first] = handles.try_emplace(handle, nullptr);
      const void *symbol = symbol_of(schedule.step(n), handle);
      if (known->second == symbol)
        return;
      known->second = symbol;
      text += fmt::format("{}{} = s.{}(\"{}\");\n", first ? "auto " : "", handle_name(handle),
                          is_loop ? "loop" : "block", handle);
    });
    const auto &results = directive.results;
    if (std::any_of(results.begin(), results.end(),
                    [&](const auto &name) { return handles.count(name) > 0; })) {
      text += to_cpp(Directive{directive.op, directive.arguments, {}, directive.named}) + "\n";
      continue;
    }
    text += to_cpp(directive) + "\n";
    for (const std::string &name : results)
      handles[name] = symbol_of(schedule.step(n + 1), name);
  }
  return text;
}

TraceFile trace_file(const Schedule &schedule, std::vector<std::int64_t> shape, DType dtype, KnobValues knobs) {
  return {schedule.program().name,
          std::move(shape),
          dtype,
          to_string(schedule.target().arch),
          schedule.trace(),
          sizes_of(schedule.source()),
          schedule.source(),
          std::move(knobs)};
}

static json::Value to_json(const Directive &directive) {
  json::Array arguments;
  for (const Argument &argument : directive.arguments)
    arguments.push_back(to_json(argument));
  json::Object object{{"op", directive.op}, {"args", std::move(arguments)}};
  if (!directive.results.empty())
    object["results"] = json::Array(directive.results);
  if (!directive.named.empty())
    object["named"] = true;
  return object;
}

/// The keys of an object in the order in which a reader expects them.
static std::string in_one_line(const json::Value &value) {
  constexpr std::array keys = {"op",      "args",    "results",     "named",   "name",   "dtype",  "role",
                               "min",     "max",     "multiple_of", "usual",   "axes",   "sum",    "product",
                               "reducer", "reduced", "shape",       "leading", "extent", "values", "value"};
  const json::Object *object = value.getAsObject();
  std::string text;
  llvm::raw_string_ostream out(text);
  json::OStream writer(out);
  if (!object)
    writer.value(value);
  else
    writer.object([&] {
      std::size_t written = 0;
      for (const char *key : keys)
        if (const json::Value *member = object->get(key)) {
          writer.attribute(key, *member);
          ++written;
        }
      internal_check(written == object->size(), "every key of a trace has a place in its line");
    });
  return out.str();
}

std::string to_json(const TraceFile &trace) {
  auto computation = trace.computation ? computation_to_json(*trace.computation) : std::optional<json::Value>();
  std::string text;
  llvm::raw_string_ostream out(text);
  json::OStream writer(out, 2);
  // Each directive, tensor and stage has a line of its own.
  auto line = [&](const json::Value &value) { writer.rawValue(in_one_line(value)); };
  writer.object([&] {
    writer.attribute("nestsmith_trace", version_of(computation ? &*trace.computation : nullptr));
    writer.attribute("workload", trace.workload);
    writer.attribute("dtype", std::string(name(trace.dtype)));
    writer.attribute("target", trace.arch);
    writer.attributeBegin("shape");
    line(json::Array(trace.shape));
    writer.attributeEnd();
    if (!trace.sizes.empty())
      writer.attributeArray("sizes", [&] {
        for (const auto &[name, size] : trace.sizes) {
          json::Object object{
              {"name", name}, {"min", size.min}, {"max", size.max}, {"multiple_of", size.multiple_of}};
          if (size.usual != 0)
            object["usual"] = size.usual;
          line(std::move(object));
        }
      });
    if (!trace.knobs.empty())
      writer.attributeObject("knobs", [&] {
        for (const auto &[name, value] : trace.knobs)
          writer.attribute(name, value);
      });
    if (computation)
      writer.attributeObject("computation", [&] {
        for (const char *part : {"scalars", "tensors", "stages", "outputs"})
          writer.attributeArray(part, [&] {
            for (const json::Value &value : *computation->getAsObject()->getArray(part))
              line(value);
          });
      });
    writer.attributeArray("directives", [&] {
      for (const Directive &directive : trace.directives)
        line(to_json(directive));
    });
  });
  out << '\n';
  return out.str();
}

static std::pair<std::string, Size> parse_size(const json::Value &value, const std::string &where) {
  const json::Object *object = value.getAsObject();
  auto name = object ? object->getString("name") : decltype(object->getString("")){};
  auto min = whole(object, "min");
  auto max = whole(object, "max");
  auto unit = whole(object, "multiple_of");
  auto usual = object && object->get("usual") ? whole(object, "usual") : std::optional<std::int64_t>(0);
  if (!name || !min || !max || !unit || !usual)
    refuse_trace(where, "a size has no 'name', 'min', 'max' or 'multiple_of', or a 'usual' that is no number");
  return {name->str(), Size{*min, *max, *unit, *usual}};
}

/// The strings of a trace are names, knobs and numbers.
static constexpr JsonLimits trace_limits = {.bytes = most_trace_bytes, .string_bytes = 2000};

TraceFile parse_trace(const std::string &text, const std::string &where) {
  std::string why;
  auto parsed = parse_outside(text, trace_limits, why);
  if (!parsed)
    refuse_trace(where, (why.starts_with("not ")   ? "is "
                         : why.starts_with("its ") ? "is not a trace: "
                                                   : "") +
                            why);
  const json::Object *root = parsed->getAsObject();
  auto version = whole(root, "nestsmith_trace");
  if (!version)
    refuse_trace(where, "is JSON, but not a nestsmith trace: it has no 'nestsmith_trace'");
  if (*version < 1 || *version > newest_version)
    refuse_trace(where, fmt::format("is a trace of version {}, expected 1 to {}", *version, newest_version));
  TraceFile trace;
  auto field = [&](const char *key) {
    auto value = root->getString(key);
    if (!value)
      refuse_trace(where, fmt::format("has no '{}'", key));
    return value->str();
  };
  trace.workload = field("workload");
  trace.arch = field("target");
  auto dtype = parse_dtype(field("dtype"));
  if (!dtype)
    refuse_trace(where,
                 fmt::format("has the unknown dtype '{}', expected one of {}", field("dtype"), dtype_names()));
  trace.dtype = *dtype;
  trace.shape = integers(root->getArray("shape"), where, "shape");
  if (const json::Array *sizes = root->getArray("sizes"))
    for (const json::Value &value : *sizes)
      trace.sizes.push_back(parse_size(value, where));
  if (const json::Value *knobs = root->get("knobs"); knobs && !knobs->getAsObject())
    refuse_trace(where, "its 'knobs' is not an object");
  else if (knobs)
    for (const auto &[name, value] : *knobs->getAsObject()) {
      if (!value.getAsString())
        refuse_trace(where,
                     fmt::format("the value of the knob '{}' is not a string", llvm::StringRef(name).str()));
      trace.knobs[llvm::StringRef(name).str()] = value.getAsString()->str();
    }
  const json::Value *computation = root->get("computation");
  if (*version >= 2 && !computation)
    refuse_trace(where, "has no 'computation'");
  if (*version >= 2)
    trace.computation = parse_computation(*computation, trace.workload, trace.sizes, where);
  const json::Array *list = root->getArray("directives");
  if (!list)
    refuse_trace(where, "has no 'directives'");
  if (list->size() > most_directives)
    refuse_trace(where, fmt::format("has {} directives, expected at most {}", list->size(), most_directives));
  for (const json::Value &value : *list)
    trace.directives.push_back(parse_directive(value, where));
  return trace;
}

void apply(Schedule &schedule, const Directive &directive, const std::string &where) {
  if (const Primitive *primitive = find_primitive(directive.op))
    try {
      return primitive->apply(schedule, directive, where);
    } catch (const ScheduleError &) {
      throw;
    } catch (const UserError &error) {
      if (!error.schedule())
        throw;
      // A loop or a block that is not in the program: the trace has names, and so no handles that can be
      // refused.
      throw ScheduleError("any.handle", to_cpp({directive.op, directive.arguments, {}, directive.named}, ""),
                          error.what(), print(schedule.program()), error.schedule());
    }
  std::vector<std::string> known;
  for (const Primitive &primitive : all_primitives())
    known.emplace_back(primitive.name);
  refuse_trace(where, fmt::format("has the unknown directive '{}', expected one of {}", directive.op,
                                  fmt::join(known, ", ")));
}

Schedule replay(const TraceFile &trace, Program program, Target target, const std::string &where) {
  if (sizes_of(program) != trace.sizes)
    refuse_trace(where, "its sizes differ from those of the computation; it was made for another one");
  Schedule schedule(std::move(program), std::move(target));
  for (const Directive &directive : trace.directives) {
    apply(schedule, directive, where);
    if (!(schedule.trace().back() == directive))
      refuse_trace(where, fmt::format("'{}' gave '{}' here; the trace was made for another computation",
                                      to_cpp(directive), to_cpp(schedule.trace().back())));
  }
  return schedule;
}

} // namespace nestsmith
