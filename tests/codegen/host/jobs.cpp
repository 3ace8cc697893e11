/// Runs the jobs of one file and appends their results to another: `program JOBS RESULTS FIRST`. Each result is
/// written before the next job starts, so the results show which job a fault ended. Jobs before FIRST are
/// skipped.

#include "jobs.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <vector>

// Functions of the sanitizers. They are null if the program is linked without them.
extern "C" {
__attribute__((weak)) void __asan_poison_memory_region(const volatile void *memory, std::size_t bytes);
__attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());
}

namespace host {

namespace {

std::map<std::uint64_t, Case> &cases() {
  static std::map<std::uint64_t, Case> all;
  return all;
}

/// Memory of an exact size. It begins `off` bytes after a multiple of max(`alignment`, 8) that is not a
/// multiple of twice that number, so a larger alignment is never present by chance.
class Memory {
public:
  Memory(std::size_t bytes, std::size_t alignment, std::size_t off = 0) {
    // The sanitizer guards whole words of 8 bytes, so at least 8 bytes are in front of the array.
    std::size_t offset = alignment < 8 ? 8 : alignment;
    if (posix_memalign(&memory_, 2 * offset, offset + off + bytes) != 0)
      fail("no memory for an array");
    begin_ = static_cast<unsigned char *>(memory_) + offset + off;
    if (__asan_poison_memory_region)
      __asan_poison_memory_region(memory_, offset);
    fill_unwritten(begin_, begin_ + bytes);
  }
  ~Memory() { std::free(memory_); }
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;
  unsigned char *begin() const { return begin_; }

private:
  void *memory_ = nullptr;
  unsigned char *begin_ = nullptr;
};

template <class T> T read(std::istream &in) {
  T value{};
  in.read(reinterpret_cast<char *>(&value), sizeof(T));
  if (!in)
    fail("the file of jobs ends early");
  return value;
}

/// Runs one job. A job consists of the number of its case, the order of threads, the arrays, the sizes and
/// scalars, the bytes of the workspace, and the bytes of the counters at its start. If `out` is null, the job
/// is skipped.
void run_job(std::istream &in, std::ostream *out) {
  auto number = read<std::uint64_t>(in);
  set_backwards(read<std::uint64_t>(in) != 0);
  std::vector<std::pair<std::unique_ptr<Memory>, std::size_t>> arrays;
  std::vector<std::uint64_t> words;
  auto address = [](const Memory &memory) {
    return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(memory.begin()));
  };
  for (auto left = read<std::uint64_t>(in); left > 0; --left) {
    auto alignment = read<std::uint64_t>(in), off = read<std::uint64_t>(in), bytes = read<std::uint64_t>(in);
    arrays.emplace_back(std::make_unique<Memory>(bytes, alignment, off), bytes);
    in.read(reinterpret_cast<char *>(arrays.back().first->begin()), static_cast<std::streamsize>(bytes));
    words.push_back(address(*arrays.back().first));
  }
  for (auto left = read<std::uint64_t>(in); left > 0; --left)
    words.push_back(read<std::uint64_t>(in));
  auto workspace_bytes = read<std::uint64_t>(in), counter_bytes = read<std::uint64_t>(in);
  if (!out)
    return;
  Memory workspace(workspace_bytes, 256);
  std::fill_n(workspace.begin(), counter_bytes, 0);
  if (workspace_bytes != 0) {
    words.push_back(address(workspace));
    words.push_back(workspace_bytes);
  }
  words.push_back(0); // the stream
  const Case &test_case = cases().at(number);
  set_shared(test_case.shared_begin, test_case.shared_end);
  auto status = static_cast<std::uint64_t>(test_case.call(words.data()));
  if (std::any_of(workspace.begin(), workspace.begin() + counter_bytes, [](unsigned char c) { return c != 0; }))
    fail("a launch leaves a counter that is not zero");
  out->write(reinterpret_cast<const char *>(&status), sizeof(status));
  for (const auto &[memory, bytes] : arrays)
    out->write(reinterpret_cast<const char *>(memory->begin()), static_cast<std::streamsize>(bytes));
  out->flush();
  if (!*out)
    fail("cannot write the results");
}

/// Prints the block and the thread that ran when a sanitizer ended the program.
void tell_thread() {
  std::fprintf(stderr, "\nhost: in block (%u, %u, %u), thread (%u, %u, %u)\n", blockIdx.x, blockIdx.y,
               blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z);
}

} // namespace

void add_case(std::uint64_t number, const Case &test_case) { cases()[number] = test_case; }

} // namespace host

int main(int, char **argv) {
  using namespace host;
  const std::uint64_t first = std::strtoull(argv[3], nullptr, 10);
  if (__sanitizer_set_death_callback)
    __sanitizer_set_death_callback(tell_thread);
  std::ifstream in(argv[1], std::ios::binary);
  std::ofstream out(argv[2], std::ios::binary | std::ios::app);
  auto jobs = read<std::uint64_t>(in);
  for (std::uint64_t n = 0; n < jobs; ++n)
    run_job(in, n < first ? nullptr : &out);
  return 0;
}
