#pragma once
/// Emulates a GPU on the host. Each thread of a block is a fiber that runs until it waits at a barrier or ends.
/// Blocks, or clusters of them, run one after another. The order of threads and blocks is adverse: each thread
/// runs as far as it can before the next one starts, from the first to the last or from the last to the first.
///
/// Every emitted text includes this header, so it includes few others. The functions that it only declares are
/// compiled without sanitizers.

#include <stddef.h>
#include <stdint.h>

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
extern uint3 blockIdx, threadIdx;

namespace host {

/// Reports that a kernel broke a rule or that the harness cannot continue, and ends the program with status 3.
[[noreturn, gnu::format(printf, 1, 2)]] void fail(const char *format, ...);

/// The value of each byte of memory that was not written: a NaN in each floating-point type, and not 0 in any
/// other type.
constexpr unsigned char unwritten = 0xff;
void fill_unwritten(unsigned char *begin, unsigned char *end);

/// Waits until all threads of the block, or of the warp, wait at the same line.
void wait_for_block(int line);
void wait_for_warp(int line);
/// Waits until this number of threads wait at barrier `number` of the block.
void wait_for_role(int number, int threads, int line);
/// The same. True if `value` is true in one of the threads.
bool any_of_role(int number, int threads, bool value, int line);
/// Waits as `wait_for_block` does. Returns whether `value` is true in any thread of the block.
bool any_in_block(bool value, int line);

/// Exchanges a value of at most 16 bytes among the lanes of a warp: `value` becomes that of the lane `from`.
/// All lanes of `mask` wait for each other at the line. Fails if the mask leaves out the running lane or
/// `from`, or if the warp has no such lane.
void shuffle(unsigned mask, void *value, size_t bytes, unsigned from, int line);
template <class T> T shuffled(unsigned mask, T value, unsigned from, int line) {
  shuffle(mask, &value, sizeof(T), from, line);
  return value;
}
/// The number of the running thread in its warp.
unsigned lane();

/// Functions for the groups of asynchronous copies of the running thread. The data of a copy arrives when the
/// thread waits for its group. A thread must not end with a copy in flight.
void start_copy(void *to, const void *data, size_t bytes);
void commit_copies();
void wait_copies(size_t pending);
/// Replaces `cp.async`. The first `count` bytes of the source are read here, in code that is compiled with
/// sanitizers.
inline void copy_async(void *to, const void *from, size_t bytes, int count) {
  unsigned char data[16] = {};
  if ((reinterpret_cast<uintptr_t>(to) | (count != 0 ? reinterpret_cast<uintptr_t>(from) : 0)) % bytes != 0)
    fail("a copy of %zu bytes is misaligned", bytes);
  if (count < 0 || static_cast<size_t>(count) > bytes)
    fail("a copy of %zu bytes reads %d", bytes, count);
  for (size_t n = 0; n < bytes; ++n) {
    if (n < static_cast<size_t>(count))
      data[n] = static_cast<const unsigned char *>(from)[n];
    static_cast<unsigned char *>(to)[n] = unwritten;
  }
  start_copy(to, data, bytes);
}

/// Events of channels: they take the place of mbarriers. A phase ends with its last arrival. A thread that
/// waits for a phase goes on when it has ended; if no thread can go on, the program fails.
void start_event(unsigned long long *event, int arrivals);
void arrive(unsigned long long *event);
/// The same, when the copies that the running thread has started have arrived.
void arrive_after_copies(unsigned long long *event);
/// Describes an array for bulk copies, in the 16 words of a tensor map. Returns false if the driver would
/// refuse it.
bool encode_map(uint64_t *words, int element_bytes, unsigned rank, const void *array, const uint64_t *extents,
                const uint64_t *strides, const uint32_t *box, int swizzle);
/// Starts the copy of a box, whose bytes count for the event. Elements outside of the array are zeros. The
/// first coordinate is that of the last dimension.
struct BoxStart {
  int of[5];
};
void copy_box(void *to, const void *map, BoxStart start, unsigned long long *event);
/// Starts to store a box. What lies outside of the array is not written. The tile is read in the wait for its
/// group of the running thread, and never if there is none.
void store_box(const void *map, const void *from, BoxStart start);
void commit_stores();
void wait_stores(size_t pending);
/// Arrives when bulk copies have brought this number of bytes; they count since the last phase.
void arrive_bulk(unsigned long long *event, unsigned bytes);
void await_phase(const unsigned long long *event, unsigned parity, int line);

/// The blocks of a cluster run together. They are along blockIdx.z. `to` and `event` are of the running block,
/// and stand for the same places in the memory of the others.
void add_cluster(const void *kernel, unsigned blocks);
void wait_for_cluster(int line);
void copy_box_to_cluster(void *to, const void *map, BoxStart start, unsigned long long *event);
void arrive_in_cluster(unsigned long long *event, unsigned rank);

/// Shared memory whose size is set at launch. It replaces `extern __shared__ unsigned char NAME[]`. Each of its
/// arrays is a separate allocation of the exact size.
struct Arena {
  unsigned char *operator+(size_t offset) const;
  template <class T> explicit operator T *() const { return reinterpret_cast<T *>(*this + 0); }
};
struct ArenaArray {
  size_t offset, bytes;
};
/// Adds an array to the arena of a kernel.
void add_arena_array(const void *kernel, ArenaArray array);

/// Sets the memory of the arrays that kernels declare `__shared__`, for the next launches.
void set_shared(unsigned char *begin, unsigned char *end);
/// Sets whether threads and blocks run from the last to the first.
void set_backwards(bool backwards);
/// Sets how many launches execute. Later launches do nothing: programs repeat launches only to measure time.
void limit_launches(long count);
/// Returns the number of launches so far, except refused ones.
long launches();
/// Allows launches of a kernel with `bytes` of dynamic shared memory. The limit of other kernels is 48 KB.
void allow_shared(const void *kernel, size_t bytes);
/// Returns whether a launch was refused since the last call.
bool take_refusal();
/// Returns the time of a monotonic clock in milliseconds.
double now();

void launch(const void *kernel, dim3 grid, dim3 block, size_t dynamic, void (*call)(const void *),
            const void *closure);
/// Replaces `kernel<<<grid, block, dynamic, stream>>>(…)`. `call` calls the kernel with its arguments.
template <class Kernel, class F>
void launch(Kernel *kernel, dim3 grid, dim3 block, size_t dynamic, const void *, const F &call) {
  launch(
      reinterpret_cast<const void *>(kernel), grid, block, dynamic,
      [](const void *closure) { (*static_cast<const F *>(closure))(); }, &call);
}
template <class Kernel, class F> void launch(Kernel *kernel, dim3 grid, dim3 block, const F &call) {
  launch(kernel, grid, block, 0, nullptr, call);
}

} // namespace host
