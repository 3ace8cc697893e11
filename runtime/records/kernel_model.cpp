#include "runtime/records/kernel_model.h"

#include "dsl/expr/error.h"

#include <Eigen/Core>
#include <Eigen/QR>
#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>

namespace nestsmith::records {

namespace {

std::int64_t parts_of(std::int64_t n, std::int64_t part) { return (n + part - 1) / part; }

std::int64_t tiles_of(const Extents &extents, const Extents &tile) {
  return parts_of(extents[0], tile[0]) * parts_of(extents[1], tile[1]);
}

std::int64_t depth_of(const Extents &extents, const Extents &tile, std::int64_t parts) {
  return parts_of(parts_of(extents[2], tile[2]), parts);
}

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

/// How many elements of a row one access takes, as a share of the bits of a whole vector: 0 to 1.
double share_of_vectors(std::int64_t extent, std::int64_t elements) {
  if (elements == 1)
    return 1;
  auto bits = [](std::int64_t n) {
    return static_cast<double>(std::countr_zero(static_cast<std::uint64_t>(n)));
  };
  return std::min(bits(extent), bits(elements)) / bits(elements);
}

constexpr std::int64_t shallow = 128, deep = 1024; ///< elements along K of the probes
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

std::vector<Probe> probes(const Extents &tile, std::int64_t resident, std::int64_t sms, bool vectors,
                          std::int64_t elements, const std::vector<std::string> &ways) {
  std::vector<Probe> list;
  // The last tiles are not whole in any dimension, as for most sizes: guards take registers and time. Without
  // vectors, N and K are odd.
  auto add = [&](std::int64_t tiles, std::int64_t k, std::int64_t parts, const std::string &with) {
    auto [rows, columns] = grid_of(tiles, tile);
    std::int64_t depth = std::max<std::int64_t>(2, parts_of(k, tile[2])) * tile[2] * parts;
    std::int64_t missing = vectors ? elements : 1;
    Extents extents = {rows * tile[0] - 1, columns * tile[1] - missing, depth - missing};
    list.push_back({extents, parts, with});
  };
  for (std::int64_t k : {shallow, deep}) {
    for (std::int64_t count : counts_for(resident))
      add(count * sms, k, 1, "");
    add(few_waves * resident * sms, k, 1, "");
  }
  add(many_waves * resident * sms, shallow, 1, "");
  for (const std::string &way : ways)
    for (std::int64_t parts : parts_of_probes) {
      // Other blocks add the parts of all tiles, whose numbers must differ.
      bool many = !way.empty() && parts == parts_of_probes.back();
      add(std::max<std::int64_t>(1, resident * sms / (many ? 2 : parts)), 2 * shallow, parts, way);
    }
  return list;
}

std::vector<double> KernelModel::features(const Fit &fit, const Extents &tile, std::int64_t parts,
                                          const Extents &extents, std::int64_t sms) const {
  const std::size_t counts = fit.counts.size();
  std::vector<double> result(2 * counts + 3);
  const std::int64_t blocks = tiles_of(extents, tile) * parts;
  const auto depth = static_cast<double>(depth_of(extents, tile, parts));
  auto add_line = [&](std::size_t n, double weight) {
    result[2 * n] += weight, result[2 * n + 1] += weight * depth;
  };
  // Adds `weight` * wave(c, depth), interpolated between the measured counts.
  auto add_wave = [&](std::int64_t c, double weight) {
    auto at = static_cast<std::size_t>(std::ranges::lower_bound(fit.counts, c) - fit.counts.begin());
    double share = 1;
    if (fit.counts[at] != c)
      share = static_cast<double>(c - fit.counts[at - 1]) /
              static_cast<double>(fit.counts[at] - fit.counts[at - 1]);
    add_line(at, weight * share);
    if (share < 1)
      add_line(at - 1, weight * (1 - share));
  };
  std::int64_t in_wave = sms * fit.resident, full = blocks / in_wave, rest = parts_of(blocks % in_wave, sms);
  if (full == 0) {
    add_wave(std::max<std::int64_t>(rest, 1), 1);
  } else {
    add_wave(fit.resident, 1);
    add_line(counts, static_cast<double>(full - 1));
    if (rest > 0) {
      add_line(counts, 1);
      add_wave(rest, 1);
      add_wave(fit.resident, -1);
    }
  }
  constexpr double of_operand = 16; // bytes of a vector
  double operand = of_operand / static_cast<double>(table_.elements);
  // 64 bits do not hold the product of the greatest extents.
  auto m = static_cast<double>(extents[0]), n = static_cast<double>(extents[1]),
       k = static_cast<double>(extents[2]);
  double bytes = operand * (m * k + k * n) + 8 * m * n; // the result is read and written
  result.back() = std::max(0.0, bytes - static_cast<double>(table_.l2_bytes)) / table_.bytes_per_ms;
  return result;
}

double KernelModel::without_sum(const Fit &fit, const Extents &tile, std::int64_t parts, const Extents &extents,
                                std::int64_t sms) const {
  double sum = 0;
  std::vector<double> values = features(fit, tile, parts, extents, sms);
  for (std::size_t n = 0; n < values.size(); ++n)
    sum += values[n] * fit.coefficients[n];
  return sum;
}

double KernelModel::predicted(const Fit &fit, const KernelChoice &choice, const Extents &extents,
                              std::int64_t sms) const {
  constexpr double least = 0.001; // no launch is shorter
  const Extents &tile = table_.points[choice.point].tile;
  double ms = std::max(least, without_sum(fit, tile, choice.parts, extents, sms));
  if (choice.parts == 1)
    return ms;
  const Line &line = fit.ways.at(choice.with);
  std::int64_t n = line.of_all_tiles ? choice.parts * tiles_of(extents, tile) : choice.parts;
  return ms + std::max(0.0, line.constant + line.slope * static_cast<double>(n));
}

std::optional<KernelModel::Fit> KernelModel::fitted(const KernelPoint &point, bool vectors,
                                                    const std::string &where) const {
  Fit fit;
  std::vector<KernelTime> times;
  for (const KernelForm &form : point.forms)
    if (form.vectors == vectors && form.parts == 1) {
      fit.resident = form.resident;
      times.insert(times.end(), form.times.begin(), form.times.end());
    }
  if (times.empty())
    return std::nullopt;
  fit.counts = counts_for(fit.resident);
  auto rows = static_cast<Eigen::Index>(times.size());
  auto columns = static_cast<Eigen::Index>(2 * fit.counts.size() + 3);
  if (rows < columns)
    throw UserError(ExitCode::usage,
                    fmt::format("{}: the point {} has {} times without parts, expected at least "
                                "{}; make the table again with tune --table",
                                where, to_string(point.knobs), rows, columns));
  Eigen::MatrixXd matrix(rows, columns);
  for (Eigen::Index row = 0; row < rows; ++row) {
    const KernelTime &time = times[static_cast<std::size_t>(row)];
    std::vector<double> values = features(fit, point.tile, 1, time.extents, table_.sms);
    for (Eigen::Index column = 0; column < columns; ++column)
      matrix(row, column) = values[static_cast<std::size_t>(column)] / time.ms;
  }
  fit.coefficients = solved_without_negatives(matrix);
  // For each way, the number of parts and the time that their sum adds.
  std::map<std::string, std::vector<std::array<double, 2>>> sums;
  for (const KernelForm &form : point.forms)
    if (form.vectors == vectors && form.parts > 1)
      for (const KernelTime &time : form.times) {
        std::int64_t n = form.parts * (form.with.empty() ? 1 : tiles_of(time.extents, point.tile));
        double added = time.ms - without_sum(fit, point.tile, form.parts, time.extents, table_.sms);
        sums[form.with].push_back({static_cast<double>(n), std::max(0.0, added)});
      }
  for (auto &[with, list] : sums) {
    std::ranges::sort(list);
    Line line{.of_all_tiles = !with.empty()};
    auto [fewest, of_fewest] = list.front();
    auto [most, of_most] = list.back();
    if (most >= 2 * fewest) {
      line.slope = std::max(0.0, (of_most - of_fewest) / (most - fewest));
      line.constant = of_fewest - line.slope * fewest;
    } else { // about the same number determines no line: half of the time does not depend on it
      line.constant = (of_fewest + of_most) / 4;
      line.slope = (of_fewest + of_most) / 2 / (fewest + most);
    }
    fit.ways[with] = line;
  }
  return fit;
}

KernelModel::KernelModel(KernelTable table, const std::string &where) : table_(std::move(table)) {
  for (const KernelPoint &point : table_.points) {
    fits_.push_back({fitted(point, true, where), fitted(point, false, where)});
    if (!fits_.back().vectors && !fits_.back().scalars)
      throw UserError(ExitCode::usage,
                      fmt::format("{}: the point {} has no times without parts; make the table again with "
                                  "tune --table",
                                  where, to_string(point.knobs)));
  }
}

double KernelModel::ms(const KernelChoice &choice, const Extents &extents, std::int64_t sms) const {
  const auto &[vectors, scalars] = fits_[choice.point];
  auto of = [&](const Fit &fit) { return predicted(fit, choice, extents, sms); };
  if (!vectors || !scalars)
    return of(vectors ? *vectors : *scalars);
  double share =
      (share_of_vectors(extents[1], table_.elements) + share_of_vectors(extents[2], table_.elements)) / 2;
  if (share == 1)
    return of(*vectors);
  if (share == 0)
    return of(*scalars);
  return std::pow(of(*vectors), share) * std::pow(of(*scalars), 1 - share);
}

std::vector<KernelChoice> KernelModel::rank(const Extents &extents, std::int64_t sms) const {
  std::vector<KernelChoice> list;
  auto add = [&](KernelChoice choice) {
    choice.ms = ms(choice, extents, sms);
    list.push_back(std::move(choice));
  };
  const bool whole = extents[1] % table_.elements == 0 && extents[2] % table_.elements == 0;
  const bool has_scalars =
      std::ranges::any_of(fits_, [](const Fits &fits) { return fits.scalars.has_value(); });
  for (std::size_t point = 0; point < fits_.size(); ++point) {
    const auto &[vectors, scalars] = fits_[point];
    if (whole ? !vectors : has_scalars && !scalars)
      continue;
    add({point, 1, "", 0});
    for (const auto &[with, line] : (vectors ? vectors : scalars)->ways)
      if (!vectors || !scalars || scalars->ways.contains(with))
        for (std::int64_t parts : numbers_of_parts)
          if (2 * parts * table_.points[point].tile[2] <= extents[2])
            add({point, parts, with, 0});
  }
  std::ranges::stable_sort(list, {}, &KernelChoice::ms);
  return list;
}

std::vector<double> KernelModel::errors(std::size_t point) const {
  std::vector<double> list;
  for (const KernelForm &form : table_.points[point].forms)
    for (const KernelTime &time : form.times)
      list.push_back(ms({point, form.parts, form.with, 0}, time.extents, table_.sms) / time.ms - 1);
  return list;
}

} // namespace nestsmith::records
