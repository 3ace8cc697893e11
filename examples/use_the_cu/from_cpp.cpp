// Calls the functions from C++. A violated requirement becomes an exception.

#include "product.h"
#include "relu.h"

#include <iostream>
#include <stdexcept>
#include <string>

/// Calls a launcher. `requirement` takes the same arguments except for the stream.
template <class... Arguments> void relu(cudaStream_t stream, Arguments... arguments) {
  if (const char *requirement = relu_requirement(arguments...))
    throw std::invalid_argument(std::string("relu: ") + requirement);
  if (cudaError_t error = relu_launch(arguments..., stream))
    throw std::runtime_error(std::string("relu: ") + cudaGetErrorString(error));
}

int main() {
  const float *x = nullptr;
  float *y = nullptr;
  void *workspace = nullptr;
  relu(nullptr, x, y, 0LL, workspace, std::size_t{0}); // nothing to compute
  std::cout << "relu of 1000 elements takes " << relu_workspace_bytes(1000) << " bytes of workspace\n";
  try {
    relu(nullptr, x, y, -1LL, workspace, std::size_t{0});
  } catch (const std::invalid_argument &refused) {
    std::cout << refused.what() << "\n";
    return 0;
  }
  return 1;
}
