#pragma once
/// Work in a process of its own: what crashes or hangs there leaves this one as it is.

#include <functional>
#include <string>

namespace nestsmith::fuzz {

/// How a process ended.
struct Ending {
  bool crashed = false;
  bool hung = false; ///< it took longer than it may, of the processor
  std::string said;  ///< the end of what it wrote to its standard error
};

/// Seconds of the processor that the work may take, until `rearm` is called.
inline constexpr int most_seconds = 40;
/// Gives the work of this process so much time again.
void rearm(int seconds = most_seconds);

/// Notes what this process is about to do, for the process that waits for it, and gives it so much time as the
/// last call of `rearm`.
void doing(const std::string &what);
/// The last note of the last copy of this process; empty if there is none.
std::string was_doing();

/// Runs `work` in a copy of this process. What it changes is seen in memory from `shared_memory` only.
Ending isolated(const std::function<void()> &work);

/// Seconds of the processor that this process and its copies that ended have taken.
double processor_seconds();

/// Zeroed memory that this process and its copies share, for as long as it lives.
void *shared_memory(std::size_t bytes);
/// The same, as an object.
template <class T> T &shared_object() { return *new (shared_memory(sizeof(T))) T{}; }

} // namespace nestsmith::fuzz
