#include "lowering/kernel.h"

#include "dsl/error.h"

#include <fmt/format.h>

#include <set>
#include <unordered_map>

namespace nestsmith::kernel {

Stmt make_seq(std::vector<Stmt> stmts) {
  std::vector<Stmt> flat;
  for (Stmt &stmt : stmts) {
    if (!stmt)
      continue;
    if (const Seq *seq = as<Seq>(stmt))
      flat.insert(flat.end(), seq->stmts.begin(), seq->stmts.end());
    else
      flat.push_back(std::move(stmt));
  }
  if (flat.size() == 1)
    return flat.front();
  return make(Seq{std::move(flat)});
}

Stmt map_children(const Stmt &stmt, const std::function<Stmt(const Stmt &)> &f) {
  auto nested = [&](const auto &node) -> Stmt {
    Stmt body = f(node.body);
    if (body == node.body)
      return stmt;
    if (!body)
      return nullptr;
    auto copy = node;
    copy.body = std::move(body);
    return make(std::move(copy));
  };
  return visit(stmt,
               Overloaded{[&](const Declare &) { return stmt; }, [&](const Loop &loop) { return nested(loop); },
                          [&](const If &branch) { return nested(branch); },
                          [&](const Seq &seq) {
                            bool changed = false;
                            std::vector<Stmt> stmts;
                            for (const Stmt &child : seq.stmts) {
                              stmts.push_back(f(child));
                              changed |= stmts.back() != child;
                            }
                            return changed ? make_seq(std::move(stmts)) : stmt;
                          },
                          [&](const Store &) { return stmt; }, [&](const Barrier &) { return stmt; }});
}

Stmt map_exprs(const Stmt &stmt, const std::function<Expr(const Expr &)> &f) {
  auto with = [&](const auto &node, auto member) -> Stmt {
    Expr value = f(node.*member);
    if (value.get() == (node.*member).get())
      return stmt;
    auto copy = node;
    copy.*member = std::move(value);
    return make(std::move(copy));
  };
  return visit(stmt, Overloaded{[&](const Declare &declare) { return with(declare, &Declare::value); },
                                [&](const Loop &loop) { return with(loop, &Loop::extent); },
                                [&](const If &branch) { return with(branch, &If::condition); },
                                [&](const Seq &) { return stmt; },
                                [&](const Store &store) {
                                  Store copy = store;
                                  copy.value = f(store.value);
                                  bool changed = copy.value.get() != store.value.get();
                                  for (Expr &index : copy.indices) {
                                    Expr old = index;
                                    index = f(old);
                                    changed |= index.get() != old.get();
                                  }
                                  return changed ? make(std::move(copy)) : stmt;
                                },
                                [&](const Barrier &) { return stmt; }});
}

void walk(const Stmt &stmt, const std::function<void(const Stmt &)> &f) {
  f(stmt);
  visit(stmt, Overloaded{[](const Declare &) {}, [&](const Loop &loop) { walk(loop.body, f); },
                         [&](const If &branch) { walk(branch.body, f); },
                         [&](const Seq &seq) {
                           for (const Stmt &child : seq.stmts)
                             walk(child, f);
                         },
                         [](const Store &) {}, [](const Barrier &) {}});
}

std::int64_t Kernel::extent(Axis axis) const {
  for (const ThreadIndex &index : indices)
    if (index.axis == axis)
      return index.extent;
  return 1;
}

std::array<std::int64_t, 3> Kernel::grid() const {
  return {extent(Axis::block_x), extent(Axis::block_y), extent(Axis::block_z)};
}

std::array<std::int64_t, 3> Kernel::block() const {
  return {extent(Axis::thread_x), extent(Axis::thread_y), extent(Axis::thread_z)};
}

std::int64_t Kernel::threads() const {
  auto [x, y, z] = block();
  return x * y * z;
}

namespace {

std::string_view spelling(BinaryOp op) {
  switch (op) {
  case BinaryOp::add:
    return "+";
  case BinaryOp::sub:
    return "-";
  case BinaryOp::mul:
    return "*";
  case BinaryOp::div:
    return "/";
  case BinaryOp::floordiv:
    return "//";
  case BinaryOp::floormod:
    return "%";
  case BinaryOp::min:
    return "min";
  case BinaryOp::max:
    return "max";
  case BinaryOp::lt:
    return "<";
  case BinaryOp::le:
    return "<=";
  case BinaryOp::eq:
    return "==";
  case BinaryOp::ne:
    return "!=";
  case BinaryOp::logical_and:
    return "and";
  case BinaryOp::logical_or:
    return "or";
  }
  internal_error("unknown operator");
}

/// How tightly an operator binds: a child that binds less tightly is put in parentheses.
int binding(BinaryOp op) {
  switch (op) {
  case BinaryOp::logical_or:
    return 1;
  case BinaryOp::logical_and:
    return 2;
  case BinaryOp::lt:
  case BinaryOp::le:
  case BinaryOp::eq:
  case BinaryOp::ne:
    return 3;
  case BinaryOp::add:
  case BinaryOp::sub:
    return 4;
  case BinaryOp::mul:
  case BinaryOp::div:
  case BinaryOp::floordiv:
  case BinaryOp::floormod:
    return 5;
  case BinaryOp::min:
  case BinaryOp::max:
    return 7;
  }
  internal_error("unknown operator");
}
constexpr int loosest = 0, prefix = 6;

class Printer {
public:
  std::string kernel(const Kernel &k);

private:
  void stmt(const Stmt &s, int depth);
  std::string expr(const Expr &e, int outer = loosest);
  std::string binary(const Binary &b, int outer);
  std::string load(const Load &l, int outer);
  std::string shape(const std::vector<Expr> &extents);
  std::string parameters(const Kernel &k);
  void line(int depth, const std::string &text, const std::string &note = {});

  /// Symbols are told apart even where they share a name: the second `k` prints as `k'1`.
  std::string name(const void *symbol, const std::string &wanted) {
    auto [at, fresh] = names_.try_emplace(symbol, wanted);
    if (fresh)
      for (int n = 1; !taken_.insert(at->second).second; ++n)
        at->second = fmt::format("{}'{}", wanted, n);
    return at->second;
  }
  std::string name(const Var &var) { return name(var.get(), var->name); }
  std::string name(const Buffer &buffer) { return name(buffer.get(), buffer->name); }

  std::string out_;
  std::unordered_map<const void *, std::string> names_;
  std::set<std::string> taken_;
};

void Printer::line(int depth, const std::string &text, const std::string &note) {
  out_.append(static_cast<std::size_t>(2 * depth), ' ');
  out_ += text;
  if (!note.empty())
    out_ += "  # " + note;
  out_ += '\n';
}

std::string parenthesized(std::string text, bool wanted) { return wanted ? "(" + text + ")" : text; }

std::string Printer::binary(const Binary &b, int outer) {
  if (b.op == BinaryOp::min || b.op == BinaryOp::max)
    return fmt::format("{}({}, {})", spelling(b.op), expr(b.a), expr(b.b));
  int own = binding(b.op);
  bool associative = b.op == BinaryOp::add || b.op == BinaryOp::mul || is_logical(b.op);
  bool integers = !is_float(b.a.dtype());
  const Binary *right = b.b.as<Binary>();
  // Reassociation is exact on integers only, so that a float tree prints with its shape.
  bool flat = right && right->op == b.op && associative && integers;
  return parenthesized(fmt::format("{} {} {}", expr(b.a, own), spelling(b.op), expr(b.b, flat ? own : own + 1)),
                       own < outer);
}

std::string Printer::load(const Load &l, int outer) {
  std::string text = name(l.buffer) + shape(l.indices);
  if (!l.mask)
    return text;
  return parenthesized(fmt::format("{} where {} else {}", text, expr(l.mask), expr(l.fill)), outer > loosest);
}

std::string Printer::expr(const Expr &e, int outer) {
  return e.visit(Overloaded{
      [&](const IntImm &imm) -> std::string {
        if (imm.dtype == DType::boolean)
          return imm.value ? "true" : "false";
        return std::to_string(imm.value);
      },
      [&](const FloatImm &imm) {
        std::string text = fmt::format("{}", static_cast<float>(imm.value));
        return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
      },
      [&](const Var &var) { return name(var); }, [&](const Binary &b) { return binary(b, outer); },
      [&](const Not &n) { return parenthesized("not " + expr(n.a, prefix), outer >= prefix); },
      [&](const Select &s) {
        return fmt::format("select({}, {}, {})", expr(s.condition), expr(s.when_true), expr(s.when_false));
      },
      [&](const Cast &c) { return fmt::format("{}({})", nestsmith::name(c.dtype), expr(c.a)); },
      [&](const Load &l) { return load(l, outer); }});
}

std::string Printer::shape(const std::vector<Expr> &extents) {
  std::string text;
  for (const Expr &extent : extents)
    text += (text.empty() ? "" : ", ") + expr(extent);
  return "[" + text + "]";
}

std::string Printer::parameters(const Kernel &k) {
  std::string text;
  auto add = [&](const std::string &parameter) { text += (text.empty() ? "" : ", ") + parameter; };
  for (const Buffer &buffer : k.params)
    add(fmt::format("{}: {}{}", name(buffer), nestsmith::name(buffer->dtype), shape(buffer->shape)));
  for (const Var &scalar : k.scalars)
    add(fmt::format("{}: {}", name(scalar), nestsmith::name(scalar->dtype)));
  return text;
}

void Printer::stmt(const Stmt &s, int depth) {
  visit(s,
        Overloaded{[&](const Declare &declare) {
                     line(depth, fmt::format("let {}: {} = {}", name(declare.var),
                                             nestsmith::name(declare.var->dtype), expr(declare.value)));
                   },
                   [&](const Loop &loop) {
                     line(depth, fmt::format("for {} in {}{}:", name(loop.var), expr(loop.extent),
                                             loop.unrolled ? " unrolled" : ""));
                     stmt(loop.body, depth + 1);
                   },
                   [&](const If &branch) {
                     line(depth, fmt::format("if {}:", expr(branch.condition)), branch.note);
                     stmt(branch.body, depth + 1);
                   },
                   [&](const Seq &seq) {
                     for (const Stmt &child : seq.stmts)
                       stmt(child, depth);
                     if (seq.stmts.empty())
                       line(depth, "pass");
                   },
                   [&](const Store &store) {
                     line(depth,
                          fmt::format("{}{} = {}", name(store.buffer), shape(store.indices), expr(store.value)),
                          store.note);
                   },
                   [&](const Barrier &barrier) {
                     line(depth, barrier.scope == SyncScope::block ? "sync block" : "sync warp", barrier.note);
                   }});
}

std::string Printer::kernel(const Kernel &k) {
  line(0, fmt::format("kernel {}({}):", k.name, parameters(k)));
  for (const ThreadIndex &index : k.indices)
    line(1, fmt::format("let {} = {} in {}", name(index.var), nestsmith::name(index.axis), index.extent));
  for (const Allocation &a : k.shared)
    line(1,
         fmt::format("shared {}: {}{} at byte {}", name(a.buffer), nestsmith::name(a.buffer->dtype),
                     shape(a.buffer->shape), a.byte_offset),
         a.note);
  for (const Allocation &a : k.local)
    line(
        1,
        fmt::format("local {}: {}{}", name(a.buffer), nestsmith::name(a.buffer->dtype), shape(a.buffer->shape)),
        a.note);
  stmt(k.body, 1);
  return std::move(out_);
}

} // namespace

std::string print(const Kernel &kernel) { return Printer().kernel(kernel); }

} // namespace nestsmith::kernel
