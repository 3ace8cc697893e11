#pragma once
/// The helpers of channels, bulk copies and clusters as CUDA C++, for codegen/helpers.cpp alone.

#include <cstddef>
#include <fmt/format.h>
#include <string>
#include <string_view>

namespace nestsmith::texts {

inline constexpr std::string_view address_of_shared =
    R"(static __device__ __forceinline__ unsigned int shared_address(const void *p) {
  return (unsigned int)__cvta_generic_to_shared(p);
}
)";

/// Source: PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier". The warps that await a
/// slot for the first time pass: the phase before the first one has odd parity. Waits with a time limit need
/// sm_90.
inline constexpr std::string_view channel_of_tiles =
    R"(static __device__ __forceinline__ void start_event(unsigned long long *event, int arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(event)), "r"(arrivals)
               : "memory");
}
/// Starts the events of a channel: the numbers of arrivals that fill a slot, and that free it.
static __device__ __forceinline__ void start_channel(unsigned long long *filled, unsigned long long *freed,
                                                     int slots, int fill, int free) {
  if (threadIdx.x == 0)
    for (int slot = 0; slot < slots; ++slot) {
      start_event(filled + slot, fill);
      start_event(freed + slot, free);
    }
}
/// Waits until the phase of this parity has ended.
static __device__ __forceinline__ void await_phase(unsigned long long *event, unsigned int parity) {
  unsigned int ended;
  do {
#if __CUDA_ARCH__ >= 900
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
#else
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
#endif
                 : "=r"(ended)
                 : "r"(shared_address(event)), "r"(parity)
                 : "memory");
  } while (ended == 0);
}
/// Waits until fill `number` is in its slot.
template <int slots>
static __device__ __forceinline__ void await_filled(unsigned long long *filled, unsigned int number) {
  await_phase(filled + number % slots, number / slots % 2);
}
/// Waits until the slot for fill `number` is free.
template <int slots>
static __device__ __forceinline__ void await_freed(unsigned long long *freed, unsigned int number) {
  await_phase(freed + number % slots, number / slots % 2 ^ 1);
}
)";

inline constexpr std::string_view arrivals_at_channel =
    R"(static __device__ __forceinline__ void arrive(unsigned long long *event) {
  asm volatile("{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" ::"r"(
                   shared_address(event))
               : "memory");
}
/// This thread has stored its part of fill `number`.
template <int slots>
static __device__ __forceinline__ void signal_filled(unsigned long long *filled, unsigned int number) {
  arrive(filled + number % slots);
}
/// This warp no longer reads fill `number`.
template <int slots>
static __device__ __forceinline__ void signal_freed(unsigned long long *freed, unsigned int number) {
  __syncwarp();
  if (threadIdx.x % 32 == 0)
    arrive(freed + number % slots);
}
)";

inline constexpr std::string_view arrival_of_copies =
    R"(/// The copies that this thread has started for fill `number` arrive when they are done.
template <int slots>
static __device__ __forceinline__ void signal_copies(unsigned long long *filled, unsigned int number) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(
                   shared_address(filled + number % slots))
               : "memory");
}
)";

inline constexpr std::string_view tensor_map_type =
    R"(/// Describes an array and the boxes that bulk copies take from it. The launcher makes it.
struct __align__(64) TensorMap {
  unsigned long long words[16];
};
)";

/// Source: PTX ISA, "cp.async.bulk.tensor" and "mbarrier.arrive.expect_tx"; CUDA Driver API, CUtensorMap. The
/// phase ends when its arrivals and its bytes are complete, in any order.
inline constexpr std::string_view bulk_arrival =
    R"(/// Fill `number` also has these bytes, which bulk copies bring.
template <int slots>
static __device__ __forceinline__ void signal_bulk(unsigned long long *filled, unsigned int number,
                                                   unsigned int bytes) {
  asm volatile("{ .reg .b64 state; mbarrier.arrive.expect_tx.shared.b64 state, [%0], %1; }" ::"r"(
                   shared_address(filled + number % slots)),
               "r"(bytes)
               : "memory");
}
)";

/// The start of a box in a function with `rank` coordinates, whose operands follow those before `first`.
struct StartOfBox {
  std::string parameters, places, operands; ///< ", int x0, int x1", "%2, %3", and ", \"r\"(x0), \"r\"(x1)"

  StartOfBox(std::size_t rank, std::size_t first) {
    for (std::size_t n = 0; n < rank; ++n) {
      parameters += fmt::format(", int x{}", n);
      places += fmt::format("{}%{}", n == 0 ? "" : ", ", first + n);
      operands += fmt::format(", \"r\"(x{})", n);
    }
  }
};

/// A bulk copy of a box of this rank.
inline std::string copy_of_box(std::size_t rank) {
  const auto [parameters, places, operands] = StartOfBox(rank, 2);
  return fmt::format(R"(/// Starts to copy a box to shared memory. Its bytes count for fill `number`.
template <int slots>
static __device__ __forceinline__ void copy_box(void *to, const TensorMap *map, unsigned long long *filled,
                                                unsigned int number{1}) {{
  asm volatile("cp.async.bulk.tensor.{0}d.shared::cluster.global.mbarrier::complete_tx::bytes "
               "[%0], [%1, {{{2}}}], [%{3}];" ::"r"(shared_address(to)),
               "l"(map){4}, "r"(shared_address(filled + number % slots))
               : "memory");
}}
)",
                     rank, parameters, places, rank + 2, operands);
}

/// A bulk copy of a box of this rank to all blocks of a cluster.
inline std::string copy_of_box_to_cluster(std::size_t rank) {
  const auto [parameters, places, operands] = StartOfBox(rank, 2);
  return fmt::format(
      R"(/// Starts to copy a box to the same place in all blocks of the cluster. In each, its bytes count for fill
/// `number`.
template <int slots>
static __device__ __forceinline__ void copy_box_to_cluster(int blocks, void *to, const TensorMap *map,
                                                           unsigned long long *filled,
                                                           unsigned int number{1}) {{
  asm volatile("cp.async.bulk.tensor.{0}d.shared::cluster.global.mbarrier::complete_tx::bytes"
               ".multicast::cluster [%0], [%1, {{{2}}}], [%{3}], %{4};" ::"r"(shared_address(to)),
               "l"(map){5}, "r"(shared_address(filled + number % slots)), "h"((unsigned short)((1 << blocks) - 1))
               : "memory");
}}
)",
      rank, parameters, places, rank + 2, rank + 3, operands);
}

/// Source: PTX ISA, "barrier.cluster", "mapa" and "membar" (.mbarrier_init).
inline constexpr std::string_view barrier_of_cluster =
    R"(/// Lets the other blocks of the cluster see the events that this thread has started.
static __device__ __forceinline__ void fence_events() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
/// Waits for all threads of the cluster.
static __device__ __forceinline__ void sync_cluster() {
  __syncwarp();
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
)";

/// An arrival of a warp at the events of all blocks of the cluster. With `reads`, it orders the reads of the
/// threads before the copies of other blocks. Without, it may be relaxed, which PTX ISA 8.6 has (CUDA 12.8).
inline std::string freed_to_cluster(bool reads) {
  return fmt::format(
      R"(/// This warp no longer reads fill `number`, which all blocks of the cluster copy.{0}
template <int slots>
static __device__ __forceinline__ void signal_freed_{1}to_cluster(int blocks, unsigned long long *freed,
                                                                  unsigned int number) {{
  __syncwarp();
  if (const unsigned int block = threadIdx.x % 32; block < (unsigned int)blocks)
    asm volatile("{{ .reg .b32 event; mapa.shared::cluster.u32 event, %0, %1; "
{2}                 ::"r"(shared_address(freed + number % slots)), "r"(block)
                 : "memory");
}}
)",
      reads ? "" : " Matrix units\n/// have read it, and no thread has.", reads ? "after_reads_" : "",
      reads ? R"(                 "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [event]; }"
)"
            : R"(#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1208
                 "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [event]; }"
#else
                 "mbarrier.arrive.shared::cluster.b64 _, [event]; }"
#endif
)");
}

inline constexpr std::string_view await_freed_of_cluster =
    R"(/// Waits until the phase of this parity has ended, in which all blocks of the cluster arrive.
static __device__ __forceinline__ void await_phase_of_cluster(unsigned long long *event, unsigned int parity) {
  unsigned int ended;
  do {
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; "
                 "selp.u32 %0, 1, 0, p; }"
                 : "=r"(ended)
                 : "r"(shared_address(event)), "r"(parity)
                 : "memory");
  } while (ended == 0);
}
/// Waits until all blocks of the cluster have read what is in the slot for fill `number`.
template <int slots>
static __device__ __forceinline__ void await_freed_of_cluster(unsigned long long *freed, unsigned int number) {
  await_phase_of_cluster(freed + number % slots, number / slots % 2 ^ 1);
}
)";

/// Source: PTX ISA, "cp.async.bulk.tensor", "cp.async.bulk.commit_group" and "cp.async.bulk.wait_group".
inline constexpr std::string_view group_of_stores =
    R"(/// Ends the group of the bulk stores that this thread has started.
static __device__ __forceinline__ void commit_stores() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
/// Waits until at most `pending` of this thread's latest groups still read shared memory.
template <int pending> static __device__ __forceinline__ void wait_stores() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
}
)";

/// A bulk store of a box of this rank.
inline std::string store_of_box(std::size_t rank) {
  const auto [parameters, places, operands] = StartOfBox(rank, 1);
  return fmt::format(
      R"(/// Starts to store a box of shared memory. What lies outside of the array is not written.
static __device__ __forceinline__ void store_box(const TensorMap *map, const void *from{1}) {{
  asm volatile("cp.async.bulk.tensor.{0}d.global.shared::cta.bulk_group [%0, {{{2}}}], [%{3}];" ::"l"(map){4},
               "r"(shared_address(from))
               : "memory");
}}
)",
      rank, parameters, places, rank + 1, operands);
}

} // namespace nestsmith::texts
