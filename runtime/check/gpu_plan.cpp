#include "runtime/check/gpu_plan.h"

#include "runtime/check/guarded_buffer.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace nestsmith::cuda {
namespace {

/// Two poisons, NaN as f32 and in each half as f16 and bf16. An integer kernel may compute the first by chance;
/// one that leaves an element alone leaves the second there too, and one that writes it writes the same value
/// as before. So they differ in every byte, because an element may be one.
constexpr std::uint32_t poisons[] = {0xFFBAFFDBu, 0x7FFE7FEDu};

constexpr bool differ_in_every_byte(std::uint32_t a, std::uint32_t b) {
  for (int byte = 0; byte < 4; ++byte)
    if ((a >> 8 * byte & 0xFF) == (b >> 8 * byte & 0xFF))
      return false;
  return true;
}
static_assert(differ_in_every_byte(poisons[0], poisons[1]));

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

/// The maps of the kernel, from its copy with constant sizes.
static std::vector<std::pair<std::size_t, ArrayMap>>
maps_of(const kernel::Plan &plan, const kernel::Kernel &kernel, const kernel::Kernel &constant) {
  std::vector<std::pair<std::size_t, ArrayMap>> maps;
  for (std::size_t n = 0; n < kernel.maps.size(); ++n) {
    const kernel::TensorMap &map = constant.maps[n];
    const kernel::TensorMap::Operands operands = map.operands();
    auto values = [](const std::vector<Expr> &list) {
      std::vector<std::uint64_t> numbers;
      for (const Expr &e : list)
        numbers.push_back(static_cast<std::uint64_t>(as_int(e).value()));
      return numbers;
    };
    ArrayMap made{map.source->name,
                  byte_size(map.source->dtype),
                  values(operands.extents),
                  values(operands.strides),
                  {operands.box.begin(), operands.box.end()},
                  static_cast<int>(map.swizzle)};
    const auto at = std::ranges::find(kernel.params, kernel.maps[n].source) - kernel.params.begin();
    maps.emplace_back(plan.arguments(kernel).at(static_cast<std::size_t>(at)), std::move(made));
  }
  return maps;
}

GpuPlan::GpuPlan(const Device &device, kernel::Plan plan, const std::vector<Compiled> &compiled)
    : device_(device), plan_(std::move(plan)) {
  internal_check(compiled.size() == plan_.kernels.size(), "each kernel of a plan is compiled");
  const kernel::Plan constant = specialise(plan_);
  for (const Buffer &param : constant.params)
    params_.emplace_back(param);
  for (std::size_t n = 0; n < compiled.size(); ++n) {
    const kernel::Kernel &kernel = plan_.kernels[n], &launched = constant.kernels[n];
    Module module(device, compiled[n].cubin, compiled[n].arch);
    FunctionHandle function = module.function(compiled[n].kernel_name);
    std::int64_t shared_bytes = kernel.dynamic_shared_bytes();
    if (shared_bytes != 0)
      allow_shared(device, function, compiled[n].kernel_name, shared_bytes);
    stages_.push_back({compiled[n].kernel_name, std::move(module), function, launched.grid(), launched.block(),
                       shared_bytes, kernel.launches_early, plan_.arguments(kernel),
                       plan_.scalar_arguments(kernel), maps_of(plan_, kernel, launched)});
  }
}

void GpuPlan::check_arguments(std::size_t arrays, std::size_t scalars) const {
  internal_check(arrays == plan_.params.size() && scalars == plan_.scalars.size(),
                 "a plan is launched with another number of arguments than it has parameters");
}

std::vector<Array> GpuPlan::workspaces() const {
  std::vector<Array> arrays;
  for (const kernel::Workspace &workspace : specialise(plan_).workspaces)
    arrays.emplace_back(workspace.buffer->dtype, std::vector{kernel::element_count(workspace.buffer)});
  return arrays;
}

void GpuPlan::enqueue(std::span<const Address> addresses, std::span<const Scalar> scalars) const {
  for (const Stage &stage : stages_) {
    std::vector<void *> arguments;
    for (std::size_t n : stage.arguments)
      arguments.push_back(const_cast<Address *>(&addresses[n]));
    for (const std::int64_t &size : plan_.values)
      arguments.push_back(const_cast<std::int64_t *>(&size));
    for (std::size_t n : stage.scalars) // the low bytes come first, so this serves every width
      arguments.push_back(const_cast<std::uint64_t *>(&scalars[n].bits));
    std::vector<TensorMap> maps;
    for (const auto &[array, map] : stage.maps)
      maps.push_back(encode(device_, map, addresses[array]));
    for (TensorMap &map : maps)
      arguments.push_back(&map);
    launch(device_, stage.function, stage.name, stage.grid, stage.block, std::move(arguments),
           stage.shared_bytes, stage.early);
  }
}

std::vector<std::string> GpuPlan::run(std::span<Array> arrays, std::span<const Scalar> scalars) const {
  check_arguments(arrays.size(), scalars.size());
  std::vector<Array> between = workspaces();
  std::vector<GuardedBuffer> buffers;
  std::vector<Address> addresses;
  auto add = [&](const Buffer &buffer, Role role, const Array &array) {
    buffers.emplace_back(device_, buffer->name, role, array);
    addresses.push_back(buffers.back().address());
  };
  for (std::size_t i = 0; i < arrays.size(); ++i)
    add(plan_.params[i], plan_.params[i]->role, arrays[i]);
  for (std::size_t i = 0; i < between.size(); ++i)
    add(plan_.workspaces[i].buffer, plan_.workspaces[i].counters ? Role::inout : Role::output, between[i]);
  auto content = [&](std::size_t i) -> const Array & {
    return i < arrays.size() ? arrays[i] : between[i - arrays.size()];
  };
  std::vector<std::string> problems;
  auto run_once = [&](std::uint32_t poison) {
    for (std::size_t i = 0; i < buffers.size(); ++i)
      buffers[i].reset(content(i), poison);
    enqueue(addresses, scalars);
    device_.synchronize(fmt::format("kernel {} failed", plan_.name));
    problems.clear();
    std::vector<Array> results;
    for (std::size_t i = 0; i < buffers.size(); ++i)
      results.push_back(buffers[i].read(content(i), problems));
    for (std::size_t i = 0; i < between.size(); ++i) // the array in `between` is zero
      if (plan_.workspaces[i].counters && !std::equal(between[i].data(), between[i].data() + between[i].bytes(),
                                                      results[arrays.size() + i].data()))
        problems.push_back(fmt::format("buffer {}: a counter of arrivals is not zero after the launch",
                                       plan_.workspaces[i].buffer->name));
    return results;
  };
  auto unwritten = [&](const std::vector<Array> &results, std::uint32_t poison) {
    std::vector<std::vector<std::int64_t>> found(results.size());
    for (std::size_t i = 0; i < arrays.size(); ++i) // of a workspace not all need be written
      if (plan_.params[i]->role == Role::output) {
        found[i] = poisoned_elements(results[i], poison);
        std::erase_if(found[i], [&](std::int64_t place) { return !params_[i].is_element(place); });
      }
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
                                       plan_.params[i]->name, never.size(), arrays[i].size(),
                                       plan_.params[i]->name, element(arrays[i], never.front())));
    }
  }
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (plan_.params[i]->role == Role::input)
      continue;
    for (std::int64_t place : poisoned_elements(results[i], poisons[0]))
      if (!params_[i].is_element(place)) // what lies between the rows is the caller's
        results[i].set(place, arrays[i].at(place));
    arrays[i] = std::move(results[i]);
  }
  return problems;
}

std::vector<Memory> GpuPlan::allocate_workspaces() const {
  std::vector<Memory> memory;
  std::vector<Array> arrays = workspaces();
  for (std::size_t n = 0; n < arrays.size(); ++n) {
    memory.emplace_back(device_, arrays[n].bytes());
    if (plan_.workspaces[n].counters) // the array is zero
      memory.back().write(0, arrays[n].data(), arrays[n].bytes());
  }
  return memory;
}

Spread GpuPlan::time(std::span<const Array> arrays, std::span<const Scalar> scalars,
                     const MeasureOptions &options) const {
  check_arguments(arrays.size(), scalars.size());
  std::vector<Memory> memory;
  std::vector<Address> addresses;
  for (const Array &array : arrays) {
    memory.emplace_back(device_, array.bytes());
    memory.back().write(0, array.data(), array.bytes());
    addresses.push_back(memory.back().address());
  }
  std::vector<Memory> between = allocate_workspaces();
  for (const Memory &workspace : between)
    addresses.push_back(workspace.address());
  Competitor competitor{plan_.name, [&](std::size_t) { enqueue(addresses, scalars); }};
  return spread_of(measure(device_, {competitor}, options).front().ms);
}

} // namespace nestsmith::cuda
