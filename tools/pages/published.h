#pragma once
/// Measurements that the tutorials' authors published. nestsmith prints them next to its own figures, but does
/// not compare them, because the machines differ.

#include <cstdint>
#include <string>
#include <vector>

namespace nestsmith {

struct PublishedFigure {
  std::int64_t edge; ///< M = N = K
  double value;
};

/// The figures of one rung, or of the tutorial's cuBLAS.
struct PublishedRow {
  std::string rung; ///< "step1"; empty: cuBLAS
  std::vector<PublishedFigure> figures;
};

struct PublishedTable {
  std::string tutorial; ///< "tvm_steps"
  std::string source;   ///< author and hardware: "TVM series, RTX A500 laptop"
  std::string unit;     ///< "GFLOP/s" or "ms"
  std::vector<PublishedRow> rows;

  /// The row of a rung, or null.
  const PublishedRow *find(const std::string &rung) const;
};

/// The table of the tutorial, or null if its author publishes no times.
const PublishedTable *published(const std::string &tutorial);

/// "91 (512), 95 (1024)".
std::string to_string(const PublishedRow &row);

} // namespace nestsmith
