#include "dsl/schedule/computation_json.h"

#include "dsl/expr/error.h"
#include "dsl/expr/expr_json.h"
#include "dsl/hardware/verify.h"
#include "dsl/ir/printer.h"
#include "dsl/ir/tensor.h"
#include "dsl/schedule/directive.h"
#include "dsl/schedule/schedule.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace nestsmith {

namespace json = llvm::json;

namespace {

/// Limits on one computation, so that a file cannot exhaust the stack or the memory.
constexpr std::size_t most_parts = 1000, most_axes = 32, most_reducers = 32;

json::Array extents_text(const std::vector<Expr> &extents) {
  json::Array list;
  for (const Expr &extent : extents)
    list.push_back(ExprWriter({extent})(extent));
  return list;
}

/// Adds "leading" if the rows have gaps.
void add_leading(json::Object &object, const BufferNode &buffer) {
  if (!buffer.strides)
    return;
  const Expr &leading = (*buffer.strides)[buffer.shape.size() - 2];
  object["leading"] = ExprWriter({leading})(leading);
}

json::Value tensor_text(const BufferNode &buffer) {
  json::Object object{{"name", buffer.name},
                      {"dtype", std::string(name(buffer.dtype))},
                      {"role", buffer.role == Role::inout ? "inout" : "input"},
                      {"shape", extents_text(buffer.shape)}};
  add_leading(object, buffer);
  return object;
}

/// A reducer that the program defines. Its combination is a function of a and b.
json::Value reducer_text(const OwnReducer &reducer) {
  std::map<Var, Expr> operands;
  for (std::size_t n = 0; n < 2; ++n) {
    const Var &parameter = reducer.combine.parameters[n];
    operands[parameter] = make_data(n == 0 ? "a" : "b", parameter->dtype);
  }
  Expr combination = substitute(reducer.combine.meaning, operands);
  ExprWriter write({combination});
  json::Object object{{"name", reducer.name},
                      {"identity", ExprWriter({reducer.identity})(reducer.identity)},
                      {"combine", write(combination)}};
  if (!write.values.empty())
    object["values"] = std::move(write.values);
  if (!reducer.commutative)
    object["commutative"] = false;
  return object;
}

/// Null if the expressions contain nodes that the tensor language does not make.
json::Value stage_text(const Block &block) {
  Expr value = block.reduces() ? term_of(block).value_or(block.body.value) : block.body.value;
  ExprWriter write({value});
  json::Array axes, reduced;
  for (const IterVar &iter : block.iters)
    if (iter.kind == IterKind::spatial)
      axes.push_back(iter.var->name);
    else
      reduced.push_back(
          json::Object{{"name", iter.var->name}, {"extent", ExprWriter({iter.extent})(iter.extent)}});
  json::Object object{{"name", block.id->name}, {"axes", std::move(axes)}, {"value", write(value)}};
  if (block.body.buffer->role != Role::inout)
    object["shape"] = extents_text(block.body.buffer->shape);
  if (const OwnReducer *own = block.reducer.definition(); own && !reduced.empty()) {
    object["reducer"] = reducer_text(*own);
    object["reduced"] = std::move(reduced);
  } else if (!reduced.empty()) {
    object[llvm::StringRef(name(block.reducer))] = std::move(reduced);
  }
  if (!write.values.empty())
    object["values"] = std::move(write.values);
  return write.complete ? json::Value(std::move(object)) : nullptr;
}

/// Whether each name in the scope of a stage means one thing.
bool has_unique_names(const Program &source) {
  std::set<std::string> outer;
  for (const std::vector<Var> &vars : {source.scalars, source.sizes})
    for (const Var &var : vars)
      if (!outer.insert(var->name).second)
        return false;
  return std::ranges::all_of(blocks_of(source.body), [&](const Block *block) {
    std::set<std::string> names = outer;
    return std::ranges::all_of(block->iters,
                               [&](const IterVar &iter) { return names.insert(iter.var->name).second; });
  });
}

std::optional<json::Value> written(const Program &source) {
  if (!has_unique_names(source))
    return std::nullopt;
  json::Array scalars, tensors, stages, outputs;
  for (const Var &scalar : source.scalars)
    scalars.push_back(json::Object{{"name", scalar->name}, {"dtype", std::string(name(scalar->dtype))}});
  for (const Buffer &buffer : source.params)
    if (buffer->role == Role::output) {
      json::Object output{{"name", buffer->name}};
      add_leading(output, *buffer);
      outputs.push_back(std::move(output));
    } else {
      tensors.push_back(tensor_text(*buffer));
    }
  for (const Block *block : blocks_of(source.body)) {
    stages.push_back(stage_text(*block));
    if (stages.back().kind() == json::Value::Null)
      return std::nullopt;
  }
  return json::Object{{"scalars", std::move(scalars)},
                      {"tensors", std::move(tensors)},
                      {"stages", std::move(stages)},
                      {"outputs", std::move(outputs)}};
}

/// Builds a computation from its JSON with the tensor language, which checks it.
class Reader {
public:
  Reader(const json::Object &root, const std::string &name) : root_(root), workload_(name) {}

  Program read(const Sizes &sizes) {
    for (const auto &[name, stated] : sizes)
      add_name(name, workload_.size(name, stated));
    for (const json::Object *scalar : objects("scalars"))
      add_name(text(*scalar, "name"), workload_.scalar(text(*scalar, "name"), dtype(*scalar)));
    for (const json::Object *tensor : objects("tensors"))
      read_tensor(*tensor);
    for (const json::Object *stage : objects("stages"))
      read_stage(*stage);
    std::vector<Result> results;
    for (const json::Object *output : objects("outputs"))
      results.emplace_back(tensor(text(*output, "name")), stored(*output));
    return workload_.output(std::move(results));
  }

private:
  [[noreturn]] static void refuse(const std::string &message) { throw UserError(ExitCode::usage, message); }

  static std::string text(const json::Object &object, const char *key) {
    auto value = object.getString(key);
    if (!value)
      refuse(fmt::format("a part of the computation has no '{}'", key));
    return value->str();
  }

  static DType dtype(const json::Object &object) {
    auto type = parse_dtype(text(object, "dtype"));
    if (!type)
      refuse(
          fmt::format("the dtype '{}' is unknown, expected one of {}", text(object, "dtype"), dtype_names()));
    return *type;
  }

  static std::vector<const json::Object *> objects(const json::Object &parent, const char *key) {
    std::vector<const json::Object *> result;
    const json::Value *list = parent.get(key);
    if (!list)
      return result;
    if (!list->getAsArray())
      refuse(fmt::format("'{}' of the computation is not a list", key));
    for (const json::Value &value : *list->getAsArray()) {
      if (!value.getAsObject())
        refuse(fmt::format("'{}' of the computation contains something that is not an object", key));
      result.push_back(value.getAsObject());
    }
    if (result.size() > most_parts)
      refuse(fmt::format("the computation has {} {}, expected at most {}", result.size(), key, most_parts));
    return result;
  }
  std::vector<const json::Object *> objects(const char *key) const { return objects(root_, key); }

  void add_name(const std::string &name, const Expr &value) { names_.insert_or_assign(name, value); }

  Tensor tensor(const std::string &name) const {
    auto found = tensors_.find(name);
    if (found == tensors_.end())
      refuse(fmt::format("the output '{}' is not a stage", name));
    return Tensor(found->second);
  }

  Expr extent(const json::Value *value, const char *key) const {
    if (!value)
      refuse(fmt::format("a part of the computation has no '{}'", key));
    return ExprReader{names_, {}}(*value);
  }

  std::vector<Expr> shape(const json::Object &object) const {
    const json::Array *list = object.getArray("shape");
    if (!list)
      refuse("a tensor or stage has no 'shape'");
    if (list->size() > most_axes)
      refuse(fmt::format("a tensor or stage has {} dimensions, expected at most {}", list->size(), most_axes));
    std::vector<Expr> extents;
    for (const json::Value &value : *list)
      extents.push_back(extent(&value, "shape"));
    return extents;
  }

  Stored stored(const json::Object &object) const {
    const json::Value *leading = object.get("leading");
    return leading ? Stored{extent(leading, "leading")} : Stored{};
  }

  void read_tensor(const json::Object &object) {
    std::string name = text(object, "name"), role = text(object, "role");
    if (role != "input" && role != "inout")
      refuse(fmt::format("the tensor '{}' has the role '{}', expected input or inout", name, role));
    Tensor made = role == "inout" ? workload_.inout(name, shape(object), dtype(object), stored(object))
                                  : workload_.placeholder(name, shape(object), dtype(object), stored(object));
    tensors_.emplace(name, made.buffer());
  }

  void read_stage(const json::Object &object) {
    std::string name = text(object, "name");
    std::vector<std::string> axes;
    for (const json::Value &axis : object.getArray("axes") ? *object.getArray("axes") : json::Array{})
      axes.push_back(axis.getAsString() ? axis.getAsString()->str() : "");
    Reduction reduction = read_reduction(object, name);
    if (std::size_t count = axes.size() + reduction.axes.size(); count > most_axes)
      refuse(fmt::format("the stage '{}' has {} axes, expected at most {}", name, count, most_axes));
    auto element = [&](const std::vector<Expr> &indices) {
      return read_element(object, name, axes, reduction, indices);
    };
    auto target = tensors_.find(name);
    if (target != tensors_.end() && target->second->role == Role::inout)
      return workload_.update(Tensor(target->second), axes, element, Where());
    tensors_.emplace(name, workload_.compute(name, shape(object), axes, element, Where()).buffer());
  }

  struct Reduction {
    Reducer reducer = Reducer::sum;
    std::vector<const json::Object *> axes;
  };
  Reduction read_reduction(const json::Object &object, const std::string &stage) {
    Reduction result;
    if (const json::Value *own = object.get("reducer"))
      result = {read_reducer(*own, stage), objects(object, "reduced")};
    for (Reducer reducer : reducers) {
      std::vector<const json::Object *> axes = objects(object, nestsmith::name(reducer).data());
      if (!axes.empty() && !result.axes.empty())
        refuse(fmt::format("the stage '{}' has the reducers '{}' and '{}', expected one", stage,
                           nestsmith::name(result.reducer), nestsmith::name(reducer)));
      if (!axes.empty())
        result = {reducer, std::move(axes)};
    }
    return result;
  }

  Reducer read_reducer(const json::Value &value, const std::string &stage) {
    const json::Object *object = value.getAsObject();
    const json::Value *identity = object ? object->get("identity") : nullptr;
    const json::Value *combination = object ? object->get("combine") : nullptr;
    if (!identity || !combination)
      refuse(fmt::format("the reducer of the stage '{}' has no 'identity' or no 'combine'", stage));
    if (++reducers_read_ > most_reducers)
      refuse(fmt::format("more than {} stages of the computation define a reducer", most_reducers));
    return define_reducer(text(*object, "name"), ExprReader{{}, {}}(*identity),
                          [&](const Expr &a, const Expr &b) {
                            ExprReader read{{{"a", a}, {"b", b}}, {}};
                            for (const json::Value &part :
                                 object->getArray("values") ? *object->getArray("values") : json::Array{})
                              read.values.push_back(read(part));
                            return read(*combination);
                          },
                          {.commutative = is_commutative(*object, stage)});
  }

  static bool is_commutative(const json::Object &reducer, const std::string &stage) {
    const json::Value *value = reducer.get("commutative");
    if (value && !value->getAsBoolean())
      refuse(fmt::format("'commutative' of the reducer of the stage '{}' is neither true nor false", stage));
    return !value || *value->getAsBoolean();
  }

  Definition read_element(const json::Object &object, const std::string &name,
                          const std::vector<std::string> &axes, const Reduction &reduction,
                          const std::vector<Expr> &indices) const {
    const json::Value *value = object.get("value");
    if (!value)
      refuse(fmt::format("the stage '{}' has no 'value'", name));
    ExprReader read{names_, tensors_};
    for (std::size_t n = 0; n < std::min(axes.size(), indices.size()); ++n)
      read.names.insert_or_assign(axes[n], indices[n]);
    Definition definition{Expr(0)};
    definition.reducer = reduction.reducer;
    for (const json::Object *axis : reduction.axes) {
      definition.axes.push_back(reduce_axis(text(*axis, "name"), extent(axis->get("extent"), "extent")));
      read.names.insert_or_assign(text(*axis, "name"), Expr(definition.axes.back()));
    }
    try {
      for (const json::Value &part : object.getArray("values") ? *object.getArray("values") : json::Array{})
        read.values.push_back(read(part));
      definition.value = read(*value);
    } catch (const UserError &error) {
      refuse(fmt::format("the stage '{}': {}", name, error.what()));
    }
    return definition;
  }

  const json::Object &root_;
  Workload workload_;
  std::size_t reducers_read_ = 0;
  std::map<std::string, Expr> names_;
  std::map<std::string, Buffer> tensors_;
};

} // namespace

Sizes sizes_of(const Program &program) {
  Sizes sizes;
  for (const Var &var : program.sizes)
    sizes.emplace_back(var->name, *var->size);
  return sizes;
}

Program parse_computation(const json::Value &value, const std::string &name, const Sizes &sizes,
                          const std::string &where) {
  const json::Object *root = value.getAsObject();
  if (!root)
    refuse_trace(where, "its 'computation' is not an object");
  try {
    Program program = Reader(*root, name).read(sizes);
    if (auto breach = find_breach(program))
      throw UserError(ExitCode::usage, *breach);
    return program;
  } catch (const UserError &error) {
    refuse_trace(where, error.what());
  }
}

std::optional<json::Value> computation_to_json(const Program &source) {
  std::optional<json::Value> text = written(source);
  if (!text)
    return std::nullopt;
  try { // a program that was built by hand may have another form
    Program again = parse_computation(*text, source.name, sizes_of(source), "");
    auto form = [](const Program &program) {
      return print(Schedule(program).source());
    }; // loops have unique names
    bool same_form = form(again) == form(source) && written(again) == text;
    return same_form ? text : std::nullopt;
  } catch (const UserError &) {
    return std::nullopt;
  }
}

} // namespace nestsmith
