#pragma once
/// A GPU made of the host: every thread of a block is a fiber, one runs until it waits at a barrier or ends,
/// and blocks run one after the other. The order of threads and blocks is as adverse as it can be: each thread
/// gets as far as it may before the next one starts, first to last or last to first.
///
/// Every emitted text includes this, so it includes little. What stands behind it is built without sanitizers.

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

/// A kernel did what it must not, or the harness cannot go on: says so and ends the program with status 3.
[[noreturn, gnu::format(printf, 1, 2)]] void fail(const char *format, ...);

/// Memory that nobody wrote holds this in each byte: NaN in every floating type, and not 0 in any other.
constexpr unsigned char unwritten = 0xff;
void fill_unwritten(unsigned char *begin, unsigned char *end);

/// The thread waits for all of its block, or of its warp, to wait at the same line.
void wait_for_block(int line);
void wait_for_warp(int line);
/// The same as `wait_for_block`. Returns whether `value` is true in any thread of the block.
bool any_in_block(bool value, int line);

/// The groups of asynchronous copies of the running thread. The data of a copy arrives when the thread waits
/// for its group. A thread must not end with a copy in flight.
void start_copy(void *to, const void *data, size_t bytes);
void commit_copies();
void wait_copies(size_t pending);
/// Stands for `cp.async`. It reads the source here, in code under sanitizers.
inline void copy_async(void *to, const void *from, size_t bytes, bool exists) {
  unsigned char data[16] = {};
  if ((reinterpret_cast<uintptr_t>(to) | (exists ? reinterpret_cast<uintptr_t>(from) : 0)) % bytes != 0)
    fail("a copy of %zu bytes is misaligned", bytes);
  for (size_t n = 0; n < bytes; ++n) {
    if (exists)
      data[n] = static_cast<const unsigned char *>(from)[n];
    static_cast<unsigned char *>(to)[n] = unwritten;
  }
  start_copy(to, data, bytes);
}

/// Shared memory whose size the launch names: what stands for `extern __shared__ unsigned char NAME[]`. Each of
/// its arrays lies alone, at its exact size.
struct Arena {
  unsigned char *operator+(size_t offset) const;
  template <class T> explicit operator T *() const { return reinterpret_cast<T *>(*this + 0); }
};
struct ArenaArray {
  size_t offset, bytes;
};
/// An array in the arena of a kernel.
void add_arena_array(const void *kernel, ArenaArray array);

/// The arrays that kernels declare `__shared__`, from the next launch on.
void set_shared(unsigned char *begin, unsigned char *end);
/// Whether threads and blocks run from the last to the first.
void set_backwards(bool backwards);
/// Launches beyond these do nothing: what is launched for its time alone.
void limit_launches(long count);
/// Kernels that were launched so far, and not refused.
long launches();
/// The dynamic shared memory that a kernel may be launched with, where it is more than 48 KB.
void allow_shared(const void *kernel, size_t bytes);
/// Whether a launch was refused since this was last asked.
bool take_refusal();
/// Milliseconds of a clock.
double now();

void launch(const void *kernel, dim3 grid, dim3 block, size_t dynamic, void (*call)(const void *),
            const void *closure);
/// What stands for `kernel<<<grid, block, dynamic, stream>>>(…)`, where `call` is the rest.
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
