#include "dsl/expr/node_pool.h"

#include <llvm/Support/Compiler.h>
#include <new>

namespace nestsmith {

namespace {

struct Free {
  Free *next;
};

/// None under a sanitizer, which has to see each node come and go.
constexpr std::size_t most_kept = LLVM_ADDRESS_SANITIZER_BUILD || LLVM_THREAD_SANITIZER_BUILD ? 0 : 4096;

constinit thread_local Free *kept = nullptr;
constinit thread_local std::size_t room = 0; ///< how many more this thread keeps

/// Frees what a thread keeps when the thread ends. Nodes that are released later are not kept.
struct Owner {
  Owner() { room = most_kept; }
  Owner(const Owner &) = delete;
  Owner &operator=(const Owner &) = delete;
  ~Owner() {
    room = 0;
    while (kept) {
      Free *next = kept->next;
      ::operator delete(kept);
      kept = next;
    }
  }
};

} // namespace

void *take_node(std::size_t bytes) {
  if (!kept) {
    thread_local const Owner owner;
    return ::operator new(bytes);
  }
  Free *memory = kept;
  kept = memory->next;
  ++room;
  return memory;
}

void release_node(void *memory) noexcept {
  if (room == 0)
    return ::operator delete(memory);
  --room;
  kept = new (memory) Free{kept};
}

} // namespace nestsmith
