/// The code that precedes kernels: includes, and the functions that the kernels call.

#include "codegen/channel_texts.h"
#include "codegen/cuda.h"
#include "codegen/names.h"
#include "codegen/spell.h"
#include "dsl/expr/error.h"
#include "dsl/expr/spelling.h"
#include "dsl/hardware/intrinsics.h"
#include "lowering/fences.h"

#include <fmt/format.h>
#include <set>
#include <span>

namespace nestsmith {

using namespace texts;

namespace {

/// Functions for operations without a C++ operator. Their meaning is that of dsl/expr/ops.h, including NaN.
struct Helper {
  BinaryOp op;
  std::string_view value; ///< {0} is `floor` of the type
};
constexpr Helper float_helpers[] = {{BinaryOp::min, "a < b ? a : b"},
                                    {BinaryOp::max, "a < b ? b : a"},
                                    {BinaryOp::floordiv, "{0}(a / b)"},
                                    {BinaryOp::floormod, "a - b * {0}(a / b)"}};
std::string float_helper(const Helper &helper, DType type) {
  std::string_view floor = type == DType::f64 ? "floor" : "floorf";
  return fmt::format("static __device__ __forceinline__ {0} {1}_{2}({0} a, {0} b) {{ return {3}; }}\n",
                     c_type(type), spelling(helper.op), name(type),
                     fmt::format(fmt::runtime(helper.value), floor));
}
constexpr std::string_view round_tf32 =
    R"(/// To 10 bits of mantissa, ties away from zero.
static __device__ __forceinline__ float round_tf32(float x) {
  const unsigned int bits = __float_as_uint(x);
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  return is_nan ? x : __uint_as_float((bits + 0x1000u) & 0xffffe000u);
}
)";

constexpr std::string_view packed_word =
    R"(/// Four bytes in one register. The first one is the lowest.
static __device__ __forceinline__ unsigned int packed_word(unsigned char x, unsigned char y, unsigned char z,
                                                           unsigned char w) {
  return (unsigned int)x | (unsigned int)y << 8 | (unsigned int)z << 16 | (unsigned int)w << 24;
}
)";
constexpr std::string_view packed_signed_word =
    R"(static __device__ __forceinline__ int packed_word(signed char x, signed char y, signed char z,
                                                  signed char w) {
  return (int)packed_word((unsigned char)x, (unsigned char)y, (unsigned char)z, (unsigned char)w);
}
)";

/// Source: PTX ISA, "Memory Consistency Model" and "Parallel Synchronization and Communication Instructions:
/// atom".
constexpr std::string_view count_arrival =
    R"(/// Adds 1 to a counter, or sets it to 0 if it is `last`, and returns the value before. The thread releases what
/// its block has written before the last barrier, and acquires what those have released that counted before it.
static __device__ __forceinline__ unsigned int count_arrival(unsigned int *counter, unsigned int last) {
  unsigned int before;
  asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(__cvta_generic_to_global(counter)), "r"(last)
               : "memory");
  return before;
}
)";

constexpr std::string_view arrives_last =
    R"(/// Counts the arrival of this block. True in all threads of the last of `blocks` blocks, which then sees all
/// that the other blocks have written. The counter is 0 before the first arrival and after the last.
static __device__ __forceinline__ bool arrives_last(unsigned int *counter, unsigned int blocks) {
  __syncthreads();  // all threads of this block have written their results
  bool last = false;
  if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0) {
    const unsigned int before = count_arrival(counter, blocks - 1);
    if (before >= blocks)
      __trap();  // the counter was not zero before the launch
    last = before == blocks - 1;
  }
  return __syncthreads_or(last);
}
)";

/// Source: PTX ISA, "Data Movement and Conversion Instructions: Asynchronous copy". The last operand of
/// `cp.async` is the number of bytes to read; the rest is filled with zeros.
std::string copy_async(int bytes, bool masked) {
  std::string mask = masked ? ", bool exists" : "";
  return fmt::format(
      R"(/// Starts to copy {0} bytes from global to shared memory{1}.
static __device__ __forceinline__ void copy_async_{0}(void *to, const void *from{2}) {{
  asm volatile("cp.async.{3}.shared.global [%0], [%1], {0}{4};" ::"r"((unsigned int)__cvta_generic_to_shared(to)),
               "l"(__cvta_generic_to_global(from)){5}
               : "memory");
}}
)",
      bytes, masked ? ", or to fill them with zeros" : "", mask, bytes == 16 ? "cg" : "ca",
      masked ? ", %2" : "", masked ? fmt::format(", \"r\"(exists ? {} : 0)", bytes) : "");
}

/// Source: as of `copy_async`.
std::string copy_async_part(int bytes) {
  return fmt::format(
      R"(/// Starts to copy the first `count` of {0} bytes from global to shared memory, and fills the rest with zeros.
static __device__ __forceinline__ void copy_async_part_{0}(void *to, const void *from, int count) {{
  asm volatile("cp.async.{1}.shared.global [%0], [%1], {0}, %2;" ::"r"((unsigned int)__cvta_generic_to_shared(to)),
               "l"(__cvta_generic_to_global(from)), "r"(count)
               : "memory");
}}
)",
      bytes, bytes == 16 ? "cg" : "ca");
}

constexpr std::string_view group_of_copies =
    R"(/// Ends the group of the copies that this thread has started.
static __device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
/// Waits until at most `pending` of this thread's latest groups have not arrived.
template <int pending> static __device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}
)";

/// Source: PTX ISA, "Async proxy". Matrix units and bulk copies access shared memory by it.
constexpr std::string_view fence_of_tiles =
    R"(/// Orders this thread's accesses to shared memory before those of matrix units and bulk copies.
static __device__ __forceinline__ void fence_tiles() {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}
)";

constexpr std::string_view group_of_calls =
    R"(/// Makes this thread's accesses to the sums in registers visible to the calls that follow.
static __device__ __forceinline__ void begin_calls() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
/// Ends the group of the calls that this thread has started.
static __device__ __forceinline__ void commit_calls() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
)";

/// Source: PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions: wgmma.wait_group". The sums are
/// operands, so that the compiler moves no access to them before the wait.
std::string wait_for_calls(std::int64_t registers) {
  return fmt::format(
      R"(/// Waits until at most `pending` of this thread's latest groups of calls are in flight.
template <int pending> static __device__ __forceinline__ void wait_calls(float (&sums)[{0}]) {{
  asm volatile("wgmma.wait_group.sync.aligned %{0};"
               : {1}
               : "n"(pending)
               : "memory");
}}
)",
      registers, updated_registers("sums", registers));
}

/// Source: PTX ISA, "Parallel Synchronization and Communication Instructions: bar".
constexpr std::string_view barrier_of_role =
    R"(/// Waits for all threads of this role. It has a barrier of its own.
template <int barrier, int threads> static __device__ __forceinline__ void sync_role() {
  asm volatile("bar.sync %0, %1;" ::"n"(barrier), "n"(threads) : "memory");
}
)";

/// Source: PTX ISA, "Parallel Synchronization and Communication Instructions: bar", "bar.red".
constexpr std::string_view arrival_of_role =
    R"(/// True in all threads of this role if it is true in one of them.
template <int barrier, int threads> static __device__ __forceinline__ bool any_of_role(bool value) {
  unsigned int any;
  asm volatile("{ .reg .pred one, any; setp.ne.u32 one, %1, 0; bar.red.or.pred any, %2, %3, one; "
               "selp.u32 %0, 1, 0, any; }"
               : "=r"(any)
               : "r"((unsigned int)value), "n"(barrier), "n"(threads)
               : "memory");
  return any != 0;
}
/// Counts the arrival of this block, whose results are those of this role. True in all threads of the role in
/// the last of `blocks` blocks, which then sees all that the other blocks have written. The counter is 0 before
/// the first arrival and after the last.
template <int barrier, int threads>
static __device__ __forceinline__ bool role_arrives_last(unsigned int *counter, unsigned int blocks) {
  sync_role<barrier, threads>();  // all threads of this role have written their results
  bool last = false;
  if (threadIdx.x == 0) {
    const unsigned int before = count_arrival(counter, blocks - 1);
    if (before >= blocks)
      __trap();  // the counter was not zero before the launch
    last = before == blocks - 1;
  }
  return any_of_role<barrier, threads>(last);
}
)";

/// Source: PTX ISA, "Miscellaneous Instructions: setmaxnreg". It needs a launch bound of one block.
constexpr std::string_view moved_registers =
    R"(/// Gives registers of this warp to others of the block, or takes some from them.
template <int registers> static __device__ __forceinline__ void fewer_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
}
template <int registers> static __device__ __forceinline__ void more_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
}
)";

/// Source: PTX ISA, "Parallel Synchronization and Communication Instructions: griddepcontrol". If this kernel
/// was not launched with the attribute, the kernel before it has ended, and this one does not wait.
constexpr std::string_view early_launch =
    R"(/// Waits until the kernel before has ended, and lets the next kernel of the stream start.
static __device__ __forceinline__ void await_kernel() {
  asm volatile("griddepcontrol.wait; griddepcontrol.launch_dependents;" ::: "memory");
}
)";

/// For nvcc -arch=sm_90a, which also compiles for compute_90: without it, ptxas refuses each instruction.
/// Source: CUDA Programming Guide, "Feature-Specific Compilation Targets".
std::string architecture_guard(std::string_view feature) {
  return fmt::format(
      "#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL) && "
      "!defined(__CUDA_ARCH_SPECIFIC__)\n"
      "#error \"{} needs an architecture such as sm_90a: -gencode arch=compute_90a,code=sm_90a\"\n"
      "#endif\n",
      feature);
}

/// The code that precedes kernels: includes for narrow types, helpers, and functions that kernels call.
class Prelude {
public:
  explicit Prelude(std::span<const kernel::Kernel> kernels) {
    for (const kernel::Kernel &kernel : kernels) {
      for (const Buffer &buffer : kernel.params)
        types_.insert(buffer->dtype);
      for (const auto *list : {&kernel.shared, &kernel.local})
        for (const kernel::Allocation &allocation : *list)
          types_.insert(allocation.buffer->dtype);
      for (const Var &scalar : kernel.scalars)
        types_.insert(scalar->dtype);
      kernel::walk(kernel.body, [&](const kernel::Stmt &stmt) {
        note(stmt);
        if (const auto *call = kernel::as<kernel::Call>(stmt))
          note_intrinsic(call->intrinsic.get().name, call->intrinsic.get().prelude);
        if (const auto *sync = kernel::as<kernel::Sync>(stmt))
          note(*sync);
        if (const auto *signal =
                kernel::as<kernel::Signal>(stmt)) { // others than those of bulk copies and clusters
          arrives_at_channel_ |= signal->stores || (signal->event == kernel::Event::freed &&
                                                    kernel.channels[signal->channel].blocks == 1);
          copies_arrive_ |= signal->copies;
        }
        if (const auto *copy = kernel::as<kernel::BulkCopy>(stmt))
          (copy->stores()           ? stored_ranks_
           : copy->fill->to_cluster ? ranks_to_cluster_
                                    : ranks_)
              .insert(copy->start.size());
      });
      for (const kernel::Channel &channel : kernel.channels)
        if (channel.blocks > 1)
          freed_to_cluster_.insert(kernel::is_read_by_threads(kernel, channel));
      channels_ |= !kernel.channels.empty();
      fences_ |= !kernel.maps.empty() && !kernel.channels.empty();
      for (const kernel::RoleOfWarps &role : kernel.roles)
        registers_ |= role.registers != 0;
    }
  }

  void add_type(DType type) { types_.insert(type); }

  std::string text() const {
    std::string includes, helpers;
    if (types_.count(DType::f16))
      includes += "#include <cuda_fp16.h>\n";
    if (types_.count(DType::bf16))
      includes += "#include <cuda_bf16.h>\n";
    if (calls_ || registers_)
      helpers += architecture_guard(calls_ ? "wgmma" : "setmaxnreg");
    for (DType type : {DType::f32, DType::f64})
      for (const Helper &helper : float_helpers)
        if (operators_.contains({helper.op, type}))
          helpers += float_helper(helper, type);
    if (rounds_)
      helpers += round_tf32;
    for (const auto &[type, lanes] : vectors_)
      helpers += vector_definition(type, lanes);
    if (packs_)
      helpers += packed_word;
    if (packs_signed_)
      helpers += packed_signed_word;
    for (const std::string &function : functions_)
      helpers += function;
    if (arrives_ || role_arrives_)
      helpers += count_arrival;
    if (arrives_)
      helpers += arrives_last;
    for (const auto &[bytes, masked] : copies_)
      helpers += copy_async(bytes, masked);
    for (int bytes : partial_copies_)
      helpers += copy_async_part(bytes);
    if (groups_)
      helpers += group_of_copies;
    if (calls_)
      helpers += group_of_calls;
    for (std::int64_t registers : sums_)
      helpers += wait_for_calls(registers);
    if (fences_)
      helpers += fence_of_tiles;
    if (!ranks_.empty() || !stored_ranks_.empty() || !ranks_to_cluster_.empty())
      helpers += tensor_map_type;
    if (channels_ || stores_)
      helpers += address_of_shared;
    if (channels_)
      helpers += channel_of_tiles;
    if (arrives_at_channel_)
      helpers += arrivals_at_channel;
    if (copies_arrive_)
      helpers += arrival_of_copies;
    if (!ranks_.empty() || !ranks_to_cluster_.empty())
      helpers += bulk_arrival;
    for (std::size_t rank : ranks_)
      helpers += copy_of_box(rank);
    for (std::size_t rank : ranks_to_cluster_)
      helpers += copy_of_box_to_cluster(rank);
    if (!freed_to_cluster_.empty())
      helpers += barrier_of_cluster;
    for (bool reads : freed_to_cluster_)
      helpers += freed_to_cluster(reads) + std::string(reads ? await_freed_of_cluster : "");
    if (stores_)
      helpers += group_of_stores;
    for (std::size_t rank : stored_ranks_)
      helpers += store_of_box(rank);
    if (syncs_roles_)
      helpers += barrier_of_role;
    if (launches_early_)
      helpers += early_launch;
    if (role_arrives_)
      helpers += arrival_of_role;
    if (registers_)
      helpers += moved_registers;
    return includes + (includes.empty() ? "" : "\n") + helpers + (helpers.empty() ? "" : "\n");
  }

private:
  void note(const kernel::Sync &sync) {
    groups_ |= sync.counts_groups(kernel::Queue::copies);
    calls_ |= sync.counts_groups(kernel::Queue::calls);
    stores_ |= sync.counts_groups(kernel::Queue::stores);
    fences_ |= std::holds_alternative<kernel::Fence>(sync.kind);
    syncs_roles_ |= sync.orders() == kernel::SyncScope::role;
    if (std::holds_alternative<kernel::AwaitKernel>(sync.kind))
      launches_early_ = true;
    if (const auto *arrive = std::get_if<kernel::Arrive>(&sync.kind))
      (arrive->scope == kernel::SyncScope::block ? arrives_ : role_arrives_) = true;
    for (const Buffer &sums : sync.registers())
      sums_.insert(*as_int(sums->shape[0]));
  }
  void note(const kernel::Stmt &stmt) {
    const auto *store = kernel::as<kernel::Store>(stmt);
    const auto *source = store && store->async ? store->value.as<Load>() : nullptr;
    if (source && store->count.exists())
      partial_copies_.insert(store->lanes * byte_size(store->buffer->dtype));
    else if (source) // the copied vector is no value of the text
      copies_.emplace(store->lanes * byte_size(store->buffer->dtype), !is_true(source->mask));
    kernel::each_expr(stmt, [&](const Expr &e) {
      walk(e, [&](const Expr &node) {
        if (!source || node.as<Load>() != source)
          note(node);
      });
    });
  }
  /// Notes the function of an intrinsic. CUDA has the function if there is no prelude.
  void note_intrinsic(const std::string &name, const std::string &prelude) {
    std::string reason = prelude.empty() && name != "main" ? "" : why_not_defined(name);
    if (!reason.empty())
      throw UserError(ExitCode::usage, fmt::format("the intrinsic '{}' cannot be emitted: {}; register it by "
                                                   "another name",
                                                   name, reason));
    functions_.insert(prelude);
  }
  void note(const Expr &e) {
    types_.insert(e.dtype());
    if (e.lanes() > 1)
      vectors_.emplace(e.dtype(), e.lanes());
    if (const auto *binary = e.as<Binary>(); binary && is_float(binary->a.dtype()))
      operators_.insert({binary->op, binary->a.dtype()});
    if (const auto *call = e.as<Call>(); call && !call->function->math && is_intrinsic(call->function->name))
      note_intrinsic(call->function->name, call->function->prelude);
    else if (call && !call->function->math)
      functions_.insert(call->function->prelude);
    const auto *access = e.as<Load>();
    bool filled = access && !is_true(access->mask);
    const bool packs = is_packed_word(e.dtype(), e.lanes()) && (e.as<Pack>() || filled);
    packs_ |= packs;
    packs_signed_ |= packs && e.dtype() == DType::i8;
    const auto *cast = e.as<Cast>();
    rounds_ |= cast && cast->dtype == DType::tf32;
  }

  std::set<DType> types_;
  std::set<std::pair<BinaryOp, DType>> operators_; ///< on floating-point numbers
  std::set<std::pair<DType, int>> vectors_;        ///< element types and numbers of lanes
  std::set<std::string> functions_;                ///< a set, for a deterministic order
  std::set<std::pair<int, bool>> copies_; ///< bytes of asynchronous copies, and whether they have a mask
  std::set<int> partial_copies_;          ///< bytes of those that have a count
  bool rounds_ = false, packs_ = false, packs_signed_ = false, arrives_ = false, groups_ = false,
       calls_ = false, fences_ = false, stores_ = false;
  bool channels_ = false, arrives_at_channel_ = false, copies_arrive_ = false, registers_ = false,
       syncs_roles_ = false, role_arrives_ = false, launches_early_ = false;
  /// Of the arrays of bulk copies to shared memory, from there, and to the shared memory of all blocks of a
  /// cluster.
  std::set<std::size_t> ranks_, stored_ranks_, ranks_to_cluster_;
  std::set<bool> freed_to_cluster_; ///< whether threads read tiles that blocks of a cluster copy for each other
  std::set<std::int64_t> sums_;     ///< registers of the arrays that are operands of waits for calls
};

} // namespace

std::string cuda_helpers(const kernel::Kernel &kernel) { return Prelude({&kernel, 1}).text(); }

std::string cuda_helpers(const kernel::Plan &plan) {
  Prelude prelude(plan.kernels);
  for (const Buffer &buffer : plan.params)
    prelude.add_type(buffer->dtype);
  for (const Var &scalar : plan.scalars)
    prelude.add_type(scalar->dtype);
  return prelude.text();
}

} // namespace nestsmith
