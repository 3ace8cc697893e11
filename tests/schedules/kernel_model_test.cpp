/// Tests the model of kernel tables on times that a known formula generates, and on the tables of the program.

#include "schedules/kernels/kernel_model.h"

#include "dsl/expr/error.h"
#include "dsl/hardware/gpus.h"
#include "schedules/kernels.h"
#include "schedules/rung.h"
#include "tests/dsl/support.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace nestsmith::records {
namespace {

constexpr std::int64_t test_sms = 132, test_elements = 4;

std::int64_t whole_parts(std::int64_t n, std::int64_t part) { return (n + part - 1) / part; }

std::int64_t tiles_in(const Extents &extents, const Extents &tile) {
  return whole_parts(extents[0], tile[0]) * whole_parts(extents[1], tile[1]);
}

/// The formula that generates times: each wave and each step of k takes a time, and the sum of parts too.
struct Truth {
  Extents tile = {64, 64, 16};
  std::int64_t resident = 1;
  double step = 0.0004;          ///< ms of a step of k for one block on a multiprocessor
  double memory = 0;             ///< times the bytes beyond L2, in the time of the bandwidth
  std::int64_t l2_bytes = 0;     ///< 0: all operands fit
  double of_part = 0.0003;       ///< ms to add one part by one block
  double of_part_each = 0.00002; ///< ms to add one of all parts by other blocks
  bool scalars = true, lines = true;

  double wave(std::int64_t count, double depth) const {
    auto c = static_cast<double>(count);
    return 0.002 + 0.0002 * c + step * (0.6 + 0.4 * c) * depth;
  }
  double steady(double depth) const {
    auto r = static_cast<double>(resident);
    return 0.0003 * r + step * (0.3 + 0.4 * r) * depth;
  }
  double ms(const Extents &extents, Rows rows, std::int64_t parts, const std::string &with,
            std::int64_t sms = test_sms) const {
    std::int64_t tiles = tiles_in(extents, tile), blocks = tiles * parts, in_wave = resident * sms;
    auto depth = static_cast<double>(whole_parts(whole_parts(extents[2], tile[2]), parts));
    std::int64_t full = blocks / in_wave, rest = whole_parts(blocks % in_wave, sms);
    double time = 0;
    if (full == 0)
      time = wave(rest, depth);
    else
      time = wave(resident, depth) + static_cast<double>(full - 1) * steady(depth) +
             (rest > 0 ? steady(depth) - wave(resident, depth) + wave(rest, depth) : 0);
    auto [m, n, k] = extents;
    double bytes = 4.0 * static_cast<double>(m * k + k * n) + 8.0 * static_cast<double>(m * n);
    if (l2_bytes > 0)
      time += memory * std::max(0.0, bytes - static_cast<double>(l2_bytes)) / 3.35e9;
    if (parts > 1)
      time += 0.001 + (with.empty() ? of_part * static_cast<double>(parts)
                                    : of_part_each * static_cast<double>(parts * tiles));
    return time * (rows == Rows::any ? 1.5 : rows == Rows::vectors ? 1 : 0.8);
  }
};

KernelPoint point_of(const Truth &truth, const std::vector<std::string> &ways = {"", "two_kernels=true"}) {
  KernelPoint point{{{"tile", fmt::format("{}", fmt::join(truth.tile, "x"))}}, truth.tile, {}};
  for (Rows rows : all_rows) {
    if ((rows == Rows::any && !truth.scalars) || (rows == Rows::lines && !truth.lines))
      continue;
    std::map<std::pair<std::int64_t, std::string>, KernelForm> forms;
    for (const Probe &probe :
         probes(truth.tile, truth.resident, test_sms, truth.l2_bytes, rows, test_elements, ways)) {
      KernelForm &form = forms[{probe.parts, probe.with}];
      form.rows = rows, form.parts = probe.parts, form.with = probe.with, form.resident = truth.resident;
      form.times.push_back({probe.extents, truth.ms(probe.extents, rows, probe.parts, probe.with)});
    }
    for (auto &[key, form] : forms)
      point.forms.push_back(form);
  }
  return point;
}

KernelTable table_of(const std::vector<Truth> &truths) {
  KernelTable table{.rung = "test/rung",
                    .parts_knob = "split_k",
                    .even_knob = "even",
                    .dtype = "f32",
                    .gpu = "GPU",
                    .sms = test_sms,
                    .elements = test_elements,
                    .l2_bytes = std::int64_t{1} << 40,
                    .bytes_per_ms = 3.35e9,
                    .driver = "",
                    .nvrtc = "",
                    .launch = "",
                    .nestsmith = "",
                    .measured_at = "",
                    .points = {}};
  for (const Truth &truth : truths) {
    table.points.push_back(point_of(truth));
    if (truth.l2_bytes > 0)
      table.l2_bytes = truth.l2_bytes;
  }
  return table;
}

/// Sizes with few and many waves, shallow and deep, whose rows begin at such places and at no larger multiples.
std::vector<Extents> sizes(Rows rows) {
  auto extent = [&](std::int64_t n) {
    constexpr std::int64_t line = 8 * test_elements;
    switch (rows) {
    case Rows::any:
      return test_elements * n - 1;
    case Rows::vectors:
      return test_elements * (n | 1);
    case Rows::lines:
      return whole_parts(test_elements * n, line) * line;
    }
    return n;
  };
  std::vector<Extents> list;
  for (std::int64_t m : {8, 53, 320, 1021})
    for (std::int64_t n : {16, 127, 640, 1531})
      for (std::int64_t k : {12, 65, 257, 1024})
        list.push_back({extent(m), extent(n), extent(k)});
  return list;
}

std::vector<Truth> truths() {
  return {{.tile = {64, 64, 16}, .resident = 1},
          {.tile = {128, 32, 8}, .resident = 2, .step = 0.0002},
          {.tile = {32, 128, 32}, .resident = 5, .step = 0.0001},
          {.tile = {16, 32, 16}, .resident = 16, .step = 0.00005}};
}

TEST(KernelModel, PredictsOtherSizesOfAKnownFormula) {
  const std::vector<Truth> known = truths();
  KernelModel model(table_of(known), "test");
  for (std::size_t n = 0; n < known.size(); ++n)
    for (Rows rows : all_rows)
      for (const Extents &extents : sizes(rows)) {
        double expected = known[n].ms(extents, rows, 1, "");
        EXPECT_NEAR(model.ms({n, 1, "", 0}, extents, test_sms) / expected, 1, 0.03)
            << n << " " << fmt::format("{}", fmt::join(extents, "x"));
      }
}

TEST(KernelModel, PredictsTheSumOfPartsByOneBlockAndByOthers) {
  const std::vector<Truth> known = truths();
  KernelModel model(table_of(known), "test");
  for (std::size_t n = 0; n < known.size(); ++n)
    for (const std::string with : {"", "two_kernels=true"}) {
      for (std::int64_t parts : {2, 4, 16, 64})
        for (const Extents &extents :
             {Extents{128, 252, 16380}, Extents{528, 260, 6292}, Extents{64, 60, 65532}}) {
          double expected = known[n].ms(extents, Rows::vectors, parts, with);
          EXPECT_NEAR(model.ms({n, parts, with, 0}, extents, test_sms) / expected, 1, 0.05)
              << n << " " << with << " " << parts << " " << fmt::format("{}", fmt::join(extents, "x"));
        }
    }
}

/// The probes move more bytes than L2 holds, so that the time of the memory is known for larger sizes.
TEST(KernelModel, PredictsTheTimeOfTheMemory) {
  const Truth bound{.tile = {128, 128, 8}, .resident = 2, .step = 0.00001, .memory = 1.25, .l2_bytes = 1 << 20};
  KernelModel model(table_of({bound}), "test");
  for (const Extents &extents : {Extents{8192, 8192, 64}, Extents{4096, 12288, 32}, Extents{16384, 512, 512}})
    EXPECT_NEAR(model.ms({0, 1, "", 0}, extents, test_sms) / bound.ms(extents, Rows::lines, 1, ""), 1, 0.05);
}

/// Rows that begin at multiples between those of two forms have times between these forms.
TEST(KernelModel, PredictsOtherRowsBetweenTheForms) {
  const Truth one;
  KernelModel model(table_of({one}), "test");
  double lines = model.ms({0, 1, "", 0}, {1024, 1024, 1024}, test_sms);
  double sectors = model.ms({0, 1, "", 0}, {1024, 1016, 1016}, test_sms);
  double whole = model.ms({0, 1, "", 0}, {1024, 1020, 1020}, test_sms);
  EXPECT_LT(lines, sectors);
  EXPECT_LT(sectors, whole);
  double narrow = model.ms({0, 1, "", 0}, {1024, 1022, 1022}, test_sms);
  double mixed = model.ms({0, 1, "", 0}, {1024, 1020, 1023}, test_sms);
  double odd = model.ms({0, 1, "", 0}, {1024, 1023, 1023}, test_sms);
  for (double between : {narrow, mixed}) {
    EXPECT_LT(whole, between);
    EXPECT_LT(between, odd);
  }
}

TEST(KernelModel, RepeatsTheMeasuredTimes) {
  KernelModel model(table_of(truths()), "test");
  for (std::size_t n = 0; n < model.table().points.size(); ++n) {
    std::size_t times = 0;
    for (const KernelForm &form : model.table().points[n].forms)
      times += form.times.size();
    EXPECT_EQ(model.errors(n).size(), times);
    for (double error : model.errors(n))
      EXPECT_LT(std::abs(error), 0.03);
  }
}

TEST(KernelModel, RanksTheFastestFirst) {
  KernelModel model(table_of(truths()), "test");
  for (const Extents &extents : sizes(Rows::vectors)) {
    std::vector<KernelChoice> order = model.rank(extents, test_sms);
    ASSERT_GE(order.size(), model.table().points.size());
    EXPECT_TRUE(std::ranges::is_sorted(order, {}, &KernelChoice::ms));
    std::set<std::tuple<std::size_t, std::int64_t, std::string>> different;
    for (const KernelChoice &choice : order) {
      EXPECT_EQ(choice.ms, model.ms(choice, extents, test_sms));
      different.insert({choice.point, choice.parts + 1000 * choice.even, choice.with});
    }
    EXPECT_EQ(different.size(), order.size());
  }
}

/// 150 tiles of one block on each of 132 multiprocessors take two waves, of which the second one is nearly
/// empty.
TEST(KernelModel, KnowsEvenTailsWhereTheLastWaveIsNearlyEmpty) {
  Truth one;
  one.tile = {128, 128, 16};
  KernelTable table = table_of({one});
  KernelModel model(table, "test");
  auto evens = [](const std::vector<KernelChoice> &order) {
    return std::ranges::count_if(order, [](const KernelChoice &choice) { return choice.even > 0; });
  };
  const Extents uneven = {15 * 128, 10 * 128, 4096}, full = {12 * 128, 11 * 128, 4096};
  const std::vector<KernelChoice> order = model.rank(uneven, 132);
  const auto even = std::ranges::find(order, 1, &KernelChoice::even);
  ASSERT_NE(even, order.end());
  EXPECT_EQ(even->ms, model.ms(*even, uneven, 132));
  const double plain = model.ms({.point = 0, .parts = 1, .with = "", .even = 0}, uneven, 132);
  EXPECT_LT(even->ms, 0.8 * plain);
  EXPECT_GT(even->ms, 0.5 * plain * 150 / 132) << "all places work to the end, and no faster";
  EXPECT_EQ(evens(model.rank(full, 132)), 0);
  EXPECT_EQ(evens(model.rank_products({.extents = uneven, .batch = 2}, 132)), 0);
  table.even_knob = "";
  EXPECT_EQ(evens(KernelModel(table, "test").rank(uneven, 132)), 0) << "the rung makes none";
  one.resident = 4;
  EXPECT_EQ(evens(KernelModel(table_of({one}), "test").rank({5 * 15 * 128, 10 * 128, 4096}, 132)), 0)
      << "a multiprocessor with fewer blocks than it holds executes each of them faster";
}

TEST(KernelModel, LeavesOutPointsWithoutTheFormOfTheRows) {
  Truth whole = truths()[0], both = truths()[1];
  whole.scalars = false;
  KernelModel model(table_of({whole, both}), "test");
  auto has = [&](const Extents &extents, std::size_t point) {
    std::vector<KernelChoice> order = model.rank(extents, test_sms);
    return std::ranges::find(order, point, &KernelChoice::point) != order.end();
  };
  EXPECT_TRUE(has({1023, 1024, 1024}, 0)) << "the rows of A and B are whole";
  EXPECT_FALSE(has({1024, 1023, 1024}, 0));
  EXPECT_FALSE(has({1024, 1024, 1023}, 0));
  EXPECT_FALSE(has({1024, 1022, 1024}, 0));
  for (const Extents &extents : {Extents{1024, 1024, 1024}, Extents{1024, 1023, 1023}})
    EXPECT_TRUE(has(extents, 1));
  KernelModel only(table_of({whole}), "test");
  EXPECT_FALSE(only.rank({1023, 1023, 1023}, test_sms).empty()) << "no point has the form, so all are taken";
}

TEST(KernelModel, GivesEachBlockTwoTilesOfK) {
  KernelModel model(table_of(truths()), "test");
  auto most = [&](std::size_t point, std::int64_t k) {
    std::int64_t parts = 1;
    for (const KernelChoice &choice : model.rank({128, 128, k}, test_sms)) {
      if (choice.point != point)
        continue;
      parts = std::max(parts, choice.parts);
      if (choice.parts > 1) {
        EXPECT_GE(k, 2 * choice.parts * model.table().points[point].tile[2]);
      }
    }
    return parts;
  };
  EXPECT_EQ(most(0, 1), 1);
  EXPECT_EQ(most(0, 60), 1);
  EXPECT_EQ(most(0, 64), 2) << "tiles of 16 along k";
  EXPECT_EQ(most(0, 1000), 24);
  EXPECT_EQ(most(0, 1 << 20), 64);
  EXPECT_EQ(most(2, 124), 1);
  EXPECT_EQ(most(2, 128), 2) << "tiles of 32 along k";
}

TEST(KernelModel, LimitsTheBytesOfTheParts) {
  KernelModel model(table_of(truths()), "test");
  auto most = [&](std::int64_t rows, std::int64_t columns) {
    std::int64_t parts = 1;
    for (const KernelChoice &choice : model.rank({rows, columns, 1 << 20}, test_sms))
      parts = std::max(parts, choice.parts);
    return parts;
  };
  EXPECT_EQ(most(512, 512), 64) << "64 MiB of parts in f32";
  EXPECT_EQ(most(512, 516), 48);
  EXPECT_EQ(most(4096, 2048), 2);
  EXPECT_EQ(most(4096, 4096), 1);
  EXPECT_EQ(most((std::int64_t{1} << 31) - 1, (std::int64_t{1} << 31) - 1), 1);
}

TEST(KernelModel, OfAnotherNumberOfMultiprocessorsHasOtherTimes) {
  const Truth one;
  KernelModel model(table_of({one}), "test");
  const Extents large = {4096, 4096, 1024};
  for (std::int64_t sms : {16, 66, 114, 264})
    EXPECT_NEAR(model.ms({0, 1, "", 0}, large, sms) / one.ms(large, Rows::lines, 1, "", sms), 1, 0.03) << sms;
  EXPECT_GT(model.ms({0, 1, "", 0}, large, 66), 1.8 * model.ms({0, 1, "", 0}, large, 132));
  const Extents tiny = {64, 64, 1024};
  EXPECT_EQ(model.ms({0, 1, "", 0}, tiny, 66), model.ms({0, 1, "", 0}, tiny, 132)) << "one block";
}

/// Measured times do not fit the formula exactly: here each is up to 60 % longer, in an order that is not
/// smooth.
TEST(KernelModel, NeverPredictsANegativeTime) {
  KernelTable table = table_of(truths());
  std::size_t n = 0;
  for (KernelPoint &point : table.points)
    for (KernelForm &form : point.forms)
      for (KernelTime &time : form.times)
        time.ms *= 1 + 0.1 * static_cast<double>(n++ * 5 % 7);
  KernelModel model(table, "test");
  for (Rows rows : all_rows)
    for (const Extents &extents : sizes(rows))
      for (const KernelChoice &choice : model.rank(extents, test_sms))
        EXPECT_GT(choice.ms, 0);
  for (const KernelChoice &choice : model.rank({1, 1, 1}, test_sms))
    EXPECT_GT(choice.ms, 0);
}

TEST(KernelModel, RefusesAPointWithTooFewTimes) {
  KernelTable few = table_of(truths());
  auto plain = std::ranges::find(few.points[1].forms, std::int64_t{1}, &KernelForm::parts);
  plain->times.resize(6);
  test::expect_user_error(
      [&] { KernelModel(few, "mine.json"); }, ExitCode::usage,
      "mine.json: the point tile=128x32x8 has 6 times without parts, expected at least 7; make the "
      "table again with tune --table");
  KernelTable none = table_of(truths());
  std::erase_if(none.points[2].forms, [](const KernelForm &form) { return form.parts == 1; });
  test::expect_user_error(
      [&] { KernelModel(none, "mine.json"); }, ExitCode::usage,
      "mine.json: the point tile=32x128x32 has no times without parts; make the table again with "
      "tune --table");
}

TEST(KernelProbes, HaveTheIntendedNumberOfBlocks) {
  const Extents tile = {32, 64, 16};
  for (Rows rows : all_rows)
    for (std::int64_t resident = 1; resident <= 16; ++resident) {
      std::multiset<std::int64_t> plain;
      for (const Probe &probe : probes(tile, resident, test_sms, 0, rows, test_elements, {"", "x=y"})) {
        std::int64_t tiles = tiles_in(probe.extents, tile);
        if (probe.parts == 1)
          plain.insert(tiles);
        else
          EXPECT_EQ(tiles,
                    std::max<std::int64_t>(1, resident * test_sms / (probe.with.empty() ? probe.parts : 2)));
        EXPECT_GE(whole_parts(probe.extents[2], tile[2]), 2 * probe.parts);
        for (std::size_t n = 0; n < 3; ++n)
          EXPECT_EQ(probe.extents[n] % tile[n] == 0, rows == Rows::lines) << "the last tiles are not whole";
        for (std::size_t n : {1, 2}) {
          EXPECT_EQ(probe.extents[n] % 2 == 0, rows != Rows::any) << "N and K are odd";
          EXPECT_EQ(probe.extents[n] % test_elements == 0, rows != Rows::any);
          EXPECT_EQ(probe.extents[n] % (8 * test_elements) == 0, rows == Rows::lines);
        }
      }
      for (std::int64_t count : std::set<std::int64_t>{1, std::min<std::int64_t>(2, resident), resident})
        EXPECT_EQ(plain.count(count * test_sms), 2U) << "a shallow and a deep one of one wave";
      EXPECT_EQ(plain.upper_bound(resident * test_sms) == plain.end(), false) << "some with several waves";
    }
}

/// The number of probes is enough for the coefficients of every number of resident blocks.
TEST(KernelProbes, AreEnoughForEveryNumberOfResidentBlocks) {
  for (std::int64_t resident = 1; resident <= 16; ++resident) {
    const Truth truth{.tile = {48, 32, 16}, .resident = resident};
    EXPECT_NO_THROW(KernelModel(table_of({truth}), "test")) << resident;
  }
}

TEST(KernelProbes, WithoutWaysHaveNoParts) {
  for (const Probe &probe : probes({64, 64, 16}, 2, test_sms, 0, Rows::any, test_elements, {}))
    EXPECT_EQ(probe.parts, 1);
}

/// Without one of them, the times hardly depend on the coefficient of the memory.
TEST(KernelProbes, HaveOneResultThatIsLargerThanL2) {
  const std::int64_t l2_bytes = 50 << 20;
  for (const Extents &tile : {Extents{16, 64, 16}, Extents{64, 64, 16}, Extents{128, 256, 16}})
    for (Rows rows : all_rows) {
      int large = 0;
      for (const Probe &probe : probes(tile, 2, test_sms, l2_bytes, rows, test_elements, {"", "x=y"})) {
        const std::int64_t bytes = 4 * probe.extents[0] * probe.extents[1];
        if (bytes < 2 * l2_bytes || bytes > 3 * l2_bytes)
          continue;
        ++large;
        EXPECT_LE(probe.extents[2], 128);
        EXPECT_EQ(probe.parts, 1);
        EXPECT_LE(std::max(probe.extents[0], probe.extents[1]),
                  4 * std::min(probe.extents[0], probe.extents[1]));
      }
      EXPECT_EQ(large, 1) << name(rows);
    }
}

/// The rung of each table exists, and its schedule is legal with the knobs of each point, without and with
/// parts.
TEST(EmbeddedKernelTables, HaveThePointsOfTheirRungs) {
  for (const std::string &text : kernel_tables()) {
    KernelTable table = parse_kernel_table(text, "embedded");
    EXPECT_EQ(to_text(table), text);
    auto rung = std::ranges::find(builtin_rungs(), table.rung, &Rung::full_name);
    ASSERT_NE(rung, builtin_rungs().end()) << table.rung;
    ASSERT_TRUE(rung->kernels) << table.rung;
    const DType dtype = *parse_dtype(table.dtype);
    const Gpu *gpu = known_gpu(table.gpu);
    ASSERT_NE(gpu, nullptr) << table.gpu;
    EXPECT_EQ(table.sms, gpu->sms);
    EXPECT_EQ(table.elements, 16 / byte_size(dtype));
    EXPECT_EQ(table.parts_knob, rung->kernels.parts);
    for (const KernelPoint &point : table.points) {
      EXPECT_EQ(rung->kernels.tile(point.knobs, dtype), point.tile) << to_string(point.knobs);
      const KernelForm &form = point.forms.back();
      KnobValues values = point.knobs;
      if (form.parts > 1)
        values[table.parts_knob] = std::to_string(form.parts);
      if (!form.with.empty())
        values.merge(parse_knobs(form.with));
      Knobs knobs(values);
      Schedule schedule = rung->build({4096, 4096, 4096}, dtype, target_of(*gpu), knobs);
      EXPECT_TRUE(schedule.obligations().empty()) << to_string(values);
      EXPECT_NO_THROW(knobs.refuse_unknown()) << to_string(values);
      for (const auto &[name, value] : values)
        EXPECT_EQ(knobs.chosen()[name], value) << name;
    }
  }
}

/// Any shape that the command line takes has an order, also where 64 bits do not count the operations.
TEST(EmbeddedKernelTables, RankShapesOfEveryKind) {
  constexpr std::int64_t most = (std::int64_t{1} << 31) - 1;
  ASSERT_FALSE(kernel_tables().empty());
  for (const std::string &text : kernel_tables()) {
    KernelModel model(parse_kernel_table(text, "embedded"), "embedded");
    const std::int64_t sms = model.table().sms;
    for (const Extents &extents :
         {Extents{1, 1, 1}, Extents{8192, 8192, 8192}, Extents{1, 8192, 1}, Extents{7, 13, 8191},
          Extents{1009, 2003, 4001}, Extents{most, 1, 1}, Extents{1, most, 1}, Extents{1, 1, most},
          Extents{most, most, 1}, Extents{most, 1, most}, Extents{most, most, most}}) {
      std::vector<KernelChoice> order = model.rank(extents, sms);
      ASSERT_FALSE(order.empty());
      for (const KernelChoice &choice : order) {
        EXPECT_TRUE(std::isfinite(choice.ms));
        EXPECT_GT(choice.ms, 0);
      }
    }
    auto least = [&](const Extents &extents) { return model.rank(extents, sms).front().ms; };
    EXPECT_LT(least({1024, 1024, 1024}), least({8192, 8192, 8192}));
    EXPECT_LT(least({most / 2 + 1, most / 2 + 1, 1024}), least({most, most, 1024}));
    EXPECT_LT(least({1024, 1024, 1024}), least({most, 1, most}));
    EXPECT_LT(least({8192, 8192, 8192}), least({most, most, most}));
  }
}

} // namespace
} // namespace nestsmith::records
