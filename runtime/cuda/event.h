#pragma once
/// An event on the stream of a device, with RAII.

#include "runtime/cuda/driver.h"

namespace nestsmith::cuda {

class Event {
public:
  explicit Event(const Device &device) : device_(device) {
    device.check(device.functions().event_create(&handle_, 0), "cannot create an event");
  }
  ~Event() { device_.functions().event_destroy(handle_); }
  Event(const Event &) = delete;
  Event &operator=(const Event &) = delete;

  void record() const {
    device_.check(device_.functions().event_record(handle_, device_.stream()), "cannot record an event");
  }
  /// Waits for this event.
  double milliseconds_since(const Event &start) const {
    device_.check(device_.functions().event_synchronize(handle_), "a timed run failed");
    float ms = 0;
    device_.check(device_.functions().event_elapsed_time(&ms, start.handle_, handle_), "cannot read an event");
    return ms;
  }

private:
  const Device &device_;
  EventHandle handle_ = nullptr;
};

} // namespace nestsmith::cuda
