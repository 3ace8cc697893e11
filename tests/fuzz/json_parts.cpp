#include "tests/fuzz/json_parts.h"

#include "dsl/ir/reducer.h"

#include <algorithm>
#include <set>

namespace nestsmith::fuzz {

namespace json = llvm::json;

namespace {

std::string string_of(const json::Object &object, const char *key) {
  auto text = object.getString(key);
  return text ? text->str() : "";
}

bool is_load(const json::Array &list) {
  return (list.size() == 3 || list.size() == 5) && list[0].getAsString() == llvm::StringRef("load") &&
         list[2].getAsArray();
}

class Collector {
public:
  std::vector<Part> parts;

  void trace(json::Value &root) {
    json::Object *object = root.getAsObject();
    if (!object)
      return;
    for (const char *key : {"dtype", "target", "workload"})
      member(*object, key, key);
    numbers(object->get("shape"));
    for (json::Value *size : list(object->get("sizes"))) {
      parts.push_back({size, "size"});
      if (json::Object *fields = size->getAsObject()) {
        outer_.names.push_back(string_of(*fields, "name"));
        for (const char *key : {"min", "max", "multiple_of"})
          member(*fields, key, "number");
      }
    }
    if (json::Value *computation = object->get("computation"))
      if (json::Object *fields = computation->getAsObject())
        read_computation(*fields);
    whole_list(object->get("directives"), "directives");
    for (json::Value *directive : list(object->get("directives")))
      read_directive(*directive);
  }

private:
  static std::vector<json::Value *> list(json::Value *value) {
    std::vector<json::Value *> items;
    if (json::Array *array = value ? value->getAsArray() : nullptr)
      for (json::Value &item : *array)
        items.push_back(&item);
    return items;
  }

  void whole_list(json::Value *value, const char *kind) {
    if (value && value->getAsArray())
      parts.push_back({value, kind});
  }

  void member(json::Object &object, const char *key, const std::string &kind) {
    if (json::Value *value = object.get(key))
      parts.push_back({value, kind});
  }

  void numbers(json::Value *value) {
    for (json::Value *number : list(value))
      parts.push_back({number, "number"});
  }

  void extents(json::Value *value) {
    for (json::Value *extent : list(value))
      expression(*extent, "extent", outer_);
  }

  void expression(json::Value &value, const char *kind, const StageScope &scope) {
    parts.push_back({&value, kind, scope, dtype_of(value, scope)});
    walk_nodes(value, [&](json::Value &node) {
      if (&node != &value)
        parts.push_back({&node, "expression", scope, dtype_of(node, scope)});
      json::Array *array = node.getAsArray();
      if (!array || array->size() < 2)
        return;
      auto head = (*array)[0].getAsString();
      if (head == llvm::StringRef("cast"))
        parts.push_back({&(*array)[1], "dtype"});
      else if (head && array->size() == 3 && !is_load(*array))
        parts.push_back({&(*array)[0], "operator"});
      else if (array->size() == 2 && head != llvm::StringRef("!") && head != llvm::StringRef("value"))
        parts.push_back({&(*array)[1], "constant"});
    });
  }

  void leading(json::Object &object) {
    parts.push_back({object.get("name"), "name"});
    if (json::Value *value = object.get("leading"))
      expression(*value, "extent", outer_);
  }

  void read_computation(json::Object &fields) {
    for (json::Value *scalar : list(fields.get("scalars")))
      if (json::Object *object = scalar->getAsObject()) {
        outer_.scalars.push_back({string_of(*object, "name"), string_of(*object, "dtype")});
        member(*object, "dtype", "dtype");
      }
    for (json::Value *tensor : list(fields.get("tensors"))) {
      parts.push_back({tensor, "tensor", outer_});
      json::Object *object = tensor->getAsObject();
      if (!object)
        continue;
      for (const char *key : {"dtype", "role"})
        member(*object, key, key);
      extents(object->get("shape"));
      if (object->get("name"))
        leading(*object);
      outer_.buffers.push_back(
          {string_of(*object, "name"), string_of(*object, "dtype"), list(object->get("shape")).size()});
    }
    for (json::Value *stage : list(fields.get("stages")))
      if (json::Object *object = stage->getAsObject())
        read_stage(*stage, *object);
    for (json::Value *output : list(fields.get("outputs")))
      if (json::Object *object = output->getAsObject(); object && object->get("name")) {
        parts.push_back({output, "output", outer_});
        leading(*object);
      }
  }

  void read_stage(json::Value &stage, json::Object &object) {
    StageScope scope = outer_;
    for (json::Value *axis : list(object.get("axes")))
      if (auto text = axis->getAsString())
        scope.names.push_back(text->str());
    for (Reducer reducer : reducers)
      for (json::Value *axis : list(object.get(name(reducer).data())))
        if (json::Object *fields = axis->getAsObject()) {
          scope.names.push_back(string_of(*fields, "name"));
          if (json::Value *extent = fields->get("extent"))
            expression(*extent, "extent", outer_);
        }
    parts.push_back({&stage, "stage", scope});
    extents(object.get("shape"));
    for (json::Value *value : list(object.get("values"))) {
      expression(*value, "expression", scope);
      scope.values.push_back(dtype_of(*value, scope));
    }
    std::string dtype;
    if (json::Value *value = object.get("value")) {
      expression(*value, "expression", scope);
      dtype = dtype_of(*value, scope);
    }
    std::size_t rank = list(object.get("shape")).size();
    if (rank > 0)
      outer_.buffers.push_back({string_of(object, "name"), dtype, rank});
  }

  void read_directive(json::Value &directive) {
    json::Object *object = directive.getAsObject();
    if (!object)
      return;
    std::string op = string_of(*object, "op");
    parts.push_back({&directive, "directive " + op});
    std::size_t place = 0;
    for (json::Value *argument : list(object->get("args"))) {
      std::string where = op + " " + std::to_string(place++);
      if (argument->getAsString()) {
        bool map = argument->getAsString()->contains("->");
        parts.push_back({argument, map ? "map" : "word " + where});
      } else if (argument->getAsNumber()) {
        parts.push_back({argument, "number"});
      } else if (argument->getAsArray()) {
        parts.push_back({argument, "argument " + where});
        numbers(argument);
      } else {
        parts.push_back({argument, "argument " + where});
      }
    }
  }

  StageScope outer_;
};

} // namespace

std::string dtype_of(const json::Value &expression, const StageScope &scope) {
  auto known = [](const std::vector<KnownBuffer> &list, llvm::StringRef name) {
    auto found = std::ranges::find(list, name.str(), &KnownBuffer::name);
    return found == list.end() ? "" : found->dtype;
  };
  if (expression.getAsBoolean())
    return "bool";
  if (expression.getAsNumber())
    return "i64";
  if (auto name = expression.getAsString())
    return std::ranges::find(scope.names, name->str()) != scope.names.end() ? "i64"
                                                                            : known(scope.scalars, *name);
  const json::Array *array = expression.getAsArray();
  if (!array || array->size() < 2 || !(*array)[0].getAsString())
    return "";
  llvm::StringRef head = *(*array)[0].getAsString();
  static const std::set<std::string> conditions = {"<", "<=", "==", "!=", ">", ">=", "&&", "||", "!"};
  if (conditions.contains(head.str()))
    return "bool";
  if (head == "load")
    return (*array)[1].getAsString() ? known(scope.buffers, *(*array)[1].getAsString()) : "";
  if (head == "cast")
    return (*array)[1].getAsString() ? (*array)[1].getAsString()->str() : "";
  if (head == "value") {
    auto place = (*array)[1].getAsInteger();
    bool there = place && *place >= 0 && static_cast<std::size_t>(*place) < scope.values.size();
    return there ? scope.values[static_cast<std::size_t>(*place)] : "";
  }
  if (array->size() == 2) // a constant
    return head.str();
  std::string dtype = dtype_of((*array)[head == "select" || head == "branch" ? 2 : 1], scope);
  return dtype.empty() ? dtype_of(array->back(), scope) : dtype;
}

void walk_nodes(json::Value &expression, const std::function<void(json::Value &)> &f) {
  f(expression);
  json::Array *array = expression.getAsArray(); // the array may have changed in `f`
  if (!array || array->empty() || !(*array)[0].getAsString())
    return;
  if (is_load(*array)) {
    for (json::Value &index : *(*array)[2].getAsArray())
      walk_nodes(index, f);
    for (std::size_t n = 3; n < array->size(); ++n)
      walk_nodes((*array)[n], f);
    return;
  }
  llvm::StringRef head = *(*array)[0].getAsString();
  bool leaf = head == "value" || (array->size() == 2 && head != "!");
  for (std::size_t n = head == "cast" ? 2 : 1; !leaf && n < array->size(); ++n)
    walk_nodes((*array)[n], f);
}

std::vector<Part> parts_of(json::Value &trace) {
  Collector collector;
  collector.trace(trace);
  return std::move(collector.parts);
}

std::vector<std::string> names_in(const json::Value &trace) {
  std::set<std::string> names;
  std::function<void(const json::Value &)> read = [&](const json::Value &value) {
    if (const json::Array *array = value.getAsArray()) {
      for (const json::Value &item : *array)
        if (auto text = item.getAsString(); text && !text->contains("->"))
          names.insert(text->str());
        else
          read(item);
    } else if (const json::Object *object = value.getAsObject()) {
      for (const auto &[key, item] : *object)
        if (key == "results" || key == "loops" || key == "args")
          read(item);
        else if (auto text = item.getAsString(); text && (key == "loop" || key == "block"))
          names.insert(text->str());
    }
  };
  if (const json::Object *root = trace.getAsObject())
    if (const json::Value *directives = root->get("directives"))
      read(*directives);
  return {names.begin(), names.end()};
}

} // namespace nestsmith::fuzz
