/// Implements the emulated GPU of device.h: fibers, barriers, shared memory and asynchronous copies.

#include "device.h"

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <memory>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <utility>
#include <vector>

// Functions of the address sanitizer. They are null if the program is linked without it.
extern "C" {
__attribute__((weak)) void __sanitizer_start_switch_fiber(void **fake_stack, const void *stack,
                                                          std::size_t bytes);
__attribute__((weak)) void __sanitizer_finish_switch_fiber(void *fake_stack, const void **stack,
                                                           std::size_t *bytes);
}

uint3 blockIdx, threadIdx;

namespace host {

namespace {

struct Fiber {
  ucontext_t context = {};
  const void *stack = nullptr;
  std::size_t bytes = 0;
  void *fake_stack = nullptr; ///< the fake stack of the address sanitizer
};

void switch_fiber(Fiber &from, Fiber &to, bool for_good = false) {
  if (__sanitizer_start_switch_fiber)
    __sanitizer_start_switch_fiber(for_good ? nullptr : &from.fake_stack, to.stack, to.bytes);
  swapcontext(&from.context, &to.context);
  if (__sanitizer_finish_switch_fiber)
    __sanitizer_finish_switch_fiber(from.fake_stack, nullptr, nullptr);
}

enum class State { ready, at_block_barrier, at_warp_barrier, at_event, ended };

/// An asynchronous copy in flight.
struct Copy {
  unsigned char *to;
  unsigned char data[16];
  std::size_t bytes, group;
};

/// A bulk store that has been started. It reads its tile as late as it may.
struct BoxStore {
  const void *map, *from;
  BoxStart start;
  std::size_t group;
};

struct Thread : Fiber {
  std::vector<Copy> copies;
  std::vector<BoxStore> stores;
  std::map<const void *, std::size_t>
      bulk; ///< bytes of bulk copies that the thread has started, by their events
  std::size_t commits = 0, commits_of_stores = 0;
  uint3 index = {}, block = {};
  std::size_t rank = 0; ///< of its block in the cluster
  State state = State::ended;
  int line = 0;                     ///< the line of the barrier at which the thread waits
  std::size_t number = 0;           ///< in its block
  unsigned char exchanged[16] = {}; ///< the value of its last shuffle
};

class Device {
public:
  static Device &get() {
    static Device device;
    return device;
  }

  bool backwards = false, refused = false;
  bool any = false,
       any_before = false; ///< the values of `any_in_block`: now, and at the last release
  long launches_left = 1L << 30, launches = 0;
  unsigned char *shared_begin = nullptr, *shared_end = nullptr;
  std::map<const void *, std::vector<ArenaArray>> arenas;
  std::map<const void *, std::size_t> allowed;
  std::map<const void *, unsigned> clusters;   ///< blocks of each; 1 for other kernels
  std::map<const void *, long long> announced; ///< bytes that phases of events still wait for
  std::size_t blocks_of_cluster() const { return arena_.size(); }
  /// The place in the memory of another block of the cluster.
  void *in_block(const void *place, std::size_t rank) const;
  /// An address that stands for a place also while another block of the cluster runs, and the place now.
  const void *name_of(const void *place) const;
  void *place_of(const void *name) const;

  void launch(const void *kernel, dim3 grid, dim3 block, std::size_t dynamic, void (*call)(const void *),
              const void *closure);
  void wait(State at, int line) {
    Thread &self = *running_;
    self.state = at;
    self.line = line;
    switch_fiber(self, scheduler_);
  }
  unsigned char *arena_array(std::size_t offset) const;
  long arrivals = 0; ///< at all events
  Thread &running() { return *running_; }
  /// The thread of the same warp with this lane, or null.
  const Thread *in_warp(unsigned lane) const {
    std::size_t number = running_->number / 32 * 32 + lane;
    return lane < 32 && number < block_threads_ ? threads_[running_->rank * block_threads_ + number].get()
                                                : nullptr;
  }

private:
  static constexpr std::size_t stack_bytes = std::size_t{1} << 18;

  static void enter();
  void start(Thread &thread, dim3 block, std::size_t number);
  void make_arena(const std::vector<ArenaArray> &arrays, std::size_t blocks);
  /// Runs the blocks with these indices together.
  void run_blocks(const std::vector<uint3> &blocks, dim3 block, std::size_t threads);
  /// Runs threads until each one waits at a barrier of the block or has ended. A warp runs as far as it can
  /// before the next warp starts.
  void run_ready(std::size_t threads);
  /// Runs each ready thread of a warp until it waits or ends. Returns whether a thread was ready.
  bool run_warp(std::size_t begin, std::size_t end);
  void release_warp(std::size_t begin, std::size_t end);
  void release_block(std::size_t threads);
  /// Lets the threads look again that wait at events, if there are any.
  bool retry_events(std::size_t threads);

  long arrivals_before_ = -1; ///< when threads looked last
  Fiber scheduler_;
  std::vector<std::unique_ptr<Thread>> threads_;
  Thread *running_ = nullptr;
  std::size_t block_threads_ = 0; ///< of the running block
  void (*call_)(const void *) = nullptr;
  const void *closure_ = nullptr;
  struct Memory {
    std::unique_ptr<unsigned char, void (*)(void *)> begin;
    std::size_t bytes;
  };
  std::vector<std::map<std::size_t, Memory>> arena_; ///< of each block: arrays by their offsets
  /// Of each block of a cluster: what it has in the arrays that are declared `__shared__`, while another runs.
  std::vector<Memory> declared_;
  std::size_t live_ = 0; ///< the rank of the block whose content is there
  void make_declared(std::size_t blocks);
  void make_live(std::size_t rank);
};

void Device::enter() {
  Device &device = get();
  if (__sanitizer_finish_switch_fiber)
    __sanitizer_finish_switch_fiber(nullptr, &device.scheduler_.stack, &device.scheduler_.bytes);
  device.call_(device.closure_);
  if (!device.running_->copies.empty())
    fail("a thread ends with a copy in flight");
  device.running_->state = State::ended;
  switch_fiber(*device.running_, device.scheduler_, true);
}

void Device::make_arena(const std::vector<ArenaArray> &arrays, std::size_t blocks) {
  arena_.clear();
  arena_.resize(blocks);
  for (auto &arena : arena_)
    for (const ArenaArray &array : arrays) {
      void *memory = nullptr;
      if (posix_memalign(&memory, 1024, array.bytes) != 0)
        fail("no memory for shared arrays");
      auto *begin = static_cast<unsigned char *>(memory);
      fill_unwritten(begin, begin + array.bytes);
      arena.emplace(array.offset, Memory{{begin, std::free}, array.bytes});
    }
}

unsigned char *Device::arena_array(std::size_t offset) const {
  const auto &arena = arena_[running_->rank];
  auto found = arena.find(offset);
  if (found == arena.end())
    fail("no shared array begins at byte %zu", offset);
  return found->second.begin.get();
}

void *Device::in_block(const void *place, std::size_t rank) const {
  const auto at = reinterpret_cast<std::uintptr_t>(place);
  for (const auto &[offset, memory] : arena_[running_->rank]) {
    const auto begin = reinterpret_cast<std::uintptr_t>(memory.begin.get());
    if (begin <= at && at < begin + memory.bytes)
      return arena_[rank].at(offset).begin.get() + (at - begin);
  }
  if (shared_begin <= place && place < shared_end)
    return rank == live_
               ? const_cast<void *>(place)
               : declared_[rank].begin.get() + (static_cast<const unsigned char *>(place) - shared_begin);
  fail("a place in another block of the cluster is in no shared array");
}

const void *Device::name_of(const void *place) const {
  const bool moves = !declared_.empty() && shared_begin <= place && place < shared_end;
  return moves ? declared_[live_].begin.get() + (static_cast<const unsigned char *>(place) - shared_begin)
               : place;
}

void *Device::place_of(const void *name) const {
  const unsigned char *begin = declared_.empty() ? nullptr : declared_[live_].begin.get();
  const bool moves = begin && begin <= name && name < begin + declared_[live_].bytes;
  return moves ? shared_begin + (static_cast<const unsigned char *>(name) - begin) : const_cast<void *>(name);
}

/// Allocates them at an address with the same remainder of 1024, so that tiles have the same alignment.
void Device::make_declared(std::size_t blocks) {
  declared_.clear();
  live_ = 0;
  const auto bytes = static_cast<std::size_t>(shared_end - shared_begin),
             first = reinterpret_cast<std::uintptr_t>(shared_begin) % 1024;
  for (std::size_t n = 0; n < blocks && blocks > 1 && bytes > 0; ++n) {
    void *memory = nullptr;
    if (posix_memalign(&memory, 1024, first + bytes) != 0)
      fail("no memory for shared arrays");
    auto *begin = static_cast<unsigned char *>(memory) + first;
    fill_unwritten(begin, begin + bytes);
    declared_.push_back({{begin,
                          [](void *p) {
                            std::free(static_cast<unsigned char *>(p) -
                                      reinterpret_cast<std::uintptr_t>(p) % 1024);
                          }},
                         bytes});
  }
}

void Device::make_live(std::size_t rank) {
  if (rank == live_ || declared_.empty())
    return;
  volatile unsigned char *live = shared_begin; // the sanitizer would intercept memcpy
  unsigned char *old = declared_[live_].begin.get(), *now = declared_[rank].begin.get();
  for (std::size_t n = 0; n < declared_[rank].bytes; ++n) {
    old[n] = live[n];
    live[n] = now[n];
  }
  live_ = rank;
}

void Device::start(Thread &thread, dim3 block, std::size_t number) {
  if (!thread.stack) {
    void *stack = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED)
      fail("no memory for the stack of a thread");
    thread.stack = stack;
    thread.bytes = stack_bytes;
  }
  thread.stores.clear(); // without a wait, they may never read their tiles
  getcontext(&thread.context);
  thread.context.uc_stack.ss_sp = const_cast<void *>(thread.stack);
  thread.context.uc_stack.ss_size = thread.bytes;
  thread.context.uc_link = nullptr;
  makecontext(&thread.context, enter, 0);
  // At every switch, the address sanitizer unpoisons the stack that `uc_stack` describes. With a size of 0, it
  // keeps the redzones.
  thread.context.uc_stack.ss_size = 0;
  auto n = static_cast<unsigned>(number);
  thread.index = {n % block.x, n / block.x % block.y, n / block.x / block.y};
  thread.number = number;
  thread.state = State::ready;
}

void Device::release_warp(std::size_t begin, std::size_t end) {
  for (std::size_t n = begin; n < end; ++n)
    if (threads_[n]->state != State::at_warp_barrier || threads_[n]->line != threads_[begin]->line)
      return;
  for (std::size_t n = begin; n < end; ++n)
    threads_[n]->state = State::ready;
}

void Device::release_block(std::size_t threads) {
  const Thread &first = *threads_[0];
  for (std::size_t n = 0; n < threads; ++n) {
    const Thread &thread = *threads_[n];
    if (first.state == State::at_block_barrier && thread.state == first.state && thread.line == first.line)
      continue;
    auto place = [](const Thread &t) {
      return t.state == State::ended             ? "has ended"
             : t.state == State::at_warp_barrier ? "waits at __syncwarp of line"
                                                 : "waits at __syncthreads of line";
    };
    fail(
        "barrier in divergent flow: thread (%u, %u, %u) of block (%u, %u, %u) %s %d, thread (%u, %u, %u) %s %d",
        first.index.x, first.index.y, first.index.z, first.block.x, first.block.y, first.block.z, place(first),
        first.state == State::ended ? 0 : first.line, thread.index.x, thread.index.y, thread.index.z,
        place(thread), thread.state == State::ended ? 0 : thread.line);
  }
  for (std::size_t n = 0; n < threads; ++n)
    threads_[n]->state = State::ready;
  any_before = std::exchange(any, false);
}

bool Device::retry_events(std::size_t threads) {
  bool waits = false;
  for (std::size_t n = 0; n < threads; ++n) {
    Thread &thread = *threads_[n];
    if (thread.state != State::at_event)
      continue;
    if (arrivals == arrivals_before_)
      fail("deadlock: thread (%u, %u, %u) waits at the event of line %d", thread.index.x, thread.index.y,
           thread.index.z, thread.line);
    waits = true;
    thread.state = State::ready;
  }
  arrivals_before_ = waits ? arrivals : -1;
  return waits;
}

bool Device::run_warp(std::size_t begin, std::size_t end) {
  bool ran = false;
  for (std::size_t n = begin; n < end; ++n) {
    Thread &thread = *threads_[backwards ? begin + end - 1 - n : n];
    if (thread.state != State::ready)
      continue;
    ran = true;
    running_ = &thread;
    make_live(thread.rank);
    threadIdx = thread.index;
    blockIdx = thread.block;
    switch_fiber(scheduler_, thread);
  }
  release_warp(begin, end);
  return ran;
}

void Device::run_ready(std::size_t threads) {
  std::size_t warps = (threads + 31) / 32;
  for (std::size_t n = 0; n < warps; ++n) {
    std::size_t begin = (backwards ? warps - 1 - n : n) * 32;
    while (run_warp(begin, std::min(begin + 32, threads))) {
    }
  }
}

void Device::run_blocks(const std::vector<uint3> &blocks, dim3 block, std::size_t threads) {
  fill_unwritten(shared_begin, shared_end);
  make_declared(blocks.size());
  announced.clear();
  block_threads_ = threads;
  threads *= blocks.size();
  while (threads_.size() < threads)
    threads_.push_back(std::make_unique<Thread>());
  for (std::size_t n = 0; n < threads; ++n) {
    threads_[n]->rank = n / block_threads_;
    threads_[n]->block = blocks[threads_[n]->rank];
    start(*threads_[n], block, n % block_threads_);
  }
  for (;;) {
    run_ready(threads);
    if (retry_events(threads))
      continue;
    bool ended = true;
    for (std::size_t n = 0; n < threads; ++n)
      ended &= threads_[n]->state == State::ended;
    if (ended)
      return;
    release_block(threads);
  }
}

void Device::launch(const void *kernel, dim3 grid, dim3 block, std::size_t dynamic, void (*call)(const void *),
                    const void *closure) {
  std::size_t threads = std::size_t{block.x} * block.y * block.z;
  std::size_t limit = allowed.count(kernel) != 0 ? allowed[kernel] : 49152;
  if (threads == 0 || threads > 1024 || block.z > 64 || grid.x == 0 || grid.x > 2147483647U || grid.y == 0 ||
      grid.y > 65535 || grid.z == 0 || grid.z > 65535 || dynamic > limit) {
    refused = true;
    return;
  }
  ++launches;
  if (launches_left-- <= 0)
    return;
  const std::vector<ArenaArray> &arrays = arenas[kernel];
  for (const ArenaArray &array : arrays)
    if (array.offset + array.bytes > dynamic)
      fail("a shared array ends at byte %zu, but the launch names %zu", array.offset + array.bytes, dynamic);
  call_ = call;
  closure_ = closure;
  const unsigned together = clusters.count(kernel) != 0 ? clusters[kernel] : 1;
  if (grid.z % together != 0 || (together > 1 && threads % 32 != 0)) {
    refused = true;
    return;
  }
  std::uint64_t runs = std::uint64_t{grid.x} * grid.y * (grid.z / together);
  for (std::uint64_t n = 0; n < runs; ++n) {
    std::uint64_t at = backwards ? runs - 1 - n : n;
    std::vector<uint3> blocks;
    for (unsigned rank = 0; rank < together; ++rank)
      blocks.push_back({static_cast<unsigned>(at % grid.x), static_cast<unsigned>(at / grid.x % grid.y),
                        static_cast<unsigned>(at / grid.x / grid.y) * together + rank});
    make_arena(arrays, together);
    run_blocks(blocks, block, threads);
  }
}

} // namespace

void fail(const char *format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  std::fputs("host: ", stderr);
  std::vfprintf(stderr, format, arguments);
  std::fputs("\n", stderr);
  std::fflush(stderr);
  _exit(3);
}

void fill_unwritten(unsigned char *begin, unsigned char *end) {
  for (volatile unsigned char *p = begin; p < end; ++p) // the sanitizer would intercept memset
    *p = unwritten;
}

void wait_for_block(int line) { Device::get().wait(State::at_block_barrier, line); }
bool any_in_block(bool value, int line) {
  Device &device = Device::get();
  device.any |= value;
  device.wait(State::at_block_barrier, line);
  return device.any_before;
}
void wait_for_warp(int line) { Device::get().wait(State::at_warp_barrier, line); }

bool any_of_role(int number, int threads, bool value, int line) {
  struct Barrier {
    int arrived = 0;
    long phase = 0;
    bool any = false, any_before = false; ///< of the threads that have arrived, and of the phase before
  };
  static std::map<std::pair<std::size_t, int>, Barrier> barriers; // of the blocks that run together
  Barrier &barrier = barriers[{Device::get().running().rank, number}];
  const long phase = barrier.phase;
  ++Device::get().arrivals;
  barrier.any |= value;
  if (++barrier.arrived == threads) {
    barrier.any_before = std::exchange(barrier.any, false);
    barrier.arrived = 0;
    ++barrier.phase;
  }
  while (barrier.phase == phase)
    Device::get().wait(State::at_event, line);
  return barrier.any_before;
}
void wait_for_role(int number, int threads, int line) { any_of_role(number, threads, false, line); }
unsigned lane() { return static_cast<unsigned>(Device::get().running().number % 32); }
void shuffle(unsigned mask, void *value, std::size_t bytes, unsigned from, int line) {
  Device &device = Device::get();
  Thread &self = device.running();
  const Thread *other = device.in_warp(from);
  if (!(mask >> lane() & 1))
    fail("lane %u makes the shuffle of line %d, but is missing from its mask 0x%08x", lane(), line, mask);
  if (!other)
    fail("the shuffle of line %d takes the value of lane %u, which the warp does not have", line, from);
  if (!(mask >> from & 1))
    fail("the shuffle of line %d takes the value of lane %u, which is missing from its mask 0x%08x", line, from,
         mask);
  std::copy_n(static_cast<const unsigned char *>(value), bytes, self.exchanged);
  device.wait(State::at_warp_barrier, line);
  std::copy_n(other->exchanged, bytes, static_cast<unsigned char *>(value));
  device.wait(State::at_warp_barrier, line);
}
unsigned char *Arena::operator+(std::size_t offset) const { return Device::get().arena_array(offset); }
void add_arena_array(const void *kernel, ArenaArray array) { Device::get().arenas[kernel].push_back(array); }
void start_copy(void *to, const void *data, std::size_t bytes) {
  Thread &self = Device::get().running();
  Copy &copy = self.copies.emplace_back(Copy{static_cast<unsigned char *>(to), {}, bytes, self.commits});
  std::copy_n(static_cast<const unsigned char *>(data), bytes, copy.data);
}
void commit_copies() { ++Device::get().running().commits; }
void wait_copies(std::size_t pending) {
  Thread &self = Device::get().running();
  std::erase_if(self.copies, [&](const Copy &copy) {
    bool arrives = copy.group + pending < self.commits;
    if (arrives)
      std::copy_n(copy.data, copy.bytes, copy.to);
    return arrives;
  });
}

namespace {

/// An event in the 8 bytes of a mbarrier.
struct Event {
  std::uint16_t needed, arrived;
  std::uint32_t phases;
};
static_assert(sizeof(Event) == sizeof(unsigned long long));

Event load_event(const unsigned long long *from) {
  Event event{};
  std::copy_n(reinterpret_cast<const unsigned char *>(from), sizeof(event),
              reinterpret_cast<unsigned char *>(&event));
  return event;
}
void store_event(unsigned long long *to, const Event &event) {
  std::copy_n(reinterpret_cast<const unsigned char *>(&event), sizeof(event),
              reinterpret_cast<unsigned char *>(to));
}

} // namespace

void start_event(unsigned long long *event, int arrivals) {
  store_event(event, {static_cast<std::uint16_t>(arrivals), 0, 0});
}
/// Ends the phase if its arrivals and its bytes are complete.
static void end_phase(unsigned long long *event) {
  Event now = load_event(event);
  if (now.arrived != now.needed || Device::get().announced[Device::get().name_of(event)] != 0)
    return;
  now.arrived = 0;
  ++now.phases;
  store_event(event, now);
}
void arrive(unsigned long long *event) {
  ++Device::get().arrivals;
  Event now = load_event(event);
  ++now.arrived;
  store_event(event, now);
  end_phase(event);
}
void arrive_after_copies(unsigned long long *event) {
  commit_copies();
  wait_copies(0);
  arrive(event);
}
namespace {

/// The content of the words that `encode_map` writes.
struct Map {
  const unsigned char *array;
  std::uint64_t extents[5], strides[4];
  std::uint32_t box[5];
  std::uint8_t rank, element_bytes;
  std::uint16_t swizzle;
};
static_assert(sizeof(Map) <= 128);

} // namespace

bool encode_map(std::uint64_t *words, int element_bytes, unsigned rank, const void *array,
                const std::uint64_t *extents, const std::uint64_t *strides, const std::uint32_t *box,
                int swizzle) {
  Map map = {static_cast<const unsigned char *>(array),
             {},
             {},
             {},
             static_cast<std::uint8_t>(rank),
             static_cast<std::uint8_t>(element_bytes),
             static_cast<std::uint16_t>(swizzle)};
  bool right =
      rank >= 1 && rank <= 5 && reinterpret_cast<std::uintptr_t>(array) % 16 == 0 &&
      box[0] * static_cast<unsigned>(element_bytes) % 16 == 0 &&
      (swizzle == 0 || box[0] * static_cast<unsigned>(element_bytes) <= static_cast<unsigned>(swizzle));
  for (unsigned d = 0; right && d < rank; ++d) {
    right = extents[d] >= 1 && extents[d] <= std::uint64_t{1} << 32 && box[d] >= 1 && box[d] <= 256;
    map.extents[d] = extents[d];
    map.box[d] = box[d];
    if (d + 1 < rank) {
      right = right && strides[d] % 16 == 0 && strides[d] < std::uint64_t{1} << 40;
      map.strides[d] = strides[d];
    }
  }
  std::memcpy(words, &map, sizeof(map));
  return right;
}

/// Calls `f` with the bytes of each element of a box: its place in the tile, the element in the array or null
/// if it lies outside, and the size of an element.
template <class F> static void each_of_box(const void *words, const void *tile, BoxStart start, const F &f) {
  Map map;
  std::memcpy(&map, words, sizeof(map));
  const std::size_t alignment = map.swizzle == 0 ? 128 : 8 * map.swizzle, size = map.element_bytes;
  if (reinterpret_cast<std::uintptr_t>(tile) % alignment != 0)
    fail("a bulk copy has a tile at an address that is no multiple of %zu", alignment);
  std::size_t elements = 1;
  for (unsigned d = 0; d < map.rank; ++d)
    elements *= map.box[d];
  for (std::size_t n = 0; n < elements; ++n) {
    std::size_t rest = n, from = 0;
    bool exists = true;
    for (unsigned d = 0; d < map.rank; ++d) {
      const long long index = start.of[d] + static_cast<long long>(rest % map.box[d]);
      rest /= map.box[d];
      exists = exists && index >= 0 && static_cast<std::uint64_t>(index) < map.extents[d];
      from += static_cast<std::size_t>(index) * (d == 0 ? size : map.strides[d - 1]);
    }
    std::size_t at = n * size; // pieces of 16 bytes of a row change their places
    if (map.swizzle != 0)
      at ^= at / 128 % (map.swizzle / 16) * 16;
    f(at, exists ? map.array + from : nullptr, size);
  }
}

/// Copies the box to a tile of any block of the cluster, for an event of the same block.
static void copy_box_to(void *to, const void *words, BoxStart start, unsigned long long *event) {
  auto *tile = static_cast<unsigned char *>(to);
  std::size_t &brought = Device::get().running().bulk[Device::get().name_of(event)];
  each_of_box(words, to, start, [&](std::size_t at, const unsigned char *element, std::size_t size) {
    unsigned char data[16] = {};
    if (element)
      std::copy_n(element, size, data);
    std::fill_n(tile + at, size, unwritten);
    start_copy(tile + at, data, size);
    brought += size;
  });
}

void copy_box(void *to, const void *words, BoxStart start, unsigned long long *event) {
  copy_box_to(to, words, start, event);
}

void add_cluster(const void *kernel, unsigned blocks) { Device::get().clusters[kernel] = blocks; }
void wait_for_cluster(int line) { wait_for_block(line); } // all blocks of the cluster run as one
void copy_box_to_cluster(void *to, const void *words, BoxStart start, unsigned long long *event) {
  const Device &device = Device::get();
  for (std::size_t rank = 0; rank < device.blocks_of_cluster(); ++rank)
    copy_box_to(device.in_block(to, rank), words, start,
                static_cast<unsigned long long *>(device.in_block(event, rank)));
}
void arrive_in_cluster(unsigned long long *event, unsigned rank) {
  arrive(static_cast<unsigned long long *>(Device::get().in_block(event, rank)));
}

void store_box(const void *map, const void *from, BoxStart start) {
  Thread &self = Device::get().running();
  self.stores.push_back({map, from, start, self.commits_of_stores});
}
void commit_stores() { ++Device::get().running().commits_of_stores; }
void wait_stores(std::size_t pending) {
  Thread &self = Device::get().running();
  std::erase_if(self.stores, [&](const BoxStore &store) {
    if (store.group + pending >= self.commits_of_stores)
      return false;
    const auto *tile = static_cast<const unsigned char *>(store.from);
    each_of_box(store.map, tile, store.start,
                [&](std::size_t at, const unsigned char *element, std::size_t size) {
                  if (element)
                    std::copy_n(tile + at, size, const_cast<unsigned char *>(element));
                });
    return true;
  });
}

void arrive_bulk(unsigned long long *event, unsigned bytes) {
  Device &device = Device::get();
  commit_copies();
  wait_copies(0);
  const auto brought = std::exchange(device.running().bulk, {});
  // Other blocks of a cluster may bring the rest.
  const void *name = device.name_of(event);
  if (const auto own = brought.find(name);
      device.blocks_of_cluster() == 1 && (own == brought.end() ? 0 : own->second) != bytes)
    fail("a phase announces %u bytes, but bulk copies bring %zu", bytes,
         own == brought.end() ? 0 : own->second);
  device.announced[name] += bytes;
  for (const auto &[of, count] : brought) {
    device.announced[of] -= static_cast<long long>(count);
    if (of != name)
      end_phase(static_cast<unsigned long long *>(device.place_of(of)));
  }
  arrive(event);
}

void await_phase(const unsigned long long *event, unsigned parity, int line) {
  while (load_event(event).phases % 2 == parity)
    Device::get().wait(State::at_event, line);
}

void set_shared(unsigned char *begin, unsigned char *end) {
  Device::get().shared_begin = begin;
  Device::get().shared_end = end;
}
void set_backwards(bool backwards) { Device::get().backwards = backwards; }
void limit_launches(long count) { Device::get().launches_left = count; }
long launches() { return Device::get().launches; }
void allow_shared(const void *kernel, std::size_t bytes) { Device::get().allowed[kernel] = bytes; }
bool take_refusal() { return std::exchange(Device::get().refused, false); }
double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}
void launch(const void *kernel, dim3 grid, dim3 block, std::size_t dynamic, void (*call)(const void *),
            const void *closure) {
  Device::get().launch(kernel, grid, block, dynamic, call, closure);
}

} // namespace host
