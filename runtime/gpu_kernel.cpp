#include "runtime/gpu_kernel.h"

#include "runtime/guarded_buffer.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace nestsmith::cuda {
namespace {

/// Two poisons, NaN as f32. An integer kernel may compute the first by chance; one that leaves an element
/// alone leaves the second there too, and one that writes it writes the same value as before.
constexpr std::uint32_t poisons[] = {0xFFBADBADu, 0xFFFEEDEDu};

std::string element(const Array &array, std::int64_t index) {
  std::string text;
  for (std::size_t d = array.shape().size(); d-- > 0;) {
    std::int64_t extent = array.shape()[d];
    text = fmt::format("{}{}{}", index % extent, text.empty() ? "" : ", ", text);
    index /= extent;
  }
  return fmt::format("[{}]", text);
}

} // namespace

GpuKernel::GpuKernel(const Device &device, const kernel::Kernel &kernel, const Compiled &compiled)
    : device_(device), name_(compiled.kernel_name), scalar_count_(kernel.scalars.size()), grid_(kernel.grid()),
      block_(kernel.block()), module_(device, compiled.cubin, compiled.arch),
      function_(module_.function(compiled.kernel_name)) {
  for (const Buffer &param : kernel.params)
    params_.push_back({param->name, param->role});
}

void GpuKernel::check_arguments(std::size_t arrays, std::size_t scalars) const {
  internal_check(arrays == params_.size() && scalars == scalar_count_,
                 "a kernel is launched with another number of arguments than it has parameters");
}

void GpuKernel::enqueue(std::span<const Address> addresses, std::span<const Scalar> scalars) const {
  std::vector<void *> arguments;
  for (const Address &address : addresses)
    arguments.push_back(const_cast<Address *>(&address));
  for (const Scalar &scalar : scalars) // the low bytes come first, so this serves every width
    arguments.push_back(const_cast<std::uint64_t *>(&scalar.bits));
  launch(device_, function_, name_, grid_, block_, std::move(arguments));
}

std::vector<std::string> GpuKernel::run(std::span<Array> arrays, std::span<const Scalar> scalars) const {
  check_arguments(arrays.size(), scalars.size());
  std::vector<GuardedBuffer> buffers;
  std::vector<Address> addresses;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    buffers.emplace_back(device_, params_[i].name, params_[i].role, arrays[i]);
    addresses.push_back(buffers.back().address());
  }
  std::vector<std::string> problems;
  auto run_once = [&](std::uint32_t poison) {
    for (std::size_t i = 0; i < arrays.size(); ++i)
      buffers[i].reset(arrays[i], poison);
    enqueue(addresses, scalars);
    device_.synchronize(fmt::format("kernel {} failed", name_));
    problems.clear();
    std::vector<Array> results;
    for (std::size_t i = 0; i < arrays.size(); ++i)
      results.push_back(buffers[i].read(arrays[i], problems));
    return results;
  };
  auto unwritten = [&](const std::vector<Array> &results, std::uint32_t poison) {
    std::vector<std::vector<std::int64_t>> found(results.size());
    for (std::size_t i = 0; i < results.size(); ++i)
      if (params_[i].role == Role::output)
        found[i] = poisoned_elements(results[i], poison);
    return found;
  };

  std::vector<Array> results = run_once(poisons[0]);
  auto suspects = unwritten(results, poisons[0]);
  if (std::any_of(suspects.begin(), suspects.end(), [](const auto &list) { return !list.empty(); })) {
    auto again = unwritten(run_once(poisons[1]), poisons[1]);
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      std::vector<std::int64_t> never;
      std::set_intersection(suspects[i].begin(), suspects[i].end(), again[i].begin(), again[i].end(),
                            std::back_inserter(never));
      if (!never.empty())
        problems.push_back(fmt::format("buffer {}: {} of {} elements never written, the first {}{}",
                                       params_[i].name, never.size(), arrays[i].size(), params_[i].name,
                                       element(arrays[i], never.front())));
    }
  }
  for (std::size_t i = 0; i < arrays.size(); ++i)
    if (params_[i].role != Role::input)
      arrays[i] = std::move(results[i]);
  return problems;
}

Timing GpuKernel::time(std::span<const Array> arrays, std::span<const Scalar> scalars,
                       const TimingOptions &options) const {
  check_arguments(arrays.size(), scalars.size());
  std::vector<Memory> memory;
  std::vector<Address> addresses;
  for (const Array &array : arrays) {
    memory.emplace_back(device_, array.bytes());
    memory.back().write(0, array.data(), array.bytes());
    addresses.push_back(memory.back().address());
  }
  return time_runs(
      device_, [&] { enqueue(addresses, scalars); }, options);
}

} // namespace nestsmith::cuda
