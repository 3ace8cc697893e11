#include "codegen/cuda.h"

#include "codegen/locals.h"
#include "codegen/names.h"
#include "codegen/spell.h"
#include "codegen/text.h"
#include "dsl/expr/error.h"
#include "dsl/expr/simplify.h"
#include "dsl/ir/allocation.h"
#include "dsl/ir/atomics.h"
#include "dsl/ir/intrinsic.h"
#include "lowering/fences.h"
#include "lowering/notes.h"
#include "lowering/step_sources.h"

#include <algorithm>
#include <fmt/format.h>
#include <span>

namespace nestsmith {

namespace {

/// Declares the names of the parameters. A standalone kernel and its launcher use the same names.
void declare_parameters(NameTable &names, const kernel::Plan &plan) {
  for (const kernel::Kernel &kernel : plan.kernels)
    names.claim(entry_name(kernel));
  for (const Buffer &buffer : plan.params)
    names.declare(buffer);
  for (const kernel::SizeParameter &size : plan.sizes)
    names.declare(size.var);
  for (const Var &scalar : plan.scalars)
    names.declare(scalar);
}

/// The writer records the places of statements and origins in the text.
struct Marks {
  std::map<const kernel::StmtNode *, std::size_t> begins; ///< offset of each statement
  /// From the offset on, lines come from these parts, up to the next mark.
  std::vector<std::pair<std::size_t, Origin>> origins;
};

class KernelWriter : ExprSpeller {
public:
  /// `marks` may be null.
  explicit KernelWriter(const kernel::Kernel &kernel, Marks *marks = nullptr)
      : kernel_(kernel), locals_(place_scalars(kernel)), steps_sources_(kernel::steps_sources(kernel)),
        marks_(marks) {}
  std::string write();

private:
  std::string variable(const Var &var) const override { return names_[var]; }
  std::string element(const Load &load) const override { return access(load.buffer, load.indices); }
  std::string access(const Buffer &buffer, const std::vector<Expr> &indices) const;
  std::string spell(const Expr &e) const { return (*this)(e); }

  void signature();
  void thread_indices();
  void allocations();
  void array(std::string_view qualifier, const kernel::Allocation &allocation);
  void tenant(const kernel::Allocation &allocation);
  std::int64_t alignment_of(const kernel::Allocation &allocation) const;
  std::string note_of_shared(const kernel::Allocation &allocation) const;
  void arena();
  void statement(const kernel::Stmt &stmt);
  void nested(const kernel::Stmt &stmt) {
    NameTable::Nested scope(names_);
    statement(stmt);
  }
  void loop(const kernel::Loop &loop);
  std::string sync_text(const kernel::Sync &sync);
  void close() {
    mark(nullptr);
    out_.close();
  }
  /// The next lines come from `origin`.
  void mark(const Origin &origin) {
    if (marks_)
      marks_->origins.emplace_back(out_.size(), origin);
  }
  void channels();
  void of_role(std::size_t role, const kernel::Stmt &body);
  void store(const kernel::Store &store, const std::string &note);
  void call(const kernel::Call &call);
  void bulk_copy(const kernel::BulkCopy &copy, const std::string &note);
  const Var &thread_x() const; ///< its variable
  void signal_bulk(const kernel::Signal &signal);
  std::string first_thread(std::size_t role) const;
  const kernel::Kernel &kernel_;
  LocalScalars locals_;
  bool steps_sources_;
  Marks *marks_;
  NameTable names_;
  TextWriter out_;
  std::string arena_; ///< name of the dynamic array of shared memory
  struct Events {
    std::string filled, freed;
    bool orders_reads; ///< that a slot is free orders reads of threads before the copies of other blocks
    const std::string &of(kernel::Event event) const { return event == kernel::Event::filled ? filled : freed; }
  };
  std::vector<Events> channels_;
  std::vector<std::string> maps_;
};

std::string KernelWriter::access(const Buffer &buffer, const std::vector<Expr> &indices) const {
  if (locals_.scalars.count(buffer))
    return names_[buffer];
  internal_check(indices.size() == 1, "an access of a lowered kernel has one index");
  return fmt::format("{}[{}]", names_[buffer], spell(indices.front()));
}

/// The parameters through which blocks exchange results: counters of arrivals, and what is stored before the
/// last arrival. `__restrict__` would state that no other pointer accesses their elements, but the pointers of
/// other blocks do. A kernel that is launched early exchanges all of them with the kernel before it: loads of
/// `const … __restrict__` may move above the wait, or read a cache that is not coherent.
std::set<Buffer> exchanged(const kernel::Kernel &kernel) {
  if (kernel.launches_early)
    return {kernel.params.begin(), kernel.params.end()};
  std::vector<Buffer> counters = kernel::counters_of(kernel);
  std::set<Buffer> found(counters.begin(), counters.end());
  std::set<Buffer> stored; // since the arrival before
  kernel::walk(kernel.body, [&](const kernel::Stmt &stmt) {
    if (kernel::as<kernel::Arrive>(stmt))
      found.merge(stored);
    if (const auto *store = kernel::as<kernel::Store>(stmt))
      stored.insert(store->buffer);
    if (const auto *copy = kernel::as<kernel::BulkCopy>(stmt); copy && copy->stores())
      stored.insert(copy->array);
  });
  return found;
}

void KernelWriter::signature() {
  std::vector<std::string> parameters;
  std::vector<Parameter> pointers = pointer_parameters(kernel_);
  std::set<Buffer> without_restrict = exchanged(kernel_);
  for (std::size_t n = 0; n < pointers.size(); ++n)
    parameters.push_back(
        pointers[n].declaration(without_restrict.contains(kernel_.params[n]) ? "" : "__restrict__ "));
  for (const Parameter &size : size_parameters(kernel_))
    parameters.push_back(size.declaration());
  for (const Parameter &scalar : scalar_parameters(kernel_))
    parameters.push_back(scalar.declaration());
  for (const kernel::TensorMap &map : kernel_.maps) {
    maps_.push_back(names_.claim(names_[map.source] + "_map"));
    parameters.push_back("const __grid_constant__ TensorMap " + maps_.back());
  }
  std::string blocks = kernel_.min_blocks != 0 ? fmt::format(", {}", kernel_.min_blocks) : "";
  std::string cluster = kernel_.cluster > 1 ? fmt::format("__cluster_dims__(1, 1, {}) ", kernel_.cluster) : "";
  out_.line(fmt::format("extern \"C\" __global__ void {}__launch_bounds__({}{})", cluster, kernel_.threads(),
                        blocks));
  out_.call(entry_name(kernel_), parameters, " {");
}

void KernelWriter::thread_indices() {
  for (const kernel::ThreadIndex &index : kernel_.indices) {
    mark(index.origin);
    out_.line(fmt::format("const {} {} = {};", c_type(index.var->dtype), names_.declare(index.var),
                          name(index.axis)));
  }
}

void KernelWriter::array(std::string_view qualifier, const kernel::Allocation &allocation) {
  auto elements = as_int(allocation.buffer->shape.front());
  internal_check(elements.has_value(), "an allocation has a constant extent");
  std::int64_t product = 1;
  std::string extents;
  for (std::int64_t extent : allocation.tile) {
    product *= extent;
    if (extent != 1)
      extents += (extents.empty() ? "" : " * ") + std::to_string(extent);
  }
  if (product != *elements || extents.empty())
    extents = std::to_string(*elements);
  std::int64_t alignment = alignment_of(allocation);
  std::string aligned = alignment ? fmt::format("__align__({}) ", alignment) : "";
  out_.line(fmt::format("{}{}{} {}[{}];", qualifier, aligned, c_type(allocation.buffer->dtype),
                        names_[allocation.buffer], extents),
            note_of(allocation));
}

/// The alignment that the array and the arrays in its memory need; 0: that of its type is sufficient.
std::int64_t KernelWriter::alignment_of(const kernel::Allocation &allocation) const {
  std::int64_t alignment = allocation.alignment;
  for (const kernel::Allocation &tenant : kernel_.shared) {
    std::int64_t needed = std::max<std::int64_t>(tenant.alignment, byte_size(tenant.buffer->dtype));
    if (tenant.tenancy && &kernel_.shared[tenant.tenancy->host] == &allocation &&
        needed > byte_size(allocation.buffer->dtype))
      alignment = std::max(alignment, needed);
  }
  return alignment;
}

/// Declares a shared array as a part of another one.
void KernelWriter::tenant(const kernel::Allocation &allocation) {
  const Buffer &host = kernel_.shared[allocation.tenancy->host].buffer;
  std::string_view type = c_type(allocation.buffer->dtype);
  std::string begin = names_[host];
  if (std::int64_t at = allocation.tenancy->at; at != 0)
    begin += fmt::format(" + {}", at / byte_size(host->dtype));
  if (allocation.buffer->dtype != host->dtype)
    begin = fmt::format("({} *){}", type, allocation.tenancy->at == 0 ? begin : "(" + begin + ")");
  out_.line(fmt::format("{} *const {} = {};", type, names_[allocation.buffer], begin),
            note_of_shared(allocation));
}

std::string KernelWriter::note_of_shared(const kernel::Allocation &allocation) const {
  std::string note = note_of(allocation);
  if (!allocation.tenancy)
    return note;
  return fmt::format("{}{}while {} is not in use", note, note.empty() ? "" : ", ",
                     names_[kernel_.shared[allocation.tenancy->host].buffer]);
}

/// Declares shared arrays as parts of a dynamic array, whose size is a launch parameter.
void KernelWriter::arena() {
  const std::string &whole = arena_ = names_.claim("shared_memory");
  std::int64_t alignment = shared_alignment;
  for (const kernel::Allocation &allocation : kernel_.shared)
    alignment = std::max(alignment, allocation.alignment);
  mark(nullptr);
  out_.line(fmt::format("extern __shared__ __align__({}) unsigned char {}[];", alignment, whole),
            fmt::format("{} bytes, set at launch", kernel_.shared_bytes));
  for (const kernel::Allocation &allocation : kernel_.shared) {
    mark(allocation.origin);
    std::string_view type = c_type(allocation.buffer->dtype);
    std::string begin =
        allocation.byte_offset == 0 ? whole : fmt::format("({} + {})", whole, allocation.byte_offset);
    out_.line(fmt::format("{} *const {} = ({} *){};", type, names_[allocation.buffer], type, begin),
              note_of_shared(allocation));
  }
}

void KernelWriter::allocations() {
  bool dynamic = kernel_.dynamic_shared_bytes() != 0;
  // The CUDA compiler places static arrays. The verifier has shown that they do not overlap in the arena.
  for (const kernel::Allocation &allocation : kernel_.shared) {
    names_.declare(allocation.buffer);
    if (allocation.tenancy)
      continue;
    mark(allocation.origin);
    if (!dynamic)
      array("__shared__ ", allocation);
  }
  for (const kernel::Allocation &allocation : kernel_.shared)
    if (allocation.tenancy && !dynamic) {
      mark(allocation.origin);
      tenant(allocation);
    }
  if (dynamic)
    arena();
  for (const kernel::Allocation &allocation : kernel_.local) {
    const Buffer &buffer = allocation.buffer;
    names_.declare(buffer);
    mark(allocation.origin);
    if (!locals_.scalars.count(buffer)) {
      array("", allocation);
      continue;
    }
    bool defined = false;
    for (const auto &[store, scalar] : locals_.definitions)
      defined |= scalar == buffer;
    if (!defined)
      out_.line(fmt::format("{} {};", c_type(buffer->dtype), names_[buffer]), note_of(allocation));
  }
}

/// Declares the mbarriers of the channels after the arrays, and starts them.
void KernelWriter::channels() {
  for (const kernel::Channel &channel : kernel_.channels) {
    const Events names = {names_.claim("filled"), names_.claim("freed"),
                          channel.blocks > 1 && kernel::is_read_by_threads(kernel_, channel)};
    channels_.push_back(names);
    mark(nullptr);
    const std::string note = fmt::format("mbarriers of {} slots", channel.slots);
    if (kernel_.dynamic_shared_bytes() == 0)
      out_.line(fmt::format("__shared__ unsigned long long {}[{}], {}[{}];", names.filled, channel.slots,
                            names.freed, channel.slots),
                note);
    else
      out_.line(
          fmt::format("unsigned long long *const {} = (unsigned long long *)({} + {}), *const {} = {} + {};",
                      names.filled, arena_, channel.byte_offset, names.freed, names.filled, channel.slots),
          note);
  }
  for (std::size_t n = 0; n < channels_.size(); ++n)
    out_.line(fmt::format("start_channel({}, {}, {}, {}, {});", channels_[n].filled, channels_[n].freed,
                          kernel_.channels[n].slots, kernel_.channels[n].filled, kernel_.channels[n].freed));
  if (!kernel_.maps.empty() && !channels_.empty())
    out_.line("fence_tiles();", "bulk copies see the events");
  if (kernel_.copies_to_cluster())
    out_.line("fence_events(); sync_cluster();", "the channels of all blocks of the cluster have started");
  else if (!channels_.empty())
    out_.line("__syncthreads();", "the channels have started");
}

/// The body of a role. First, its warps take or give back registers.
void KernelWriter::of_role(std::size_t role, const kernel::Stmt &body) {
  using Change = kernel::RoleOfWarps::Change;
  if (const auto &[first, warps, registers, change] = kernel_.roles[role]; change != Change::none)
    out_.line(fmt::format("{}_registers<{}>();", change == Change::fewer ? "fewer" : "more", registers));
  if (!kernel_.is_of_one_thread(role))
    return nested(body);
  out_.open(first_thread(role), "one thread starts the bulk copies");
  nested(body);
  out_.close();
}

/// The number of bytes that a copy with a count reads.
static Expr bytes_of(const kernel::Store &copy, const Expr &mask) {
  auto number = [&](std::int64_t n) { return int_imm(n, copy.count.dtype()); };
  const Expr bytes = number(byte_size(copy.buffer->dtype)) * copy.count;
  return is_true(mask) ? bytes : select(mask, bytes, number(0));
}

void KernelWriter::store(const kernel::Store &store, const std::string &note) {
  std::string target = access(store.buffer, store.indices);
  if (store.async) {
    const auto &source = *store.value.as<Load>();
    const bool partial = store.count.exists();
    const std::string condition = partial                ? ", " + spell(bytes_of(store, source.mask))
                                  : is_true(source.mask) ? ""
                                                         : ", " + spell(source.mask);
    // `step_sources` has split the offset: each part is added to the pointer by itself.
    const auto *sum = steps_sources_ ? source.indices.front().as<Binary>() : nullptr;
    const std::string from =
        sum && sum->op == BinaryOp::add
            ? fmt::format("&({} + {})[{}]", names_[source.buffer], spell(sum->a), spell(sum->b))
            : "&" + element(source);
    out_.line(fmt::format("copy_async_{}{}(&{}, {}{});", partial ? "part_" : "",
                          store.lanes * byte_size(store.buffer->dtype), target, from, condition));
    return;
  }
  if (store.atomic) {
    out_.line(fmt::format("{}(&{}, {});", atomic_function(*store.atomic), target, spell(store.value)), note);
    return;
  }
  auto defined = locals_.definitions.find(&store);
  if (defined != locals_.definitions.end()) {
    std::string_view qualifier = locals_.constants.count(store.buffer) ? "const " : "";
    out_.line(fmt::format("{}{} {} = {};", qualifier, c_type(store.buffer->dtype), target, spell(store.value)));
    return;
  }
  if (store.lanes > 1) {
    out_.line(
        fmt::format("{} = {};", vector_at(target, store.buffer->dtype, store.lanes, ""), spell(store.value)));
    return;
  }
  // Print x = x + e as x += e.
  const Binary *sum = store.value.as<Binary>();
  const Load *old = sum && sum->op == BinaryOp::add ? sum->a.as<Load>() : nullptr;
  bool updates = old && old->buffer == store.buffer && is_true(old->mask) &&
                 same(old->indices.front(), store.indices.front());
  out_.line(updates ? fmt::format("{} += {};", target, spell(sum->b))
                    : fmt::format("{} = {};", target, spell(store.value)));
}

void KernelWriter::call(const kernel::Call &call) {
  std::vector<std::string> operands;
  for (const kernel::OperandAddress &place : call.places)
    operands.push_back("&" + access(place.buffer, {place.offset}));
  out_.call(call.intrinsic.get().name, operands, ";");
}

/// The condition of the thread that starts the bulk copies of a role.
std::string KernelWriter::first_thread(std::size_t role) const {
  return fmt::format("if ({} == {})", names_[thread_x()], kernel_.roles[role].first_warp * lanes_per_warp);
}

const Var &KernelWriter::thread_x() const {
  return std::ranges::find(kernel_.indices, Axis::thread_x, &kernel::ThreadIndex::axis)->var;
}

void KernelWriter::bulk_copy(const kernel::BulkCopy &copy, const std::string &note) {
  std::string start; // the last dimension is the first coordinate of the instruction
  for (auto index = copy.start.rbegin(); index != copy.start.rend(); ++index)
    start += ", " + spell(*index);
  const std::string tile = access(copy.tile, copy.indices), &map = maps_[copy.map];
  if (copy.stores()) {
    out_.line(fmt::format("if ({} % {} == 0)", names_[thread_x()], lanes_per_warp), note);
    out_.line(fmt::format("  store_box(&{}, &{}{});", map, tile, start));
    return;
  }
  const auto &[channel, number, to_cluster] = *copy.fill;
  const std::size_t role = kernel_.channels[channel].role;
  const bool alone = kernel_.is_of_one_thread(role);
  if (!alone)
    out_.open(first_thread(role), note);
  out_.line(fmt::format("copy_box{}<{}>({}&{}, &{}, {}, {}{});", to_cluster ? "_to_cluster" : "",
                        kernel_.channels[channel].slots, to_cluster ? fmt::format("{}, ", kernel_.cluster) : "",
                        tile, map, channels_[channel].filled, spell(number), start));
  if (!alone)
    out_.close();
}

/// Announces the bytes of bulk copies, if the signal counts any.
void KernelWriter::signal_bulk(const kernel::Signal &signal) {
  if (signal.bulk_bytes == 0)
    return;
  const std::size_t role = kernel_.channels[signal.channel].role;
  const bool alone = kernel_.is_of_one_thread(role);
  if (!alone)
    out_.line(first_thread(role));
  out_.line(fmt::format("{}signal_bulk<{}>({}, {}, {});", alone ? "" : "  ",
                        kernel_.channels[signal.channel].slots, channels_[signal.channel].filled,
                        spell(signal.number), signal.bulk_bytes));
}

/// Whether calls of matrix units that an iteration of the loop starts run on in the next one.
static bool carries_calls(const kernel::Stmt &body) {
  bool carries = false;
  auto find = [&](const kernel::Stmt &stmt, auto &&self) -> void {
    const auto *sync = kernel::as<kernel::Sync>(stmt);
    carries |= sync && sync->completes(kernel::Queue::calls).value_or(0) > 0;
    if (const auto *seq = kernel::as<kernel::Seq>(stmt))
      for (const kernel::Stmt &child : seq->stmts)
        self(child, self);
  };
  find(body, find);
  return carries;
}

void KernelWriter::loop(const kernel::Loop &loop) {
  std::string extent = spell(loop.extent);
  // Otherwise the assembler sees a way around the loop, on which the sums are no results of calls, and lets
  // each call wait for the one before it (C7515).
  if (!as_int(loop.extent) && carries_calls(loop.body))
    if (auto iterations = range_of(loop.extent, {}); iterations && iterations->low > 0) {
      out_.line(fmt::format("if ({} < 1)", extent));
      out_.line("  __builtin_unreachable();", "the loop has at least one iteration");
    }
  NameTable::Nested scope(names_);
  const std::string var = names_.declare(loop.var);
  if (loop.is<kernel::Unrolled>())
    out_.line("#pragma unroll");
  if (const auto *serial = std::get_if<kernel::Serial>(&loop.form); serial && serial->copies > 1)
    out_.line(fmt::format("#pragma unroll {}", serial->copies));
  out_.open(fmt::format("for ({} {} = 0; {} < {}; ++{})", c_type(loop.var->dtype), var, var, extent, var));
  statement(loop.body);
  close();
}

void KernelWriter::statement(const kernel::Stmt &stmt) {
  if (marks_)
    marks_->begins.emplace(stmt.get(), out_.size());
  if (!kernel::as<kernel::Seq>(stmt))
    mark(stmt->origin);
  kernel::visit(stmt,
                Overloaded{[&](const kernel::Declare &declare) {
                             std::string value = spell(declare.value);
                             const Var &var = declare.var;
                             std::string type = var->lanes == 1 ? std::string(c_type(var->dtype))
                                                                : vector_type(var->dtype, var->lanes);
                             out_.line(fmt::format("const {} {} = {};", type, names_.declare(var), value));
                           },
                           [&](const kernel::Loop &node) { loop(node); },
                           [&](const kernel::If &branch) {
                             const auto roles = kernel::roles_of_sides(branch);
                             out_.open(fmt::format("if ({})", spell(branch.condition)), note_of(stmt));
                             if (roles)
                               of_role(roles->body, branch.body);
                             else
                               nested(branch.body);
                             if (branch.otherwise) {
                               mark(nullptr);
                               out_.otherwise();
                               if (roles && roles->otherwise)
                                 of_role(*roles->otherwise, branch.otherwise);
                               else
                                 nested(branch.otherwise);
                             }
                             close();
                           },
                           [&](const kernel::Seq &seq) {
                             for (const kernel::Stmt &child : seq.stmts)
                               statement(child);
                           },
                           [&](const kernel::Store &node) { store(node, note_of(stmt)); },
                           [&](const kernel::Call &node) { call(node); },
                           [&](const kernel::BulkCopy &node) { bulk_copy(node, note_of(stmt)); },
                           [&](const kernel::Sync &sync) {
                             if (const auto *signal = std::get_if<kernel::Signal>(&sync.kind))
                               signal_bulk(*signal);
                             if (const std::string text = sync_text(sync); !text.empty())
                               out_.line(text, note_of(stmt));
                           }});
}

std::string KernelWriter::sync_text(const kernel::Sync &sync) {
  return kernel::visit(
      sync,
      Overloaded{
          [&](const kernel::Barrier &barrier) {
            if (barrier.scope == kernel::SyncScope::role) // __syncthreads is barrier 0
              return fmt::format("sync_role<{}, {}>();", barrier.role + 1,
                                 kernel_.roles[barrier.role].warps * lanes_per_warp);
            return std::string(barrier.scope == kernel::SyncScope::cluster ? "sync_cluster();"
                               : barrier.scope == kernel::SyncScope::block ? "__syncthreads();"
                                                                           : "__syncwarp();");
          },
          [](const kernel::Commit &commit) { return fmt::format("commit_{}();", kernel::name(commit.queue)); },
          [&](const kernel::Wait &wait) {
            if (wait.sums.empty())
              return fmt::format("wait_{}<{}>();", kernel::name(wait.queue), wait.pending);
            std::string waits;
            for (const Buffer &sums : wait.sums)
              waits +=
                  fmt::format("{}wait_calls<{}>({});", waits.empty() ? "" : " ", wait.pending, names_[sums]);
            return waits;
          },
          [](const kernel::Begin &) { return std::string("begin_calls();"); },
          [](const kernel::Fence &) { return std::string("fence_tiles();"); },
          [&](const kernel::Await &await) {
            const bool of_cluster =
                await.event == kernel::Event::freed && channels_[await.channel].orders_reads;
            return fmt::format("await_{}{}<{}>({}, {});", kernel::name(await.event),
                               of_cluster ? "_of_cluster" : "", kernel_.channels[await.channel].slots,
                               channels_[await.channel].of(await.event), spell(await.number));
          },
          [&](const kernel::Signal &signal) {
            std::string signals;
            auto add = [&](std::string_view what) {
              signals += fmt::format("{}signal_{}<{}>({}, {});", signals.empty() ? "" : " ", what,
                                     kernel_.channels[signal.channel].slots,
                                     channels_[signal.channel].of(signal.event), spell(signal.number));
            };
            if (const kernel::Channel &channel = kernel_.channels[signal.channel];
                signal.event == kernel::Event::freed && channel.blocks > 1)
              signals = fmt::format("signal_freed_{}to_cluster<{}>({}, {}, {});",
                                    channels_[signal.channel].orders_reads ? "after_reads_" : "", channel.slots,
                                    channel.blocks, channels_[signal.channel].freed, spell(signal.number));
            else if (signal.event == kernel::Event::freed)
              add("freed");
            if (signal.stores)
              add("filled");
            if (signal.copies)
              add("copies");
            return signals;
          },
          [](const kernel::AwaitKernel &) { return std::string("await_kernel();"); },
          [&](const kernel::Arrive &arrive) {
            std::string counter = access(arrive.counters, {arrive.index});
            std::string arrivals = spell(arrive.arrivals);
            std::string arrives = "arrives_last";
            if (arrive.scope == kernel::SyncScope::role)
              arrives = fmt::format("role_arrives_last<1, {}>", kernel_.roles[0].warps * lanes_per_warp);
            return fmt::format("const bool {} = {}(&{}, {});", names_.declare(arrive.last), arrives, counter,
                               arrivals);
          },
      });
}

std::string KernelWriter::write() {
  declare_parameters(names_, kernel_);
  signature();
  out_.indent();
  thread_indices();
  allocations();
  mark(nullptr);
  channels();
  out_.blank();
  statement(kernel_.body);
  close();
  return out_.take();
}

bool is_written(const kernel::Plan &plan, const Buffer &buffer) {
  bool written = false;
  for (const kernel::Kernel &kernel : plan.kernels)
    kernel::walk(kernel.body, [&](const kernel::Stmt &stmt) {
      const auto *sync = kernel::as<kernel::Sync>(stmt);
      written |= kernel::written_by(stmt) == buffer || (sync && sync->updates() == buffer);
    });
  return written;
}

} // namespace

std::string entry_name(const kernel::Kernel &kernel) { return linked_identifier(kernel.name); }

std::string cuda_kernel(const kernel::Kernel &kernel) {
  return cuda_helpers(kernel) + KernelWriter(kernel).write();
}

/// Appends the kernels to `text`. `marks` may be null.
static std::string write_kernels(const kernel::Plan &plan, std::string text, Marks *marks) {
  for (std::size_t n = 0; n < plan.kernels.size(); ++n) {
    text += n == 0 ? "" : "\n";
    Marks inside;
    std::string one = KernelWriter(plan.kernels[n], marks ? &inside : nullptr).write();
    for (auto [stmt, begin] : inside.begins)
      marks->begins.emplace(stmt, text.size() + begin);
    for (const auto &[begin, origin] : inside.origins)
      marks->origins.emplace_back(text.size() + begin, origin);
    text += one;
  }
  return text;
}

/// The text that starts with `text`, which has no origins, and continues with the kernels.
static CudaText text_with_origins(const kernel::Plan &plan, std::string text) {
  CudaText result;
  Marks marks;
  std::string &whole = result.traced.text = write_kernels(plan, std::move(text), &marks);
  result.begins = std::move(marks.begins);
  Origin current;
  auto next = marks.origins.begin();
  for (std::size_t at = 0; at < whole.size(); at = whole.find('\n', at) + 1) {
    for (; next != marks.origins.end() && next->first <= at; ++next)
      current = next->second;
    result.traced.lines.push_back(current);
  }
  return result;
}

std::string cuda_definitions(const kernel::Plan &plan, const SourceLines &locate) {
  if (!locate)
    return write_kernels(plan, "", nullptr);
  return with_source_lines(text_with_origins(plan, "").traced, locate);
}

std::string cuda_kernels(const kernel::Plan &plan, const SourceLines &locate) {
  return cuda_helpers(plan) + cuda_definitions(plan, locate);
}

CudaText cuda_text(const kernel::Plan &plan) { return text_with_origins(plan, cuda_helpers(plan)); }

TextLine CudaText::line(const kernel::Stmt &stmt) const {
  auto found = begins.find(stmt.get());
  if (found == begins.end())
    return {};
  const std::string &text = traced.text;
  std::string_view rest(text);
  std::size_t at = found->second;
  TextLine line;
  // Skip preceding comments and pragmas. The statement ends at a line that ends with `;` or `{`.
  for (bool ended = false; !ended && at < text.size();) {
    std::string_view one = rest.substr(at, rest.find('\n', at) - at);
    std::size_t next = at + one.size() + 1;
    one.remove_prefix(std::min(one.find_first_not_of(' '), one.size()));
    if (std::size_t comment = one.find("  //"); comment != std::string_view::npos)
      one = one.substr(0, comment);
    bool before = line.text.empty() && (one.starts_with("//") || one.starts_with('#'));
    if (!before) {
      if (line.text.empty())
        line.number = static_cast<std::size_t>(
                          std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n')) +
                      1;
      line.text += (line.text.empty() ? "" : " ") + std::string(one);
      ended = one.ends_with(';') || one.ends_with('{');
    }
    at = next;
  }
  return line;
}

std::string Parameter::declaration(const std::string &qualifier) const {
  return fmt::format("{}{}{}{}", type, type.back() == '*' ? "" : " ", qualifier, name);
}

std::vector<std::string> declarations(const std::vector<Parameter> &parameters) {
  std::vector<std::string> list;
  for (const Parameter &parameter : parameters)
    list.push_back(parameter.declaration());
  return list;
}

std::vector<Parameter> pointer_parameters(const kernel::Plan &plan) {
  NameTable names;
  declare_parameters(names, plan);
  std::vector<Parameter> result;
  for (const Buffer &buffer : plan.params)
    result.push_back({fmt::format("{}{} *", is_written(plan, buffer) ? "" : "const ", c_type(buffer->dtype)),
                      names[buffer]});
  return result;
}

std::vector<Parameter> size_parameters(const kernel::Plan &plan) {
  NameTable names;
  declare_parameters(names, plan);
  std::vector<Parameter> result;
  for (const kernel::SizeParameter &size : plan.sizes)
    result.push_back({std::string(c_type(size.var->dtype)), names[size.var]});
  return result;
}

std::vector<Parameter> scalar_parameters(const kernel::Plan &plan) {
  NameTable names;
  declare_parameters(names, plan);
  std::vector<Parameter> result;
  for (const Var &scalar : plan.scalars)
    result.push_back({std::string(c_type(scalar->dtype)), names[scalar]});
  return result;
}

std::string extents_text(const std::array<std::int64_t, 3> &extents) {
  std::string text = std::to_string(extents[0]);
  for (std::size_t n = 1; n < 3; ++n)
    if (extents[1] * extents[2] != 1 && (n == 1 || extents[2] != 1))
      text += fmt::format(" x {}", extents[n]);
  return text;
}

} // namespace nestsmith
