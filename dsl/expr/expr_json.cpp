#include "dsl/expr/expr_json.h"

#include "dsl/expr/error.h"
#include "dsl/expr/math_functions.h"
#include "dsl/expr/spelling.h"

#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <llvm/ADT/StringExtras.h>

namespace nestsmith {

namespace json = llvm::json;

namespace {

std::optional<BinaryOp> operator_of(std::string_view text) {
  for (auto op = BinaryOp::add; op <= BinaryOp::logical_or;
       op = static_cast<BinaryOp>(static_cast<int>(op) + 1))
    if (spelling(op) == text)
      return op;
  return std::nullopt;
}

constexpr int most_brackets = 24; ///< of one expression

[[noreturn]] void reject(const std::string &message) { throw UserError(ExitCode::usage, message); }

json::Value number(const IntImm &imm) {
  constexpr std::int64_t limit = std::int64_t{1} << 62; // see `whole_number`
  if (imm.dtype == DType::u64 && imm.value < 0)
    return std::to_string(static_cast<std::uint64_t>(imm.value));
  if (imm.value > -limit && imm.value < limit)
    return imm.value;
  return std::to_string(imm.value);
}

json::Value constant_text(const IntImm &imm) {
  if (imm.dtype == DType::boolean)
    return imm.value != 0;
  json::Value value = number(imm);
  if (imm.dtype == DType::i64 && value.kind() == json::Value::Number)
    return value;
  return json::Array{std::string(name(imm.dtype)), std::move(value)};
}

json::Value constant_text(const FloatImm &imm) {
  std::string type(name(imm.dtype));
  if (std::isfinite(imm.value) && (imm.value != 0 || !std::signbit(imm.value)))
    return json::Array{type, imm.value};
  return json::Array{type, std::isnan(imm.value) ? "nan" : fmt::format("{}", imm.value)};
}

Expr read_constant(DType dtype, const json::Value &value) {
  auto text = value.getAsString();
  if (is_float(dtype)) {
    if (auto number = value.getAsNumber())
      return float_imm(*number, dtype);
    for (double special : {-0.0, std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
      if (text && text->str() == fmt::format("{}", special))
        return float_imm(special, dtype);
    reject(fmt::format("a constant of {} is neither a number, \"inf\", \"-inf\", \"-0\", nor \"nan\"",
                       name(dtype)));
  }
  std::int64_t integer = 0;
  std::uint64_t natural = 0;
  if (auto number = whole_number(&value))
    integer = *number;
  else if (text && dtype == DType::u64 && llvm::to_integer(*text, natural, 10))
    integer = static_cast<std::int64_t>(natural);
  else if (!text || !llvm::to_integer(*text, integer, 10))
    reject(fmt::format("a constant of {} is not a whole number", name(dtype)));
  Expr result = int_imm(integer, dtype);
  if (as_int(result) != integer)
    reject(fmt::format("the constant {} is out of the range of {}", integer, name(dtype)));
  return result;
}

} // namespace

std::optional<std::int64_t> whole_number(const json::Value *value) {
  auto number = value ? value->getAsNumber() : decltype(value->getAsNumber()){};
  if (!number || std::abs(*number) >= 0x1p62)
    return std::nullopt;
  auto integer = value->getAsInteger();
  return integer ? std::optional<std::int64_t>(*integer) : std::nullopt;
}

ExprWriter::ExprWriter(const std::vector<Expr> &exprs) {
  for (const Expr &e : exprs)
    walk(e, [&](const Expr &node) { for_each_child(node, [&](const Expr &child) { ++uses_[child.get()]; }); });
}

json::Value ExprWriter::operator()(const Expr &e) { return write(e).text; }

ExprWriter::Written ExprWriter::write(const Expr &e) {
  if (auto place = places_.find(e.get()); place != places_.end())
    return {json::Array{"value", place->second}, 1};
  Written written = write_node(e);
  bool shared = uses_[e.get()] > 1 && e.node().size > 2;
  if (!shared && written.brackets < most_brackets)
    return written;
  auto place = static_cast<std::int64_t>(values.size());
  places_[e.get()] = place;
  values.push_back(std::move(written.text));
  return {json::Array{"value", place}, 1};
}

ExprWriter::Written ExprWriter::write_node(const Expr &e) {
  int brackets = 0;
  auto operand = [&](const Expr &child) {
    Written written = write(child);
    brackets = std::max(brackets, written.brackets);
    return std::move(written.text);
  };
  auto list = [&](auto... parts) { return Written{json::Array{std::move(parts)...}, brackets + 1}; };
  return e.visit(Overloaded{
      [&](const IntImm &x) {
        return Written{constant_text(x), 1};
      },
      [&](const FloatImm &x) {
        return Written{constant_text(x), 1};
      },
      [&](const Var &x) {
        complete = complete && x->lanes == 1;
        return Written{x->name, 0};
      },
      [&](const Binary &x) {
        std::string op(spelling(x.op));
        json::Value a = operand(x.a), b = operand(x.b);
        return list(op, std::move(a), std::move(b));
      },
      [&](const Not &x) {
        json::Value a = operand(x.a);
        return list("!", std::move(a));
      },
      [&](const Select &x) {
        json::Value condition = operand(x.condition), a = operand(x.when_true), b = operand(x.when_false);
        return list(x.branches ? "branch" : "select", std::move(condition), std::move(a), std::move(b));
      },
      [&](const Cast &x) {
        json::Value a = operand(x.a);
        return list("cast", std::string(name(x.dtype)), std::move(a));
      },
      [&](const Load &x) {
        complete = complete && x.lanes == 1;
        json::Array indices, access{"load", x.buffer->name};
        for (const Expr &index : x.indices)
          indices.push_back(operand(index));
        access.push_back(std::move(indices));
        if (x.mask.exists())
          for (const Expr &part : {x.mask, x.fill})
            access.push_back(operand(part));
        ++brackets; // around the indices
        return Written{std::move(access), brackets + 1};
      },
      [&](const Call &x) {
        json::Array made{x.function->name};
        for (const Expr &argument : x.arguments)
          made.push_back(operand(argument));
        complete = complete && x.function->math;
        return Written{std::move(made), brackets + 1};
      },
      [&](const Tuple &x) {
        json::Array made{"tuple"};
        for (std::size_t n = 0; n < x.parts.size(); ++n) {
          const TuplePart &part = parts_of(x.dtype)[n];
          made.push_back(json::Array{part.name, std::string(name(part.dtype)), operand(x.parts[n])});
        }
        ++brackets; // around the parts
        return Written{std::move(made), brackets + 1};
      },
      [&](const Part &x) {
        json::Value a = operand(x.a);
        return list("part", std::move(a), parts_of(x.a.dtype())[static_cast<std::size_t>(x.index)].name);
      },
      [&](const auto &) { // vectors, which directives and lowering make
        complete = false;
        return Written{nullptr, 0};
      },
  });
}

Expr ExprReader::operator()(const json::Value &value) const {
  if (auto truth = value.getAsBoolean())
    return boolean(*truth);
  if (auto integer = whole_number(&value))
    return int_imm(*integer);
  if (auto name = value.getAsString()) {
    auto known = names.find(name->str());
    if (known == names.end())
      reject(fmt::format("'{}' is neither an axis of the stage, nor a scalar, nor a size", name->str()));
    return known->second;
  }
  const json::Array *list = value.getAsArray();
  if (!list || list->empty())
    reject("an expression is neither a number, a name, true, false, nor a list that starts with an operator");
  return read_list(*list);
}

Expr ExprReader::read_list(const json::Array &list) const {
  auto head = list[0].getAsString();
  if (!head)
    reject("an expression is a list that does not start with an operator");
  std::string op = head->str();
  auto expect = [&](std::size_t operands) {
    if (list.size() != operands + 1)
      reject(fmt::format("the operator '{}' has {} operands, expected {}", op, list.size() - 1, operands));
  };
  auto dtype_of = [&](const json::Value &value) {
    auto text = value.getAsString();
    auto dtype = text ? parse_dtype(text->str()) : std::nullopt;
    if (!dtype)
      reject(fmt::format("'{}' has no dtype, expected one of {}", op, dtype_names()));
    return *dtype;
  };
  if (op == "load")
    return read_load(list);
  if (op == "tuple")
    return read_tuple(list);
  if (op == "part") {
    expect(2);
    auto name = list[2].getAsString();
    if (!name)
      reject("a part of a tuple has no name");
    return part((*this)(list[1]), std::string_view(name->data(), name->size()));
  }
  if (op == "value") {
    expect(1);
    auto place = whole_number(&list[1]);
    if (!place || *place < 0 || static_cast<std::size_t>(*place) >= values.size())
      reject("an expression uses a value that is not in the list 'values' before it");
    return values[static_cast<std::size_t>(*place)];
  }
  if (op == "cast") {
    expect(2);
    return cast(dtype_of(list[1]), (*this)(list[2]));
  }
  if (op == "!") {
    expect(1);
    return logical_not((*this)(list[1]));
  }
  if (op == "select" || op == "branch") {
    expect(3);
    Expr condition = (*this)(list[1]), a = (*this)(list[2]), b = (*this)(list[3]);
    return op == "select" ? select(condition, a, b) : branch(condition, a, b);
  }
  if (parse_dtype(op)) {
    expect(1);
    return read_constant(dtype_of(list[0]), list[1]);
  }
  if (const MathFunction *function = find_math_function(op)) {
    expect(static_cast<std::size_t>(function->operands));
    std::vector<Expr> operands;
    for (std::size_t n = 1; n < list.size(); ++n)
      operands.push_back((*this)(list[n]));
    return call_math(*function, std::move(operands));
  }
  auto binary_op = operator_of(op);
  if (!binary_op)
    reject(fmt::format("unknown operator '{}'", op));
  expect(2);
  Expr a = (*this)(list[1]), b = (*this)(list[2]);
  bool divides = *binary_op == BinaryOp::floordiv || *binary_op == BinaryOp::floormod;
  if ((*binary_op == BinaryOp::div && !is_float(a.dtype())) || (divides && is_float(a.dtype())))
    reject(fmt::format("the operator '{}' is not defined on {}", op, name(a.dtype())));
  if (divides && as_int(b) == 0)
    reject(fmt::format("the operator '{}' divides by 0", op));
  return binary(*binary_op, a, b);
}

Expr ExprReader::read_tuple(const json::Array &list) const {
  std::vector<TuplePart> types;
  std::vector<Expr> parts;
  for (std::size_t n = 1; n < list.size(); ++n) {
    const json::Value &value = list[n];
    const json::Array *one = value.getAsArray();
    auto name = one && one->size() == 3 ? (*one)[0].getAsString() : decltype(value.getAsString()){};
    auto type = name ? (*one)[1].getAsString() : decltype(value.getAsString()){};
    auto dtype = type ? parse_dtype(type->str()) : std::nullopt;
    if (!dtype)
      reject(R"(a part of a tuple is not of the form ["name", "dtype", expression])");
    types.push_back({name->str(), *dtype});
    parts.push_back((*this)((*one)[2]));
  }
  return tuple(tuple_type(types), std::move(parts));
}

Expr ExprReader::read_load(const json::Array &list) const {
  auto name = list.size() == 3 || list.size() == 5 ? list[1].getAsString() : decltype(list[1].getAsString()){};
  const json::Array *places = name ? list[2].getAsArray() : nullptr;
  if (!places)
    reject("a load is not of the form [\"load\", \"tensor\", [index, …]] or [\"load\", \"tensor\", [index, …], "
           "mask, "
           "fill]");
  auto buffer = buffers.find(name->str());
  if (buffer == buffers.end())
    reject(fmt::format("reads '{}', which is neither a tensor nor a stage before this one", name->str()));
  std::vector<Expr> indices;
  for (const json::Value &place : *places)
    indices.push_back((*this)(place));
  if (list.size() == 3)
    return load(buffer->second, std::move(indices));
  Expr mask = (*this)(list[3]), fill = (*this)(list[4]);
  if (fill.dtype() != buffer->second->dtype || mask.dtype() != DType::boolean)
    reject(fmt::format("a load of '{}' has a mask of {} and a fill of {}, expected bool and {}", name->str(),
                       nestsmith::name(mask.dtype()), nestsmith::name(fill.dtype()),
                       nestsmith::name(buffer->second->dtype)));
  return load(buffer->second, std::move(indices), mask, fill);
}

} // namespace nestsmith
