#include "schedules/kernels/kernel_model.h"

#include "dsl/expr/error.h"
#include "schedules/even_tail.h"

#include <Eigen/Core>
#include <Eigen/QR>
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>

namespace nestsmith::records {

namespace {

std::int64_t parts_of(std::int64_t n, std::int64_t part) { return (n + part - 1) / part; }

/// The numbers of blocks on a multiprocessor for which the first wave is measured.
std::vector<std::int64_t> counts_for(std::int64_t resident) {
  std::vector<std::int64_t> counts = {1, 2, resident};
  std::erase_if(counts, [&](std::int64_t count) { return count > resident; });
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

/// The extents of a result of `tiles` tiles that is about square.
std::array<std::int64_t, 2> grid_of(std::int64_t tiles, const Extents &tile) {
  std::array<std::int64_t, 2> best = {tiles, 1};
  auto skew = [&](const std::array<std::int64_t, 2> &grid) {
    return std::abs(std::log(static_cast<double>(grid[0] * tile[0]) / static_cast<double>(grid[1] * tile[1])));
  };
  for (std::int64_t rows = 1; rows <= tiles; ++rows)
    if (std::array grid = {rows, tiles / rows}; tiles % rows == 0 && skew(grid) < skew(best))
      best = grid;
  return best;
}

using Tile = std::array<long long, 3>;
Tile tile_of(const KernelPoint &point) { return {point.tile[0], point.tile[1], point.tile[2]}; }

/// The number of tiles, with many divisors, that have about so many elements.
std::int64_t whole_tiles(std::int64_t elements, std::int64_t of_tile) {
  constexpr std::int64_t rows = 64;
  return std::max<std::int64_t>(1, elements / of_tile / rows) * rows;
}

constexpr std::int64_t shallow = 128, deep = 1024, deepest = 4096; ///< elements along K of the probes
constexpr std::int64_t vectors_of_line = 8;
constexpr std::int64_t few_waves = 3, many_waves = 8;
constexpr std::array<std::int64_t, 2> parts_of_probes = {2, 16};

/// The coefficients for which the rows of the matrix are as close to 1 as possible. All of them are times, so
/// a column with a negative one is left out, and has the coefficient 0.
std::vector<double> solved_without_negatives(const Eigen::MatrixXd &matrix) {
  std::vector<Eigen::Index> used;
  for (Eigen::Index column = 0; column < matrix.cols(); ++column)
    used.push_back(column);
  std::vector<double> result(static_cast<std::size_t>(matrix.cols()));
  while (!used.empty()) {
    Eigen::MatrixXd part = matrix(Eigen::all, used);
    Eigen::VectorXd solved = part.completeOrthogonalDecomposition().solve(Eigen::VectorXd::Ones(matrix.rows()));
    Eigen::Index least = 0;
    if (solved.minCoeff(&least) < 0) {
      used.erase(used.begin() + least);
      continue;
    }
    for (std::size_t n = 0; n < used.size(); ++n)
      result[static_cast<std::size_t>(used[n])] = solved(static_cast<Eigen::Index>(n));
    break;
  }
  return result;
}

} // namespace

std::vector<Probe> probes(const Extents &tile, std::int64_t resident, std::int64_t sms, std::int64_t l2_bytes,
                          Rows rows, std::int64_t elements, const std::vector<std::string> &ways) {
  std::vector<Probe> list;
  // The last tiles are not whole in any dimension, as for most sizes: guards take registers and time. With rows
  // at lines, all tiles are whole.
  auto add = [&](std::int64_t tiles, std::int64_t k, std::int64_t parts, const std::string &with) {
    auto [down, across] = grid_of(tiles, tile);
    std::int64_t depth = std::max<std::int64_t>(2, parts_of(k, tile[2])) * tile[2] * parts;
    if (rows == Rows::lines) {
      // No more tiles than asked for: the next multiprocessor would take a second block.
      std::int64_t line = vectors_of_line * elements;
      auto whole_lines = [&](std::int64_t extent) { return std::max<std::int64_t>(1, extent / line) * line; };
      list.push_back({{down * tile[0], whole_lines(across * tile[1]), whole_lines(depth)}, parts, with});
      return;
    }
    std::int64_t missing = rows == Rows::vectors ? elements : 1;
    list.push_back({{down * tile[0] - 1, across * tile[1] - missing, depth - missing}, parts, with});
  };
  for (std::int64_t k : {shallow, deep}) {
    for (std::int64_t count : counts_for(resident))
      add(count * sms, k, 1, "");
    add(few_waves * resident * sms, k, 1, "");
  }
  add(many_waves * resident * sms, shallow, 1, "");
  add(few_waves * resident * sms, deepest, 1, "");
  // A result of 3 times L2: most of the time is that of memory, which the other sizes hardly show.
  if (l2_bytes > 0) {
    const std::int64_t bytes = std::max<std::int64_t>(4, 16 / elements); // of a sum
    add(whole_tiles(3 * l2_bytes / bytes, tile[0] * tile[1]), shallow, 1, "");
  }
  if (rows == Rows::lines) // to add parts takes the time of rows at vectors
    return list;
  for (const std::string &way : ways)
    for (std::int64_t parts : parts_of_probes) {
      // Other blocks add the parts of all tiles, whose numbers must differ.
      bool many = !way.empty() && parts == parts_of_probes.back();
      add(std::max<std::int64_t>(1, resident * sms / (many ? 2 : parts)), 2 * shallow, parts, way);
    }
  return list;
}

double KernelModel::any_size(std::size_t point, Rows rows, bool with_parts) const {
  const Rows measured = rows == Rows::lines ? Rows::vectors : rows;
  const double without_parts = with_parts ? any_size(point, rows, false) : 1;
  double sum = 0;
  int count = 0;
  for (const KernelForm &form : table_.points[point].forms) {
    if (form.rows != measured || (form.parts > 1) != with_parts || !form.with.empty())
      continue;
    if (form.any_size == most_any_size) // it failed
      return most_any_size;
    sum += std::log(std::max(1.0, form.any_size == 1 ? without_parts : form.any_size));
    ++count;
  }
  return count > 0 ? std::exp(sum / count) : without_parts;
}

choice::Machine KernelModel::machine(std::int64_t sms) const {
  return {sms, static_cast<int>(table_.elements), static_cast<double>(table_.l2_bytes), table_.bytes_per_ms};
}

choice::Size KernelModel::size(const Extents &extents) const { return size_of({.extents = extents}); }

choice::Size KernelModel::size_of(const ProductSize &product) const {
  const int line =
      static_cast<int>(vectors_of_line * std::bit_floor(static_cast<std::uint64_t>(table_.elements)));
  auto multiple = [&](std::int64_t given, std::int64_t row) {
    return choice::multiple_of_row(given > 0 ? given : row, line);
  };
  const Extents &extents = product.extents;
  return {{extents[0], extents[1], extents[2]},
          multiple(product.along_n, extents[1]),
          multiple(product.along_k, extents[2])};
}

/// Fits the coefficients of a form; it is not known if the point has no times of it.
choice::Form KernelModel::fitted(const KernelPoint &point, Rows rows, const std::string &where) const {
  choice::Form fit{};
  std::int64_t resident = 1;
  std::vector<KernelTime> times;
  for (const KernelForm &form : point.forms)
    if (form.rows == rows && form.parts == 1) {
      resident = form.resident;
      times.insert(times.end(), form.times.begin(), form.times.end());
    }
  if (times.empty())
    return fit;
  fit.known = 1;
  fit.warps = static_cast<int>(point.warps);
  for (std::int64_t count : counts_for(resident))
    fit.count[fit.counts++] = count;
  const Tile tile = tile_of(point);
  const choice::Machine machine = this->machine(table_.sms);
  auto equations = static_cast<Eigen::Index>(times.size()),
       columns = static_cast<Eigen::Index>(2 * fit.counts + 3);
  if (equations < columns)
    throw UserError(ExitCode::usage,
                    fmt::format("{}: the point {} has {} times without parts, expected at least "
                                "{}; make the table again with tune --table",
                                where, to_string(point.knobs), equations, columns));
  Eigen::MatrixXd matrix(equations, columns);
  for (Eigen::Index row = 0; row < equations; ++row) {
    const KernelTime &time = times[static_cast<std::size_t>(row)];
    const choice::Size extents = size(time.extents);
    std::array<double, choice::most_coefficients> values = {};
    choice::features_of(&fit, tile.data(), 1, 0, &extents, &machine, values.data());
    for (Eigen::Index column = 0; column < columns; ++column)
      matrix(row, column) = values.at(static_cast<std::size_t>(column)) / time.ms;
  }
  std::ranges::copy(solved_without_negatives(matrix), fit.coefficient);
  // For each way, the number of parts and the time that their sum adds.
  std::map<std::string, std::vector<std::array<double, 2>>> sums;
  for (const KernelForm &form : point.forms)
    if (form.rows == rows && form.parts > 1)
      for (const KernelTime &time : form.times) {
        const choice::Size extents = size(time.extents);
        std::int64_t n = form.parts * (form.with.empty() ? 1 : choice::tiles_of(extents.extent, tile.data()));
        double added = time.ms - choice::ms_without_sum(&fit, tile.data(), form.parts, 1, &extents, &machine);
        sums[form.with].push_back({static_cast<double>(n), std::max(0.0, added)});
      }
  for (auto &[with, list] : sums) {
    std::ranges::sort(list);
    choice::Parts &line = fit.way[std::ranges::find(ways_, with) - ways_.begin()];
    line = {.known = 1, .of_all_tiles = with.empty() ? 0 : 1, .constant = 0, .slope = 0};
    auto [fewest, of_fewest] = list.front();
    auto [most, of_most] = list.back();
    if (most >= 2 * fewest) {
      line.slope = std::max(0.0, (of_most - of_fewest) / (most - fewest));
      line.constant = of_fewest - line.slope * fewest;
    } else { // about the same number determines no line: half of the time does not depend on it
      line.constant = (of_fewest + of_most) / 4;
      line.slope = (of_fewest + of_most) / 2 / (fewest + most);
    }
  }
  return fit;
}

KernelModel::KernelModel(KernelTable table, const std::string &where) : table_(std::move(table)) {
  std::set<std::string> ways;
  for (const KernelPoint &point : table_.points)
    for (const KernelForm &form : point.forms)
      if (form.parts > 1)
        ways.insert(form.with);
  ways_.assign(ways.begin(), ways.end());
  if (ways_.size() > choice::most_ways)
    throw UserError(ExitCode::usage,
                    fmt::format("{}: the points have {} ways to add parts, expected at most {}", where,
                                ways_.size(), static_cast<int>(choice::most_ways)));
  for (const KernelPoint &point : table_.points) {
    choice::Kernel &kernel = kernels_.emplace_back();
    std::ranges::copy(point.tile, kernel.tile);
    const auto bulk = point.knobs.find("bulk");
    kernel.in_bulk = bulk != point.knobs.end() && bulk->second == "true" ? 1 : 0;
    static_assert(all_rows.size() == choice::all_forms);
    for (Rows rows : all_rows)
      kernel.form[static_cast<int>(rows)] = fitted(point, rows, where);
    const choice::Form &vectors = kernel.form[choice::rows_at_vectors];
    if (vectors.known)
      std::ranges::copy(vectors.way, kernel.form[choice::rows_at_lines].way);
    if (std::ranges::none_of(kernel.form, &choice::Form::known))
      throw UserError(ExitCode::usage,
                      fmt::format("{}: the point {} has no times without parts; make the table again with "
                                  "tune --table",
                                  where, to_string(point.knobs)));
  }
}

/// The time with an even tail: whole tiles in `tail.waves` waves, and the sum of the parts of one tile. What L2
/// cannot hold grows by the parts.
static double ms_with_tail(const choice::Form &form, const Tile &tile, const choice::Parts &sum,
                           const EvenTail &tail, const choice::Size &size, const choice::Machine &machine) {
  std::array<double, choice::most_coefficients> whole = {}, features = {};
  const auto memory = static_cast<std::size_t>(2 * form.counts + 2);
  const double depth = static_cast<double>(choice::ceil_div(size.extent[2], tile[2]));
  const double of_parts = 8 * static_cast<double>(tail.parts) * static_cast<double>(size.extent[1]) *
                          static_cast<double>(size.extent[0] - tail.whole_rows * tile[0]);
  choice::features_of(&form, tile.data(), 1, 0, &size, &machine, whole.data());
  choice::add_wave(&form, features.data(), form.count[form.counts - 1], depth, 1);
  choice::add_line(features.data(), form.counts, depth, tail.waves - 1);
  if (whole.at(memory) > 0) // L2 does not hold the operands and the result
    features.at(memory) = whole.at(memory) + of_parts / machine.bytes_per_ms;
  double ms = sum.constant + sum.slope * static_cast<double>(tail.parts);
  for (std::size_t f = 0; f < features.size(); ++f)
    ms += features.at(f) * form.coefficient[f];
  return ms;
}

/// A multiprocessor that executes fewer blocks than it holds executes each of them faster. So a last wave of
/// many small blocks loses little, and parts, which have to be stored and added, gain nothing.
constexpr std::int64_t most_resident = 2;

/// The form of a kernel that is nearest to these rows.
static const choice::Form &nearest_form(const choice::Kernel &kernel, const choice::Size &size,
                                        const choice::Machine &machine) {
  const choice::Between forms = choice::forms_of(&kernel, &size, &machine);
  return kernel.form[forms.share < 0.5 ? forms.below : forms.above];
}

static std::int64_t resident_of(const choice::Form &form) { return form.count[form.counts - 1]; }

/// The even tail that the schedule of the point has for as many blocks as a multiprocessor holds. None if
/// there is no such tail, or if the rung makes none.
std::optional<EvenTail> KernelModel::even_tail_of(std::size_t point, const choice::Size &size,
                                                  const choice::Machine &machine) const {
  const std::int64_t resident = resident_of(nearest_form(kernels_[point], size, machine));
  if (table_.even_knob.empty() || resident > most_resident)
    return std::nullopt;
  const bool units = table_.dtype != "f32" && table_.dtype != "f64";
  const auto roles = table_.points[point].knobs.find("roles");
  const bool unequal = !units && roles != table_.points[point].knobs.end() && roles->second == "true";
  return even_tail({size.extent[0], size.extent[1], size.extent[2]}, table_.points[point].tile,
                   resident * machine.sms, units ? terms_of_a_part_by_units : terms_of_a_part,
                   unequal ? PartsOfTail::unequal_too : PartsOfTail::equal);
}

/// The point with its even tail. None if it has none, or if the time to add parts by the last block is not
/// known.
std::optional<KernelChoice> KernelModel::with_even_tail(std::size_t point, const choice::Size &size,
                                                        const choice::Machine &machine) const {
  const choice::Kernel &kernel = kernels_[point];
  const choice::Between forms = choice::forms_of(&kernel, &size, &machine);
  const choice::Form &first = kernel.form[forms.below], &second = kernel.form[forms.above];
  const auto way = std::ranges::find(ways_, "") - ways_.begin();
  if (way == static_cast<std::ptrdiff_t>(ways_.size()) || !first.way[way].known || !second.way[way].known)
    return std::nullopt;
  const std::optional<EvenTail> tail = even_tail_of(point, size, machine);
  if (!tail)
    return std::nullopt;
  const Tile tile = tile_of(table_.points[point]);
  auto ms = [&](const choice::Form &form) {
    return std::max(0.001, ms_with_tail(form, tile, form.way[way], *tail, size, machine));
  };
  KernelChoice choice{
      .point = point, .parts = 1, .with = "", .even = resident_of(nearest_form(kernel, size, machine))};
  choice.ms = std::pow(ms(second), forms.share) * std::pow(ms(first), 1 - forms.share);
  return choice;
}

TimeParts KernelModel::time_parts(const KernelChoice &choice, const Extents &extents, std::int64_t sms) const {
  const choice::Size size = this->size(extents);
  const choice::Machine machine = this->machine(sms);
  const choice::Form &form = nearest_form(kernels_[choice.point], size, machine);
  const Tile tile = tile_of(table_.points[choice.point]);
  const std::int64_t tiles = choice::tiles_of(size.extent, tile.data());
  TimeParts parts{.blocks = tiles * choice.parts, .in_wave = resident_of(form) * sms};
  parts.waves = static_cast<double>(parts.blocks) / static_cast<double>(parts.in_wave);
  parts.depth = parts_of(parts_of(extents[2], tile[2]), choice.parts);
  parts.past_edges = 1 - static_cast<double>(extents[0]) * static_cast<double>(extents[1]) /
                             (static_cast<double>(tiles) * static_cast<double>(tile[0] * tile[1]));
  if (choice.parts > 1) {
    const auto way = std::ranges::find(ways_, choice.with) - ways_.begin();
    parts.sum_ms = choice::ms_of_sum(&form, tile.data(), choice.parts, static_cast<int>(way), &size, &machine);
  }
  if (choice.even > 0)
    if (const auto tail = even_tail_of(choice.point, size, machine)) {
      const choice::Parts &sum = form.way[std::ranges::find(ways_, "") - ways_.begin()];
      parts.waves = tail->waves;
      parts.blocks += (tiles - tail->whole_rows * parts_of(extents[1], tile[1])) * (tail->parts - 1);
      parts.sum_ms = sum.constant + sum.slope * static_cast<double>(tail->parts);
    }
  std::array<double, choice::most_coefficients> features = {};
  choice::features_of(&form, tile.data(), choice.parts, choice.parts > 1, &size, &machine, features.data());
  const auto memory = static_cast<std::size_t>(2 * form.counts + 2);
  parts.memory_ms = features.at(memory) * form.coefficient[memory];
  return parts;
}

MeasuredSizes KernelModel::measured_sizes() const {
  MeasuredSizes sizes;
  for (const KernelPoint &point : table_.points)
    for (const KernelForm &form : point.forms)
      for (const KernelTime &time : form.times) {
        const auto &[m, n, k] = time.extents;
        const double results = static_cast<double>(m) * static_cast<double>(n);
        const bool first = sizes.most_k == 0;
        sizes = {first ? k : std::min(sizes.least_k, k), std::max(sizes.most_k, k),
                 first ? results : std::min(sizes.least_results, results),
                 std::max(sizes.most_results, results)};
      }
  return sizes;
}

bool MeasuredSizes::contain(const Extents &extents) const {
  const double results = static_cast<double>(extents[0]) * static_cast<double>(extents[1]);
  return least_k <= extents[2] && extents[2] <= most_k && least_results <= results && results <= most_results;
}

double KernelModel::ms(const KernelChoice &choice, const Extents &extents, std::int64_t sms) const {
  const choice::Size of_extents = size(extents);
  const choice::Machine of_sms = machine(sms);
  if (choice.even > 0)
    if (auto even = with_even_tail(choice.point, of_extents, of_sms))
      return even->ms;
  auto way = choice.parts == 1 ? 0 : std::ranges::find(ways_, choice.with) - ways_.begin();
  return choice::ms_of(&kernels_[choice.point], choice.parts, static_cast<int>(way), &of_extents, &of_sms);
}

std::vector<KernelChoice> KernelModel::rank(const Extents &extents, std::int64_t sms) const {
  return rank_products({.extents = extents}, sms);
}

std::vector<KernelChoice> KernelModel::rank_products(const ProductSize &product, std::int64_t sms) const {
  const choice::Machine of_sms = machine(sms);
  choice::Size size = size_of(product);
  // A batch is a product with more rows, of which each product begins with a tile. So its rows depend on those
  // of a tile, and the kernels are asked by the rows of their tiles: if some have the form for the rows of the
  // operands, the others are left out.
  auto takes = [&](const choice::Kernel &kernel) { return choice::takes_rows(&kernel, &size, &of_sms) != 0; };
  const bool some = std::ranges::any_of(kernels_, takes);
  std::set<std::int64_t> rows;
  for (const choice::Kernel &kernel : kernels_)
    rows.insert(product.batch > 1 ? kernel.tile[0] : 0);
  std::vector<choice::Candidate> found;
  std::vector<int> serves(kernels_.size());
  for (std::int64_t of_tile : rows) {
    for (std::size_t n = 0; n < kernels_.size(); ++n)
      serves[n] = (of_tile == 0 || kernels_[n].tile[0] == of_tile) && (!some || takes(kernels_[n]));
    if (of_tile > 0)
      size.extent[0] = product.batch * parts_of(product.extents[0], of_tile) * of_tile;
    std::vector<choice::Candidate> part(kernels_.size() * choice::most_candidates_of_kernel);
    part.resize(static_cast<std::size_t>(choice::candidates(kernels_.data(), static_cast<int>(kernels_.size()),
                                                            serves.data(), &size, &of_sms, part.data())));
    found.insert(found.end(), part.begin(), part.end());
  }
  std::vector<KernelChoice> list;
  for (const choice::Candidate &candidate : found) {
    const auto point = static_cast<std::size_t>(candidate.kernel);
    list.push_back({.point = point,
                    .parts = candidate.parts,
                    .with = candidate.parts == 1 ? "" : ways_[static_cast<std::size_t>(candidate.way)],
                    .even = 0,
                    .ms = candidate.ms});
    if (candidate.parts == 1 && product.batch == 1)
      if (std::optional<KernelChoice> even = with_even_tail(point, size, of_sms))
        list.push_back(*std::move(even));
  }
  std::ranges::stable_sort(list, {}, &KernelChoice::ms);
  return list;
}

std::vector<double> KernelModel::errors(std::size_t point) const {
  std::vector<double> list;
  for (const KernelForm &form : table_.points[point].forms)
    for (const KernelTime &time : form.times)
      list.push_back(
          ms({.point = point, .parts = form.parts, .with = form.with}, time.extents, table_.sms) / time.ms - 1);
  return list;
}

} // namespace nestsmith::records
