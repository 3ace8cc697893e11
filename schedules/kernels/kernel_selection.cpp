#include "schedules/kernels/kernel_selection.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace nestsmith::records {

namespace {

/// SplitMix64, by Sebastiano Vigna: the next number of a state.
std::uint64_t next(std::uint64_t &state) {
  std::uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

constexpr double never = std::numeric_limits<double>::infinity();

/// The predicted time of one kernel at a size; `never` if it does not serve it.
double ms_at(const choice::Kernel &kernel, const choice::Size &size, const choice::Machine &machine) {
  if (!choice::takes_rows(&kernel, &size, &machine))
    return never;
  std::array<choice::Candidate, choice::most_candidates_of_kernel> list;
  return choice::candidates(&kernel, 1, nullptr, &size, &machine, list.data()) == 0 ? never : list.front().ms;
}

} // namespace

Extents drawn_size(const std::function<std::uint64_t()> &next, double most_operations) {
  constexpr std::array<std::int64_t, 4> units = {1, 4, 8, 64};
  while (true) {
    const std::int64_t unit = units.at(next() % units.size());
    Extents extents = {};
    double operations = 2;
    for (std::int64_t &extent : extents) {
      const double share = static_cast<double>(next() >> 11) * 0x1p-53;
      const auto drawn = static_cast<std::int64_t>(48 * std::pow(8192.0 / 48, share));
      extent = std::max<std::int64_t>(1, drawn / unit) * unit;
      operations *= static_cast<double>(extent);
    }
    if (operations >= 2e8 && operations <= most_operations)
      return extents;
  }
}

std::vector<Extents> sample_of_sizes() {
  constexpr std::size_t count = 400;
  std::uint64_t state = 32;
  std::vector<Extents> sizes;
  while (sizes.size() < count)
    sizes.push_back(drawn_size([&] { return next(state); }, 2e11));
  return sizes;
}

choice::Kernel kernel_for_choice(const KernelModel &model, const AnySizeKernel &kernel) {
  choice::Kernel result = model.kernels()[kernel.point];
  for (Rows rows : all_rows) {
    choice::Form &form = result.form[static_cast<std::size_t>(rows)];
    for (int n = 0; n < 2 * (form.counts + 1); ++n) // all but that of the memory
      form.coefficient[n] *= model.any_size(kernel.point, rows);
  }
  result.width = kernel.width;
  if (kernel.width >= model.machine(1).elements)
    result.form[choice::rows_anywhere] = {};
  else if (kernel.width == 1)
    result.form[choice::rows_at_vectors] = {};
  if (kernel.width < model.machine(1).elements)
    result.form[choice::rows_at_lines] = {};
  result.parts = kernel.parts;
  return result;
}

KernelSelection select_kernels(const KernelModel &model, std::int64_t sms, std::size_t most,
                               const std::vector<std::int64_t> &numbers_of_parts,
                               const std::function<bool(const AnySizeKernel &)> &legal) {
  struct Option {
    AnySizeKernel kernel;
    std::vector<double> ms; ///< at each size of the sample
  };
  const choice::Machine machine = model.machine(sms);
  const std::vector<Extents> sizes = sample_of_sizes();
  std::vector<Option> options;
  for (std::size_t point = 0; point < model.kernels().size(); ++point)
    for (int width : {machine.elements, machine.elements / 2, 1})
      for (std::int64_t parts : numbers_of_parts) {
        const AnySizeKernel kernel{point, width, parts, false};
        const choice::Kernel of_choice = kernel_for_choice(model, kernel);
        const choice::Form &form = of_choice.form[width > 1 ? choice::rows_at_vectors : choice::rows_anywhere];
        const bool halves = width > 1 && width < machine.elements; // between the times of both forms
        // The sum of parts by the last block is the first of the ways.
        if (!form.known || (halves && !of_choice.form[choice::rows_anywhere].known) ||
            (parts > 1 && (!form.way[0].known || form.way[0].of_all_tiles)))
          continue;
        Option option{kernel, {}};
        for (const Extents &extents : sizes)
          option.ms.push_back(ms_at(of_choice, model.size(extents), machine));
        options.push_back(std::move(option));
      }
  std::vector<double> best;
  for (const Extents &extents : sizes)
    best.push_back(model.rank(extents, sms).front().ms);

  KernelSelection selection;
  std::vector<double> now(sizes.size(), never);
  // The sum of the logarithms of the times, relative to the best. A size without a kernel counts as a slow one.
  auto sum_with = [&](const Option &option) {
    double sum = 0;
    for (std::size_t n = 0; n < sizes.size(); ++n)
      sum += std::log(std::min({now[n], option.ms[n], 1000 * best[n]}) / best[n]);
    return sum;
  };
  for (std::size_t place = 0; place < most; ++place) {
    const bool wide = place < 2;
    const int width = place == 1 ? machine.elements : 1;
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t n = 0; n < options.size(); ++n)
      if (const AnySizeKernel &kernel = options[n].kernel;
          !wide || (kernel.width == width && kernel.parts == 1))
        order.emplace_back(sum_with(options[n]), n);
    std::ranges::sort(order);
    auto taken = std::ranges::find_if(order, [&](const auto &entry) {
      AnySizeKernel kernel = options[entry.second].kernel;
      kernel.wide = wide;
      return legal(kernel);
    });
    if (taken == order.end()) {
      if (wide)
        return {};
      break;
    }
    Option &option = options[taken->second];
    selection.kernels.push_back(option.kernel);
    selection.kernels.back().wide = wide;
    if (wide) // a narrow kernel of the same point is faster
      continue;
    for (std::size_t n = 0; n < sizes.size(); ++n)
      now[n] = std::min(now[n], option.ms[n]);
    options.erase(options.begin() + static_cast<std::ptrdiff_t>(taken->second));
  }
  double sum = 0;
  for (std::size_t n = 0; n < sizes.size(); ++n) {
    sum += std::log(now[n] / best[n]);
    selection.worst = std::max(selection.worst, now[n] / best[n]);
  }
  selection.mean = std::exp(sum / static_cast<double>(sizes.size()));
  return selection;
}

} // namespace nestsmith::records
