#include "schedules/kernels/kernel_selection.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>

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

/// The time of a wide kernel divided by that of the narrow one of the same point: an estimate. Its addresses
/// have 64 bits, which takes instructions. With it, wide kernels took 0.98 of the predicted time at six shapes
/// (one H200), and narrow ones 0.94.
constexpr double of_wide = 1.05;

/// The predicted time of one kernel at a size; `never` if it does not serve it.
double ms_at(const choice::Kernel &kernel, const choice::Size &size, const choice::Machine &machine) {
  if (!choice::takes_rows(&kernel, &size, &machine))
    return never;
  std::array<choice::Candidate, choice::most_candidates_of_kernel> list;
  const int found = choice::candidates(&kernel, 1, nullptr, &size, &machine, list.data());
  double least = never;
  for (int n = 0; n < found; ++n)
    least = std::min(least, list.at(static_cast<std::size_t>(n)).ms);
  return least;
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
  constexpr std::size_t count = 1600;
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
    const double slower = model.any_size(kernel.point, rows, kernel.in_parts) * (kernel.wide ? of_wide : 1);
    for (int n = 0; n < 2 * (form.counts + 1); ++n) // all but that of the memory
      form.coefficient[n] *= slower;
    for (choice::Parts &sum : form.way) {
      sum.constant *= slower;
      sum.slope *= slower;
    }
  }
  result.width = kernel.width;
  if (kernel.width >= model.machine(1).elements)
    result.form[choice::rows_anywhere] = {};
  else if (kernel.width == 1)
    result.form[choice::rows_at_vectors] = {};
  // The kernel for one size with rows at lines was measured with whole tiles, so that it has no masks. A kernel
  // for all sizes has them, as the one for one size with rows at vectors has. Bulk copies need none.
  if (kernel.width < model.machine(1).elements ||
      (result.form[choice::rows_at_vectors].known && result.in_bulk == 0))
    result.form[choice::rows_at_lines] = {};
  result.parts = kernel.in_parts ? static_cast<long long>(choice::parts_at_launch) : 1;
  return result;
}

namespace {

/// Kernels that are selected over the sample, by their predicted times. Behind the sizes of the sample stand
/// others beyond the range of narrow kernels. Their grids are as full as those of the large sizes of the
/// sample, so they have the same losses, but only wide kernels serve them: those with vectors, if all rows are
/// whole vectors, and otherwise those without. So there are both.
class Selector {
public:
  Selector(const KernelModel &model, std::int64_t sms, const std::function<bool(const AnySizeKernel &)> &legal)
      : ask_(legal) {
    const choice::Machine machine = model.machine(sms);
    const int whole = machine.elements; // of a vector
    std::vector<std::size_t> large;
    const std::vector<Extents> sizes = sample_of_sizes();
    std::vector<double> best;
    for (const Extents &extents : sizes) {
      best.push_back(std::log(model.rank(extents, sms).front().ms));
      const auto [m, n, k] = extents;
      if (static_cast<double>(m * n) * static_cast<double>(k) > least_products_of_large)
        large.push_back(best.size() - 1);
    }
    sample_ = sizes.size();
    sizes_ = sample_ + large.size();
    for (std::size_t point = 0; point < model.kernels().size(); ++point)
      for (int width : {whole, whole / 2, 1})
        for (bool in_parts : {false, true})
          for (bool wide : {false, true}) {
            const AnySizeKernel kernel{point, width, in_parts, wide};
            const choice::Kernel of_choice = kernel_for_choice(model, kernel);
            const choice::Form &form =
                of_choice.form[width > 1 ? choice::rows_at_vectors : choice::rows_anywhere];
            const bool halves = width > 1 && width < whole; // between the times of both forms
            // The sum of parts by the last block is the first of the ways. Parts need more workspace the larger
            // the result is, so no wide kernel has them.
            if (!form.known || (halves && !of_choice.form[choice::rows_anywhere].known) ||
                (in_parts && (!form.way[0].known || form.way[0].of_all_tiles)) ||
                (wide && (halves || in_parts)))
              continue;
            Option option{kernel, {}, {}};
            for (std::size_t n = 0; n < sizes.size(); ++n)
              option.loss.push_back(
                  std::min(std::log(ms_at(of_choice, model.size(sizes[n]), machine)) - best[n], of_no_kernel));
            for (std::size_t n : large) {
              const choice::Size size = model.size(sizes[n]);
              const bool vectors = size.along_n >= whole && size.along_k >= whole;
              option.loss.push_back(wide && (width == whole) == vectors ? option.loss[n] : of_no_kernel);
            }
            for (std::size_t n = 0; n < option.loss.size(); ++n)
              option.cost.push_back(cost_at(n, option.loss[n]));
            options_.push_back(std::move(option));
          }
  }

  KernelSelection select(std::size_t most) {
    KernelSelection selection;
    std::vector<const Option *> taken;
    while (taken.size() < most) {
      const Option *option = next(taken);
      if (!option)
        break;
      taken.push_back(option);
    }
    exchange(taken);
    std::vector<double> loss = loss_of(taken);
    if (std::ranges::max(loss) >= of_no_kernel) // wide kernels are missing
      return {};
    loss.resize(sample_);
    selection.mean =
        std::exp(std::accumulate(loss.begin(), loss.end(), 0.0) / static_cast<double>(loss.size()));
    selection.worst = std::exp(std::ranges::max(loss));
    for (const Option *option : taken)
      selection.kernels.push_back(option->kernel);
    // Wide kernels come first, and of these the one without vectors, which serves all sizes.
    std::ranges::stable_sort(selection.kernels, {}, [](const AnySizeKernel &kernel) {
      return std::tuple(!kernel.wide, kernel.wide ? kernel.width : 0);
    });
    return selection;
  }

private:
  static constexpr double of_no_kernel = 7; ///< a size without a kernel counts as a slow one
  static constexpr double least_products_of_large = 1e10;
  static constexpr double of_larger_sizes = 1.0 / 32; ///< they are rare

  struct Option {
    AnySizeKernel kernel;
    std::vector<double> loss; ///< at each size: the logarithm of the ratio to the best time
    std::vector<double> cost; ///< at each size: `cost_at` of it, which grows with the loss
  };

  /// Asks once for each kernel.
  bool is_legal(const AnySizeKernel &kernel) {
    auto [known, added] = legal_.try_emplace({kernel.point, kernel.width, kernel.in_parts, kernel.wide}, false);
    if (added)
      known->second = ask_(kernel);
    return known->second;
  }

  /// A large loss at few sizes counts more than a small one at many.
  double cost_at(std::size_t size, double loss) const {
    const double weight = size < sample_ ? 1 : of_larger_sizes;
    return weight * (loss + 4 * loss * loss);
  }
  static double sum_of(const std::vector<double> &cost) {
    return std::accumulate(cost.begin(), cost.end(), 0.0);
  }

  static bool contains(const std::vector<const Option *> &taken, const Option &option) {
    return std::ranges::find(taken, &option) != taken.end();
  }

  /// At each size, the least cost of these options.
  std::vector<double> cost_of(const std::vector<const Option *> &taken) const {
    std::vector<double> cost(sizes_);
    for (std::size_t n = 0; n < cost.size(); ++n)
      cost[n] = cost_at(n, of_no_kernel);
    for (const Option *option : taken)
      cost = least(cost, option->cost);
    return cost;
  }

  static std::vector<double> least(std::vector<double> a, const std::vector<double> &b) {
    for (std::size_t n = 0; n < a.size(); ++n)
      a[n] = std::min(a[n], b[n]);
    return a;
  }

  /// The sum of the least costs, or a part of it that is not below `limit`. Four sums do not wait for each
  /// other.
  static double sum_below(const std::vector<double> &a, const std::vector<double> &b, double limit) {
    constexpr std::size_t sums = 4, together = 32 * sums;
    double sum = 0;
    std::size_t n = 0;
    for (const std::size_t whole = a.size() / together * together; n < whole && sum < limit;) {
      std::array<double, sums> part = {};
      for (const std::size_t end = n + together; n < end; n += sums)
        for (std::size_t of = 0; of < sums; ++of)
          part[of] += std::min(a[n + of], b[n + of]);
      sum += (part[0] + part[1]) + (part[2] + part[3]);
    }
    for (; n < a.size() && sum < limit; ++n)
      sum += std::min(a[n], b[n]);
    return sum;
  }

  std::vector<double> loss_of(const std::vector<const Option *> &taken) const {
    std::vector<double> loss(sizes_, of_no_kernel);
    for (const Option *option : taken)
      for (std::size_t n = 0; n < loss.size(); ++n)
        loss[n] = std::min(loss[n], option->loss[n]);
    return loss;
  }

  /// The option with which the others have the least cost; null if no more may be taken.
  const Option *next(const std::vector<const Option *> &others) {
    const std::vector<double> now = cost_of(others);
    std::vector<std::pair<double, const Option *>> order;
    for (const Option &option : options_)
      if (!contains(others, option))
        order.emplace_back(sum_below(now, option.cost, never), &option);
    std::ranges::stable_sort(order, {}, &std::pair<double, const Option *>::first);
    const auto found = std::ranges::find_if(order, [&](const auto &x) { return is_legal(x.second->kernel); });
    return found == order.end() ? nullptr : found->second;
  }

  /// The two options with which the others cost least, if that is less than `limit`, and what they cost.
  std::optional<std::pair<double, std::array<const Option *, 2>>>
  next_two(const std::vector<const Option *> &others, double limit) {
    std::optional<std::pair<double, std::array<const Option *, 2>>> best;
    const std::vector<double> now = cost_of(others);
    for (auto first = options_.begin(); first != options_.end(); ++first) {
      const std::vector<double> with = least(now, first->cost);
      for (auto second = first + 1; second != options_.end(); ++second)
        if (const double sum = sum_below(with, second->cost, limit);
            sum < limit && !contains(others, *first) && !contains(others, *second) && is_legal(first->kernel) &&
            is_legal(second->kernel)) {
          limit = sum;
          best = {sum, {&*first, &*second}};
        }
    }
    return best;
  }

  /// Replaces one kernel, or two, by better ones for the others, until none gains.
  void exchange(std::vector<const Option *> &taken) {
    constexpr double least_gain = 1e-6; // so that it ends
    double now = sum_of(cost_of(taken));
    auto without = [&](std::size_t a, std::size_t b) {
      std::vector<const Option *> others = taken;
      std::erase_if(others, [&](const Option *option) { return option == taken[a] || option == taken[b]; });
      return others;
    };
    auto any_one = [&] {
      for (std::size_t a = 0; a < taken.size(); ++a) {
        std::vector<const Option *> others = without(a, a);
        const Option *option = next(others);
        if (const double sum = option ? sum_below(cost_of(others), option->cost, never) : never;
            sum + least_gain < now) {
          now = sum;
          others.push_back(option);
          taken = others;
          return true;
        }
      }
      return false;
    };
    auto any_two = [&] {
      for (std::size_t a = 0; a < taken.size(); ++a)
        for (std::size_t b = a + 1; b < taken.size(); ++b) {
          std::vector<const Option *> others = without(a, b);
          if (const auto found = next_two(others, now - least_gain)) {
            now = found->first;
            others.insert(others.end(), found->second.begin(), found->second.end());
            taken = others;
            return true;
          }
        }
      return false;
    };
    while (any_one() || any_two()) {
    }
  }

  const std::function<bool(const AnySizeKernel &)> &ask_;
  std::map<std::tuple<std::size_t, int, bool, bool>, bool> legal_;
  std::size_t sample_ = 0, sizes_ = 0; ///< the sizes of the sample, and all, with those beyond narrow kernels
  std::vector<Option> options_;
};

} // namespace

KernelSelection select_kernels(const KernelModel &model, std::int64_t sms, std::size_t most,
                               const std::function<bool(const AnySizeKernel &)> &legal) {
  return Selector(model, sms, legal).select(most);
}

} // namespace nestsmith::records
