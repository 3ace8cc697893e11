#include "dsl/ir/interpret.h"

#include "dsl/expr/error.h"
#include "dsl/expr/expr_text.h"
#include "dsl/expr/math_functions.h"
#include "dsl/expr/numbers.h"
#include "dsl/expr/shared_results.h"

#include <fmt/format.h>
#include <list>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <span>

namespace nestsmith {

namespace {

template <class T> Scalar apply(BinaryOp op, DType dtype, Scalar a, Scalar b) {
  T x = a.as<T>(), y = b.as<T>();
  return with_op(op, [&]<BinaryOp o>() -> Scalar {
    if constexpr (is_comparison(o))
      return Scalar::of<std::uint8_t>(DType::boolean, compare<o>(x, y));
    else if constexpr (is_logical(o) || !is_defined_on<o, T>())
      internal_error("this operator has no meaning on its operands");
    else
      return Scalar::of<T>(dtype, arithmetic<o>(x, y));
  });
}

Scalar apply(BinaryOp op, Scalar a, Scalar b) {
  if (a.dtype == DType::boolean)
    return apply<std::uint8_t>(op, a.dtype, a, b);
  return with_arithmetic(a.dtype, [&]<class T>() { return apply<T>(op, a.dtype, a, b); });
}

bool truth(Scalar s) { return s.bits != 0; }

using Indices = llvm::SmallVector<std::int64_t, 4>;
/// Reads a part of an element of a buffer at logical indices; part 0 of a number is the number.
using Reader = llvm::function_ref<Scalar(const Load &, const Indices &, std::size_t part)>;
using Environment = llvm::DenseMap<const Symbol *, Scalar>;

using EvaluatedNodes = SharedResults<Scalar>;

Scalar eval(const Expr &e, const Environment &env, Reader read, Arithmetic kind, EvaluatedNodes &known) {
  auto go = [&](const Expr &child) {
    // Remembering values is worth its cost for large expressions only.
    return child.node().size < 64 ? eval(child, env, read, kind, known)
                                  : known(child, [&] { return eval(child, env, read, kind, known); });
  };
  bool residues = kind != Arithmetic::floating;
  auto access = [&](const Load &x, std::size_t part) {
    if (x.mask.exists())
      if (!truth(go(x.mask)))
        return is_tuple(x.fill.dtype()) ? go(parts_of(x.fill)[part]) : go(x.fill);
    Indices indices;
    for (const Expr &index : x.indices)
      indices.push_back(go(index).as<std::int64_t>());
    return read(x, indices, part);
  };
  return e.visit(Overloaded{
      [&](const IntImm &x) {
        if (residues && is_float(x.dtype))
          return constant_of(kind, x.dtype, static_cast<double>(x.value));
        return byte_size(x.dtype) == 8 ? Scalar::of(x.dtype, x.value)
                                       : Scalar::from_double(x.dtype, static_cast<double>(x.value));
      },
      [&](const FloatImm &x) {
        return residues ? constant_of(kind, x.dtype, x.value) : Scalar::from_double(x.dtype, x.value);
      },
      [&](const Var &x) {
        auto it = env.find(x.get());
        internal_check(it != env.end(), "a variable has no value");
        return it->second;
      },
      [&](const Binary &x) -> Scalar {
        Scalar a = go(x.a);
        if (x.op == BinaryOp::logical_and)
          return truth(a) ? go(x.b) : a;
        if (x.op == BinaryOp::logical_or)
          return truth(a) ? a : go(x.b);
        return residues && is_float(a.dtype) ? apply(kind, x.op, a, go(x.b)) : apply(x.op, a, go(x.b));
      },
      [&](const Not &x) { return Scalar::of<std::uint8_t>(DType::boolean, !truth(go(x.a))); },
      [&](const Select &x) {
        if (x.branches)
          return go(truth(go(x.condition)) ? x.when_true : x.when_false);
        Scalar when_true = go(x.when_true), when_false = go(x.when_false);
        return truth(go(x.condition)) ? when_true : when_false;
      },
      [&](const Cast &x) {
        Scalar a = go(x.a);
        return residues && (is_float(a.dtype) || is_float(x.dtype)) ? convert(kind, a, x.dtype) : a.to(x.dtype);
      },
      [&](const Load &x) { return access(x, 0); },
      [](const Lane &) -> Scalar { internal_error("a program has no vectors"); },
      [](const Pack &) -> Scalar { internal_error("a program has no vectors"); },
      [&](const Call &x) -> Scalar {
        internal_check(x.function->math != nullptr, "a program calls functions of mathematics only");
        Scalar operands[3] = {};
        for (std::size_t n = 0; n < x.arguments.size(); ++n)
          operands[n] = go(x.arguments[n]);
        auto [a, b, c] = operands;
        if (residues)
          return apply(kind, *x.function->math, a, b, c);
        auto in = [&, a = a, b = b, c = c]<class T>(T) {
          return Scalar::of(x.function->result, evaluate(*x.function->math, a.as<T>(), b.as<T>(), c.as<T>()));
        };
        return x.function->result == DType::f64 ? in(double{}) : in(float{});
      },
      [](const Tuple &) -> Scalar { internal_error("a tuple where one value is wanted"); },
      [&](const Part &x) {
        internal_check(x.a.as<Load>() != nullptr, "a part of a tuple that is not resolved");
        return access(*x.a.as<Load>(), static_cast<std::size_t>(x.index));
      },
  });
}

Scalar eval(const Expr &e, const Environment &env, Reader read, Arithmetic kind) {
  EvaluatedNodes known;
  return eval(e, env, read, kind, known);
}

class Interpreter {
public:
  Interpreter(const Program &program, std::vector<Array> &arrays, const std::vector<Scalar> &scalars,
              Arithmetic arithmetic)
      : arithmetic_(arithmetic) {
    internal_check(arrays.size() == program.params.size(), "one array for each parameter is needed");
    internal_check(scalars.size() == program.scalars.size(), "one value for each scalar is needed");
    for (std::size_t n = 0; n < arrays.size(); ++n)
      add(program.params[n], {&arrays[n]}, program.params[n]->role != Role::output);
    for (std::size_t n = 0; n < scalars.size(); ++n)
      environment_[program.scalars[n].get()] = scalars[n];
    for (const Buffer &buffer : temporaries(program)) {
      std::vector<std::int64_t> shape;
      for (const Expr &extent : buffer->shape)
        shape.push_back(as_int(extent).value());
      std::vector<Array *> parts;
      if (is_tuple(buffer->dtype))
        for (const TuplePart &part : parts_of(buffer->dtype))
          parts.push_back(&own_.emplace_back(part.dtype, shape));
      else
        parts.push_back(&own_.emplace_back(buffer->dtype, shape));
      add(buffer, std::move(parts), false);
    }
  }

  void run(const Stmt &stmt) {
    visit(stmt, Overloaded{
                    [&](const For &loop) {
                      auto extent = evaluate(loop.extent).as<std::int64_t>();
                      Var around = loop.reversed_by();
                      bool backwards = around && evaluate(around).as<std::int64_t>() % 2 == 1;
                      for (std::int64_t i = 0; i < extent; ++i) {
                        environment_[loop.var.get()] = Scalar::of(DType::i64, backwards ? extent - 1 - i : i);
                        run(loop.body);
                      }
                    },
                    [&](const Seq &seq) {
                      for (const Stmt &child : seq.stmts)
                        run(child);
                    },
                    [&](const Block &block) { run_block(block); },
                });
  }

private:
  struct Storage {
    std::vector<Array *> parts; ///< of a tuple; one array for a number
    std::vector<bool> written;
  };

  void add(const Buffer &buffer, std::vector<Array *> parts, bool written) {
    auto size = static_cast<std::size_t>(parts.front()->size());
    storage_[buffer.get()] = {std::move(parts), std::vector<bool>(size, written)};
  }

  Scalar evaluate(const Expr &e) {
    auto read = [&](const Load &access, const Indices &indices, std::size_t part) {
      Storage &storage = storage_.find(access.buffer.get())->second;
      std::int64_t at = offset(access.buffer, indices);
      if (!storage.written[static_cast<std::size_t>(at)])
        fail("reads", access.buffer, indices, "which nothing has written");
      return storage.parts[part]->at(at);
    };
    return eval(e, environment_, read, arithmetic_);
  }

  void run_block(const Block &block) {
    bool inside = true;
    llvm::SmallVector<std::pair<const Symbol *, Scalar>, 6> values;
    for (const IterVar &iter : block.iters) {
      Scalar value = evaluate(iter.binding);
      auto at = value.as<std::int64_t>();
      if (iter.guarded && (at < 0 || at >= evaluate(iter.extent).as<std::int64_t>())) {
        if (iter.kind == IterKind::spatial)
          return;
        inside = false;
      }
      values.emplace_back(iter.var.get(), value);
    }
    if (!inside && !block.init)
      return;
    for (auto &[var, value] : values)
      environment_[var] = value;
    block_ = &block;
    if (block.init && is_first(block, values))
      run_store(*block.init);
    if (inside)
      run_store(block.body);
  }

  using Values = std::span<const std::pair<const Symbol *, Scalar>>;
  /// Whether every reduction axis has its first value.
  bool is_first(const Block &block, Values values) {
    for (std::size_t n = 0; n < block.iters.size(); ++n) {
      const IterVar &iter = block.iters[n];
      std::int64_t first = iter.first.exists() ? evaluate(iter.first).as<std::int64_t>() : 0;
      if (iter.kind == IterKind::reduction && values[n].second.as<std::int64_t>() != first)
        return false;
    }
    return true;
  }

  void run_store(const Store &store) {
    Indices indices;
    for (const Expr &index : store.indices)
      indices.push_back(evaluate(index).as<std::int64_t>());
    Storage &storage = storage_.find(store.buffer.get())->second;
    llvm::SmallVector<Scalar, 4> values;
    for (const Expr &part : parts_to_store(store))
      values.push_back(evaluate(part));
    std::int64_t at = offset(store.buffer, indices);
    for (std::size_t n = 0; n < values.size(); ++n)
      storage.parts[n]->set(at, values[n]);
    storage.written[static_cast<std::size_t>(at)] = true;
  }

  /// The expressions of the parts are the same in each instance.
  const std::vector<Expr> &parts_to_store(const Store &store) {
    auto [at, fresh] = parts_to_store_.try_emplace(&store);
    if (fresh)
      at->second = parts_of(without_reducer_calls(store.value));
    return at->second;
  }

  std::int64_t offset(const Buffer &buffer, const Indices &indices) {
    const auto &shape = storage_.find(buffer.get())->second.parts.front()->shape();
    std::int64_t at = 0;
    for (std::size_t n = 0; n < indices.size(); ++n) {
      if (indices[n] < 0 || indices[n] >= shape[n])
        fail("accesses", buffer, indices, "which is out of bounds");
      at = at * shape[n] + indices[n];
    }
    return at;
  }

  [[noreturn]] void fail(const char *verb, const Buffer &buffer, const Indices &indices, const char *what) {
    throw UserError(ExitCode::wrong_result, fmt::format("block {} {} {}[{}], {}", block_->id->name, verb,
                                                        buffer->name, fmt::join(indices, ", "), what));
  }

  llvm::DenseMap<const BufferNode *, Storage> storage_;
  std::list<Array> own_;
  llvm::DenseMap<const Store *, std::vector<Expr>> parts_to_store_;
  Environment environment_;
  Arithmetic arithmetic_;
  const Block *block_ = nullptr;
};

} // namespace

void interpret(const Program &program, std::vector<Array> &arrays, const std::vector<Scalar> &scalars,
               Arithmetic arithmetic) {
  Interpreter(program, arrays, scalars, arithmetic).run(program.body);
}

Scalar evaluate(const Expr &e, const std::map<Var, Scalar> &environment, Arithmetic arithmetic) {
  Environment values;
  for (const auto &[var, value] : environment)
    values[var.get()] = value;
  auto read = [](const Load &access, const Indices &, std::size_t) -> Scalar {
    internal_error("an expression that reads " + access.buffer->name + " has no value of its own");
  };
  return eval(e, values, read, arithmetic);
}

} // namespace nestsmith
