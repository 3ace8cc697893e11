#pragma once
/// Runs work in a child process, so that a crash or a hang does not affect this process.

#include <functional>
#include <string>

namespace nestsmith::fuzz {

/// The way in which a child process ended.
struct Ending {
  bool crashed = false;
  bool hung = false;    ///< it exceeded its limit of processor time, or that of `Alarm`
  bool alarmed = false; ///< it exceeded that of `Alarm`
  std::string said;     ///< the end of its output on standard error
};

/// The limit of processor time of the work, in seconds, until `rearm` is called.
inline constexpr int most_seconds = 40;
/// Restarts the limit of processor time of this process with this number of seconds.
void rearm(int seconds = most_seconds);

/// Ends this process if the object still exists after this number of seconds, in which the process may wait
/// without using the processor. There is one such object at a time.
class Alarm {
public:
  explicit Alarm(unsigned seconds);
  ~Alarm();
  Alarm(const Alarm &) = delete;
  Alarm &operator=(const Alarm &) = delete;
};

/// Records the next activity of this process, for the process that waits for it. Restarts the limit of
/// processor time with the seconds of the last call of `rearm`.
void doing(const std::string &what);
/// Returns the last activity that the last child process recorded, or "".
std::string was_doing();

/// Runs `work` in a child process. Its changes are visible only in memory from `shared_memory`.
Ending isolated(const std::function<void()> &work);

/// Returns the seconds of processor time that this process and its ended child processes have used.
double processor_seconds();

/// Returns zeroed memory that this process and its child processes share. It is never freed.
void *shared_memory(std::size_t bytes);
/// Returns an object in such memory.
template <class T> T &shared_object() { return *new (shared_memory(sizeof(T))) T{}; }

} // namespace nestsmith::fuzz
