/// Walks kernels and rewrites the place that a `Chooser` takes.

#include "tests/mutation/seed.h"

#include "dsl/hardware/intrinsics.h"
#include "dsl/ir/printer.h"
#include "lowering/notes.h"

#include <fmt/format.h>

namespace nestsmith::mutation {

using kernel::Stmt;

namespace {

const char *name(SeedPlace place) {
  static constexpr const char *names[] = {"offset of a load", "offset of a store", "guard", "mask", "fill",
                                          "extent",           "declared value",    "value"};
  return names[static_cast<std::size_t>(place)];
}

class ExprSeeder {
public:
  ExprSeeder(Chooser &chooser, const ExprBug &bug) : chooser_(chooser), bug_(bug) {}

  Stmt stmt(const Stmt &s) {
    Stmt result = own(s);
    return kernel::map_children(result, [&](const Stmt &child) { return stmt(child); });
  }

private:
  Stmt own(const Stmt &s) {
    if (const auto *x = kernel::as<kernel::Declare>(s)) {
      SeedPlace place = x->var->lanes == 1 && is_index(x->var->dtype) ? SeedPlace::declared : SeedPlace::value;
      kernel::Declare copy = *x;
      copy.value = expr(x->value, {place, nullptr, 1, true});
      return copy.value.get() == x->value.get() ? s : kernel::make(copy);
    }
    if (const auto *x = kernel::as<kernel::If>(s)) {
      kernel::If copy = *x;
      copy.condition = expr(x->condition, {SeedPlace::guard, nullptr, 1, true});
      return copy.condition.get() == x->condition.get() ? s : kernel::make(copy);
    }
    if (const auto *x = kernel::as<kernel::Loop>(s)) {
      kernel::Loop copy = *x;
      copy.extent = expr(x->extent, {SeedPlace::extent, nullptr, 1, true});
      return copy.extent.get() == x->extent.get() ? s : kernel::make(copy);
    }
    if (const auto *x = kernel::as<kernel::Store>(s)) {
      kernel::Store copy = *x;
      bool changed = false;
      for (Expr &index : copy.indices) {
        Expr old = index;
        index = expr(old, {SeedPlace::store_offset, x->buffer, x->lanes, true});
        changed = changed || index.get() != old.get();
      }
      copy.value = expr(x->value, {SeedPlace::value, nullptr, 1, true});
      return changed || copy.value.get() != x->value.get() ? kernel::make(copy) : s;
    }
    if (const auto *x = kernel::as<kernel::Call>(s)) {
      kernel::Call copy = *x;
      bool changed = false;
      for (std::size_t n = 0; n < copy.places.size(); ++n) {
        kernel::OperandAddress &at = copy.places[n];
        const auto *rows = x->intrinsic.get().operands[n].as<Rows>();
        SeedPlace place = &x->places[n] == &x->result() ? SeedPlace::store_offset : SeedPlace::load_offset;
        Expr old = at.offset;
        at.offset = expr(old, {place, at.buffer, rows ? static_cast<int>(rows->count) : 1, true});
        changed = changed || at.offset.get() != old.get();
      }
      return changed ? kernel::make(copy) : s;
    }
    return s;
  }

  Expr expr(const Expr &e, Spot spot) {
    for (const Expr &changed : bug_(e, spot))
      if (chooser_.take([&] {
            return fmt::format("{}{} {}: {} for {}", name(spot.place), spot.buffer ? " of" : "",
                               spot.buffer ? spot.buffer->name : "", to_string(changed), to_string(e));
          }))
        return changed;
    const auto *access = e.as<Load>();
    if (!access) {
      spot.root = false;
      return map_children(e, [&](const Expr &child) { return expr(child, spot); });
    }
    Load copy = *access;
    bool changed = false;
    auto part = [&](Expr &x, SeedPlace place) {
      if (!x.exists())
        return;
      Expr old = x;
      x = expr(old, {place, access->buffer, access->lanes, true});
      changed = changed || x.get() != old.get();
    };
    for (Expr &index : copy.indices)
      part(index, SeedPlace::load_offset);
    part(copy.mask, SeedPlace::mask);
    part(copy.fill, SeedPlace::fill);
    return changed ? load(copy.buffer, copy.indices, copy.mask, copy.fill, copy.lanes) : e;
  }

  Chooser &chooser_;
  const ExprBug &bug_;
};

} // namespace

void on_exprs(kernel::Kernel &kernel, Chooser &chooser, const ExprBug &bug) {
  kernel.body = ExprSeeder(chooser, bug).stmt(kernel.body);
}

void on_stmts(kernel::Kernel &kernel, Chooser &chooser, const StmtBug &bug) {
  std::function<Stmt(const Stmt &)> rewrite = [&](const Stmt &stmt) -> Stmt {
    for (const Stmt &changed : bug(stmt))
      if (chooser.take([&] { return brief(stmt) + " becomes " + brief(changed); }))
        return changed;
    return kernel::map_children(stmt, rewrite);
  };
  kernel.body = rewrite(kernel.body);
}

void on_seqs(kernel::Kernel &kernel, Chooser &chooser, const SeqBug &bug) {
  std::function<Stmt(const Stmt &)> rewrite = [&](const Stmt &stmt) -> Stmt {
    if (const auto *seq = kernel::as<kernel::Seq>(stmt))
      for (std::size_t at = 0; at < seq->stmts.size(); ++at)
        for (std::vector<Stmt> &changed : bug(seq->stmts, at))
          if (chooser.take([&] { return "at " + brief(seq->stmts[at]); }))
            return kernel::make_seq(std::move(changed));
    return kernel::map_children(stmt, rewrite);
  };
  kernel.body = rewrite(kernel.body);
}

Stmt rewrite_offsets(const Stmt &body, const Buffer &buffer, Side side, const OffsetRewrite &f) {
  std::function<Expr(const Expr &)> in_loads = [&](const Expr &e) -> Expr {
    Expr result = map_children(e, in_loads);
    const auto *access = result.as<Load>();
    if (!access || access->buffer != buffer)
      return result;
    Expr offset = f(access->indices[0]);
    return offset.get() == access->indices[0].get()
               ? result
               : load(buffer, {offset}, access->mask, access->fill, access->lanes);
  };
  std::function<Stmt(const Stmt &)> rewrite = [&](const Stmt &stmt) -> Stmt {
    Stmt result = side == Side::stores ? stmt : kernel::map_exprs(stmt, in_loads);
    if (const auto *call = kernel::as<kernel::Call>(result); call && side != Side::stores) {
      kernel::Call copy = *call;
      for (kernel::OperandAddress &place : copy.places)
        if (place.buffer == buffer)
          place.offset = f(place.offset);
      result = kernel::make(std::move(copy));
    }
    const auto *store = kernel::as<kernel::Store>(result);
    if (!store || store->buffer != buffer || side == Side::loads)
      return kernel::map_children(result, rewrite);
    kernel::Store copy = *store;
    copy.indices[0] = f(store->indices[0]);
    return copy.indices[0].get() == store->indices[0].get() ? result : kernel::make(std::move(copy));
  };
  return rewrite(body);
}

Expr rewrite_nodes(const Expr &e, const std::function<Expr(const Expr &)> &f) {
  return f(map_children(e, [&](const Expr &child) { return rewrite_nodes(child, f); }));
}

Stmt nothing() { return kernel::make(kernel::Seq{}); }

bool uses(const Stmt &stmt, const Var &var) {
  bool found = false;
  walk_exprs(stmt, [&](const Expr &e) {
    const Var *used = e.as<Var>();
    const auto *element = e.as<Lane>();
    found = found || (used && *used == var) || (element && element->vector == var);
  });
  return found;
}

bool touches_shared(const Stmt &stmt) {
  bool found = false;
  walk_exprs(stmt, [&](const Expr &e) {
    const auto *access = e.as<Load>();
    found = found || (access && access->buffer->scope == Scope::shared);
  });
  kernel::walk(stmt, [&](const Stmt &child) {
    const auto *store = kernel::as<kernel::Store>(child);
    found = found || (store && store->buffer->scope == Scope::shared);
  });
  return found;
}

static std::string brief(const kernel::Sync &sync, const std::string &note) {
  return kernel::visit(
      sync,
      Overloaded{
          [&](const kernel::Barrier &) { return "barrier (" + note + ")"; },
          [&](const kernel::Commit &) { return "commit (" + note + ")"; },
          [&](const kernel::Wait &x) { return fmt::format("wait, {} pending ({})", x.pending, note); },
          [&](const kernel::Begin &) { return "begin (" + note + ")"; },
          [&](const kernel::Fence &) { return "fence (" + note + ")"; },
          [&](const kernel::Await &x) { return fmt::format("await {} ({})", kernel::name(x.event), note); },
          [](const kernel::Signal &x) { return fmt::format("signal {}", kernel::name(x.event)); },
          [](const kernel::AwaitKernel &) { return std::string("await of the kernel before"); },
          [](const kernel::Arrive &x) {
            return fmt::format("arrival {} at {}[{}]", to_string(x.arrivals), x.counters->name,
                               to_string(x.index));
          },
      });
}

std::string brief(const Stmt &stmt) {
  return kernel::visit(
      stmt,
      Overloaded{
          [](const kernel::Declare &x) { return fmt::format("let {} = {}", x.var->name, to_string(x.value)); },
          [](const kernel::Loop &x) { return fmt::format("for {} < {}", x.var->name, to_string(x.extent)); },
          [](const kernel::If &x) { return fmt::format("if {}", to_string(x.condition)); },
          [](const kernel::Seq &x) {
            return x.stmts.empty() ? std::string("nothing") : brief(x.stmts.front()) + " …";
          },
          [](const kernel::Store &x) {
            return fmt::format("{}{}[{}] = {}", x.atomic ? "atomic " : "", x.buffer->name,
                               to_string(x.indices[0]), to_string(x.value));
          },
          [](const kernel::Call &x) { return kernel::to_string(x); },
          [](const kernel::BulkCopy &x) { return "bulk copy of " + x.tile->name; },
          [&](const kernel::Sync &x) { return brief(x, note_of(stmt)); },
      });
}

Expr plus(const Expr &e, std::int64_t n) { return binary(BinaryOp::add, e, int_imm(n, e.dtype())); }

} // namespace nestsmith::mutation
