#pragma once
/// Work in a process of its own: what crashes or hangs there leaves this one as it is.

#include <functional>
#include <string>

namespace nestsmith::fuzz {

/// How a process ended.
struct Ending {
  bool crashed = false;
  bool hung = false; ///< it took longer than it may, of the processor
  std::string said;  ///< on its standard error
};

/// Seconds of the processor that the work may take, until `rearm` is called.
inline constexpr int most_seconds = 40;
/// Gives the work of this process all of its time again.
void rearm();

/// Runs `work` in a copy of this process. What it changes is seen in memory from `shared_memory` only.
Ending isolated(const std::function<void()> &work);

/// Zeroed memory that this process and its copies share, for as long as it lives.
void *shared_memory(std::size_t bytes);
/// The same, as an object.
template <class T> T &shared_object() { return *new (shared_memory(sizeof(T))) T{}; }

} // namespace nestsmith::fuzz
