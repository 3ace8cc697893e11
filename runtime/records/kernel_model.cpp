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
constexpr std::int64_t waves_of_probe = 3;
constexpr std::array<std::int64_t, 2> parts_of_probes = {2, 16};

} // namespace

std::vector<Probe> probes(const Extents &tile, std::int64_t resident, std::int64_t sms, bool vectors,
                          std::int64_t elements, bool has_parts) {
  std::vector<Probe> list;
  // The last tiles are not whole, as for most sizes. Without vectors, N and K are odd.
  auto add = [&](std::int64_t tiles, std::int64_t k, std::int64_t parts) {
    auto [rows, columns] = grid_of(tiles, tile);
    std::int64_t depth = std::max<std::int64_t>(2, parts_of(k, tile[2])) * tile[2] * parts;
    Extents extents = {rows * tile[0] - 1, columns * tile[1] - (vectors ? elements : 1),
                       depth - (vectors ? 0 : 1)};
    list.push_back({extents, parts});
  };
  for (std::int64_t k : {shallow, deep}) {
    for (std::int64_t count : counts_for(resident))
      add(count * sms, k, 1);
    add(waves_of_probe * resident * sms, k, 1);
  }
  if (has_parts)
    for (std::int64_t parts : parts_of_probes)
      add(std::max<std::int64_t>(1, resident * sms / parts), 2 * shallow, parts);
  return list;
}

std::vector<double> KernelModel::features(const Fit &fit, std::int64_t blocks, std::int64_t depth,
                                          std::int64_t sms) {
  const std::size_t counts = fit.counts.size();
  std::vector<double> result(2 * counts + 2);
  auto d = static_cast<double>(depth);
  // Adds `weight` * wave(c, depth), interpolated between the measured counts.
  auto add_wave = [&](std::int64_t c, double weight) {
    auto above = std::ranges::lower_bound(fit.counts, c);
    auto at = static_cast<std::size_t>(above - fit.counts.begin());
    double share = 1;
    if (*above != c)
      share = static_cast<double>(c - fit.counts[at - 1]) /
              static_cast<double>(fit.counts[at] - fit.counts[at - 1]);
    auto add = [&](std::size_t n, double part) { result[2 * n] += part, result[2 * n + 1] += part * d; };
    add(at, weight * share);
    if (share < 1)
      add(at - 1, weight * (1 - share));
  };
  auto add_steady = [&](double weight) { result[2 * counts] += weight, result[2 * counts + 1] += weight * d; };
  std::int64_t in_wave = sms * fit.resident, full = blocks / in_wave, rest = parts_of(blocks % in_wave, sms);
  if (full == 0) {
    add_wave(std::max<std::int64_t>(rest, 1), 1);
    return result;
  }
  add_wave(fit.resident, 1);
  add_steady(static_cast<double>(full - 1));
  if (rest > 0) {
    add_steady(1);
    add_wave(rest, 1);
    add_wave(fit.resident, -1);
  }
  return result;
}

double KernelModel::without_parts(const Fit &fit, std::int64_t blocks, std::int64_t depth, std::int64_t sms) {
  double sum = 0;
  std::vector<double> values = features(fit, blocks, depth, sms);
  for (std::size_t n = 0; n < values.size(); ++n)
    sum += values[n] * fit.coefficients[n];
  return sum;
}

double KernelModel::predicted(const Fit &fit, const Extents &tile, std::int64_t parts, const Extents &extents,
                              std::int64_t sms) {
  double ms = without_parts(fit, tiles_of(extents, tile) * parts, depth_of(extents, tile, parts), sms);
  if (parts == 1)
    return ms;
  // Between two measured numbers of parts, and beyond them, the sum takes a time that is linear in the number.
  auto [few, of_few] = *fit.of_parts.begin();
  auto [many, of_many] = *fit.of_parts.rbegin();
  double slope = many > few ? std::max(0.0, (of_many - of_few) / static_cast<double>(many - few)) : 0;
  return ms + std::max(0.0, of_few + slope * static_cast<double>(parts - few));
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
  auto columns = static_cast<Eigen::Index>(2 * fit.counts.size() + 2);
  if (rows < columns)
    throw UserError(ExitCode::usage,
                    fmt::format("{}: the point {} has {} times without parts, expected at least "
                                "{}; make the table again with tune --table",
                                where, to_string(point.knobs), rows, columns));
  Eigen::MatrixXd matrix(rows, columns);
  Eigen::VectorXd ones = Eigen::VectorXd::Ones(rows);
  for (Eigen::Index row = 0; row < rows; ++row) {
    const KernelTime &time = times[static_cast<std::size_t>(row)];
    std::vector<double> values =
        features(fit, tiles_of(time.extents, point.tile), depth_of(time.extents, point.tile, 1), table_.sms);
    for (Eigen::Index column = 0; column < columns; ++column)
      matrix(row, column) = values[static_cast<std::size_t>(column)] / time.ms;
  }
  Eigen::VectorXd solved = matrix.completeOrthogonalDecomposition().solve(ones);
  fit.coefficients.assign(solved.begin(), solved.end());
  for (const KernelForm &form : point.forms)
    if (form.vectors == vectors && form.parts > 1) {
      double sum = 0;
      for (const KernelTime &time : form.times)
        sum += time.ms - without_parts(fit, tiles_of(time.extents, point.tile) * form.parts,
                                       depth_of(time.extents, point.tile, form.parts), table_.sms);
      fit.of_parts[form.parts] = sum / static_cast<double>(form.times.size());
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

double KernelModel::ms(std::size_t point, std::int64_t parts, const Extents &extents, std::int64_t sms) const {
  const auto &[vectors, scalars] = fits_[point];
  const Extents &tile = table_.points[point].tile;
  auto of = [&](const Fit &fit) { return predicted(fit, tile, parts, extents, sms); };
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
  for (std::size_t point = 0; point < fits_.size(); ++point) {
    const auto &[vectors, scalars] = fits_[point];
    bool has_parts = (!vectors || !vectors->of_parts.empty()) && (!scalars || !scalars->of_parts.empty());
    for (std::int64_t parts : numbers_of_parts)
      if (parts == 1 || (has_parts && 2 * parts * table_.points[point].tile[2] <= extents[2]))
        list.push_back({point, parts, ms(point, parts, extents, sms)});
  }
  std::ranges::stable_sort(list, {}, &KernelChoice::ms);
  return list;
}

std::vector<double> KernelModel::errors(std::size_t point) const {
  std::vector<double> list;
  for (const KernelForm &form : table_.points[point].forms)
    for (const KernelTime &time : form.times)
      list.push_back(ms(point, form.parts, time.extents, table_.sms) / time.ms - 1);
  return list;
}

} // namespace nestsmith::records
