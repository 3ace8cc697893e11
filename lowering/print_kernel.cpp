/// The text of kernels.

#include "dsl/expr/expr_text.h"
#include "dsl/ir/intrinsic.h"
#include "lowering/notes.h"

#include <fmt/format.h>
#include <map>
#include <set>

namespace nestsmith::kernel {

namespace {

class Printer {
public:
  TracedText kernel(const Kernel &k);

private:
  void stmt(const Stmt &s, int depth);
  std::string access(const Buffer &buffer, const std::vector<Expr> &indices, int lanes = 1);
  std::string parameters(const Kernel &k);
  void allocation(std::string_view scope, const Allocation &a, const Kernel &k);
  void line(int depth, const std::string &text, const Origin &origin, const std::string &note = {});

  /// Distinguishes symbols of the same name: the second `k` prints as `k'1`.
  Var distinct(const Var &var) {
    auto [at, fresh] = symbols_.try_emplace(var, var);
    for (int n = 1; fresh && !taken_.insert(at->second->name).second; ++n)
      at->second = make_var(fmt::format("{}'{}", var->name, n), var->dtype, var->lanes);
    return at->second;
  }
  std::string text(const Expr &e) {
    return to_string(substitute(e, [this](const Var &var) { return Expr(distinct(var)); }));
  }

  std::string text(const BulkCopy &copy);
  std::string text(const Sync &sync);
  static std::string text(const LoopForm &form) {
    return std::visit(Overloaded{
                          [](const Serial &x) {
                            return x.copies > 1 ? fmt::format(" unrolled by {}", x.copies) : std::string();
                          },
                          [](const Unrolled &) { return std::string(" unrolled"); },
                          [](const Vectorized &) { return std::string(" vectorized"); },
                          [](const Tensorized &x) { return " by " + x.intrinsic.get().name; },
                      },
                      form);
  }

  TracedText out_;
  std::map<Var, Var> symbols_;
  std::set<std::string> taken_;
  std::vector<TensorMap> maps_;
};

void Printer::line(int depth, const std::string &text, const Origin &origin, const std::string &note) {
  out_.text.append(static_cast<std::size_t>(2 * depth), ' ');
  out_.text += text;
  if (!note.empty())
    out_.text += "  # " + note;
  out_.text += '\n';
  out_.lines.push_back(origin);
}

std::string Printer::access(const Buffer &buffer, const std::vector<Expr> &indices, int lanes) {
  std::string list;
  for (const Expr &index : indices)
    list += (list.empty() ? "" : ", ") + text(index);
  return fmt::format("{}[{}{}]", buffer->name, list, lanes == 1 ? "" : fmt::format(" +: {}", lanes));
}

std::string Printer::parameters(const Kernel &k) {
  std::string list;
  for (const SizeParameter &size : k.sizes)
    symbols_[size.size] = distinct(size.var);
  auto add = [&](const std::string &parameter) { list += (list.empty() ? "" : ", ") + parameter; };
  for (const Buffer &buffer : k.params)
    add(fmt::format("{}: {}", access(buffer, buffer->shape), name(buffer->dtype)));
  for (const SizeParameter &size : k.sizes)
    add(fmt::format("{}: {} size", distinct(size.var)->name, name(size.var->dtype)));
  for (const Var &scalar : k.scalars)
    add(fmt::format("{}: {}", distinct(scalar)->name, name(scalar->dtype)));
  return list;
}

void Printer::allocation(std::string_view scope, const Allocation &a, const Kernel &k) {
  line(
      1,
      fmt::format("{} {}: {}{}{}", scope, access(a.buffer, a.buffer->shape), name(a.buffer->dtype),
                  a.byte_offset ? fmt::format(" at byte {}", a.byte_offset) : "",
                  a.tenancy ? fmt::format(" in the memory of {}", k.shared[a.tenancy->host].buffer->name) : ""),
      a.origin, note_of(a));
}

void Printer::stmt(const Stmt &s, int depth) {
  visit(s,
        Overloaded{
            [&](const Declare &declare) {
              int lanes = declare.var->lanes;
              line(depth,
                   fmt::format("let {}: {}{} = {}", distinct(declare.var)->name, name(declare.var->dtype),
                               lanes == 1 ? "" : fmt::format("x{}", lanes), text(declare.value)),
                   s->origin);
            },
            [&](const Loop &loop) {
              line(depth,
                   fmt::format("for {} < {}{}:", distinct(loop.var)->name, text(loop.extent), text(loop.form)),
                   s->origin);
              stmt(loop.body, depth + 1);
            },
            [&](const If &branch) {
              line(depth, fmt::format("if {}:", text(branch.condition)), s->origin, note_of(s));
              stmt(branch.body, depth + 1);
              if (branch.otherwise) {
                line(depth, "else:", nullptr);
                stmt(branch.otherwise, depth + 1);
              }
            },
            [&](const Seq &seq) {
              for (const Stmt &child : seq.stmts)
                stmt(child, depth);
              if (seq.stmts.empty())
                line(depth, "pass", nullptr);
            },
            [&](const Store &store) {
              std::string element = access(store.buffer, store.indices, store.lanes);
              std::string value = store.atomic ? atomic_text(*store.atomic, element, text(store.value))
                                               : (store.async ? "async " : "") + text(store.value);
              if (store.count.exists())
                value += fmt::format(", the first {}", text(store.count));
              line(depth, fmt::format("{}{} = {}", store.atomic ? "atomic " : "", element, value), s->origin,
                   note_of(s));
            },
            [&](const Call &call) {
              std::string list;
              for (const OperandAddress &place : call.places)
                list += (list.empty() ? "" : ", ") + access(place.buffer, {place.offset});
              line(depth, fmt::format("{}({})", call.intrinsic.get().name, list), s->origin);
            },
            [&](const BulkCopy &copy) { line(depth, text(copy), s->origin, note_of(s)); },
            [&](const Sync &sync) { line(depth, text(sync), s->origin, note_of(s)); },
        });
}

std::string Printer::text(const BulkCopy &copy) {
  const TensorMap &map = maps_[copy.map];
  std::string box;
  for (std::int64_t extent : map.box)
    box += (box.empty() ? "" : " x ") + std::to_string(extent);
  std::string to = access(copy.tile, copy.indices), from = access(copy.array, copy.start);
  if (copy.stores())
    std::swap(to, from);
  return fmt::format("{} = bulk {}, a box of {}{}{}", to, from, box,
                     map.swizzle != 0 ? fmt::format(" swizzled by {} bytes", map.swizzle) : "",
                     !copy.fill              ? ""
                     : copy.fill->to_cluster ? ", to all blocks of the cluster, fill " + text(copy.fill->number)
                                             : ", fill " + text(copy.fill->number));
}

std::string Printer::text(const Sync &sync) {
  return visit(
      sync, Overloaded{
                [](const Barrier &x) { return fmt::format("sync {}", name(x.scope)); },
                [](const Commit &x) { return fmt::format("commit {}", name(x.queue)); },
                [](const Wait &x) { return fmt::format("wait for {}, {} pending", name(x.queue), x.pending); },
                [](const Begin &) { return std::string("begin calls"); },
                [](const Fence &) { return std::string("fence for matrix units"); },
                [&](const Await &x) { return fmt::format("await {} {}", name(x.event), text(x.number)); },
                [&](const Signal &x) {
                  return fmt::format("signal {} {}{}", name(x.event), text(x.number),
                                     x.bulk_bytes != 0 ? fmt::format(" with {} bytes", x.bulk_bytes) : "");
                },
                [](const AwaitKernel &) { return std::string("await the kernel before"); },
                [&](const Arrive &x) {
                  std::string last = distinct(x.last)->name, arrivals = text(x.arrivals);
                  return fmt::format("let {}: bool = arrives as number {} at {}", last, arrivals,
                                     access(x.counters, {x.index}));
                },
            });
}

TracedText Printer::kernel(const Kernel &k) {
  line(0, fmt::format("kernel {}({}):", k.name, parameters(k)), nullptr);
  for (const ThreadIndex &index : k.indices)
    line(1,
         fmt::format("let {}: {} = {} of {}", distinct(index.var)->name, name(index.var->dtype),
                     name(index.axis), text(index.extent)),
         index.origin);
  if (k.cluster > 1)
    line(1, fmt::format("clusters of {} blocks along blockIdx.z", k.cluster), nullptr);
  for (const Allocation &a : k.shared)
    allocation("shared", a, k);
  maps_ = k.maps;
  for (const Channel &channel : k.channels)
    line(1,
         fmt::format("channel of {} slots at byte {}: {} arrivals fill, {} free", channel.slots,
                     channel.byte_offset, channel.filled, channel.freed),
         nullptr);
  for (const Allocation &a : k.local)
    allocation("local", a, k);
  stmt(k.body, 1);
  return std::move(out_);
}

} // namespace

std::string print(const Kernel &kernel) { return print_traced(kernel).text; }

TracedText print_traced(const Kernel &kernel) { return Printer().kernel(kernel); }

} // namespace nestsmith::kernel
