/// Tests the formula of the choice as `emit --dispatch` writes it: compiled as C, it chooses as the model does.

#include "schedules/kernels.h"
#include "schedules/kernels/kernel_choice.h"
#include "schedules/kernels/kernel_model.h"
#include "schedules/kernels/kernel_selection.h"
#include "tests/codegen/scratch.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <tuple>

namespace nestsmith::records {
namespace {

/// Extents from 1 to 20000 of every alignment, and the largest ones.
std::vector<Extents> sizes_of_all_kinds(std::size_t count) {
  std::mt19937_64 random(2026);
  std::uniform_real_distribution<double> log_extent(0, std::log(20000.0));
  std::vector<Extents> sizes = {{1, 1, 1}, {4, 4, 4}, {8192, 8192, 8192}, {1, 8, (1LL << 31) - 8}};
  while (sizes.size() < count) {
    Extents extents = {};
    for (std::int64_t &extent : extents) {
      const std::int64_t unit = std::int64_t{1} << random() % 6;
      extent = (static_cast<std::int64_t>(std::exp(log_extent(random))) / unit + 1) * unit;
    }
    sizes.push_back(extents);
  }
  return sizes;
}

constexpr const char *program = R"(
#include <stdio.h>
int main(void) {
  long long m, n, k;
  int along_n, along_k;
  struct Candidate list[sizeof kernels / sizeof kernels[0] * most_candidates_of_kernel];
  while (scanf("%lld %lld %lld %d %d", &m, &n, &k, &along_n, &along_k) == 5) {
    struct Size size = {{m, n, k}, along_n, along_k};
    int best = 0, found = candidates(kernels, sizeof kernels / sizeof kernels[0], 0, &size, &machine, list);
    for (int c = 1; c < found; ++c)
      if (list[c].ms < list[best].ms)
        best = c;
    printf("%d %d %d %lld %.17g\n", found, list[best].kernel, list[best].way, list[best].parts, list[best].ms);
  }
  return 0;
}
)";

TEST(KernelChoice, ItsTextInCChoosesAsTheModel) {
  const std::vector<Extents> sizes = sizes_of_all_kinds(400);
  ASSERT_FALSE(kernel_tables().empty());
  for (const std::string &text : kernel_tables()) {
    const KernelModel model(parse_kernel_table(text, "embedded"), "embedded");
    const std::int64_t sms = model.table().sms - 1;
    Scratch scratch;
    scratch.write("choice.c", std::string("#include <math.h>\n") + kernel_choice_text +
                                  kernel_choice_data(model.kernels(), model.machine(sms)) + program);
    std::string input;
    for (const Extents &extents : sizes) {
      const choice::Size size = model.size(extents);
      input += fmt::format("{} {} {}\n", fmt::join(size.extent, " "), size.along_n, size.along_k);
    }
    scratch.write("sizes", input);
    Finished done = scratch.run("cc -std=c99 -O1 -ffp-contract=off -Wall -Wextra -Werror -pedantic choice.c -o "
                                "choice -lm && ./choice < sizes",
                                "choice");
    ASSERT_EQ(done.status, 0) << done.output;
    std::istringstream lines(done.output);
    for (const Extents &extents : sizes) {
      std::vector<KernelChoice> order = model.rank(extents, sms);
      std::erase_if(order, [](const KernelChoice &choice) { return choice.even > 0; }); // not for any shape
      std::size_t found = 0, kernel = 0, way = 0;
      std::int64_t parts = 0;
      double ms = 0;
      ASSERT_TRUE(lines >> found >> kernel >> way >> parts >> ms);
      EXPECT_EQ(found, order.size());
      EXPECT_EQ(kernel, order.front().point) << fmt::format("{}", fmt::join(extents, "x"));
      EXPECT_EQ(parts, order.front().parts);
      EXPECT_EQ(parts == 1 ? "" : model.ways()[way], order.front().with);
      EXPECT_NEAR(ms, order.front().ms, 1e-9 * ms);
    }
  }
}

TEST(KernelChoice, AKernelOfAGivenWidthServesRowsOfItsMultiples) {
  const KernelModel model(parse_kernel_table(kernel_tables().front(), "embedded"), "embedded");
  const choice::Machine machine = model.machine(model.table().sms);
  const int whole = machine.elements, half = whole / 2;
  auto ms_at = [&](int width, int along) {
    const choice::Kernel kernel = kernel_for_choice(model, {.width = width});
    choice::Size size = model.size({512, 512, 512});
    size.along_n = size.along_k = along;
    choice::Candidate list[choice::most_candidates_of_kernel];
    return choice::takes_rows(&kernel, &size, &machine) &&
                   choice::candidates(&kernel, 1, nullptr, &size, &machine, list) > 0
               ? list[0].ms
               : 0;
  };
  EXPECT_GT(ms_at(1, 1), 0);
  EXPECT_EQ(ms_at(1, 1), ms_at(1, whole)) << "scalars gain nothing from rows that begin at vectors";
  EXPECT_EQ(ms_at(half, half / 2), 0);
  EXPECT_GT(ms_at(half, half), 0);
  EXPECT_EQ(ms_at(half, half), ms_at(half, 8 * whole));
  EXPECT_EQ(ms_at(whole, half), 0);
  EXPECT_GT(ms_at(whole, whole), 0);
  EXPECT_LT(ms_at(whole, whole), ms_at(half, whole));
  EXPECT_LT(ms_at(half, whole), ms_at(1, whole));
}

/// The factor does not change the choice among kernels for one size.
TEST(KernelChoice, AKernelForAllSizesTakesItsMeasuredFactor) {
  KernelTable table = parse_kernel_table(kernel_tables().front(), "embedded");
  auto ms_of = [&](const Rows &slower, double factor = 2) {
    KernelTable changed = table;
    for (KernelForm &form : changed.points.front().forms)
      if (form.rows == slower && form.parts == 1)
        form.any_size = factor;
    const KernelModel model(changed, "changed");
    EXPECT_EQ(model.rank({512, 512, 512}, 132).front().ms,
              KernelModel(table, "embedded").rank({512, 512, 512}, 132).front().ms);
    const choice::Machine machine = model.machine(132);
    const choice::Size size = model.size({512, 512, 512}); // all operands are in L2
    std::vector<double> ms;
    for (int width : {machine.elements, 1}) {
      const choice::Kernel kernel = kernel_for_choice(model, {.width = width});
      choice::Candidate list[choice::most_candidates_of_kernel];
      EXPECT_EQ(choice::candidates(&kernel, 1, nullptr, &size, &machine, list), 1);
      ms.push_back(list[0].ms);
    }
    return ms;
  };
  const std::vector<double> same = ms_of(Rows::lines), vectors = ms_of(Rows::vectors), any = ms_of(Rows::any);
  EXPECT_NEAR(vectors[0] / same[0], 2, 0.01) << "also for rows at lines";
  EXPECT_EQ(vectors[1], same[1]);
  EXPECT_EQ(any[0], same[0]);
  EXPECT_NEAR(any[1] / same[1], 2, 0.01);
  EXPECT_EQ(ms_of(Rows::vectors, 0.9), same) << "a factor below 1 is that of one size only";
}

/// The model takes the geometric mean of the factors of the measured numbers of parts.
TEST(KernelChoice, AKernelForAllSizesWithPartsHasFactorsOfItsOwn) {
  const KernelTable table = parse_kernel_table(kernel_tables().front(), "embedded");
  auto ms_of = [&](bool in_parts, const std::vector<double> &factors) {
    KernelTable changed = table;
    auto factor = factors.begin();
    for (KernelForm &form : changed.points.front().forms)
      if (form.rows == Rows::vectors && form.parts > 1 && form.with.empty() && factor != factors.end())
        form.any_size = *factor++;
    EXPECT_EQ(factor, factors.end());
    const KernelModel model(changed, "changed");
    const choice::Machine machine = model.machine(132);
    const choice::Size size = model.size({512, 512, 512}); // all operands are in L2
    const choice::Kernel kernel = kernel_for_choice(model, {.width = machine.elements, .in_parts = in_parts});
    choice::Candidate list[choice::most_candidates_of_kernel];
    const int found = choice::candidates(&kernel, 1, nullptr, &size, &machine, list);
    EXPECT_EQ(found > 1, in_parts);
    return list[in_parts ? 1 : 0].ms; // of several parts: to copy a single one takes the time of memory
  };
  EXPECT_EQ(ms_of(false, {9, 4}), ms_of(false, {1, 1}));
  EXPECT_NEAR(ms_of(true, {9, 4}) / ms_of(true, {1, 1}), 6, 0.01);
  EXPECT_NEAR(ms_of(true, {0.5, 4}) / ms_of(true, {1, 1}), 2, 0.01) << "a factor below 1 counts as 1";
  EXPECT_NEAR(ms_of(true, {2, most_any_size}) / ms_of(true, {1, 1}), most_any_size, 1)
      << "it failed with some parts";
}

/// A table that was made before these were measured has the factor without parts only.
TEST(KernelChoice, AKernelWithPartsHasTheFactorOfOneWithoutIfItHasNone) {
  KernelTable table = parse_kernel_table(kernel_tables().front(), "embedded");
  for (KernelForm &form : table.points.front().forms)
    form.any_size = form.parts == 1 ? 3 : 1;
  const KernelModel model(table, "changed");
  EXPECT_NEAR(model.any_size(0, Rows::vectors, true), 3, 1e-9);
  EXPECT_NEAR(model.any_size(0, Rows::lines, true), 3, 1e-9) << "the kernel for rows at vectors";
  EXPECT_NEAR(model.any_size(0, Rows::any, false), 3, 1e-9);
}

/// A block waits for its first copies.
TEST(KernelChoice, FewTilesOfKOfABlockThatSharesATileTakeAsLongAsFour) {
  const KernelModel model(parse_kernel_table(kernel_tables().front(), "embedded"), "embedded");
  const choice::Kernel &kernel = model.kernels().front();
  const choice::Machine machine = model.machine(132);
  auto ms_of = [&](std::int64_t parts, std::int64_t tiles_of_part) {
    const choice::Size size =
        model.size({kernel.tile[0], kernel.tile[1], parts * tiles_of_part * kernel.tile[2]});
    return choice::ms_without_sum(&kernel.form[choice::rows_at_vectors], kernel.tile, parts, parts > 1, &size,
                                  &machine);
  };
  EXPECT_EQ(ms_of(2, 2), ms_of(2, 4));
  EXPECT_EQ(ms_of(2, 3), ms_of(2, 4));
  EXPECT_LT(ms_of(2, 4), ms_of(2, 5));
  EXPECT_LT(ms_of(1, 2), ms_of(1, 4)) << "whole sums are on the line";
}

/// A multiprocessor has four schedulers, so that 3 blocks of 2 warps take as long as 4.
TEST(KernelChoice, BlocksOfFewWarpsWaitForTheSchedulerWithMostOfThem) {
  KernelTable table = parse_kernel_table(kernel_tables().front(), "embedded");
  KernelPoint &point = table.points.front();
  const std::int64_t resident = 6;
  for (KernelForm &form : point.forms)
    form.resident = resident;
  auto ms_of = [&](std::int64_t warps, std::int64_t blocks) {
    point.warps = warps;
    const KernelModel model(table, "changed");
    const choice::Kernel &kernel = model.kernels().front();
    const choice::Machine machine = model.machine(132);
    const choice::Size size = model.size({kernel.tile[0] * blocks, kernel.tile[1] * 132, 512});
    return choice::ms_without_sum(&kernel.form[choice::rows_at_vectors], kernel.tile, 1, 0, &size, &machine);
  };
  EXPECT_LT(ms_of(2, 2), ms_of(2, 3));
  EXPECT_EQ(ms_of(2, 3), ms_of(2, 4));
  EXPECT_EQ(ms_of(1, 3), ms_of(1, 2)) << "one warp on each scheduler";
  for (std::int64_t blocks : {1, 2, 3, 5, 6})
    EXPECT_NEAR(ms_of(4, blocks), ms_of(0, blocks), 1e-12) << "as many on each scheduler";
}

/// As many numbers of parts as a point of a table has, and one part, which is added to nothing.
TEST(KernelChoice, TheLaunchChoosesTheNumberOfParts) {
  const KernelModel model(parse_kernel_table(kernel_tables().front(), "embedded"), "embedded");
  const choice::Machine machine = model.machine(132);
  const choice::Kernel kernel = kernel_for_choice(model, {.width = machine.elements, .in_parts = true}),
                       whole = kernel_for_choice(model, {.width = machine.elements});
  const long long tile = kernel.tile[2];
  auto parts_at = [&](std::int64_t m, std::int64_t k) {
    const choice::Size size = model.size({m, 64, k});
    choice::Candidate list[choice::most_candidates_of_kernel];
    const int found = choice::candidates(&kernel, 1, nullptr, &size, &machine, list);
    std::vector<long long> parts;
    for (int n = 0; n < found; ++n) {
      EXPECT_EQ(list[n].way, 0);
      EXPECT_EQ(list[n].parts,
                std::max<long long>(1, choice::ceil_div(k, choice::terms_of_part(k, tile, list[n].parts))));
      parts.push_back(list[n].parts);
    }
    return parts;
  };
  EXPECT_THAT(parts_at(64, 1), testing::ElementsAre(1));
  EXPECT_THAT(parts_at(64, 0), testing::ElementsAre(1));
  EXPECT_THAT(parts_at(64, 3 * tile), testing::ElementsAre(1)) << "a part has 4 tiles";
  EXPECT_THAT(parts_at(64, 8 * tile), testing::ElementsAre(1, 2, 2, 2));
  EXPECT_THAT(parts_at(64, 1000 * tile),
              testing::ElementsAre(1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 63));
  EXPECT_LE(4 * 64 * parts_at(1 << 18, 1000 * tile).back(), choice::most_bytes_of_parts >> 18);
  const choice::Size size = model.size({64, 64, 4 * tile});
  EXPECT_GT(choice::ms_of(&kernel, 1, 0, &size, &machine), choice::ms_of(&whole, 1, 0, &size, &machine));
}

TEST(KernelSelection, NoOtherKernelsInPlaceOfOneOrTwoAreBetter) {
  const KernelModel model(parse_kernel_table(kernel_tables().front(), "embedded"), "embedded");
  const choice::Machine machine = model.machine(132);
  const std::vector<Extents> sizes = sample_of_sizes();
  auto times_of = [&](const AnySizeKernel &kernel) {
    const choice::Kernel of_choice = kernel_for_choice(model, kernel);
    std::vector<double> times;
    for (const Extents &extents : sizes) {
      const choice::Size size = model.size(extents);
      choice::Candidate list[choice::most_candidates_of_kernel];
      const int found = choice::takes_rows(&of_choice, &size, &machine)
                            ? choice::candidates(&of_choice, 1, nullptr, &size, &machine, list)
                            : 0;
      times.push_back(1e9);
      for (int n = 0; n < found; ++n)
        times.back() = std::min(times.back(), list[n].ms);
    }
    return times;
  };
  std::vector<double> best;
  for (const Extents &extents : sizes)
    best.push_back(model.rank(extents, 132).front().ms);
  // The losses at the sizes of the sample and, for wide kernels, at larger ones, which have those of the large
  // sizes of the sample. Those with vectors serve rows of whole vectors, and the others the other rows.
  const std::size_t sample = sizes.size();
  auto is_whole = [&](const Extents &extents) {
    return extents[1] % machine.elements == 0 && extents[2] % machine.elements == 0;
  };
  auto losses_of = [&](const AnySizeKernel &kernel) {
    const std::vector<double> times = times_of(kernel);
    std::vector<double> losses;
    for (std::size_t n = 0; n < sample; ++n)
      losses.push_back(std::min(std::log(times[n] / best[n]), 7.0));
    for (std::size_t n = 0; n < sample; ++n)
      if (2.0 * static_cast<double>(sizes[n][0] * sizes[n][1] * sizes[n][2]) > 2e10)
        losses.push_back(kernel.wide && (kernel.width > 1) == is_whole(sizes[n]) ? losses[n] : 7.0);
    return losses;
  };
  auto least_of = [](std::vector<double> a, const std::vector<double> &b) {
    for (std::size_t n = 0; n < a.size(); ++n)
      a[n] = std::min(a[n], b[n]);
    return a;
  };
  auto cost_of = [&](const std::vector<double> &losses) {
    double sum = 0;
    for (std::size_t n = 0; n < losses.size(); ++n)
      sum += (losses[n] + 4 * losses[n] * losses[n]) / (n < sample ? 1 : 32);
    return sum;
  };
  // Every second point is legal only.
  std::set<std::tuple<std::size_t, int, bool, bool>> asked;
  auto legal = [](const AnySizeKernel &kernel) { return kernel.point % 2 == 0; };
  const KernelSelection selection = select_kernels(model, 132, 6, [&](const AnySizeKernel &kernel) {
    EXPECT_TRUE(asked.emplace(kernel.point, kernel.width, kernel.in_parts, kernel.wide).second)
        << "asked twice";
    return legal(kernel);
  });
  ASSERT_EQ(selection.kernels.size(), 6U);
  EXPECT_TRUE(selection.kernels.front().wide);
  EXPECT_EQ(selection.kernels.front().width, 1) << "it serves all rows";
  EXPECT_FALSE(selection.kernels.back().wide);
  EXPECT_TRUE(std::ranges::is_partitioned(selection.kernels, std::identity{}, &AnySizeKernel::wide))
      << "wide ones come first";
  std::vector<std::vector<double>> taken;
  for (const AnySizeKernel &kernel : selection.kernels) {
    EXPECT_TRUE(legal(kernel));
    taken.push_back(losses_of(kernel));
  }
  auto without = [&](std::size_t a, std::size_t b) {
    std::vector<double> losses(taken.front().size(), 7.0);
    for (std::size_t n = 0; n < taken.size(); ++n)
      if (n != a && n != b)
        losses = least_of(losses, taken[n]);
    return losses;
  };
  const std::vector<double> all = without(taken.size(), taken.size());
  EXPECT_GT(all.size(), sample) << "some sizes are large";
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(sample);
  EXPECT_NEAR(std::exp(std::accumulate(all.begin(), end, 0.0) / static_cast<double>(sample)), selection.mean,
              1e-9);
  EXPECT_NEAR(std::exp(*std::max_element(all.begin(), end)), selection.worst, 1e-9);
  std::vector<std::vector<double>> options;
  for (std::size_t point = 0; point < model.kernels().size(); point += 2)
    for (int width : {machine.elements, 1})
      for (const auto &[in_parts, wide] : {std::pair(false, false), {true, false}, {false, true}}) {
        const choice::Form *forms = model.kernels()[point].form;
        if (forms[width == 1 ? choice::rows_anywhere : choice::rows_at_vectors].known)
          options.push_back(losses_of({point, width, in_parts, wide}));
      }
  double least = 1e9;
  for (std::size_t a = 0; a < taken.size(); ++a)
    for (std::size_t b = 0; b <= a; ++b) {
      const std::vector<double> others = without(a, b);
      for (std::size_t of_a = 0; of_a < options.size(); ++of_a) {
        const std::vector<double> with = least_of(others, options[of_a]);
        if (a == b)
          least = std::min(least, cost_of(with));
        for (std::size_t of_b = of_a + 1; a != b && of_b < options.size(); ++of_b)
          least = std::min(least, cost_of(least_of(with, options[of_b])));
      }
    }
  EXPECT_GE(least, cost_of(all) - 1e-6);
}

TEST(KernelChoice, AKernelOfAGivenNumberOfPartsHasNoOther) {
  const KernelModel model(parse_kernel_table(kernel_tables().front(), "embedded"), "embedded");
  choice::Kernel kernel = model.kernels().front(), alone = kernel;
  const choice::Machine machine = model.machine(model.table().sms);
  kernel.parts = 3, alone.parts = 1;
  const choice::Kernel both[] = {kernel, alone};
  choice::Candidate list[2 * choice::most_candidates_of_kernel];
  auto parts_at = [&](std::int64_t tiles) {
    const choice::Size size = model.size({64, 64, tiles * kernel.tile[2]});
    std::vector<std::pair<int, std::int64_t>> found;
    for (int n = 0, count = choice::candidates(both, 2, nullptr, &size, &machine, list); n < count; ++n)
      found.emplace_back(list[n].kernel, list[n].parts);
    return found;
  };
  using Found = std::vector<std::pair<int, std::int64_t>>;
  EXPECT_EQ(parts_at(5), (Found{{1, 1}})) << "each part has two tiles or more";
  EXPECT_EQ(parts_at(6), (Found{{0, 3}, {1, 1}}));
  EXPECT_EQ(parts_at(400), (Found{{0, 3}, {1, 1}}));
  // A kernel that may not be taken has no candidate.
  const int serves[] = {0, 1};
  const choice::Size size = model.size({64, 64, 4096});
  EXPECT_EQ(choice::candidates(both, 2, serves, &size, &machine, list), 1);
  EXPECT_EQ(list[0].kernel, 1);
}

} // namespace
} // namespace nestsmith::records
