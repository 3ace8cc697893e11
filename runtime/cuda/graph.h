#pragma once
/// A CUDA graph of the work that a function enqueues.

#include "runtime/cuda/driver.h"

#include <functional>

namespace nestsmith::cuda {

class Graph {
public:
  /// Captures the work that `enqueue` adds to the stream of the device; it is not executed. Everything that
  /// `enqueue` launches must have run once before, because the first launch of a kernel can load its code. If
  /// `enqueue` throws, the capture is ended.
  Graph(const Device &device, const std::function<void()> &enqueue);
  ~Graph();
  Graph(const Graph &) = delete;
  Graph &operator=(const Graph &) = delete;

  void launch() const;

private:
  const Device &device_;
  GraphExecHandle handle_ = nullptr;
};

} // namespace nestsmith::cuda
