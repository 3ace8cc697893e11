#include "runtime/check/gpu_product.h"

#include <fmt/format.h>

namespace nestsmith {

namespace {

/// A tile of 16 x 16 results a block; each is summed in the order of k by one thread, in the type of its own.
constexpr const char *kernels = R"(
template <class T> __device__ T as(double value);
template <> __device__ double as<double>(double value) { return value; }
template <> __device__ unsigned as<unsigned>(double value) { return (unsigned)(long long)value; }

template <class T>
__device__ void product(const double *x, const double *y, double *z, long long m, long long n, long long k,
                        long long x_row, long long x_column, long long y_row, long long y_column) {
  __shared__ T x_tile[16][17], y_tile[16][17];
  const long long row = blockIdx.y * 16LL + threadIdx.y, column = blockIdx.x * 16LL + threadIdx.x;
  T sum = 0;
  for (long long at = 0; at < k; at += 16) {
    const long long a = at + threadIdx.x, b = at + threadIdx.y;
    x_tile[threadIdx.y][threadIdx.x] = row < m && a < k ? as<T>(x[row * x_row + a * x_column]) : T(0);
    y_tile[threadIdx.y][threadIdx.x] = b < k && column < n ? as<T>(y[b * y_row + column * y_column]) : T(0);
    __syncthreads();
    for (int step = 0; step < 16; ++step)
      sum += x_tile[threadIdx.y][step] * y_tile[step][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n)
    z[row * n + column] = (double)sum;
}

extern "C" __global__ void reference_product(const double *x, const double *y, double *z, long long m, long long n,
                                             long long k, long long x_row, long long x_column, long long y_row,
                                             long long y_column) {
  product<double>(x, y, z, m, n, k, x_row, x_column, y_row, y_column);
}
extern "C" __global__ void reference_ring_product(const double *x, const double *y, double *z, long long m,
                                                  long long n, long long k, long long x_row, long long x_column,
                                                  long long y_row, long long y_column) {
  product<unsigned>(x, y, z, m, n, k, x_row, x_column, y_row, y_column);
}
)";

constexpr std::int64_t tile = 16, most_rows_of_blocks = 65535;

cuda::Memory on_device(const cuda::Device &device, const std::vector<double> &values) {
  cuda::Memory memory(device, values.size() * sizeof(double));
  memory.write(0, values.data(), memory.bytes());
  return memory;
}

} // namespace

GpuProduct::GpuProduct(const cuda::Device &device, Compile compile)
    : device_(device), compile_(std::move(compile)) {}

bool GpuProduct::serves(const Product &p) const {
  constexpr double enough = 4096.0 * 4096.0 * 4096.0;
  auto [m, n, k] = std::array{static_cast<double>(p.m), static_cast<double>(p.n), static_cast<double>(p.k)};
  double bytes = sizeof(double) * (m * k + k * n + m * n);
  return m * n * k >= enough && p.m <= tile * most_rows_of_blocks &&
         bytes < 0.5 * static_cast<double>(device_.info().memory_bytes);
}

std::vector<double> GpuProduct::multiply(const Product &p, const std::vector<double> &x,
                                         const std::vector<double> &y) {
  if (!module_) {
    cuda::Compiled compiled = compile_(kernels, "reference_product", device_.info().arch());
    module_ = std::make_unique<cuda::Module>(device_, compiled.cubin, compiled.arch);
  }
  const char *name = p.ring ? "reference_ring_product" : "reference_product";
  cuda::Memory left = on_device(device_, x), right = on_device(device_, y);
  std::vector<double> result(static_cast<std::size_t>(p.m * p.n));
  cuda::Memory out(device_, result.size() * sizeof(double));
  cuda::Address addresses[] = {left.address(), right.address(), out.address()};
  std::int64_t sizes[] = {p.m,
                          p.n,
                          p.k,
                          p.x_transposed ? 1 : p.k,
                          p.x_transposed ? p.m : 1,
                          p.y_transposed ? 1 : p.n,
                          p.y_transposed ? p.k : 1};
  std::vector<void *> arguments;
  for (cuda::Address &address : addresses)
    arguments.push_back(&address);
  for (std::int64_t &size : sizes)
    arguments.push_back(&size);
  cuda::launch(device_, module_->function(name), name, {(p.n + tile - 1) / tile, (p.m + tile - 1) / tile, 1},
               {tile, tile, 1}, std::move(arguments));
  device_.synchronize(fmt::format("kernel {} failed", name));
  out.read(0, result.data(), out.bytes());
  return result;
}

} // namespace nestsmith
