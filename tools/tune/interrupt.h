#pragma once
/// Ctrl-C ends a search of the command `tune` after its current step.

#include <csignal>

namespace nestsmith::cli {

/// Not 0 after a Ctrl-C during the life of a `CatchInterrupt`.
inline volatile std::sig_atomic_t interrupt_requested = 0;

/// While this object exists, Ctrl-C only sets `interrupt_requested`. A second Ctrl-C ends the process.
class CatchInterrupt {
public:
  CatchInterrupt() {
    interrupt_requested = 0;
    struct sigaction action = {};
    action.sa_handler = [](int) { interrupt_requested = 1; };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, &before_);
  }
  ~CatchInterrupt() { sigaction(SIGINT, &before_, nullptr); }
  CatchInterrupt(const CatchInterrupt &) = delete;
  CatchInterrupt &operator=(const CatchInterrupt &) = delete;

private:
  struct sigaction before_ = {};
};

} // namespace nestsmith::cli
