#pragma once
/// The charts of the climb, and the rates that they draw.

#include "tools/pages/page.h"

#include <cstddef>
#include <string>
#include <vector>

namespace nestsmith::cli::report {

/// Rates in FLOP/s on one axis. 0: not known.
struct ClimbRates {
  double rate = 0;      ///< measured on the GPU of the page, or at the least time of the model
  double estimated = 0; ///< at the estimated time of the model
  double recorded = 0;  ///< of the record
  double cublas = 0;    ///< for the same product, beside `rate` or `recorded`
  double published = 0, published_cublas = 0;

  double most() const;
};

/// Rungs of one problem on one GPU.
struct ClimbChart {
  std::string problem; ///< "f32 2048x2048x2048"
  /// The product whose records the chart shows, without the model; empty: the GPU of the page.
  std::string gpu;
  std::vector<std::size_t> rungs;
};

/// The charts for the GPU of the page. If the page has no measured time of this GPU, then also those of the
/// records of other GPUs.
std::vector<ClimbChart> climb_charts(const Page &page);
/// The record that the chart shows for a rung, or null. A page that is measured shows no record.
const MeasuredRecord *record_in(const Page &page, const ClimbChart &chart, const PageRung &rung);
ClimbRates rates_in(const Page &page, const ClimbChart &chart, const PageRung &rung);

/// The GPU and the days of the records of a chart: "NVIDIA H200, 2026-11-23". Empty: it has none.
std::string recorded_on(const Page &page, const ClimbChart &chart);
/// The command that measures them again.
std::string recorded_by(const Page &page, const ClimbChart &chart);

/// The published table of a rung, if the figures are rates of a product; or null.
const PublishedTable *published_of(const Page &page, const PageRung &rung);
/// Whether the rates of the page are those of the GPU on which the source measured.
bool on_gpu_of(const Page &page, const PublishedTable &table);
/// A published figure as a rate in FLOP/s.
double rate_of(const PublishedTable &table, const PublishedFigure &figure);

} // namespace nestsmith::cli::report
