#include "runtime/cuda/graph.h"

namespace nestsmith::cuda {

Graph::Graph(const Device &device, const std::function<void()> &enqueue) : device_(device) {
  const DriverFunctions &functions = device.functions();
  device.check(functions.stream_begin_capture(device.stream(), static_cast<int>(CaptureMode::relaxed)),
               "cannot begin the capture of a CUDA graph");
  GraphHandle graph = nullptr;
  try {
    enqueue();
  } catch (...) {
    if (functions.stream_end_capture(device.stream(), &graph) == 0 && graph)
      functions.graph_destroy(graph);
    throw;
  }
  device.check(functions.stream_end_capture(device.stream(), &graph), "cannot capture a CUDA graph");
  Result result = functions.graph_instantiate(&handle_, graph, 0);
  functions.graph_destroy(graph);
  device.check(result, "cannot instantiate a CUDA graph");
}

Graph::~Graph() { device_.functions().graph_exec_destroy(handle_); }

void Graph::launch() const {
  device_.check(device_.functions().graph_launch(handle_, device_.stream()), "cannot launch a CUDA graph");
}

} // namespace nestsmith::cuda
